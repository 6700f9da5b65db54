"""self_train: Algorithm 1 of the paper with the variants A, B, C and D, and our variant E.

S_0 is the rules' triplets of the train split (A, C: those the discriminator calls YY). Each round i >= 1 predicts
with M_{i-1} on the reviews of the training data, filters by the variant, adds what is new, and fine-tunes the same
base again: S_i = S_{i-1} + R'. Every round is one transaction (training set, predictions, verdicts, counts), and
inside a round the model resumes at its last epoch. What variants share is trained once: M_0 of A and C, and of B and
D.

E is builder.stages.cotrain.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from builder.errors import ModelError
from builder.learning.task import Example, Judge, TaggerConfig, TripletModel, sized
from builder.model import kinds
from builder.reader import review_view, to_text, to_view
from builder.records import Review, StoredTriplet, Triplet
from builder.settings import VARIANTS
from builder.stages import cotrain, discriminate, predicting
from builder.stages.context import Context, ModelBar
from builder.stages.rounds import SPLITS, Counted, Made, asked, finish, lets_in
from builder.stages.training import beside, examples
from builder.store import db, reviews, runs, triplets
from builder.text import View

_SHARED = {"A0": "AC0", "C0": "AC0", "B0": "BD0", "D0": "BD0"}
"""Rounds with the same training set share their checkpoints: the second finds its training done."""


def run(context: Context) -> runs.Counts:
    connection = context.connection
    if runs.setting(connection, "self_train.key") != context.key:
        with db.atomic(connection):
            for variant in VARIANTS:
                runs.forget_rounds(connection, variant)
            for kind in ("model", "human"):  # gold comes after the models: what it shares with them is theirs again
                triplets.drop_sources(connection, kind)
            runs.set_setting(connection, "self_train.key", context.key)
    judge = discriminate.load(context)
    counts: dict[str, int | float | str] = {}
    for variant in context.config.self_train.variants:
        last = 0 if variant == "E" else context.config.self_train.iterations
        for number in range(last + 1):
            if any(one.round == number for one in runs.rounds(connection, variant)):
                continue
            if variant == "E":
                cotrain.hold(context, judge)
            elif judge is not None:
                _round(context, variant, number, judge)
            else:
                raise ModelError(
                    "there were too few reviews for a judge, which the variants A to D need",
                    where=f"self-train {variant}",
                    fix="train one all the same with `--set discriminate.least=0`, or use variant E",
                )
        done = runs.rounds(connection, variant)
        counts[f"{variant} S_0"] = done[0].triplets
        counts[f"{variant} S_{done[-1].round}"] = done[-1].triplets
        wrong = kinds.problems(context.config, context.models / f"{variant}{done[-1].round}")
        counts |= {f"{variant}{done[-1].round} {reason}": number for reason, number in wrong.items()}
    return counts


def _round(context: Context, variant: str, number: int, judge: Judge) -> None:
    """Build S_number, train M_number on it, predict with it, judge what is new; commit all of it at once."""
    connection = context.connection
    started = time.monotonic()
    before = [one.id for one in triplets.training(connection, variant, number - 1)] if number else []
    proposed = _accepted(context, variant, number)
    after = sorted(set(before) | set(proposed.accepted))
    if not after:
        raise ModelError(
            "the training set is empty after filtering",
            where=f"self-train {variant}, round {number}",
            fix="use variant B or D, or more reviews",
        )
    shown = ModelBar(f"self-train {variant}{number}", kinds.unit(context.config))
    extractor = _train(context, f"{variant}{number}", after, shown)
    predictions = _predicted(context, extractor, f"{variant}{number}", after, shown)
    counted = Counted(proposed.predicted, len(proposed.accepted), len(after) - len(before))
    finish(context, judge, Made(variant, number, extractor.digest, predictions, after), counted, started, shown)


@dataclass(frozen=True, slots=True)
class _Proposed:
    """R and R' of a round: how many triplets were predicted and the ids that the variant accepts."""

    predicted: int
    accepted: list[int]


def _accepted(context: Context, variant: str, number: int) -> _Proposed:
    connection = context.connection
    name = "rules" if number == 0 else f"{variant}{number - 1}"
    source, judge = triplets.source_id(connection, name), triplets.source_id(connection, discriminate.NAME)
    assert source is not None and judge is not None, f"{name} and the discriminator have run"
    kept = triplets.judged(connection, source, judge, "train")
    if number:
        kept = (one for one in kept if (one.confidence or 0.0) >= context.config.self_train.confidence)
    if number and variant in "AB":
        kept = (one for one in kept if not in_lexicon(context, one.stored))
    return _Proposed(
        triplets.count(connection, source, "train"), [one.stored.id for one in kept if lets_in(variant, number, one)]
    )


def in_lexicon(context: Context, one: StoredTriplet) -> bool:
    """Whether the opinion, less its negators, stands in the opinion lexicon (S* of Algorithm 1 holds those that do
    not).
    """
    return context.lexicon.knows(one.triplet.opinion.text)


def _train(context: Context, name: str, ids: list[int], shown: ModelBar) -> TripletModel:
    from builder.model.saved import save
    from builder.model.tagger import train_tagger

    connection, config = context.connection, context.config
    rules = triplets.source_id(connection, "rules")
    assert rules is not None
    train = examples(context, triplets.subset(connection, ids, config.self_train.most))
    valid = examples(context, triplets.proposed(connection, rules, "valid", config.self_train.most // 10))
    if config.profile in kinds.KINDS:
        folder, checkpoints = context.models / name, context.models / f"{name}.training"
        return kinds.KINDS[config.profile].train_extractor(config, train, valid, folder, checkpoints, shown)
    settings = sized(
        TaggerConfig(epochs=config.self_train.epochs, threads=config.threads), sum(len(one.text) for one in train)
    )
    checkpoints = context.models / f"{_SHARED.get(name, name)}.training"
    extractor = train_tagger(train, valid, settings, config.seed, checkpoints, shown)
    save(extractor, context.models / name)
    return extractor


def _predicted(
    context: Context, model: TripletModel, name: str, after: list[int], shown: ModelBar
) -> Iterator[tuple[int, Triplet]]:
    """What M_i finds in every review that models read, in stored offsets. The reviews' views come with what is known
    of them before: S_i of the train split, the rules' triplets elsewhere.
    """
    connection = context.connection
    rules = triplets.source_id(connection, "rules")
    assert rules is not None
    for split in SPLITS:
        stored = triplets.subset(connection, after) if split == "train" else triplets.proposed(connection, rules, split)
        pairs = (
            _known(context, review, known)
            for review, known in beside(asked(context, split), stored, lambda one: one.review)
        )
        told = predicting.Told(shown, reviews.characters(connection, split))
        ask = partial(predicting.triplets, context, model, context.models / name, told)
        for (review, seen), found in predicting.along(pairs, ask):
            for triplet in found:
                yield review.id, to_text(triplet, seen, review.text)


def _known(context: Context, review: Review, stored: list[StoredTriplet]) -> tuple[Example, tuple[Review, View]]:
    seen = review_view(review, context.lexicon.variants)
    return Example(review.key, seen.text, tuple(moved for one in stored if (moved := to_view(one.triplet, seen)))), (
        review,
        seen,
    )
