"""self_train: Algorithm 1 of the paper with the variants A, B, C and D, and our variant E.

S_0 is the rules' triplets of the train split (A, C: those the discriminator calls YY). Each round i >= 1 predicts
with M_{i-1} on the reviews of the training data, filters by the variant, adds what is new, and fine-tunes the same
base again: S_i = S_{i-1} + R'. Every round is one transaction (training set, predictions, verdicts, counts), and
inside a round the model resumes at its last epoch. What variants share is trained once: M_0 of A and C, and of B and
D.

E is builder.stages.parts.variant_e.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from builder.errors import ModelError
from builder.learning.task import Example, Judge, TaggerConfig, TripletModel
from builder.model import kinds
from builder.model_settings import VARIANTS
from builder.progress import ModelBar
from builder.reader import review_view, to_text, to_view
from builder.records import Review, StoredTriplet, Triplet
from builder.stages.parts import judging, predictions, variant_e
from builder.stages.parts.context import Context
from builder.stages.parts.examples import join_rows, list_examples
from builder.stages.parts.rounds import SPLITS, RoundCounts, RoundResult, accepts, finish_round, readable_reviews
from builder.store import db, reviews, runs, training_sets, triplets
from builder.text import View

_SHARED = {"A0": "AC0", "C0": "AC0", "B0": "BD0", "D0": "BD0"}
"""Rounds with the same training set share their checkpoints: the second finds its training done."""


def run(context: Context) -> runs.Counts:
    """Run the rounds that are due of every variant; the sizes of their first and last training sets."""
    connection = context.connection
    if runs.setting(connection, "self_train.key") != context.key:
        with db.atomic(connection):
            for variant in VARIANTS:
                runs.forget_rounds(connection, variant)
            for kind in ("model", "human", "llm"):  # labels come after the models: what they share is theirs again
                triplets.drop_sources(connection, kind)
            runs.set_setting(connection, "self_train.key", context.key)
    judge = judging.load_judge(context)
    counts: dict[str, int | float | str] = {}
    for variant in context.config.self_train.variants:
        last = 0 if variant == "E" else context.config.self_train.iterations
        for number in range(last + 1):
            if any(done.round == number for done in runs.rounds(connection, variant)):
                continue
            if variant == "E":
                variant_e.run_round(context, judge)
            elif judge is not None:
                _run_round(context, variant, number, judge)
            else:
                raise ModelError(
                    "there were too few reviews for a judge, which the variants A to D need",
                    where=f"self-train {variant}",
                    fix="train one all the same with `--set discriminate.least=0`, or use variant E",
                )
        rounds = runs.rounds(connection, variant)
        counts[f"{variant} S_0"] = rounds[0].triplets
        counts[f"{variant} S_{rounds[-1].round}"] = rounds[-1].triplets
        problems = kinds.problems(context.config, context.models / f"{variant}{rounds[-1].round}")
        counts |= {f"{variant}{rounds[-1].round} {reason}": number for reason, number in problems.items()}
    return counts


def _run_round(context: Context, variant: str, number: int, judge: Judge) -> None:
    """Build S_number, train M_number on it, predict with it, judge what is new; commit all of it at once."""
    connection = context.connection
    started = time.monotonic()
    before = [triplet.id for triplet in training_sets.training(connection, variant, number - 1)] if number else []
    proposed = _select_proposals(context, variant, number)
    after = sorted(set(before) | set(proposed.accepted))
    if not after:
        raise ModelError(
            "the training set is empty after filtering",
            where=f"self-train {variant}, round {number}",
            fix="use variant B or D, or more reviews",
        )
    shown = ModelBar(f"self-train {variant}{number}", kinds.unit(context.config))
    extractor = _train(context, f"{variant}{number}", after, shown)
    predicted = _predict(context, extractor, f"{variant}{number}", after, shown)
    counts = RoundCounts(proposed.predicted, len(proposed.accepted), len(after) - len(before))
    result = RoundResult(variant, number, extractor.digest, predicted, after)
    finish_round(context, judge, result, counts, started, shown)


@dataclass(frozen=True, slots=True)
class _Proposed:
    """R and R' of a round: how many triplets were predicted and the ids that the variant accepts."""

    predicted: int
    accepted: list[int]


def _select_proposals(context: Context, variant: str, number: int) -> _Proposed:
    connection = context.connection
    name = "rules" if number == 0 else f"{variant}{number - 1}"
    source, judge = triplets.source_id(connection, name), triplets.source_id(connection, judging.NAME)
    assert source is not None and judge is not None, f"{name} and the discriminator have run"
    kept = triplets.judged(connection, source, judge, "train")
    if number:
        kept = (judged for judged in kept if (judged.confidence or 0.0) >= context.config.self_train.confidence)
    if number and variant in "AB":
        kept = (judged for judged in kept if not _in_lexicon(context, judged.stored))
    return _Proposed(
        triplets.count(connection, source, "train"),
        [judged.stored.id for judged in kept if accepts(variant, number, judged)],
    )


def _in_lexicon(context: Context, stored: StoredTriplet) -> bool:
    """Whether the opinion, less its negators, stands in the opinion lexicon (S* of Algorithm 1 holds those that do
    not).
    """
    return context.lexicon.knows(stored.triplet.opinion.text)


def _train(context: Context, name: str, ids: list[int], shown: ModelBar) -> TripletModel:
    from builder.model.saved import save
    from builder.model.tagger import train_tagger

    connection, config = context.connection, context.config
    rules = triplets.source_id(connection, "rules")
    assert rules is not None
    train = list_examples(context, triplets.subset(connection, ids, config.self_train.most))
    valid = list_examples(context, triplets.proposed(connection, rules, "valid", config.self_train.most // 10))
    checkpoints = context.models / f"{_SHARED.get(name, name)}.training"
    if config.profile in kinds.KINDS:
        folder = context.models / name
        return kinds.KINDS[config.profile].train_extractor(config, train, valid, folder, checkpoints, shown)
    chars = sum(len(example.text) for example in train)
    settings = kinds.training_settings(TaggerConfig, config, config.self_train.epochs, chars)
    base = kinds.load_foundation(config, (example.text for example in train))
    extractor = train_tagger(train, valid, settings, config.seed, checkpoints, shown, base)
    save(extractor, context.models / name)
    return extractor


def _predict(
    context: Context, model: TripletModel, name: str, after: list[int], shown: ModelBar
) -> Iterator[tuple[int, Triplet]]:
    """The triplets that M_i predicts for every review that models read, in offsets of the stored text.

    A model may see what is known of a review: S_i in the train split, the rules' triplets elsewhere.
    """
    connection = context.connection
    rules = triplets.source_id(connection, "rules")
    assert rules is not None
    for split in SPLITS:
        stored = triplets.subset(connection, after) if split == "train" else triplets.proposed(connection, rules, split)
        pairs = (
            _known_example(context, review, known)
            for review, known in join_rows(readable_reviews(context, split), stored, lambda triplet: triplet.review)
        )
        progress = predictions.CharacterProgress(shown, reviews.characters(connection, split))
        ask = partial(predictions.extract, context, model, context.models / name, progress)
        for (review, seen), predicted in predictions.answer_pairs(pairs, ask):
            for triplet in predicted:
                yield review.id, to_text(triplet, seen, review.text)


def _known_example(
    context: Context, review: Review, stored: list[StoredTriplet]
) -> tuple[Example, tuple[Review, View]]:
    seen = review_view(review, context.lexicon.variants)
    known = tuple(moved for triplet in stored if (moved := to_view(triplet.triplet, seen)))
    return Example(review.key, seen.text, known), (review, seen)
