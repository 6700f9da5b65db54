"""Scores against hand-computed answers, laws that hold for any answers, and the tool that people compare with."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder import __version__
from builder.gold.metrics import Answer, Answers, Match, Part, Score, micro, paper, systems
from builder.gold.metrics.scores import Metric, near_label, tally

TOOL = Path(__file__).parents[2] / "shared/tools/score_lenient.py"
WORDS = st.sampled_from(
    ["湯", "湯頭", "湯[頭]", "牛肉湯", "服務", "鹹", "不鹹", "不會鹹", "不會太鹹", "很 好", "好", ""]
)
POLARITIES = st.sampled_from(["POS", "NEG", "NEU"])
ANSWERS = st.dictionaries(
    st.sampled_from("abcd"), st.lists(st.tuples(WORDS, WORDS, POLARITIES), max_size=5), max_size=4
)
TERMS = st.text("湯頭服務", min_size=1, max_size=3)
# No two of one length: of two different opinions of equal length the shared tool compares the first with itself, and
# so takes 好 for 鹹.
OPINIONS = st.sampled_from(["好", "不鹹", "不會好", "不會太鹹", "一點都不鹹"])
ANY = st.dictionaries(st.sampled_from("abcd"), st.lists(st.tuples(TERMS, TERMS, POLARITIES), max_size=5), max_size=4)
PLAIN = st.dictionaries(
    st.sampled_from("abcd"), st.lists(st.tuples(TERMS, OPINIONS, POLARITIES), max_size=5), max_size=4
)

GOLD: Answers = {
    "1": [("湯頭", "鹹", "NEG"), ("服務", "好", "POS")],
    "2": [("牛肉麵", "不會太鹹", "POS")],
    "3": [],
    "4": [("環境", "乾淨", "POS")],
}
PREDICTED: Answers = {
    "1": [("湯頭", "鹹", "NEG"), ("服務", "好", "NEG"), ("湯頭", "鹹", "NEG")],
    "2": [("牛肉麵湯頭", "不會鹹", "POS"), ("麵", "鹹", "NEG")],
    "3": [("地點", "好", "POS")],
    "9": [("環境", "乾淨", "POS")],
}
"""Review 4 is not predicted, 9 is not gold, one triplet is told twice."""


def numbers(score: Score) -> tuple[int, int, int]:
    return score.right, score.predicted, score.gold


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    if not TOOL.is_file():
        pytest.skip(f"{TOOL} is not part of the repository")
    spec = importlib.util.spec_from_file_location("score_lenient", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---- by hand


@pytest.mark.parametrize(
    ("match", "part", "right", "predicted", "gold"),
    [
        ("exact", "triplet", 1, 5, 4),
        ("exact", "pair", 2, 5, 4),
        ("exact", "aspect", 2, 5, 4),
        ("exact", "opinion", 2, 5, 4),
        ("lenient", "triplet", 2, 5, 4),
        ("lenient", "pair", 3, 5, 4),
        ("lenient", "aspect", 3, 5, 4),
        ("lenient", "opinion", 3, 5, 4),
    ],
)
def test_micro_counts_of_hand_made_answers(match: Match, part: Part, right: int, predicted: int, gold: int) -> None:
    score = micro(GOLD, PREDICTED, match, part)
    assert numbers(score) == (right, predicted, gold)
    assert score.precision == pytest.approx(100 * right / predicted)
    assert score.recall == pytest.approx(100 * right / gold)
    assert score.f1 == pytest.approx(200 * right / (predicted + gold))


@pytest.mark.parametrize(
    ("gold", "predicted", "matches"),
    [
        (("湯頭", "鹹", "NEG"), ("牛肉麵湯頭", "鹹", "NEG"), True),
        (("牛肉麵[湯頭]", "鹹", "NEG"), ("牛肉麵湯頭", "鹹", "NEG"), True),
        (("CP 值", "高", "POS"), ("CP值", "高", "POS"), True),
        (("湯頭", "不會太鹹", "POS"), ("湯頭", "不會鹹", "POS"), True),
        (("湯頭", "不會鹹", "POS"), ("湯頭", "鹹不會", "POS"), False),
        (("湯頭", "鹹", "NEG"), ("湯頭", "鹹", "POS"), False),
        (("湯頭", "鹹", "NEG"), ("麵條", "鹹", "NEG"), False),
        (("湯頭", "鹹", "NEG"), ("湯頭", "淡", "NEG"), False),
        (("湯頭", "鹹", "NEG"), ("湯頭", "", "NEG"), False),
        (("湯頭", "鹹", "NEG"), ("", "鹹", "NEG"), False),
    ],
)
def test_lenient_takes_contained_aspects_and_opinions_that_are_subsequences(
    gold: Answer, predicted: Answer, matches: bool
) -> None:
    assert micro({"a": [gold]}, {"a": [predicted]}, "lenient").right == int(matches)
    assert micro({"a": [predicted]}, {"a": [gold]}, "lenient").right == int(matches)


def test_each_gold_triplet_is_matched_once_and_in_gold_order() -> None:
    gold = {"a": [("湯", "鹹", "NEG"), ("湯頭", "鹹", "NEG")]}
    said = {"a": [("湯頭", "鹹", "NEG"), ("牛肉湯頭", "鹹", "NEG"), ("湯", "很鹹", "NEG")]}
    assert numbers(micro(gold, said, "lenient")) == (2, 3, 2)


def test_a_duplicate_inside_a_review_counts_once_on_both_sides() -> None:
    twice = {"a": [("湯", "鹹", "NEG")] * 2}
    assert numbers(micro(twice, twice)) == (1, 1, 1)
    assert paper(twice, twice).f1 == 100


def test_no_answers_on_both_sides_is_all_right_in_micro_and_one_empty_side_is_all_wrong() -> None:
    empty: Answers = {"a": []}
    some: Answers = {"a": [("湯", "鹹", "NEG")]}
    assert (micro(empty, empty).precision, micro(empty, empty).recall, micro(empty, empty).f1) == (100, 100, 100)
    assert (micro(some, empty).precision, micro(some, empty).recall, micro(some, empty).f1) == (0, 0, 0)
    assert (micro(empty, some).precision, micro(empty, some).recall, micro(empty, some).f1) == (0, 0, 0)


def test_the_paper_metric_is_the_mean_over_reviews_and_counts_empty_against_empty_as_nothing() -> None:
    """1: P 1/2, R 1/2; 2: nothing right; 3: gold is empty; 4: nothing told. The 9th is no review of gold."""
    score = paper(GOLD, PREDICTED)
    assert (score.precision, score.recall, score.f1) == pytest.approx((12.5, 12.5, 12.5))
    assert numbers(score) == (-1, -1, -1)
    uneven = paper(
        {"a": [("湯", "鹹", "NEG")], "b": []},
        {"a": [("湯", "鹹", "NEG"), ("麵", "Q", "POS"), ("店", "小", "NEG")], "b": []},
    )
    assert (uneven.precision, uneven.recall, uneven.f1) == pytest.approx((100 / 6, 50, 25))


def test_polarity_accuracy_is_the_share_of_matched_pairs_with_the_right_polarity() -> None:
    metric, settings = Metric("lenient", "polarity"), systems.Settings(samples=0)
    pairs = ((GOLD, PREDICTED), (GOLD, GOLD), ({}, {}), (GOLD, {}))  # nothing is wrong where nothing is matched
    found = [systems.measure(gold, answers, [metric], settings)[0].values["accuracy"].value for gold, answers in pairs]
    assert found == pytest.approx([100 * 2 / 3, 100, 100, 100])


def test_the_signature_says_what_was_counted_and_by_which_version() -> None:
    assert (
        micro(GOLD, GOLD, "lenient", "pair").signature
        == f"micro-pair|match:lenient|duplicates:once|null:excluded|version:{__version__}"
    )
    assert paper(GOLD, GOLD).signature.startswith("paper-example|match:exact|")


# ---- laws


@given(ANSWERS, ANSWERS, st.sampled_from(get_args(Part)))
def test_exact_micro_does_not_depend_on_order_and_swaps_precision_with_recall(
    one: Answers, other: Answers, part: Part
) -> None:
    both = {key: (one.get(key, []), other.get(key, [])) for key in "abcd"}
    gold, predicted = {key: pair[0] for key, pair in both.items()}, {key: pair[1] for key, pair in both.items()}
    score, swapped = micro(gold, predicted, "exact", part), micro(predicted, gold, "exact", part)
    assert (score.precision, score.recall, score.f1) == pytest.approx((swapped.recall, swapped.precision, swapped.f1))
    reversed_ = {key: answers[::-1] for key, answers in list(predicted.items())[::-1]}
    assert micro(gold, reversed_, "exact", part) == score


@given(PLAIN, PLAIN, st.sampled_from(get_args(Part)))
def test_counts_stay_in_their_bounds_and_lenient_finds_something_where_exact_does(
    gold: Answers, predicted: Answers, part: Part
) -> None:
    for match in get_args(Match):
        score = micro(gold, predicted, match, part)
        assert 0 <= score.right <= min(score.predicted, score.gold)
        assert 0 <= score.f1 <= 100
        assert (score.right > 0) == (score.f1 > 0) or score.predicted == score.gold == 0
    exact, lenient = micro(gold, predicted, "exact", part).right, micro(gold, predicted, "lenient", part).right
    assert (exact == 0) or lenient > 0


@given(ANSWERS, ANSWERS)
def test_the_paper_metric_is_at_most_100_and_never_above_its_own_parts(gold: Answers, predicted: Answers) -> None:
    score = paper(gold, predicted)
    assert 0 <= score.f1 <= max(score.precision, score.recall) + 1e-9 <= 100 + 1e-9


@given(ANY, ANY, st.sampled_from(("exact", "lenient")))
def test_the_triplet_score_agrees_with_the_shared_tool(
    tool: ModuleType, gold: Answers, predicted: Answers, match: Match
) -> None:
    theirs = tool.score({key: ("", list(answers)) for key, answers in gold.items()}, dict(predicted), match)
    ours = micro(gold, predicted, match)
    right, shares = ours.right, [ours.precision, ours.recall, ours.f1]
    assert [theirs[name] for name in ("tp", "fp", "fn")] == [right, ours.predicted - right, ours.gold - right]
    assert not right or [theirs[name] for name in ("P", "R", "F1")] == pytest.approx(shares, abs=0.051)


METRICS = [Metric("exact", "triplet"), Metric("lenient", "polarity"), Metric("paper", "triplet")]


@given(ANSWERS, ANSWERS)
def test_estimates_without_samples_are_the_scores(gold: Answers, predicted: Answers) -> None:
    tallies = [tally(gold, predicted, metric) for metric in METRICS]
    exact, _, example = systems.estimates(tallies, METRICS, 0, 1)
    scored, meant = micro(gold, predicted), paper(gold, predicted)
    assert [made.value for made in exact.values()] == pytest.approx([scored.precision, scored.recall, scored.f1])
    expected = [meant.accuracy, meant.precision, meant.recall, meant.f1]
    assert [made.value for made in example.values()] == pytest.approx(expected)
    assert {made.low for made in exact.values()} == {None}


@pytest.mark.parametrize(
    ("predicted", "label"),
    [
        (("湯頭", "很鹹", "NEG"), "YY"),
        (("湯", "鹹", "NEG"), "YY"),
        (("湯頭", "鹹", "POS"), "YN"),
        (("湯頭", "貴", "NEG"), "NX"),
        (("麵", "鹹", "NEG"), "NX"),
    ],
)
def test_a_triplet_is_judged_by_the_gold_that_is_near_it(predicted: Answer, label: str) -> None:
    gold = [("湯頭", "很鹹", "NEG"), ("環境", "乾淨", "POS")]
    assert near_label(gold, predicted) == label
    assert near_label([], predicted) == "NX"
