"""What no release may hold: each gate at its very edge, on rows alone."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import pytest
from test_export import review, triplet

from builder.release.gates import leaks, row_faults, schema_fault, unmasked

TEXT = "湯頭鮮甜，麵條軟爛"


def row(**changed: Any) -> Any:
    soup = triplet(TEXT, (0, 2), ((2, 4),), (2, 4))
    noodle = triplet(TEXT, (5, 7), ((7, 9),), (7, 9), "NEG")
    return copy.deepcopy(dict(review("a", TEXT, soup, noodle))) | changed


def with_triplet(**changed: Any) -> Any:
    made = row()
    made["triplets"][1].update(changed)
    return made


def without(made: Any, *names: str) -> Any:
    """A row of the second layout: it had fewer keys."""
    for triplet_row in made["triplets"]:
        for name in ("aspect_category", "opinion_category", "confidence", "verdict"):
            del triplet_row[name]
    for name in ("source", *names):
        made.pop(name)
    return made


def spans(*bounds: list[Any]) -> dict[str, Any]:
    return {"text": "麵條", "spans": list(bounds)}


@pytest.mark.parametrize("name", ["valence", "confidence"])
def test_numbers_of_a_triplet_lie_within_their_bounds_and_on_them(name: str) -> None:
    low, high = {"valence": (1, 10), "confidence": (0, 1)}[name]
    for sound in (low, high, (low + high) / 2, float(high)):
        assert schema_fault(with_triplet(**{name: sound})) is None
    for wrong in (low - 0.01, high + 0.01, -1, high + 1):
        assert schema_fault(with_triplet(**{name: wrong})) == f"{name} {wrong} is not from {low} to {high}"
    for strange in (True, float("nan"), float("inf"), 10**400, "5"):
        assert str(schema_fault(with_triplet(**{name: strange}))).startswith(f"triplet has {name} = ")


@pytest.mark.parametrize("verdict", ["YY", "YN", "NX", None])
def test_a_verdict_is_one_of_the_three_or_none(verdict: str | None) -> None:
    assert schema_fault(with_triplet(verdict=verdict)) is None
    assert schema_fault(with_triplet(verdict=f"{verdict}.")) == f"unknown verdict '{verdict}.'"


@pytest.mark.parametrize(
    "bounds", [[-1, 2], [0], [0, 1, 2], [0, True], [0, 1 << 31], [0.0, 2], ["0", "2"], "02", None, {}]
)
def test_a_span_is_two_offsets_that_formats_can_hold(bounds: Any) -> None:
    wrong = schema_fault(with_triplet(opinion=spans([0, 2], bounds)))
    assert str(wrong).startswith("opinion has spans [[0, 2], ")


def test_the_largest_offset_is_one() -> None:
    assert schema_fault(with_triplet(opinion=spans([0, (1 << 31) - 1]))) is None
    assert schema_fault(with_triplet(owner=None)) is None
    assert str(schema_fault(with_triplet(owner=spans([-1, 2])))).startswith("owner has spans")


def test_sources_and_rules_are_names_and_keys_are_those_of_the_layout() -> None:
    for name in ("sources", "rules"):
        assert schema_fault(with_triplet(**{name: ["x", 1]})) == "sources and rules are names"
    assert schema_fault(row(more=1)) == (
        "the keys of a row are id, text, language, rating, source, annotation, triplets; not more"
    ), schema_fault(row(more=1))
    assert schema_fault([]) == "a row is an object"
    assert schema_fault(row(triplets=["x"], unverified_negative=False)) == "a triplet is an object"
    assert str(schema_fault(row(text="\ud800"))).startswith("row has text = ")


def test_a_silver_row_without_triplets_says_that_nobody_verified_it_and_no_other_row_does() -> None:
    empty: dict[str, Any] = {"triplets": [], "unverified_negative": True}
    said = "unverified_negative is {}, but the review is {} with {} triplets"
    assert schema_fault(row(**empty)) is None
    assert schema_fault(row(unverified_negative=True)) == said.format(True, "silver", 2)
    assert schema_fault(row(**empty | {"unverified_negative": False})) == said.format(False, "silver", 0)
    assert schema_fault(row(**empty, annotation="gold")) == said.format(True, "gold", 0)
    assert schema_fault(row(annotation="gold", triplets=[])) is None


def test_rows_of_the_second_layout_have_its_keys_and_no_others() -> None:
    old = without(row(), "unverified_negative")
    assert schema_fault(copy.deepcopy(old), 2) is None
    assert str(schema_fault(old, 3)).startswith("the keys of a row are")
    assert str(schema_fault(row(), 2)).startswith("the keys of a row are")
    assert str(schema_fault(old | {"unverified_negative": False}, 2)).startswith("the keys of a row are")
    old["triplets"][0]["confidence"] = 2
    assert str(schema_fault(old, 2)).startswith("the keys of a triplet are")


def test_a_sound_row_is_counted_and_has_no_fault() -> None:
    counted: Counter[str] = Counter()
    assert list(row_faults(row(), counted)) == []
    assert list(row_faults(row(annotation="gold", triplets=[]), counted)) == []
    assert list(row_faults(row(triplets=[], unverified_negative=True), counted)) == []
    assert {name: number for name, number in counted.items() if number} == {
        "reviews": 3, "gold": 1, "triplets": 2, "POS": 1, "NEG": 1, "unverified negatives": 1,
        "silver layer": 2, "gold layer": 1, "silver triplets": 2,
    }  # fmt: skip


def test_spans_of_an_element_stand_in_their_order_and_may_touch() -> None:
    touching = with_triplet(opinion={"text": "軟爛", "spans": [[7, 8], [8, 9]]})
    assert list(row_faults(touching, Counter())) == []
    turned = with_triplet(opinion={"text": "爛軟", "spans": [[8, 9], [7, 8]]})
    assert "opinion has spans [[8, 9], [7, 8]] out of order" in list(row_faults(turned, Counter()))
    twice = with_triplet(aspect={"text": "麵條條", "spans": [[5, 7], [6, 7]]})
    assert "aspect has spans [[5, 7], [6, 7]] out of order" in list(row_faults(twice, Counter()))


def test_a_pair_stands_once_and_has_a_single_polarity() -> None:
    same, other = with_triplet(), with_triplet()
    same["triplets"].append(same["triplets"][0])
    other["triplets"].append(other["triplets"][0] | {"polarity": "NEU"})
    assert list(row_faults(same, Counter())) == ["湯頭 鮮甜 stands twice"]
    assert list(row_faults(other, Counter())) == ["湯頭 鮮甜 is both POS and NEU"]


def test_people_may_label_what_the_rules_may_not() -> None:
    opinion = {"text": "條軟爛", "spans": [[6, 9]]}
    assert "aspect 麵條 overlaps its opinion 條軟爛" in list(row_faults(with_triplet(opinion=opinion), Counter()))
    marked = with_triplet(aspect_full={"text": "，麵條", "spans": [[4, 7]]})
    assert list(row_faults(marked, Counter())) == ["aspect_full '，麵條' begins or ends with a mark"]
    for made in (marked, with_triplet(opinion=opinion)):
        assert list(row_faults(made | {"annotation": "gold"}, Counter())) == []


def test_what_a_release_says_it_masks_must_not_be_shown() -> None:
    shown = "訂位打0912345678，或寫信到foo@example.com"
    assert unmasked(shown) == ["email", "phone"]
    assert unmasked(shown, ("[電話]",)) == ["phone"]
    assert unmasked(shown, ()) == []
    assert unmasked("湯頭鮮甜") == []


def test_near_duplicates_in_different_splits_are_named_by_split_and_row() -> None:
    near = "這家的牛肉麵湯頭濃郁麵條彈牙牛肉給得很大方{}下次還會再來吃"
    far = ["甜點普通飲料太甜不會想再點第二次", "停車場很大但是下雨天容易積水要小心走路"]
    texts = [far[0], near.format("！"), far[1], near.format("呢")]
    assert leaks({"train": 2, "valid": 0, "test": 2}, texts) == [("train", 1, "test", 1)]
    assert leaks({"valid": 1, "train": 1, "test": 2}, texts) == [("train", 0, "test", 1)]
    assert leaks({"train": 4}, texts) == []
    assert leaks({"train": 2, "train-synonym": 2}, texts) == [], "a layer belongs to its split"
    assert leaks({"test": 2, "train-synonym": 2}, texts) == [("test", 1, "train-synonym", 1)]
