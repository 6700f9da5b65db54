"""What rules and a reader hold together, and what a judge says, at their edges: on made proposals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from test_model import triplet

from builder.core.config import resolve
from builder.core.edges import clashes
from builder.core.errors import ConfigError
from builder.core.records import POLARITIES, StoredTriplet, Triplet
from builder.engine import Doc
from builder.models.combiner import fresh, held, merged, widened
from builder.models.shipped import label_shares, seen
from builder.models.trust import TrustLimits
from builder.pipeline import judging
from builder.store.triplets import JudgedTriplet

LIMIT, WIDEN = 0.6, 0.5
LIMITS = TrustLimits(LIMIT, LIMIT / 2, ("subject",))
TEXT = "湯頭很香，麵條難吃"
SOUP = triplet(TEXT, (0, 2), [(2, 4)], "POS")
NOODLE = triplet(TEXT, (5, 7), [(7, 9)], "NEG")
WRONG = triplet(TEXT, (0, 2), [(7, 9)], "NEG")
DISH = "三色豆花很綿密，三色豆花便宜"
SHORT, LONG = (triplet(DISH, (start, 4), [(5, 7)], "POS") for start in (2, 0))


def sure(one: Triplet, chance: float, polarity: Any = None) -> tuple[float, Triplet]:
    """A proposal that gives all its chance to one polarity."""
    return chance, replace(one, polarity=polarity or one.polarity, confidence=chance)


def test_a_triplet_has_the_chances_of_the_likeliest_proposal_for_its_place() -> None:
    likely = (0.8, replace(SOUP, confidence=0.6))
    shares = seen([SOUP, replace(SOUP, polarity="NEG"), NOODLE], [sure(SOUP, 0.3, "NEG"), likely])
    assert shares.tolist() == [
        pytest.approx([0.6, 0.2, 0.2]),
        pytest.approx([0.1, 0.7, 0.2]),
        pytest.approx([0.0, 0.0, 1.0]),
    ]


def test_a_proposal_of_no_chance_or_no_confidence_is_no_division_by_nothing() -> None:
    assert seen([SOUP], [sure(SOUP, 0.0)]).tolist() == [[0.0, 0.0, 1.0]]
    assert seen([SOUP], [(0.5, SOUP)]).tolist() == [[0.0, 0.5, 0.5]], "all its mass lies on other polarities"
    rounded = (0.5, replace(SOUP, confidence=0.51))
    assert seen([SOUP], [rounded]).tolist() == [[0.5, 0.0, 0.5]], "rounding makes no chance below nothing"
    assert seen([], [sure(SOUP, 0.5)]).shape == (0, 3)


def test_a_judge_rejects_below_its_cut_and_believes_from_even_odds_on() -> None:
    shares = np.array(
        [[0.2, 0.8, 0], [0.19, 0.5, 0.31], [0.19, 0.31, 0.5], [0.1, 0.45, 0.45], [0.5, 0.5, 0], [0.49994, 0, 0.5]]
    )
    assert label_shares(shares, 0.2) == (
        *((None, 0.2), ("YN", 0.19), ("NX", 0.19)),
        *(("NX", 0.1), ("YY", 0.5), (None, 0.4999)),
    )


def test_a_proposal_comes_in_from_the_limit_on_and_clashes_with_none() -> None:
    better = replace(NOODLE, polarity="POS", confidence=0.9)
    assert fresh([], [sure(NOODLE, LIMIT)], LIMITS) == [replace(NOODLE, confidence=LIMIT)]
    assert fresh([], [sure(NOODLE, LIMIT - 1e-9)], LIMITS) == []
    assert fresh([NOODLE], [sure(NOODLE, 0.9, "POS"), sure(SOUP, 0.9)], LIMITS) == [replace(SOUP, confidence=0.9)]
    assert fresh([], [sure(NOODLE, 0.8), sure(NOODLE, 0.9, "POS")], LIMITS) == [better]


def test_an_aspect_grows_to_either_side_from_even_odds_on() -> None:
    text = "手工豆花冰很好"
    small = triplet(text, (2, 4), [(5, 7)], "POS")
    for start, end in ((0, 4), (2, 5), (0, 5)):
        wide = triplet(text, (start, end), [(5, 7)], "POS")
        assert [one.aspect.text for one in widened([small], [(WIDEN, wide)])] == [text[start:end]]
        assert widened([small], [(WIDEN - 1e-9, wide)]) == [small]
    for start, end in ((3, 5), (0, 3)):
        assert widened([small], [(0.9, triplet(text, (start, end), [(5, 7)], "POS"))]) == [small]


def test_an_aspect_does_not_grow_over_that_of_another_triplet_with_its_opinion() -> None:
    text = "魚丸和蝦餃味道好，醬油"
    fish, shrimp = (triplet(text, span, [(7, 8)], "POS") for span in ((0, 2), (3, 5)))
    both, longer = (triplet(text, span, [(7, 8)], "POS") for span in ((0, 7), (3, 7)))
    assert widened([fish, shrimp], [(0.9, both)]) == [fish, shrimp]
    assert [one.aspect.text for one in widened([fish, shrimp], [(0.9, longer)])] == ["魚丸", "蝦餃味道"]
    assert [one.aspect.text for one in widened([fish], [(0.9, both)])] == ["魚丸和蝦餃味道"]
    taste = triplet(text, (5, 7), [(7, 8)], "POS")
    assert [one.aspect.text for one in widened([shrimp, taste], [(0.9, longer)])] == ["蝦餃", "味道"]


def test_an_aspect_that_grows_has_no_owner_and_one_that_does_not_keeps_it() -> None:
    owned = replace(SHORT, owner=SHORT.aspect)
    assert widened([owned], [(0.9, LONG)])[0].owner is None
    assert widened([owned], [(0.9, SHORT)]) == [owned]
    assert widened([owned], [(0.6, LONG), (0.7, SHORT)]) == [owned], "the likeliest decides"
    assert widened([LONG], [(0.6, SHORT)]) == [LONG]
    assert widened([SHORT], [(0.6, triplet(DISH, (8, 12), [(12, 14)], "POS"))]) == [SHORT], "another dish"


def test_what_both_hold_comes_in_text_order_and_needs_a_decision_on_each_rule_triplet() -> None:
    assert merged([NOODLE, SOUP], [True, True], [], LIMITS) == (SOUP, NOODLE)
    assert merged([NOODLE, SOUP], [True, False], [], LIMITS) == (NOODLE,)
    with pytest.raises(ValueError, match="shorter"):
        merged([SOUP, NOODLE], [True], [], LIMITS)


class Weigher:
    """An engine that finds the noodles' polarity to be good, nothing of the soup, and lets no bitter soup pass."""

    def excepts(self, one: Triplet) -> bool:
        return (one.aspect.text, one.polarity) == ("湯頭", "NEG")

    def weigh(self, doc: Any, proposed: list[Triplet]) -> list[Triplet | None]:
        return [replace(one, polarity="POS") if one.aspect == NOODLE.aspect else None for one in proposed]


