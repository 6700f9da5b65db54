"""What the rounds of every variant share: the reviews they read, and how a finished round is committed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from builder.learning.task import Judge
from builder.records import Review, Triplet
from builder.stages import discriminate, predicting
from builder.stages.context import Context, ModelBar
from builder.store import db, reviews, runs, triplets
from builder.store.triplets import JudgedTriplet

SPLITS = ("train", "valid", "test")
_PAGE = 2000
"""Predictions that are written at a time."""


@dataclass(frozen=True, slots=True)
class Made:
    """What a round made: the model's digest, its predictions (review id, triplet), which may still be made as they
    are read, and the training set that they come from (None: what is predicted for the train split, as in variant E).
    """

    variant: str
    number: int
    digest: str
    predictions: Iterable[tuple[int, Triplet]]
    training: list[int] | None


@dataclass(frozen=True, slots=True)
class Counted:
    """Triplets asked about, accepted of them, and added to the training set."""

    predicted: int
    accepted: int
    added: int


def finish(
    context: Context,
    judge: Judge | None,
    made: Made,
    counted: Counted | None,
    started: float,
    shown: ModelBar,
    rate: Callable[[int], None] | None = None,
) -> None:
    """Commit a round at once: its predictions, the verdicts on what is new, the training set, the counts (None: from
    the rules' triplets and the training set). `rate` is called with the source when the verdicts on it are written:
    it makes confidences of them.
    """
    connection, name = context.connection, f"{made.variant}{made.number}"
    with db.atomic(connection):
        source = triplets.source(connection, name, "model", made.digest)
        told = ((review, replace(one, rules=(), source=name)) for review, one in made.predictions)
        while page := list(islice(told, _PAGE)):
            triplets.propose(connection, source, page)
        if judge is not None:
            judge_new(context, judge, source, shown)
        if rate is not None:
            rate(source)
        if made.training is None:
            triplets.train_on(connection, made.variant, made.number, source)
        else:
            triplets.set_training(connection, made.variant, made.number, made.training)
        rules = triplets.source_id(connection, "rules")
        assert rules is not None
        read, listed, kept = triplets.training_counts(connection, made.variant, made.number, rules)
        counted = counted or Counted(triplets.count(connection, rules, "train"), kept, listed - kept)
        done = runs.Round(
            made.variant, made.number, context.key, made.digest, read, listed, counted.predicted, counted.accepted, counted.added,
            time.monotonic() - started,
        )  # fmt: skip
        runs.finish_round(connection, done)
    shown.close()


def judge_new(context: Context, judge: Judge, proposer: int, shown: ModelBar) -> None:
    """Judge what a source proposes and has no verdict yet, inside the caller's transaction."""
    connection = context.connection
    source = triplets.source_id(connection, discriminate.NAME)
    assert source is not None
    for split in SPLITS:
        fresh = (one.stored for one in triplets.judged(connection, proposer, source, split) if one.score is None)
        told = predicting.Told(shown, reviews.characters(connection, split, proposer))
        discriminate.verdicts(context, judge, source, split, fresh, told)


def lets_in(variant: str, number: int, one: JudgedTriplet) -> bool:
    """Whether a variant of A to D takes in what the judge says of a triplet, in round `number`: a judge that abstains
    leaves a rule's triplet (round 0) alone, what a model adds needs its yes.
    """
    if variant not in ("AC" if number == 0 else "ABC"):
        return True
    return one.score is not None and one.label in (("YY", None) if number == 0 else ("YY",))


def asked(context: Context, split: str) -> Iterator[Review]:
    """The reviews that models read: of train those with a rule triplet (the paper's successfully analysed ones); all
    of valid and test.
    """
    rules = triplets.source_id(context.connection, "rules")
    assert rules is not None
    return reviews.in_split(context.connection, split, rules if split == "train" else None)
