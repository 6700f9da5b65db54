"""The pool: what is sampled, what is united, and that nothing of it is lost."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Command
from goldwork import TEXTS, by_name, pooled, proposals, work

from builder.core.errors import ConfigError, InputError, QueryError, WorkdirError
from builder.core.records import Label, Pool
from builder.engine.reader import Recipe, make_reader
from builder.gold.items import BREAK, ORDERS, labels_per_hour, uncertainty
from builder.gold.pool import PoolSettings, shares
from builder.pipeline import layers
from builder.store import db, pool_labels, pools, reviews
from builder.teaching.label_sources import read_workdir
from builder.teaching.labelling import opened
from builder.teaching.lessons import read_taught
from builder.teaching.pooling import make_pool, write_gold


def test_a_pool_unites_all_sources_and_every_candidate_remembers_who_proposed_it(tmp_path: Path) -> None:
    _, pool = pooled(tmp_path)
    candidates = [
        ((TEXTS.index(review.text) + 1, one.triplet.key), {name for name, _ in one.sources})
        for review in pool.reviews
        for one in review.candidates
    ]
    due = defaultdict[tuple[int, object], set[str]](set)
    for name, rows in proposals().items():
        for review, t in rows:
            due[review, t.key].add(name)
    assert dict(candidates) == due
    assert pool.size == len(candidates) == len(due) == 10, "each triplet stands once"


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
    """Over many seeds one of the rules alone stands before one of the model alone about as often as after it."""
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
        said = pool_labels.of_pool(connection, pool.id)["discriminator"]
    assert Counter(one.label for one in said.values()) == {"YY": 6, "YN": 1}


def test_a_rebuild_costs_no_label(tmp_path: Path) -> None:
    workdir, pool = pooled(tmp_path)
    label(workdir, pool, "amy", "human")
    with opened(workdir) as connection:
        with db.atomic(connection):
            reviews.clear(connection)
        assert pools.read(connection, pool.id) == pool
        assert len(pool_labels.of_pool(connection, pool.id)["amy"]) == pool.size


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
        who = pool_labels.annotator(connection, "amy")
        for wrong in (Label("YY", "NEG"), Label(None, "NEG"), replace(Label("YY"), label="ZZ")):  # type: ignore[arg-type]
            with pytest.raises(sqlite3.IntegrityError):
                pool_labels.put(connection, who, [(one.id, wrong)], "t")


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
    monkeypatch.setattr("builder.cli.options.PRINTED", 1)
    assert here("pool", "--list", "--workdir", workdir) == whole, "however many there are"
    refused = here("pool", "--n", "3", "--json", "--workdir", workdir)
    assert refused.code == 2 and "give --list, too" in refused.err
    assert len(json.loads(here("pool", "--list", "--json", "--workdir", workdir).out)) == 2
    assert "no database here" in here("pool", "--workdir", tmp_path / "nothing").error
    assert not (tmp_path / "nothing").exists()


# ---- the order in which a pool is labelled, and the pace of a person


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
    ordered = ORDERS["uncertain"](pool, {})
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
        ordered = next(r for r in ORDERS["uncertain"](pool, margins) if r.id == review.id)
        assert ordered.candidates[0] == narrow
    assert soup in review.candidates


def test_reviews_come_as_they_were_drawn_and_candidates_as_they_are_read(made: tuple[Path, Pool]) -> None:
    ordered = ORDERS["pool"](made[1], {})
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


# ---- from the labels of a pool to a gold file that a build is scored against


def label(workdir: Path, pool: Pool, name: str, kind: str, *, but: int = 0) -> None:
    """YY for every candidate, without the first `but` of the pool."""
    candidates = [candidate for review in pool.reviews for candidate in review.candidates]
    with opened(workdir) as connection, db.atomic(connection):
        who = pool_labels.annotator(connection, name, kind)
        pool_labels.put(connection, who, [(candidate.id, Label("YY")) for candidate in candidates[but:]], "test")


def test_what_people_decided_becomes_a_gold_file_that_a_build_reads(tmp_path: Path, here: Command) -> None:
    workdir, pool = pooled(tmp_path)
    label(workdir, pool, "amy", "human")
    (corrected, wrong, *_) = [candidate for review in pool.reviews for candidate in review.candidates]
    turned = "NEG" if corrected.triplet.polarity == "POS" else "POS"
    with opened(workdir) as connection, db.atomic(connection):
        amy = pool_labels.annotator(connection, "amy")
        pool_labels.put(connection, amy, [(corrected.id, Label("YN", turned)), (wrong.id, Label("NX"))], "test")
        empty = [review.id for review in pool.reviews if not review.candidates]
        pool_labels.check(connection, amy, empty, "test")
    out = tmp_path / "gold.jsonl"
    ran = here("annotate", "gold", "--workdir", workdir, "--out", out)
    assert (ran.code, ran.out) == (0, f"{out}: gold, 5 reviews, 9 triplets of pool {pool.id}\n"), ran.err
    rows = layers.rows(str(out))
    with db.reading(workdir) as connection:
        read = layers.labelled(rows, reviews.in_split(connection, "test"), str(out))
    assert {triplet.key for _, triplet in read} == {
        candidate.triplet.key
        for review in pool.reviews
        for candidate in review.candidates
        if candidate.id not in (corrected.id, wrong.id)
    } | {(*corrected.triplet.key[:-1], turned)}
    first = json.loads(out.read_text(encoding="utf-8").splitlines()[0])
    assert (first["layer"], first["annotators"]) == ("gold", "people")
    label(workdir, pool, "model/x", "llm")
    made = write_gold(workdir, None, tmp_path / "silver.jsonl", "model/x")
    assert made.layer.annotators == "language model"
    assert {row["annotators"] for row in layers.rows(str(tmp_path / "silver.jsonl"))} == {"language model"}


def test_reviews_with_an_open_candidate_are_left_out_and_counted(tmp_path: Path) -> None:
    workdir, pool = pooled(tmp_path)
    label(workdir, pool, "amy", "human", but=1)
    made = write_gold(workdir, None, tmp_path / "g.jsonl")
    assert (made.layer.name, made.reviews, made.layer.open) == ("gold", 3, 2), "one open, one unchecked"
    keys = [row["id"] for row in layers.rows(str(tmp_path / "g.jsonl"))]
    first = next(review for review in pool.reviews if review.candidates)
    assert first.key not in keys


def test_gain_reads_the_labels_of_a_pool_with_their_texts(tmp_path: Path, here: Command) -> None:
    workdir, pool = pooled(tmp_path)
    label(workdir, pool, "amy", "human")
    rows = read_workdir(workdir).rows
    reader = make_reader(Recipe())
    taught = read_taught(rows, workdir, reader)
    assert sum(len(review.triplets) for review in taught) == sum(len(row["triplets"]) for row in rows) > 0
    assert {review.reading.text for review in taught} == {row["text"] for row in rows}
    ran = here("gain", "--workdir", workdir)
    assert ran.code == 2 and f"too few labelled reviews to measure a gain: {len(rows)}" in ran.err


def test_the_labels_of_a_language_model_are_silver(tmp_path: Path) -> None:
    workdir, pool = pooled(tmp_path)
    label(workdir, pool, "model-x", "llm")
    made = write_gold(workdir, None, tmp_path / "s.jsonl", "model-x")
    assert (made.layer.name, made.reviews, made.labels, made.layer.open) == ("silver", 5, 10, 0)
    with pytest.raises(InputError, match="has all of its answers; label it, or adjudicate"):
        write_gold(workdir, None, tmp_path / "g.jsonl")
    with pytest.raises(ConfigError, match=r"'bo' has no label in pool .*; known: .*model-x"):
        write_gold(workdir, None, tmp_path / "g.jsonl", "bo")
    with pytest.raises(InputError, match="exists already; choose another name, or --force"):
        write_gold(workdir, None, tmp_path / "s.jsonl", "model-x")
