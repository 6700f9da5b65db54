"""self_train: Algorithm 1 of the paper with the variants A, B, C and D, and our variant E.

S_0 is the rules' triplets of the train split (A, C: those the discriminator calls YY). Each round i >= 1 predicts with M_{i-1} on the
reviews of the training data, filters by the variant, adds what is new, and fine-tunes the same base again: S_i = S_{i-1} + R'. Every round
is one transaction (training set, predictions, verdicts, counts), and inside a round the model resumes at its last epoch. What variants
share is trained once: M_0 of A and C, and of B and D.

E (builder.model.cotrain): M_i are taggers that are trained crosswise on S_i, those of the discriminator's panel in round 0, where S_0 is the
rules' triplets; the predictions of a round are what the rules and M_i hold together, and S_{i+1} is those of the train split.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from builder.config import VARIANTS
from builder.errors import ModelError
from builder.model.task import Extractor, Judge, TaggerConfig, sized
from builder.records import Review, StoredTriplet, Triplet
from builder.stages import discriminate
from builder.stages.annotate import review_view
from builder.stages.context import Context, ModelBar, to_stored
from builder.stages.training import examples, stored_predictions, to_view, view_texts
from builder.store import db, reviews, runs, triplets

if TYPE_CHECKING:
    from builder.model.cotrain import Taggers


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
        last = (
            context.config.self_train.iterations if variant != "E" else min(1, context.config.self_train.iterations)
        )  # a second adds nothing
        for number in range(last + 1):
            if not any(one.round == number for one in runs.rounds(connection, variant)):
                (_shared_round if variant == "E" else _round)(context, variant, number, judge)
        done = runs.rounds(connection, variant)
        counts[f"{variant} S_0"] = done[0].triplets
        counts[f"{variant} S_{done[-1].round}"] = done[-1].triplets
    return counts


def _round(context: Context, variant: str, number: int, judge: Judge) -> None:
    """Build S_number, train M_number on it, predict with it, judge what is new; commit all of it at once."""
    connection = context.connection
    started = time.monotonic()
    listed = _reviews(context)
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
    shown = ModelBar(f"self-train {variant}{number}")
    extractor = _train(context, f"{variant}{number}", list(triplets.subset(connection, after)), shown)
    everything = listed["train"] + listed["valid"] + listed["test"]
    predictions = stored_predictions(context, everything, extractor.predict(view_texts(context, everything), shown))
    counted = _Counted(proposed.predicted, len(proposed.accepted), len(after) - len(before))
    _finish(context, judge, _Made(variant, number, extractor.digest, predictions, after), counted, started, shown)


def _shared_round(context: Context, variant: str, number: int, judge: Judge) -> None:
    """A round of variant E: M_number trained crosswise on S_number, and what it holds together with the rules."""
    from builder.model.cotrain import load_taggers, train_taggers

    connection, config, started = context.connection, context.config, time.monotonic()
    shown = ModelBar(f"self-train {variant}{number}")
    rules = triplets.source_id(connection, "rules")
    assert rules is not None
    before = triplets.source_id(connection, f"{variant}{number - 1}") if number else rules
    assert before is not None, "the round before has run"
    listed = _reviews(context)
    stored = list(triplets.proposed(connection, before, "train"))
    if number:
        train, valid = (examples(context, one)[0] for one in (stored, triplets.proposed(connection, rules, "valid")))
        folds = config.discriminate.folds
        chars = sum(len(one.text) for one in train) * (folds - 1) // folds
        settings = sized(TaggerConfig(epochs=config.self_train.epochs, threads=config.threads), chars)
        taggers = train_taggers(train, valid, folds, settings, config.seed, context.models / f"{variant}{number}", shown)
    else:
        taggers = load_taggers(context.models / "panel" / "taggers")
    predictions = _held(context, rules, taggers, listed, shown)
    after, seeds = [one.id for one in stored], {one.id for one in triplets.proposed(connection, rules, "train")}
    counted = _Counted(len(seeds), len(seeds & set(after)), len(set(after) - seeds))
    _finish(context, judge, _Made(variant, number, taggers.digest, predictions, after), counted, started, shown)


def _held(context: Context, rules: int, taggers: Taggers, listed: dict[str, list[Review]], shown: ModelBar) -> list[tuple[int, Triplet]]:
    """What rules and taggers hold together of every review, in stored offsets; on the train split no tagger speaks of what it learnt."""
    from builder.model.cotrain import fresh, support

    out = []
    for split, asked in listed.items():
        ruled: dict[int, list[StoredTriplet]] = {}
        for one in triplets.proposed(context.connection, rules, split):
            ruled.setdefault(one.review, []).append(one)
        views = [review_view(review, context.lexicon.variants) for review in asked]
        texts = [one.text for one in views]
        found = taggers.apart([one.key for one in asked], texts, shown) if split == "train" else taggers.proposals(texts, shown)
        for review, shown_as, proposals in zip(asked, views, found, strict=True):
            kept = []
            for one in ruled.get(review.id, ()):
                seen = to_view(one.triplet, shown_as)
                chance = support(seen, proposals) if seen else 0.0
                if seen and round(chance, 4) >= taggers.drop:
                    kept.append(seen)
                    out.append((review.id, replace(one.triplet, confidence=round(chance, 4))))
            out += [(review.id, to_stored(triplet, shown_as, review.text)) for triplet in fresh(kept, proposals)]
    return out


@dataclass(frozen=True, slots=True)
class _Made:
    """What a round made: the model's digest, its predictions (review id, triplet), and the training set they come from."""

    variant: str
    number: int
    digest: str
    predictions: list[tuple[int, Triplet]]
    training: list[int]


