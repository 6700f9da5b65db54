"""What rules and a reader hold together, and what a judge says, at their edges: on made proposals."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from test_model import triplet

from builder.core.config import resolve
from builder.core.edges import clashes
from builder.core.errors import ConfigError
from builder.core.records import POLARITIES, StoredTriplet, Triplet
from builder.engine import Doc
from builder.models.combiner import fresh, held, merged, origin_of, reshaped
from builder.models.shipped import label_shares, seen
from builder.models.trust import Placed, TrustLimits
from builder.pipeline import judging
from builder.store.triplets import JudgedTriplet

LIMIT = 0.6
LIMITS = TrustLimits(LIMIT, LIMIT / 2, ("subject",))
SHARED: Placed = "shared", 1.0
SPARED: Placed = "spared", 0.0
REJECTED: Placed = "rejected", 0.0
TEXT = "湯頭很香，麵條難吃"
SOUP = triplet(TEXT, (0, 2), [(2, 4)], "POS")
NOODLE = triplet(TEXT, (5, 7), [(7, 9)], "NEG")
WRONG = replace(triplet(TEXT, (0, 2), [(7, 9)], "NEG"), rules=("subject",))
DISH = "三色豆花很綿密，三色豆花便宜"
SHORT, LONG = (triplet(DISH, (start, 4), [(5, 7)], "POS") for start in (2, 0))


def sure(one: Triplet, chance: float, polarity: Any = None) -> tuple[float, Triplet]:
    """A proposal that gives all its chance to one polarity."""
    return chance, replace(one, polarity=polarity or one.polarity, confidence=chance, source="tagger")


def shaped(one: Triplet, chance: float = 0.9) -> tuple[float, Triplet]:
    """A triplet of the rules with other edges."""
    return chance, replace(one, confidence=chance, source="rules")


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
    better = replace(NOODLE, polarity="POS", confidence=0.9, source="tagger")
    assert fresh([], [sure(NOODLE, LIMIT)], LIMITS) == [replace(NOODLE, confidence=LIMIT, source="tagger")]
    assert fresh([], [sure(NOODLE, LIMIT - 1e-9)], LIMITS) == []
    assert fresh([NOODLE], [sure(NOODLE, 0.9, "POS"), sure(SOUP, 0.9)], LIMITS) == [sure(SOUP, 0.9)[1]]
    assert fresh([], [sure(NOODLE, 0.8), sure(NOODLE, 0.9, "POS")], LIMITS) == [better]


def test_a_rule_triplet_takes_the_edges_that_are_likelier_and_keeps_the_rest() -> None:
    owned = replace(SHORT, owner=SHORT.aspect, valence=8.0)
    (taken,) = reshaped([owned], [shaped(LONG)])
    assert (taken.aspect, taken.owner, taken.valence) == (LONG.aspect, None, 8.0)
    assert reshaped([owned], [sure(LONG, 0.9)]) == [owned], "what the reader says is no shape"
    assert reshaped([owned], [shaped(replace(LONG, polarity="NEG"))]) == [owned]
    assert reshaped([owned], [shaped(triplet(DISH, (8, 12), [(12, 14)], "POS"))]) == [owned], "another dish"
    longer = triplet(DISH, (2, 4), [(4, 7)], "POS")
    (taken,) = reshaped([owned], [shaped(longer)])
    assert (taken.opinion, taken.owner) == (longer.opinion, SHORT.aspect), "the same aspect has the same owner"
    assert [one.key for one in reshaped([SHORT, LONG], [shaped(LONG)])] == [LONG.key], "what is said twice stands once"


def test_what_both_hold_comes_in_text_order_and_needs_a_decision_on_each_rule_triplet() -> None:
    assert merged([NOODLE, SOUP], [SHARED, SPARED], [], LIMITS) == (SOUP, NOODLE)
    assert merged([NOODLE, SOUP], [SHARED, REJECTED], [], LIMITS) == (NOODLE,)
    with pytest.raises(ValueError, match="shorter"):
        merged([SOUP, NOODLE], [SHARED], [], LIMITS)


def test_an_unsure_rule_triplet_goes_where_a_sure_proposal_says_the_same_of_another_aspect() -> None:
    unsure: Placed = "shared", LIMIT - 0.01
    likelier: Placed = "shared", LIMIT
    assert merged([WRONG], [unsure], [sure(NOODLE, LIMIT)], LIMITS) == (sure(NOODLE, LIMIT)[1],)
    assert merged([WRONG], [unsure], [sure(NOODLE, LIMIT - 0.01)], LIMITS) == (WRONG,)
    assert WRONG in merged([WRONG], [unsure], [sure(SOUP, 0.9)], LIMITS), "another opinion"
    assert WRONG in merged([WRONG], [likelier], [sure(NOODLE, 0.9)], LIMITS)
    for spared in (replace(WRONG, polarity="NEU"), replace(WRONG, rules=("of-no-judge",))):
        for placed in (SPARED, unsure):
            assert spared in merged([spared], [placed], [sure(NOODLE, 0.9)], LIMITS), "one that no judge may drop"


class Weigher:
    """An engine that finds the noodles' polarity to be good, nothing of the soup, and lets no bitter soup pass."""

    def excepts(self, one: Triplet) -> bool:
        return (one.aspect.text, one.polarity) == ("湯頭", "NEG")

    def value(self, one: Triplet) -> Triplet:
        return replace(one, valence=7.5)

    def weigh(self, doc: Any, proposed: list[Triplet]) -> list[Triplet | None]:
        return [replace(one, polarity="POS") if one.aspect == NOODLE.aspect else None for one in proposed]


