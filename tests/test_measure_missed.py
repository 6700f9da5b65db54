"""tests/measure/missed.py: the reason for which the rules miss a triplet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from measure.missed import CANDIDATE, JOINED, POLARITY, UNREAD, WEIGHED, find_reason

from builder.engine import Engine
from builder.engine.deciding import Weighed
from builder.engine.reader import Recipe, make_reader
from builder.language.lexicon.rules import load_rules

TEXT = "環境很舒適，音樂很好聽"


class ExactScorer:
    """Answers are right to the letter."""

    def match(self, answer: Mapping[str, str], due: Mapping[str, str], polarity: bool) -> bool:
        return all(answer[key] == due[key] for key in ("aspect", "opinion", *(("polarity",) if polarity else ())))

    def fits(self, answer: str, core: str, full: str) -> bool:
        return answer in (core, full)


@pytest.mark.parametrize(
    ("aspect", "opinion", "polarity", "reason"),
    [
        ("音樂", "好聽", "POS", JOINED),
        ("音樂", "好聽", "NEG", POLARITY),
        ("環境", "好聽", "POS", CANDIDATE),
        ("服務", "好聽", "POS", WEIGHED),
        ("音樂", "迷離", "POS", UNREAD),
    ],
)
def test_a_missed_triplet_has_the_reason_that_stopped_it_first(
    aspect: str, opinion: str, polarity: str, reason: str
) -> None:
    seen: list[tuple[str, Sequence[Weighed]]] = []
    reader = make_reader(Recipe())
    engine = Engine(reader.lexicon, load_rules(), observe=lambda opinion, weighed: seen.append((opinion.word, weighed)))
    (reading,) = reader.read([TEXT])
    answers = [
        {"aspect": triplet.aspect.text, "opinion": triplet.opinion.text, "polarity": triplet.polarity}
        for triplet in engine.extract(reading.doc)
    ]
    due = {"aspect": aspect, "aspect_full": aspect, "opinion": opinion, "opinion_full": opinion, "polarity": polarity}
    assert find_reason(ExactScorer(), due, answers, seen) == reason
