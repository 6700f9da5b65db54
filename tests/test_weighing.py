"""What models propose is weighed as the rules' triplets are: trimmed spans, negators, the lexicon's polarity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from goldwork import triplet

from builder.core.edges import edge_fault, tidied, trimmed
from builder.core.records import Element, Polarity, Triplet
from builder.engine import Doc, Engine
from builder.language import nlp
from builder.language.lexicon.resources import load_lexicon
from builder.language.lexicon.rules import load_rules

Weigh = Callable[[str, str, str, Polarity], Triplet | None]


@pytest.fixture(scope="module")
def weigh() -> Weigh:
    lexicon = load_lexicon()
    backend, engine = nlp.load("embedded", lexicon.words()), Engine(lexicon, load_rules())

    def weigh_text(text: str, aspect: str, opinion: str, polarity: Polarity) -> Triplet | None:
        doc = Doc.of(text, backend.annotate([text])[0])
        return engine.weigh(doc, [triplet(text, aspect, opinion, polarity)])[0]

    return weigh_text


def test_the_lexicon_decides_the_polarity_where_it_speaks(weigh: Weigh) -> None:
    out = weigh("阿嬤特調很難喝", "阿嬤特調", "難喝", "POS")
    assert out is not None and (out.polarity, out.opinion.text, out.opinion_full.text) == ("NEG", "難喝", "很難喝")
    assert out.valence < 5 and out.evidence[0][0] == "opinion"


def test_a_negated_opinion_gets_its_negator_and_the_turned_polarity(weigh: Weigh) -> None:
    out = weigh("湯頭不會太鹹", "湯頭", "鹹", "NEG")
    assert out is not None and (out.polarity, out.opinion) == ("POS", Element("不會鹹", ((2, 4), (5, 6))))


def test_where_the_lexicon_is_silent_the_models_polarity_stays(weigh: Weigh) -> None:
    out = weigh("湯頭很嚇嚇叫", "湯頭", "嚇嚇叫", "POS")
    assert out is not None and (out.polarity, out.opinion.text) == ("POS", "嚇嚇叫")


def test_a_word_that_the_rules_do_not_read_here_has_the_lexicons_value_all_the_same(weigh: Weigh) -> None:
    out = weigh("老闆是一般人", "老闆", "一般", "POS")
    assert out is not None and (out.polarity, out.valence, out.evidence) == ("NEU", 5.0, ())


def test_a_proposal_that_the_rules_refuse_has_the_lexicons_value_where_that_is_of_its_polarity() -> None:
    engine = Engine(load_lexicon(), load_rules())
    text = "希望服務更親切，份量大"
    kind, big = triplet(text, "服務", "親切", "POS"), triplet(text, "份量", "大", "POS")
    assert engine.value(kind).valence != kind.valence
    assert engine.value(replace(kind, polarity="NEG")).valence == kind.valence, "irony, for one"
    assert engine.value(big) == big, "its value depends on what is big"


def test_what_is_wished_for_is_no_triplet(weigh: Weigh) -> None:
    assert weigh("希望服務更好", "服務", "好", "POS") is None


def test_an_aspect_that_overlaps_its_opinion_is_no_triplet(weigh: Weigh) -> None:
    assert weigh("湯頭很好喝", "湯頭很好", "好喝", "POS") is None


@pytest.mark.parametrize(
    ("text", "aspect", "opinion"),
    [
        ("湯頭好但服務差", "但服務", "差"),
        ("雞翅划算漢堡也很好吃", "划算漢堡", "好吃"),
        ("這裡的口感好", "的口感", "好"),
    ],
)
def test_an_aspect_runs_over_no_opinion_conjunction_or_particle(
    weigh: Weigh, text: str, aspect: str, opinion: str
) -> None:
    polarity: Polarity = "NEG" if opinion == "差" else "POS"
    assert weigh(text, aspect, opinion, polarity) is None
    assert weigh(text, aspect[-2:], opinion, polarity) is not None


@pytest.mark.parametrize(
    ("part", "left"),
    [
        ("「豬排」", "豬排"),
        ("豬排🐷", "豬排"),
        (" 豬排，", "豬排"),
        ("A+豬排", "A+豬排"),
        ("7-11", "7-11"),
        ("🐷！", None),
    ],
)
def test_marks_and_emoji_at_the_edges_are_trimmed(part: str, left: str | None) -> None:
    out = trimmed(f"吃{part}好", Element(part, ((1, 1 + len(part)),)))
    assert (out.text if out else None) == left
    if out:
        ((start, end),) = out.spans
        assert f"吃{part}好"[start:end] == left


@pytest.mark.parametrize("part", ["豬排，湯", "豬排🐷湯", "豬排 湯", "（豬排", "豬排！"])
def test_an_aspect_with_a_mark_is_a_fault(part: str) -> None:
    assert edge_fault(part, ((0, len(part)),)) is not None


@pytest.mark.parametrize("part", ["豬排", "C/P值", "M&M’s", "pork bun", "7-11", "50%鮮奶", "ㄟ豬排"])
def test_a_name_with_joining_marks_is_none(part: str) -> None:
    assert edge_fault(part, ((0, len(part)),)) is None


@pytest.mark.parametrize("opinion", ["！！", "～", " ", "‍", "^^", "👍", "👍👍", "❤️", "👍🏻", "★★★"])
def test_an_opinion_of_marks_or_pictures_alone_is_none(opinion: str) -> None:
    text = f"湯頭{opinion}"
    assert tidied(text, triplet(text, "湯頭", opinion, "POS")) is None


def test_tidying_changes_nothing_that_is_tidy() -> None:
    whole = triplet("湯頭很好喝", "湯頭", "好喝", "POS")
    assert tidied("湯頭很好喝", whole) is whole
