"""Names are found by their place: the yardstick of invented sentences, and what is judged where a name is masked."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from builder import Extractor
from builder.core.records import Element, Span, Triplet
from builder.pipeline.release_reviews import _mask
from builder.release.manifest import MASKING
from builder.reviews import masking
from builder.reviews.masking import mask
from builder.reviews.place_names import crosses, forms, frequency, is_word

SENTENCES = Path(__file__).with_name("names.tsv")
"""Sentences that a language model invented, each with what must be masked in it, `|` between, in order; of a review
whose place is known, with its name. Masking was developed on one part; the other was written afterwards and is scored.
"""


@dataclass(frozen=True)
class Sentence:
    part: str
    text: str
    place: str
    masked: str

    def wanted(self) -> set[tuple[int, int]]:
        spans, at = set(), 0
        for name in filter(None, self.masked.split("|")):
            at = self.text.index(name, at)
            spans.add((at, at + len(name)))
            at += len(name)
        return spans

    def found(self) -> set[tuple[int, int]]:
        return {(start, end) for start, end, _ in mask(self.text, [self.place] if self.place else []).masks}


def sentences(part: str) -> list[Sentence]:
    lines = SENTENCES.read_text(encoding="utf-8").splitlines()[1:]
    return [one for line in lines if (one := Sentence(*line.split("\t"))).part == part]


@pytest.mark.parametrize("part", ["develop", "score"])
def test_of_invented_sentences_nearly_all_names_are_masked_and_hardly_anything_else(part: str) -> None:
    """A mask counts where it covers what must be masked, no more and no less."""
    pairs = [(one.wanted(), one.found()) for one in sentences(part)]
    right = sum(len(wanted & found) for wanted, found in pairs)
    recall = right / sum(len(wanted) for wanted, _ in pairs)
    precision = right / sum(len(found) for _, found in pairs)
    assert recall >= 0.95, f"{recall:.3f}"
    assert precision >= 0.97, f"{precision:.3f}"
    figures = {"develop": "on the others {} and {}.", "score": "recall is {} and precision {};"}
    assert figures[part].format(f"{recall:.0%}", f"{precision:.0%}") in MASKING, "the card says so"


def test_the_yardstick_is_balanced_and_no_sentence_stands_in_it_twice() -> None:
    """Without many sentences that name nobody, a mask over everything would pass."""
    every = [*sentences("develop"), *sentences("score")]
    assert f" {len(every):,} sentences " in MASKING and f"On {len(sentences('score'))} of them" in MASKING
    assert len({one.text for one in every}) == len(every)
    for part in ("develop", "score"):
        named = sum(bool(one.masked) for one in sentences(part))
        assert 0.4 < named / len(sentences(part)) < 0.6


@pytest.mark.parametrize(
    ("text", "aspect", "judged"),
    [
        ("服務生芷雅很親切", "芷雅", "服務生"),
        ("服務生芷雅很親切", "服務生芷雅", "服務生"),
        ("店員「芷雅」很熱心", "芷雅", "店員"),
        ("服務人員林芷雅很好", "林芷雅", "服務人員"),
        ("收银员芷雅算得快", "芷雅", "收银员"),
        ("服務的林小姐很親切", "林小姐", "小姐"),
        ("感謝芷雅的服務", "芷雅的服務", "服務"),
        ("芷雅服務親切", "芷雅", None),
        ("阿葵哥的手藝好", "阿葵哥", None),
        ("鼎香園牛排好吃", "鼎香園牛排", "[店名]"),
        ("電話0912345678難打", "0912345678", None),
    ],
)
def test_what_is_judged_is_the_role_beside_a_masked_name_or_nothing(text: str, aspect: str, judged: str | None) -> None:
    masked = mask(text, ["鼎香園牛排台北店"])
    start = text.index(aspect)
    span = masked.judged((start, start + len(aspect)))
    assert (span and masked.text[slice(*span)]) == judged


@pytest.mark.parametrize(
    ("text", "released"),
    [
        ("經理張維德態度很差", [("態度", "差")]),
        ("店員小美親切", [("店員", "親切")]),
        ("店員小美態度好", [("態度", "好")]),
        ("服务员小丽很热情", [("服务员", "热情")]),
        ("主廚王大明手藝高超", [("手藝", "高超")]),
        ("店長林先生態度不好", [("態度", "不好")]),
        ("外場的小琪服務很棒", [("服務", "棒")]),
        ("服務人員雅婷熱情", [("服務人員", "熱情")]),
        ("店員美麗大方", [("店員", "美麗"), ("店員", "大方")]),
    ],
)
def test_a_name_is_one_word_that_no_aspect_and_no_opinion_holds(text: str, released: list[tuple[str, str]]) -> None:
    """小美 is neither small nor beautiful, and what is judged is the role or what it does, before any mask."""
    found = {(one.aspect.text, one.opinion.text) for one in Extractor()(text)}
    assert found == set(released)


@pytest.mark.parametrize(
    ("spans", "judged"),
    [(((0, 1), (2, 4), (5, 7)), "[店名]味道"), (((0, 2), (4, 5)), "[店名]"), (((5, 6), (6, 7)), "味道")],
)
def test_parts_of_an_aspect_that_one_mask_holds_are_one_part(spans: tuple[Span, ...], judged: str) -> None:
    """People may label an aspect in parts; in a release they stand in order."""
    source = "鼎香園牛排味道很好"
    masked = mask(source, ["鼎香園牛排台北店"])
    aspect, opinion = Element.at(source, spans), Element.at(source, [(8, 9)])
    moved = _mask(Triplet(aspect, aspect, opinion, opinion, "POS", 8.0), masked, source, masked.text)
    assert moved is not None and moved.aspect.text == judged
    assert all(before[1] <= behind[0] for before, behind in pairwise(moved.aspect.spans))


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("位於中和區景安路12號", "中和區景安路12號"),
        ("位于中国江西省南昌市西湖区福州路8号", "中国江西省南昌市西湖区福州路8号"),
        ("和平東路三段12號", "和平東路三段12號"),
        ("我家公司附近中山路12號", "中山路12號"),
        ("搬到對面的民生路5號了", "民生路5號"),
        ("内蒙古自治区呼和浩特市新华大街5号", "内蒙古自治区呼和浩特市新华大街5号"),
        ("屏東縣來義鄉中正路1號", "屏東縣來義鄉中正路1號"),
        ("在經國路一段200號旁", "經國路一段200號"),
        ("這條街3號最好", ""),
        ("那條路12號", ""),
    ],
)
def test_an_address_begins_with_its_first_word_and_not_within_one(text: str, address: str) -> None:
    masked = mask(text)
    assert masked.text == (text.replace(address, "[地址]") if address else text)


def test_an_address_has_a_name_before_its_road() -> None:
    assert masking.address_spans("，路12号") == []
    assert masking.address_spans("长安路12号") == [(0, 6)]


@pytest.mark.parametrize(
    ("place", "text", "shown"),
    [
        ("鼎汐牛排台北店", "鼎汐的服務好，鼎汐牛排好吃", "[店名]的服務好，[店名]好吃"),
        ("陸禾牛排台北店", "大陸禾苗的味道", "大陸禾苗的味道"),
        ("春天素食 台北店", "春天的菜單換了", "春天的菜單換了"),
        ("春天素食 台北店", "「春天」的菜單換了", "「[店名]」的菜單換了"),
        ("春天素食 台北店", "春天台北店的菜單", "[店名]的菜單"),
        ("好天氣冰店", "今天好天氣", "今天好天氣"),
    ],
)
def test_a_short_form_of_the_place_is_masked_unless_it_is_a_word_of_its_own(place: str, text: str, shown: str) -> None:
    assert mask(text, [place]).text == shown


def test_a_name_loses_the_words_for_its_kind_one_by_one() -> None:
    assert set(forms("鼎汐牛排館")) == {"鼎汐牛排館", "鼎汐"}
    assert set(forms("汐木和風創作料理")) == {"汐木和風創作料理", "汐木和風創作", "汐木和風", "汐木"}


def test_the_dictionary_knows_words_across_a_place() -> None:
    assert is_word("热情") and not is_word("怡君")
    assert is_word("佛心") and not is_word("佛心", above=1_000)
    assert frequency("怡君") < frequency("也很")
    assert crosses("店员超热情", 4)
    assert not crosses("店员怡君很好", 4)
    assert crosses("服务员彬彬有礼", 5), "an idiom is one word"
    assert not crosses("王品味道好", 2), "味道 begins where 品味 would end"
    assert not crosses("店", 0)
    assert not crosses("店", 1)
