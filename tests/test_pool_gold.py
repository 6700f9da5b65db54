"""From the labels of a pool to a gold file that a build is scored against."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Command
from goldwork import pooled

from builder.core.errors import ConfigError, InputError
from builder.core.records import Label, Pool
from builder.engine.reader import Recipe, make_reader
from builder.pipeline import layers
from builder.store import db, gold, reviews
from builder.teaching.label_sources import read_workdir
from builder.teaching.labelling import opened
from builder.teaching.lessons import read_taught
from builder.teaching.pooling import write_gold


def label(workdir: Path, pool: Pool, name: str, kind: str, *, but: int = 0) -> None:
    """YY for every candidate, without the first `but` of the pool."""
    candidates = [candidate for review in pool.reviews for candidate in review.candidates]
    with opened(workdir) as connection, db.atomic(connection):
        who = gold.annotator(connection, name, kind)
        gold.put(connection, who, [(candidate.id, Label("YY")) for candidate in candidates[but:]], "test")


def test_what_people_decided_becomes_a_gold_file_that_a_build_reads(tmp_path: Path, here: Command) -> None:
    workdir, pool = pooled(tmp_path)
    label(workdir, pool, "amy", "human")
    (corrected, wrong, *_) = [candidate for review in pool.reviews for candidate in review.candidates]
    turned = "NEG" if corrected.triplet.polarity == "POS" else "POS"
    with opened(workdir) as connection, db.atomic(connection):
        amy = gold.annotator(connection, "amy")
        gold.put(connection, amy, [(corrected.id, Label("YN", turned)), (wrong.id, Label("NX"))], "test")
        empty = [review.id for review in pool.reviews if not review.candidates]
        gold.check(connection, amy, empty, "test")
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
