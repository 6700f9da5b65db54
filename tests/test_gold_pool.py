"""The pool: what is sampled, what is united, and that nothing of it is lost."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Command
from goldwork import TEXTS, pooled, proposals, work

from builder.core.errors import QueryError, WorkdirError
from builder.core.records import Label
from builder.gold.pool import PoolSettings, shares
from builder.store import db, gold, pools, reviews
from builder.teaching.labelling import opened
from builder.teaching.pooling import make_pool


def test_a_pool_unites_all_sources_and_holds_each_triplet_once(tmp_path: Path) -> None:
    _, pool = pooled(tmp_path)
    found = Counter((review.text, one.triplet.key) for review in pool.reviews for one in review.candidates)
    due = {(TEXTS[review - 1], t.key) for rows in proposals().values() for review, t in rows}
    assert set(found) == due
    assert set(found.values()) == {1}
    assert pool.size == len(due) == 10


def test_every_candidate_remembers_who_proposed_it(tmp_path: Path) -> None:
    _, pool = pooled(tmp_path)
    said = {
        (TEXTS.index(review.text) + 1, one.triplet.key): {name for name, _ in one.sources}
        for review in pool.reviews
        for one in review.candidates
    }
    for name, rows in proposals().items():
        for review, t in rows:
            assert name in said[review, t.key]
    assert Counter(map(len, said.values())) == {2: 5, 1: 5}


def test_reviews_without_a_candidate_are_in_the_pool(tmp_path: Path) -> None:
    _, pool = pooled(tmp_path)
    assert [review.text for review in pool.reviews if not review.candidates] == [TEXTS[3]]


def test_the_same_seed_gives_the_same_pool_and_another_seed_another_order(tmp_path: Path) -> None:
    workdir = work(tmp_path)
    first = make_pool(workdir, PoolSettings(4, 13, "test"))
    again = make_pool(workdir, PoolSettings(4, 13, "test"))
    assert (first.new, again.new) == (True, False)
    assert again.pool == first.pool
    other = make_pool(workdir, PoolSettings(4, 14, "test"))
    assert other.pool.id != first.pool.id
    with db.reading(workdir) as connection:
        assert [row[0] for row in pools.summarise(connection)] == [other.pool.id, first.pool.id]


def test_the_order_of_candidates_does_not_tell_who_proposed_them(tmp_path: Path) -> None:
    """Over many seeds a candidate of the rules alone stands before one of the model alone about as often as after
    it.
    """
    workdir, before = work(tmp_path), 0
    for seed in range(60):
        pool = make_pool(workdir, PoolSettings(100, seed, "test")).pool
        order = {
            one.sources[0][0]: one.n or 0
            for review in pool.reviews
            if review.key == "r2"
            for one in review.candidates
            if one.triplet.polarity == "NEG"
        }
        before += order["rules"] < order["C1"]
    assert 15 < before < 45


def test_numbers_run_through_the_pool_and_candidates_of_a_review_lie_together(tmp_path: Path) -> None:
    _, pool = pooled(tmp_path)
    assert [one.n for review in pool.reviews for one in review.candidates] == list(range(1, pool.size + 1))
    assert [review.n for review in pool.reviews] == list(range(1, len(TEXTS) + 1))


def test_verdicts_of_the_discriminator_become_labels(tmp_path: Path) -> None:
    workdir, pool = pooled(tmp_path)
    with db.reading(workdir) as connection:
        said = gold.of_pool(connection, pool.id)["discriminator"]
    assert Counter(one.label for one in said.values()) == {"YY": 6, "YN": 1}


def test_a_rebuild_costs_no_label(tmp_path: Path) -> None:
    workdir, pool = pooled(tmp_path)
    with opened(workdir) as connection:
        gold.put(
            connection,
            gold.annotator(connection, "amy"),
            [(one.id, Label("YY")) for review in pool.reviews for one in review.candidates],
            "t",
        )
        with db.atomic(connection):
            reviews.clear(connection)
        assert pools.read(connection, pool.id) == pool
        assert len(gold.of_pool(connection, pool.id)["amy"]) == pool.size


def test_a_working_directory_without_proposals_or_without_the_split_is_refused(tmp_path: Path) -> None:
    workdir = work(tmp_path)
    with pytest.raises(WorkdirError, match="no review in split 'valid'"):
        make_pool(workdir, PoolSettings(3, 1, "valid"))
    with opened(workdir) as connection:
        connection.execute("DELETE FROM sources")
    with pytest.raises(WorkdirError, match="no source has proposed"):
        make_pool(workdir, PoolSettings(3, 1, "test"))


def test_a_pool_is_found_by_its_first_characters_and_an_unknown_one_is_refused(tmp_path: Path) -> None:
    workdir, pool = pooled(tmp_path)
    with db.reading(workdir) as connection:
        assert pools.chosen(connection, pool.id[:4]) == pool.id == pools.chosen(connection, None)
        with pytest.raises(QueryError, match=pool.id):
            pools.chosen(connection, "zz")


def test_strata_keep_their_shares() -> None:
    sizes = {"a": 70, "b": 20, "c": 10}
    assert shares(sizes, 10) == {"a": 7, "b": 2, "c": 1}
    assert shares(sizes, 100) == sizes
    for n in range(101):
        quota = shares(sizes, n)
        assert sum(quota.values()) == n
        assert all(quota[cell] <= sizes[cell] for cell in sizes)


def test_the_database_refuses_labels_that_make_no_sense(tmp_path: Path) -> None:
    workdir, pool = pooled(tmp_path)
    one = next(one for review in pool.reviews for one in review.candidates)
    with opened(workdir) as connection:
        who = gold.annotator(connection, "amy")
        for wrong in (Label("YY", "NEG"), Label(None, "NEG"), replace(Label("YY"), label="ZZ")):  # type: ignore[arg-type]
            with pytest.raises(sqlite3.IntegrityError):
                gold.put(connection, who, [(one.id, wrong)], "t")


def test_the_command_says_what_it_made(tmp_path: Path, here: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    workdir = work(tmp_path)
    ran = here("pool", "--n", "9", "--workdir", workdir)
    assert ran.code == 0, ran.err
    assert "split test has only 5 distinct reviews: all are in" in ran.err
    assert "proposed by the rules and by C1 (variant C after round 1); 5 candidates by one of them, 5 by two" in ran.out
    assert "5 reviews (1 without a candidate), 10 candidates" in ran.out
    assert "(was there)" in here("pool", "--n", "9", "--workdir", workdir).out
    listed = here("pool", "--list", "--workdir", workdir).out
    assert "test" in listed
    assert listed.endswith("1 pool\n")
    assert here("pool", "--n", "2", "--workdir", workdir).code == 0
    whole = here("pool", "--list", "--workdir", workdir)
    assert whole.out.endswith("2 pools\n")
    monkeypatch.setattr("builder.cli.printing.PRINTED", 1)
    assert here("pool", "--list", "--workdir", workdir) == whole, "however many there are"
    refused = here("pool", "--n", "3", "--json", "--workdir", workdir)
    assert refused.code == 2 and "give --list, too" in refused.err
    assert len(json.loads(here("pool", "--list", "--json", "--workdir", workdir).out)) == 2
    assert "no database here" in here("pool", "--workdir", tmp_path / "nothing").error
    assert not (tmp_path / "nothing").exists()