def test_a_proposal_is_taken_as_the_engine_weighs_it_or_as_it_is_but_with_no_polarity_of_its_own() -> None:
    weigher: Any = Weigher()
    doc, good = Doc(TEXT, (), ()), sure(NOODLE, LIMIT, "POS")
    soup, noodle = held(weigher, doc, [], [], [sure(SOUP, 1.0), good], LIMITS)
    assert (noodle.aspect, noodle.polarity, soup.key) == (NOODLE.aspect, "POS", SOUP.key)
    assert soup.valence == 7.5, "by the lexicon where the rules read none"
    assert [one.key for one in held(weigher, doc, [], [], [sure(SOUP, 1.0), sure(NOODLE, 1.0)], LIMITS)] == [SOUP.key]
    assert held(weigher, doc, [], [], [sure(SOUP, 1.0, "NEG")], LIMITS) == ()


def test_triplets_clash_where_both_their_elements_overlap() -> None:
    crossed = triplet(TEXT, (0, 2), [(7, 9)], "NEG")
    assert clashes(SOUP, replace(SOUP, polarity="NEG"))
    assert not clashes(SOUP, crossed) and not clashes(NOODLE, crossed) and not clashes(SOUP, NOODLE)


def test_an_improbable_rule_triplet_goes_and_a_sure_proposal_comes() -> None:
    out = merged([SOUP, WRONG], [SHARED, REJECTED], [sure(SOUP, 0.9), sure(NOODLE, LIMIT), sure(WRONG, 0.05)], LIMITS)
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


def test_the_shape_of_a_rule_triplet_is_no_triplet_of_its_own_and_is_not_weighed_anew() -> None:
    weigher: Any = Weigher()
    doc = Doc(DISH, (), ())
    assert [one.key for one in held(weigher, doc, [SHORT], [SHARED], [shaped(LONG)], LIMITS)] == [LONG.key]
    assert held(weigher, doc, [SHORT], [REJECTED], [shaped(LONG)], LIMITS) == ()


def test_a_held_triplet_is_the_rules_own_perhaps_in_other_words_or_the_models() -> None:
    (taken,) = reshaped([SHORT], [shaped(LONG)])
    assert origin_of(taken, [NOODLE, SHORT]) == SHORT
    assert origin_of(SHORT, [LONG, SHORT]) == SHORT, "the same words go before other ones"
    assert origin_of(sure(SHORT, 0.9)[1], [SHORT]) is None


def test_what_a_model_says_of_one_mention_again_is_said_once() -> None:
    text = "地瓜葉超級好吃很嫩很嫩"
    soft, again = (triplet(text, (0, 3), [span], "POS") for span in ((8, 9), (10, 11)))
    assert fresh([soft], [sure(again, 0.9)], LIMITS) == []
    assert [one.key for one in fresh([], [sure(soft, 0.9), sure(again, 0.8)], LIMITS)] == [soft.key]
    twice = "味道不錯，味道不錯"
    first, second = (triplet(twice, (at, at + 2), [(at + 2, at + 4)], "POS") for at in (0, 5))
    assert len(fresh([first], [sure(second, 0.9)], LIMITS)) == 1, "another mention"


def test_no_aspect_of_a_model_begins_or_ends_with_a_particle() -> None:
    weigher: Any = Weigher()
    text = "送餐的很快，的"
    held_of = partial(held, weigher, Doc(text, (), ()), [], [], limits=LIMITS)
    (one,) = held_of([sure(triplet(text, (0, 3), [(4, 5)], "POS"), 0.9)])
    assert one.aspect.text == one.aspect_full.text == "送餐"
    (alone,) = held_of([sure(triplet(text, (6, 7), [(4, 5)], "POS"), 0.9)])
    assert alone.aspect.text == "的", "nothing else is left"


def test_the_profile_paper_has_no_variant_e() -> None:
    with pytest.raises(ConfigError, match='those that the profile "paper" has'):
        resolve(options={"profile": "paper", "paper.base": "x", "self_train.variants": ("E",)})


def test_variant_e_needs_the_shipped_model() -> None:
    with pytest.raises(ConfigError, match="which variant E starts from"):
        resolve(options={"self_train.variants": ("E",), "discriminate.mode": "paper"})
