"""What the rounds of every variant share: the reviews they read, and how a finished round is committed."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from builder.model.task import Judge
from builder.records import Review, Triplet
from builder.stages import discriminate
from builder.stages.context import Context, ModelBar
from builder.store import db, reviews, runs, triplets


@dataclass(frozen=True, slots=True)
class Made:
    """What a round made: the model's digest, its predictions (review id, triplet), and the training set they come from."""

    variant: str
    number: int
    digest: str
    predictions: list[tuple[int, Triplet]]
    training: list[int]


@dataclass(frozen=True, slots=True)
class Counted:
    """Triplets asked about, accepted of them, and added to the training set."""

    predicted: int
    accepted: int
    added: int


def finish(context: Context, judge: Judge, made: Made, counted: Counted, started: float, shown: ModelBar) -> None:
    """Commit a round at once: its predictions, the verdicts on what is new, the training set, the counts."""
    connection, name = context.connection, f"{made.variant}{made.number}"
    with db.atomic(connection):
        source = triplets.source(connection, name, "model", made.digest)
        ids = triplets.propose(connection, source, [(review, replace(one, rules=(), source=name)) for review, one in made.predictions])
        judge_new(context, judge, ids, shown)
        triplets.set_training(connection, made.variant, made.number, made.training)
        done = runs.Round(
            made.variant, made.number, context.key, made.digest, len({i >> triplets.BITS for i in made.training}), len(made.training),
            counted.predicted, counted.accepted, counted.added, time.monotonic() - started,
        )  # fmt: skip
        runs.finish_round(connection, done)
    shown.close()


def judge_new(context: Context, judge: Judge, ids: list[int], shown: ModelBar) -> None:
    """Judge the triplets that have no verdict yet, inside the caller's transaction."""
    source = triplets.source_id(context.connection, discriminate.NAME)
    assert source is not None
    known = triplets.verdicts(context.connection, source)
    fresh = sorted({i for i in ids if i not in known})
    discriminate.verdicts(context, judge, source, list(triplets.subset(context.connection, fresh)), shown)


def listed_reviews(context: Context) -> dict[str, list[Review]]:
    """Train reviews with a rule triplet (the paper's successfully analysed ones); all of valid and test."""
    rules = triplets.source_id(context.connection, "rules")
    assert rules is not None
    seeded = {one.review for one in triplets.proposed(context.connection, rules, "train")}
    listed = {split: list(reviews.in_split(context.connection, split)) for split in ("train", "valid", "test")}
    listed["train"] = [review for review in listed["train"] if review.id in seeded]
    return listed
