"""The bench's numbers: scores, tests of significance, tables, and the measures of feature space."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest

from builder.augment.bench import grid, plots, shift
from builder.augment.bench.grid import Cell
from builder.core.errors import InputError


def cell(method: str, copies: int, seed: int, accuracy: float, model: str = "cnn", note: str = "") -> Cell:
    return Cell(method, copies, model, seed, 10, {"accuracy": accuracy, "macro_f1": accuracy - 10}, 1.0, "x", note)


def test_accuracy_and_macro_f1_are_scikit_learn_s() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    draw = random.Random(1)
    for _ in range(20):
        gold, told = ([draw.choice("ABC") for _ in range(15)] for _ in range(2))
        found = grid.classes(gold, told)
        assert found["accuracy"] == pytest.approx(100 * metrics.accuracy_score(gold, told))
        assert found["macro_f1"] == pytest.approx(100 * metrics.f1_score(gold, told, average="macro", zero_division=0))


def test_span_scores_count_exact_spans_once() -> None:
    found = grid.spans([((0, 2), (4, 6)), ()], [((0, 2), (0, 2), (4, 5)), ((1, 2),)])
    assert found == {"precision": pytest.approx(100 / 3), "recall": 50, "f1": pytest.approx(40)}
    assert grid.spans([()], [()])["f1"] == 100
    assert grid.spans([((0, 1),)], [()]) == {"precision": 0, "recall": 0, "f1": 0}


def test_a_model_that_answers_with_one_class_is_remarked() -> None:
    assert grid.collapsed(["A", "B"], ["A", "A"]) == "answers 'A' only"
    assert grid.collapsed(["A", "A"], ["A", "A"]) == grid.collapsed(["A", "B"], ["B", "A"]) == ""


def test_the_rank_sum_test_counts_all_orders() -> None:
    one, other = [5.0, 6.1, 7.2, 8.3], [1.0, 2.1, 5.5, 3.2]
    values = sorted([*one, *other])

    def rank(chosen: tuple[float, ...]) -> int:
        return sum(values.index(value) + 1 for value in chosen)

    middle = 4 * 9 / 2
    far = abs(rank(tuple(one)) - middle)
    every = [abs(rank(chosen) - middle) for chosen in combinations(values, 4)]
    assert grid.rank_sum(one, other) == pytest.approx(sum(value >= far for value in every) / len(every))
    assert grid.rank_sum([1.0, 2.0], [1.0]) is None
    assert grid.rank_sum([1.0, 1.0], [1.0, 1.0]) == 1.0


def test_the_smallest_p_value_is_that_of_full_separation() -> None:
    for seeds in (2, 3, 5):
        low, high = list(map(float, range(seeds))), [100.0 + i for i in range(seeds)]
        assert grid.least_p(seeds) == pytest.approx(grid.rank_sum(high, low))
    assert grid.least_p(5) == pytest.approx(2 / 252)


def test_a_table_compares_every_method_with_the_source_of_its_own_model() -> None:
    listed = plots.lines(
        [
            *(cell("none", 0, seed, 60 + seed) for seed in range(5)),
            *(cell("eda", 2, seed, 70 + seed) for seed in range(5)),
            *(cell("none", 0, seed, 90 + seed, "lstm") for seed in range(5)),
            *(cell("eda", 2, seed, 80 + seed, "lstm", "answers 'A' only" if seed == 1 else "") for seed in range(5)),
        ],
        "absc",
    )
    assert [(one.method, one.model, one.gain, one.best) for one in listed] == [
        ("none", "cnn", None, False),
        ("eda", "cnn", 10, True),
        ("none", "lstm", None, True),
        ("eda", "lstm", -10, False),
    ]
    assert listed[1].p == pytest.approx(2 / 252)
    assert listed[1].spreads["accuracy"].deviation == pytest.approx(np.std(range(5), ddof=1))
    foot = plots.footer(listed, 5, "absc")
    assert "note: lstm on eda ×2: seed 1 answers 'A' only" in foot
    assert not any("cannot be below" in line for line in foot), "five seeds can tell"
    assert any("p cannot be below 0.100" in line for line in plots.footer(listed, 3, "absc"))
    shown = " ".join(plots.text(listed, foot, markdown=True).split())
    assert "| eda ×2 | cnn | 10 | **72.00 ± 1.58** | **62.00 ± 1.58** | +10.00 | 0.008* |" in shown
    assert plots.curves(listed, "absc") is None, "one number of copies is no curve"


def test_curves_and_means_are_svg_with_every_method_and_the_same_bytes_each_time() -> None:
    listed = plots.lines(
        [cell(name, n, s, 50 + n + s) for name, n in (("none", 0), ("eda", 1), ("eda", 4)) for s in range(2)], "tc"
    )
    drawn = plots.curves(listed, "tc")
    assert drawn is not None
    assert drawn == plots.curves(listed, "tc")
    assert ">eda<" in drawn and ">Acc (%)<" in drawn
    assert ">eda ×4<" in plots.means(listed, "tc")


def test_the_overlap_of_hulls_is_intersection_over_union() -> None:
    square = shift.hull([(0, 0), (2, 0), (2, 2), (0, 2), (1, 1)])
    half = shift.hull([(1, 0), (3, 0), (3, 2), (1, 2)])
    assert shift.overlap(square, half) == pytest.approx(1 / 3)
    assert shift.overlap(square, square) == pytest.approx(1)
    assert shift.overlap(square, shift.hull([(9, 9), (8, 9), (8, 8)])) == 0
    assert len(shift.corners(square)) == 4
    assert shift.corners(shift.hull([(1, 1), (1, 1)])) == ((1.0, 1.0),)


def test_skewness_is_scipy_s_and_zero_for_one_point() -> None:
    stats = pytest.importorskip("scipy.stats")
    draw = random.Random(3)
    points = [(draw.expovariate(1), draw.gauss(0, 1)) for _ in range(50)]
    for axis in (0, 1):
        assert shift.skew(points, axis) == pytest.approx(stats.skew([point[axis] for point in points]))
    assert shift.skew([(1.0, 1.0)] * 6, 0) == 0.0


def test_sets_that_lie_together_overlap_more_than_sets_that_do_not() -> None:
    draw = np.random.default_rng(1)
    near, test = draw.normal(0, 1, (40, 8)), draw.normal(0, 1, (40, 8))
    far = draw.normal(12, 1, (40, 8))
    found = shift.analyse("m", "test", {"test": test, "near": near, "far": far}, seed=1)
    near_place, far_place = found.sets
    assert near_place.overlap > 0.3 > far_place.overlap
    assert found == shift.analyse("m", "test", {"test": test, "near": near, "far": far}, seed=1)
    assert found.test.overlap == pytest.approx(1)
    assert shift.places(found).count("overlap") == 2


def test_too_few_rows_and_features_that_are_no_numbers_are_refused() -> None:
    good = np.zeros((6, 2), np.float32)
    with pytest.raises(InputError, match="few: 2 rows are too few"):
        shift.analyse("m", "test", {"test": good, "few": good[:2]}, 1)
    with pytest.raises(InputError, match="no numbers"):
        shift.analyse("m", "test", {"test": good * np.nan}, 1)
