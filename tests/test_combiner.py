"""Rules and reader weighed together: each number, the chances made of them, and what a file keeps."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from test_model import triplet

from builder.core.records import Triplet
from builder.models.combiner import FLOOR, NAMES, Combiner, describe, describe_all, likely
from builder.models.text_reading import PairOdds, Proposal, TextReading, place_of

TEXT = "湯頭很香，麵條難吃"
SOUP = triplet(TEXT, (0, 2), [(2, 4)], "POS")
NOODLE = triplet(TEXT, (5, 7), [(7, 9)], "NEG")
SOUP_BAD = triplet(TEXT, (0, 2), [(7, 9)], "NEG")
NOODLE_GOOD = triplet(TEXT, (5, 7), [(2, 4)], "POS")
HERE = PairOdds(3.0, 2.0, 1.0, (math.log(0.7), math.log(0.2), math.log(0.1)))


def sure(one: Triplet, chance: float, share: float = 1.0) -> Proposal:
    """A proposal that gives a share of its chance to its polarity."""
    return chance, replace(one, confidence=chance * share, source="tagger")


def said(*proposals: Proposal) -> TextReading:
    return TextReading(list(proposals), {})


def odds(chance: float) -> Any:
    return pytest.approx(math.log(chance / (1 - chance)))


def weigh(**weights: float) -> Combiner:
    """Weights, 0 where none is named."""
    named = {key.replace("_", " "): value for key, value in weights.items()}
    return Combiner(tuple(named.get(name, 0.0) for name in NAMES), named.get("offset", 0.0))


def test_a_triplet_is_described_by_rules_and_reader() -> None:
    reading = said(sure(SOUP, 0.8, 0.75), sure(SOUP_BAD, 0.3), sure(NOODLE_GOOD, 0.4))
    told = dict(zip(NAMES, describe(SOUP, "POS", reading, ruled=True), strict=True))
    assert [told[name] for name in ("ruled", "POS", "NEG", "NEU", "exact")] == [1.0, 1.0, 0.0, 0.0, 1.0]
    assert told["pair"] == odds(0.8) and told["polarity"] == pytest.approx(0.75)
    assert told["other aspect"] == odds(0.4), "the noodles are good, too"
    assert told["other opinion"] == odds(0.3), "the soup is bad, too"
    turned = dict(zip(NAMES, describe(SOUP, "NEG", reading, ruled=False), strict=True))
    assert turned["polarity"] == pytest.approx(0.125), "what is left is shared by the other two"
    assert turned["ruled"] == 0
    silent = dict(zip(NAMES, describe(SOUP, "POS", said(), ruled=True), strict=True))
    assert silent["pair"] == odds(FLOOR) and silent["polarity"] == 0.5, "the reader says nothing"


def test_what_the_reader_says_of_just_these_places_counts() -> None:
    reading = TextReading([], {place_of(SOUP): HERE})
    told = dict(zip(NAMES, describe(SOUP, "NEG", reading, ruled=True), strict=True))
    assert [told[f"{name} here"] for name in ("aspect", "opinion", "pair")] == [3.0, 2.0, 1.0]
    assert told["polarity here"] == math.log(0.2)
    assert (told["marked"], told["marked polarity"]) == (0.0, 0.5), "a reader without markers says nothing of them"
    unread = dict(zip(NAMES, describe(NOODLE, "NEG", reading, ruled=True), strict=True))
    assert max(unread["aspect here"], unread["opinion here"], unread["pair here"]) < -5


def test_what_markers_say_of_just_these_places_counts() -> None:
    marked = tuple(map(math.log, (0.2, 0.6, 0.15, 0.05)))
    reading = TextReading([], {place_of(SOUP): replace(HERE, marked=marked)})
    good, bad = (
        dict(zip(NAMES, describe(SOUP, polarity, reading, ruled=True), strict=True)) for polarity in ("POS", "NEG")
    )
    assert good["marked"] == bad["marked"] == odds(0.8), "four of five that it is a triplet"
    assert good["marked polarity"] == pytest.approx(0.75) and bad["marked polarity"] == pytest.approx(0.1875)
    edges = replace(HERE, marked=tuple(map(math.log, (0.1, 0.45, 0.12, 0.03, 0.3))))
    numbers = describe(SOUP, "POS", TextReading([], {place_of(SOUP): edges}), ruled=True)
    assert numbers[-2:] == [odds(0.6), pytest.approx(0.75)], "one with other edges is none"
    sure = replace(HERE, marked=(0.0, -60.0, -60.0, -60.0, -60.0))
    assert describe(SOUP, "POS", TextReading([], {place_of(SOUP): sure}), ruled=True)[-2] == odds(0.001)


def test_chances_rise_with_the_weight_of_what_is_said() -> None:
    combiner = weigh(offset=-1.0, pair=1.0)
    low, high = (combiner.read_review([SOUP], said(sure(SOUP, chance)))[0][0, 0] for chance in (0.3, 0.7))
    assert 0 < low < high < 1
    assert high == pytest.approx(1 / (1 + math.exp(1 - math.log(0.7 / 0.3))))


def test_what_the_rules_have_is_likelier_by_its_weight() -> None:
    combiner = weigh(offset=-1.0, ruled=2.0, polarity=2.0)
    shares, proposals = combiner.read_review([SOUP], said(sure(SOUP, 0.9, 0.1), sure(NOODLE, 0.2)))
    assert shares.sum() == pytest.approx(1.0) and (shares >= 0).all()
    assert shares[0, 0] == pytest.approx(1 / (1 + math.exp(-1.2))), "a tenth of the pair is for its polarity"
    assert shares[0, 1] == pytest.approx(1 - shares[0, 0]), "no more than is left goes to the other polarities"
    chances = [1 / (1 + math.exp(0.8)), 1 / (1 + math.exp(-1.0))]
    assert [chance for chance, _ in proposals] == pytest.approx(chances), "without the weight of the rules"
    assert [one.confidence for _, one in proposals] == [round(chance, 4) for chance in chances]
    assert combiner.read_review([], said())[1] == []


def test_a_rule_triplet_has_the_edges_of_a_proposal_that_are_likelier_by_far() -> None:
    text = "牛肉湯頭很香"
    short, long = triplet(text, (2, 4), [(5, 6)], "POS"), triplet(text, (0, 4), [(5, 6)], "POS")
    for weight, other in ((3.0, True), (0.5, False)):
        shares, (shape, *proposals) = weigh(exact=weight).read_review([short], said(sure(long, 0.9)))
        assert shares[0, 0] == pytest.approx(1 / (1 + math.exp(-weight if other else 0.0)))
        if other:
            assert shape == (shares[0, 0], replace(long, confidence=round(shares[0, 0], 4)))
            assert [one.source for _, one in proposals] == ["tagger"], "beside what the reader says"
        else:
            assert shape[1].source == "tagger" and not proposals
    assert describe_all([short], said(sure(long, 0.9)))[0][0] == short, "labels judge the rules' own edges"


def test_a_rule_triplet_takes_no_place_of_another_nor_edges_that_overlap() -> None:
    text = "魚丸和蝦餃味道好"
    fish, shrimp = (triplet(text, span, [(7, 8)], "POS") for span in ((0, 2), (3, 5)))
    both, longer = (triplet(text, span, [(7, 8)], "POS") for span in ((0, 7), (3, 7)))
    over = triplet(text, (3, 8), [(7, 8)], "POS")
    combiner = weigh(exact=3.0)

    def shapes(*rules: Triplet, proposed: Triplet) -> list[Triplet]:
        return [one for _, one in combiner.read_review(rules, said(sure(proposed, 0.9)))[1] if one.source == "rules"]

    assert [one.key for one in shapes(fish, proposed=both)] == [both.key]
    assert shapes(fish, shrimp, proposed=both) == [], "the place of the other"
    assert [one.key for one in shapes(fish, shrimp, proposed=longer)] == [longer.key]
    assert shapes(shrimp, proposed=over) == [], "an aspect over its opinion"
    assert shapes(fish, proposed=replace(both, polarity="NEG")) == [], "words that may say the opposite"


def test_what_is_improbable_is_not_weighed() -> None:
    assert likely([sure(SOUP, 0.045)]) == []
    assert [one.key for one in likely([sure(SOUP, 0.055)])] == [SOUP.key]


def test_a_combiner_comes_back_from_what_a_file_keeps() -> None:
    combiner = weigh(offset=1.0, ruled=0.5, polarity=2.0, pair_here=0.25)
    assert Combiner.read(combiner.kept) == combiner
    before = {name: weight for name, weight in combiner.kept.items() if not name.startswith("marked")}
    assert Combiner.read(before).kept == before, "a file of a reader without markers"
    with pytest.raises(KeyError):
        Combiner.read({"offset": 1.0, "POS": 1.0})