@dataclass(frozen=True, slots=True)
class _Counted:
    """Triplets asked about, accepted of them, and added to the training set."""

    predicted: int
    accepted: int
    added: int


def _finish(context: Context, judge: Judge, made: _Made, counted: _Counted, started: float, shown: ModelBar) -> None:
    """Commit a round at once: its predictions, the verdicts on what is new, the training set, the counts."""
    connection, name = context.connection, f"{made.variant}{made.number}"
    with db.atomic(connection):
        source = triplets.source(connection, name, "model", made.digest)
        ids = triplets.propose(connection, source, [(review, replace(one, rules=(), source=name)) for review, one in made.predictions])
        _judge_new(context, judge, ids, shown)
        triplets.set_training(connection, made.variant, made.number, made.training)
        done = runs.Round(
            made.variant, made.number, context.key, made.digest, len({i >> triplets.BITS for i in made.training}), len(made.training),
            counted.predicted, counted.accepted, counted.added, time.monotonic() - started,
        )  # fmt: skip
        runs.finish_round(connection, done)
    shown.close()


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
        kept = [one for one in kept if labels[one.id] in good]
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
    settings = sized(TaggerConfig(epochs=config.self_train.epochs, threads=config.threads), sum(len(one.text) for one in train))
    checkpoints = context.models / f"{_SHARED.get(name, name)}.training"
    extractor = train_tagger(train, valid, settings, config.seed, checkpoints, shown)
    save(extractor, context.models / name)
    return extractor


def _judge_new(context: Context, judge: Judge, ids: list[int], shown: ModelBar) -> None:
    """Judge the triplets that have no verdict yet, inside the caller's transaction."""
    source = triplets.source_id(context.connection, discriminate.NAME)
    assert source is not None
    known = triplets.verdicts(context.connection, source)
    fresh = sorted({i for i in ids if i not in known})
    discriminate.verdicts(context, judge, source, list(triplets.subset(context.connection, fresh)), shown)


def _reviews(context: Context) -> dict[str, list[Review]]:
    """Train reviews with a rule triplet (the paper's successfully analysed ones); all of valid and test."""
    rules = triplets.source_id(context.connection, "rules")
    assert rules is not None
    seeded = {one.review for one in triplets.proposed(context.connection, rules, "train")}
    listed = {split: list(reviews.in_split(context.connection, split)) for split in ("train", "valid", "test")}
    listed["train"] = [review for review in listed["train"] if review.id in seeded]
    return listed