def test_a_proposal_is_taken_as_the_engine_weighs_it_or_as_it_is_but_with_no_polarity_of_its_own() -> None:
    weigher: Any = Weigher()
    doc, good = Doc(TEXT, (), ()), sure(NOODLE, LIMIT, "POS")
    soup, noodle = held(weigher, doc, [], [], [sure(SOUP, 1.0), good], LIMITS)
    assert (noodle.aspect, noodle.polarity, soup.key) == (NOODLE.aspect, "POS", SOUP.key)
    assert [one.key for one in held(weigher, doc, [], [], [sure(SOUP, 1.0), sure(NOODLE, 1.0)], LIMITS)] == [SOUP.key]
    assert held(weigher, doc, [], [], [sure(SOUP, 1.0, "NEG")], LIMITS) == ()


def test_triplets_clash_where_both_their_elements_overlap() -> None:
    crossed = triplet(TEXT, (0, 2), [(7, 9)], "NEG")
    assert clashes(SOUP, replace(SOUP, polarity="NEG"))
    assert not clashes(SOUP, crossed) and not clashes(NOODLE, crossed) and not clashes(SOUP, NOODLE)


def test_an_improbable_rule_triplet_goes_and_a_sure_proposal_comes() -> None:
    out = merged([SOUP, WRONG], [True, False], [(0.9, SOUP), (LIMIT, NOODLE), (0.05, WRONG)], LIMITS)
    assert [t.key for t in out] == [SOUP.key, NOODLE.key]


def test_a_triplet_goes_below_its_own_limit_but_for_a_neutral_one() -> None:
    for polarity in POLARITIES:
        assert LIMITS.place(LIMITS.dropped, "subject", polarity) == "shared"
        assert LIMITS.place(LIMITS.dropped - 1e-9, "subject", polarity) == (
            "spared" if polarity == "NEU" else "rejected"
        )
    before = TrustLimits.read({"limit": 0.4, "judged": []})
    assert before.dropped == 0.4, "of a working directory that holds no second limit"
    assert LIMITS.place(0.0, "absent-object", "NEG") == "spared", "a rule that it may not judge"
    unasked = JudgedTriplet(StoredTriplet(1, 1, SOUP), None, "NX", None, "subject")
    assert judging.place(LIMITS, unasked) == "rejected"


def test_an_aspect_that_the_reader_takes_longer_is_longer_and_keeps_the_rest() -> None:
    (out,) = merged([SHORT], [True], [(0.6, replace(LONG, polarity="NEG", valence=2.0))], LIMITS)
    assert (out.aspect.text, out.opinion.text, out.polarity, out.valence) == ("三色豆花", "綿密", "POS", SHORT.valence)


def test_an_aspect_grows_over_no_opinion() -> None:
    over = triplet(DISH, (0, 6), [(5, 7)], "POS")
    assert merged([SHORT], [True], [(0.9, over)], LIMITS) == (SHORT,)


def test_the_profile_paper_has_no_variant_e() -> None:
    with pytest.raises(ConfigError, match='those that the profile "paper" has'):
        resolve(options={"profile": "paper", "paper.base": "x", "self_train.variants": ("E",)})


def test_variant_e_needs_the_shipped_model() -> None:
    with pytest.raises(ConfigError, match="which variant E starts from"):
        resolve(options={"self_train.variants": ("E",), "discriminate.mode": "paper"})
