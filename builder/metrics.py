"""Scores of predicted against gold triplets, pure, each with a signature that says what was counted.

In: per review, lists of (aspect, opinion, polarity) strings. Out: `Score`. Duplicates inside a review count once. `exact`: strings
equal. `subsequence`: one aspect contains the other and the shorter opinion is a character subsequence of the longer; brackets and
spaces are ignored. `lenient`: the same as the reference scorer of the development data computes it, which also takes two opinions of
equal length for near; about a point higher. Matching is one to one, greedy in gold order. Two empty sides score 1 in the micro metrics; the `paper` metric
(example-based, Zhang and Zhou 2014, as its released scorer computes it) counts a review that is empty on both sides 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from builder import __version__

Answer = tuple[str, str, str]
"""aspect, opinion, polarity (POS, NEG, NEU)"""
Answers = Mapping[str, Sequence[Answer]]
Match = Literal["exact", "lenient", "subsequence"]
Part = Literal["triplet", "pair", "aspect", "opinion"]


@dataclass(frozen=True, slots=True)
class Score:
    """Precision, recall and F1 in percent with the counts behind them (-1 where the metric has no counts)."""

    precision: float
    recall: float
    f1: float
    right: int
    predicted: int
    gold: int
    signature: str


def micro(gold: Answers, predicted: Answers, match: Match = "exact", part: Part = "triplet") -> Score:
    """Micro-averaged over the reviews of `gold`; a review that `predicted` lacks counts as empty, other ids are left out."""
    right = told = due = 0
    for review, answers in gold.items():
        left = _distinct(answers, part)
        due += len(left)
        for answer in _distinct(predicted.get(review, ()), part):
            told += 1
            found = next((one for one in left if _MATCHES[match](one, answer)), None)
            if found is not None:
                left.remove(found)
                right += 1
    precision, recall = _share(right, told, due), _share(right, due, told)
    return Score(precision, recall, _f1(precision, recall), right, told, due, _signature(f"micro-{part}", match))


def paper(gold: Answers, predicted: Answers) -> Score:
    """Mean over reviews of precision, recall and F1 (paper, section 4.2.2; both sides empty: 0)."""
    sums = [0.0, 0.0, 0.0]
    for review, answers in gold.items():
        due, told = set(answers), set(predicted.get(review, ()))
        both = len(due & told)
        precision, recall = both / len(told) if told else 0.0, both / len(due) if due else 0.0
        for i, value in enumerate((precision, recall, 2 * precision * recall / (precision + recall) if both else 0.0)):
            sums[i] += value
    precision, recall, f1 = (100 * value / max(1, len(gold)) for value in sums)
    return Score(precision, recall, f1, -1, -1, -1, _signature("paper-example", "exact"))


def polarity_accuracy(gold: Answers, predicted: Answers) -> float:
    """Share (percent) of the leniently matched pairs that have the gold polarity."""
    pairs, triplets = micro(gold, predicted, "lenient", "pair").right, micro(gold, predicted, "lenient", "triplet").right
    return min(100.0, 100.0 * triplets / pairs) if pairs else 100.0


def _distinct(answers: Iterable[Answer], part: Part) -> list[Answer]:
    cut: Mapping[Part, Callable[[Answer], Answer]] = {
        "triplet": lambda a: a,
        "pair": lambda a: (a[0], a[1], ""),
        "aspect": lambda a: (a[0], "", ""),
        "opinion": lambda a: ("", a[1], ""),
    }
    return list(dict.fromkeys(map(cut[part], answers)))


def _exact(one: Answer, other: Answer) -> bool:
    return one == other


def _lenient(one: Answer, other: Answer) -> bool:
    opinions = _clean(one[1]), _clean(other[1])
    near = _near(*opinions) or (len(opinions[0]) == len(opinions[1]) > 0)
    return one[2] == other[2] and _within(_clean(one[0]), _clean(other[0])) and near


def _subsequence(one: Answer, other: Answer) -> bool:
    return one[2] == other[2] and _within(_clean(one[0]), _clean(other[0])) and _near(_clean(one[1]), _clean(other[1]))


_MATCHES: Mapping[Match, Callable[[Answer, Answer], bool]] = {"exact": _exact, "lenient": _lenient, "subsequence": _subsequence}


def _clean(text: str) -> str:
    return text.replace("[", "").replace("]", "").replace(" ", "")


def _within(one: str, other: str) -> bool:
    return one == other or (bool(one and other) and (one in other or other in one))


def _near(one: str, other: str) -> bool:
    """The shorter is a subsequence of the longer; an empty part (`aspect` score) equals an empty part only."""
    if not one or not other:
        return one == other
    short, long = sorted((one, other), key=len)
    rest = iter(long)
    return all(char in rest for char in short)


def _share(part: int, whole: int, other: int) -> float:
    if whole:
        return 100.0 * part / whole
    return 0.0 if other else 100.0


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _signature(metric: str, match: str) -> str:
    return f"{metric}|match:{match}|duplicates:once|null:excluded|version:{__version__}"
