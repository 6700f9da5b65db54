"""self_train: Algorithm 1 of the paper with the variants A, B, C and D, and our variant E.

S_0 is the rules' triplets of the train split (A, C: those the discriminator calls YY). Each round i >= 1 predicts with M_{i-1} on the
reviews of the training data, filters by the variant, adds what is new, and fine-tunes the same base again: S_i = S_{i-1} + R'. Every round
is one transaction (training set, predictions, verdicts, counts), and inside a round the model resumes at its last epoch. What variants
share is trained once: M_0 of A and C, and of B and D.

E is builder.stages.cotrain.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from builder.config import VARIANTS
from builder.errors import ModelError
from builder.model import kinds
from builder.model.task import Example, Extractor, Judge, TaggerConfig, sized
from builder.records import Review, StoredTriplet
from builder.stages import cotrain, discriminate, predicting
from builder.stages.context import Context, ModelBar
from builder.stages.rounds import Counted, Made, finish, listed_reviews
from builder.stages.training import examples, stored_predictions, view_texts
from builder.store import db, runs, triplets

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
            else:
                _round(context, variant, number, judge)
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
    listed = listed_reviews(context)
    base = triplets.training(connection, variant, number - 1) if number else None
    before = [one.id for one in base] if base is not None else []
    proposed = _accepted(context, variant, number, listed["train"])
    after = sorted(set(before) | set(proposed.accepted))
    if not after:
        raise ModelError(
            "the training set is empty after filtering",
            where=f"self-train {variant}, round {number}",
            fix="use variant B or D, or more reviews",
        )
    shown = ModelBar(f"self-train {variant}{number}", kinds.unit(context.config))
    extractor = _train(context, f"{variant}{number}", list(triplets.subset(connection, after)), shown)
    everything = listed["train"] + listed["valid"] + listed["test"]
    known = _known(context, everything, after)
    found = predicting.triplets(context, extractor, context.models / f"{variant}{number}", known, shown)
    predictions = stored_predictions(context, everything, found)
    counted = Counted(proposed.predicted, len(proposed.accepted), len(after) - len(before))
    finish(context, judge, Made(variant, number, extractor.digest, predictions, after), counted, started, shown)


@dataclass(frozen=True, slots=True)
class _Proposed:
    """R and R' of a round: how many triplets were predicted and the ids that the variant accepts."""

    predicted: int
    accepted: list[int]


def _accepted(context: Context, variant: str, number: int, train: list[Review]) -> _Proposed:
    connection = context.connection
    name = "rules" if number == 0 else f"{variant}{number - 1}"
    source, judge = triplets.source_id(connection, name), triplets.source_id(connection, discriminate.NAME)
    assert source is not None and judge is not None, f"{name} and the discriminator have run"
    reviewed = {review.id for review in train}
    stored = [one for one in triplets.proposed(connection, source, "train") if one.review in reviewed]
    labels = triplets.verdicts(connection, judge)
    kept = stored
    if number:
        sure = triplets.confident(connection, source, context.config.self_train.confidence)
        kept = [one for one in kept if one.id in sure]
    if number and variant in "AB":
        kept = [one for one in kept if not in_lexicon(context, one)]
    if variant in ("AC" if number == 0 else "ABC"):
        # A judge that abstains leaves a rule's triplet alone; what a model adds needs its yes.
        good = ("YY", None) if number == 0 else ("YY",)
        kept = [one for one in kept if one.id in labels and labels[one.id] in good]
    return _Proposed(len(stored), [one.id for one in kept])


def in_lexicon(context: Context, one: StoredTriplet) -> bool:
    """Whether the opinion, less its negators, stands in the opinion lexicon (S* of Algorithm 1 holds those that do not)."""
    return context.lexicon.knows(one.triplet.opinion.text)


def _train(context: Context, name: str, stored: list[StoredTriplet], shown: ModelBar) -> Extractor:
    from builder.model.store import save
    from builder.model.tagger import train_tagger

    connection, config = context.connection, context.config
    rules = triplets.source_id(connection, "rules")
    assert rules is not None
    train, _ = examples(context, stored)
    valid, _ = examples(context, triplets.proposed(connection, rules, "valid"))
    if config.profile in kinds.KINDS:
        folder, checkpoints = context.models / name, context.models / f"{name}.training"
        return kinds.KINDS[config.profile].train_extractor(config, train, valid, folder, checkpoints, shown)
    settings = sized(TaggerConfig(epochs=config.self_train.epochs, threads=config.threads), sum(len(one.text) for one in train))
    checkpoints = context.models / f"{_SHARED.get(name, name)}.training"
    extractor = train_tagger(train, valid, settings, config.seed, checkpoints, shown)
    save(extractor, context.models / name)
    return extractor


def _known(context: Context, listed: list[Review], after: list[int]) -> list[Example]:
    """The reviews' views with what is known of them before M_i reads them: S_i of the train split, the rules' triplets elsewhere."""
    connection = context.connection
    rules = triplets.source_id(connection, "rules")
    assert rules is not None
    told = [
        *triplets.subset(connection, after),
        *triplets.proposed(connection, rules, "valid"),
        *triplets.proposed(connection, rules, "test"),
    ]
    known = {example.id: example for example in examples(context, told)[0]}
    texts = view_texts(context, listed)
    return [known.get(review.key, Example(review.key, text, ())) for review, text in zip(listed, texts, strict=True)]
