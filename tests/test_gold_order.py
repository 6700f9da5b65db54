"""The order in which a pool is labelled, and the pace of a person."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from goldwork import TEXTS, by_name, pooled

from builder.core.records import Pool
from builder.gold.items import BREAK, ORDERS, labels_per_hour, order_reviews, uncertainty
from builder.store import db, pools


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Pool]:
    return pooled(tmp_path_factory.mktemp("order"))


def test_what_all_systems_propose_with_confidence_is_least_uncertain(made: tuple[Path, Pool]) -> None:
    both, alone = by_name(made[1], TEXTS[0], "湯頭")[1], by_name(made[1], TEXTS[1], "+麵")[1]
    assert uncertainty(both, 2) == 0
    assert uncertainty(alone, 2) == 1
    assert uncertainty(replace(both, sources=(("C1", 0.5),)), 1) == 1
    assert uncertainty(both, 1, margin=0.0) == pytest.approx(1)
    assert uncertainty(both, 1, margin=0.5) > uncertainty(both, 1, margin=3.0)


def test_the_order_uncertain_begins_with_what_systems_disagree_about(made: tuple[Path, Pool]) -> None:
    _, pool = made
    ordered = order_reviews(pool, "uncertain", {})
    assert sorted(review.id for review in ordered) == sorted(review.id for review in pool.reviews)
    assert not ordered[-1].candidates
    firsts = [review.candidates[0] for review in ordered if review.candidates]
    doubts = [uncertainty(candidate, 2) for candidate in firsts]
    assert doubts == sorted(doubts, reverse=True) and doubts[0] == 1 and doubts[-1] == 0
    for review in ordered:
        own = [uncertainty(candidate, 2) for candidate in review.candidates]
        assert own == sorted(own, reverse=True)


def test_a_narrow_choice_of_the_rules_comes_before_a_clear_one(made: tuple[Path, Pool]) -> None:
    _, pool = made
    review, soup = by_name(pool, TEXTS[0], "湯頭")
    for narrow in review.candidates:
        margins = {candidate.id: 9.0 for candidate in review.candidates} | {narrow.id: 0.0}
        ordered = next(r for r in order_reviews(pool, "uncertain", margins) if r.id == review.id)
        assert ordered.candidates[0] == narrow
    assert soup in review.candidates


def test_reviews_come_as_they_were_drawn_and_candidates_as_they_are_read(made: tuple[Path, Pool]) -> None:
    ordered = order_reviews(made[1], "pool", {})
    assert [review.id for review in ordered] == [review.id for review in made[1].reviews]
    for review, drawn in zip(ordered, made[1].reviews, strict=True):
        keys = [candidate.triplet.key for candidate in review.candidates]
        assert keys == sorted(candidate.triplet.key for candidate in drawn.candidates)
    assert list(ORDERS) == ["pool", "uncertain"]


def test_margins_are_those_of_the_rules_that_still_propose_a_candidate(made: tuple[Path, Pool]) -> None:
    workdir, pool = made
    with db.writing(workdir) as connection:
        connection.execute("UPDATE proposals SET margin = 2 WHERE source = 1")
        margins = pools.margins(connection, pool.id)
    assert margins[by_name(pool, TEXTS[0], "湯頭")[1].id] == 2.0
    assert by_name(pool, TEXTS[1], "-冷氣")[1].id not in margins  # the model alone proposes it


def test_the_pace_leaves_breaks_out_and_counts_an_import_as_one() -> None:
    assert labels_per_hour([10.0 * n for n in range(6)]) == 360
    assert labels_per_hour([10.0 * n for n in range(6)] + [50 + BREAK + 1]) == 360
    assert labels_per_hour([5.0] * 100) is None
    assert labels_per_hour([0.0, 10.0]) is None
