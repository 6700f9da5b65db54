"""self_train: Algorithm 1 of the paper with the variants A, B, C and D, and our variant E.

S_0 is the rules' triplets of the train split (A, C: those the discriminator calls YY). Each round i >= 1 predicts
with M_{i-1} on the reviews of the training data, filters by the variant, adds what is new, and fine-tunes the same
base again: S_i = S_{i-1} + R'. Every round is one transaction (training set, predictions, verdicts, counts), and
inside a round the model resumes at its last epoch. What variants share is trained once: M_0 of A and C, and of B and
D.

Variant E (builder.models.combiner): the triplets that rules and the shipped model agree on. It trains nothing.

Its one training set S_0 is that of the train split. Its triplets carry a calibrated confidence. Without a judge it
holds the rules' triplets, and they carry none.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, cast

from builder.core.errors import ModelError
from builder.core.progress import ModelBar
from builder.core.records import SPLITS, Polarity, Review, Triplet, Verdict
from builder.core.settings import VARIANTS
from builder.engine import Doc, make_engine
from builder.engine.reader import restored, review_view, to_text, to_view
from builder.gold.metrics import scores
from builder.learning.task import Example, Judge
from builder.models import kinds
from builder.models.trust import Calibration, fitted, save_calibration
from builder.pipeline import judging, layers, predictions, rounds
from builder.pipeline.context import Context
from builder.pipeline.judging import join_rows
from builder.pipeline.layers import is_pool, read_taught_labels
from builder.pipeline.predictions import read_proposals
from builder.reviews.text import View
from builder.store import db, pool_labels, released, reviews, runs, triplets
from builder.store.triplets import JudgedTriplet

if TYPE_CHECKING:
    from builder.models.shipped import ShippedModel

# ---- Variant E


@dataclass(frozen=True, slots=True)
class Additions:
    """What variant E holds beside the rules' triplets: the verdicts by id, the ids of the model's own, and of those
    with other words than the rules' the rules' own.
    """

    verdicts: dict[int, tuple[Verdict | None, float]] = field(default_factory=dict)
    alone: set[int] = field(default_factory=set)
    reworded: dict[int, int] = field(default_factory=dict)


def run_round(context: Context, judge: Judge | None) -> None:
    """Round 0 of variant E, its only one: what the rules and the judge hold together becomes training set and result.

    Args:
        judge: the shipped model; None where there is none, and the rules stand as they are.
    """
    started = time.monotonic()
    shown = ModelBar("self-train E0")
    model = None if judge is None else cast("ShippedModel", judge)  # the config was checked
    digest = model.digest if model is not None else triplets.RULES_REPEATED
    additions = Additions()
    rows: Iterator[tuple[int, Triplet]] | None = None
    if model is not None:
        rows = _agreed_triplets(context, model, shown, additions)
    result = rounds.RoundResult("E", 0, digest, rows, None)
    rate = partial(_rate_confidence, context, model=model, additions=additions)
    rounds.finish_round(context, None, result, None, started, shown, rate)


def _rate_confidence(context: Context, source: int, model: ShippedModel | None, additions: Additions) -> None:
    """Write who says what was added and the verdicts on it, and make calibrated confidences of all."""
    connection = context.connection
    if model is None:
        released.rate(connection, judging.NAME, None)
        return
    verdicts = ((i, label, score) for i, (label, score) in additions.verdicts.items())
    triplets.judge(connection, triplets.require_source(connection, judging.NAME), verdicts)
    triplets.credit(connection, source, triplets.require_source(connection, "rules"), additions.reworded)
    calibration = _fit_calibration(context, source, model, additions.alone)

    def rate(score: float, rule: str, polarity: Polarity) -> float:
        return calibration.rate(model.limits.place(score, rule, polarity), score)

    released.rate(connection, judging.NAME, rate)
    by_model = {i: calibration.rate("model", additions.verdicts[i][1]) for i in additions.alone}
    released.set_chances(connection, judging.NAME, by_model)
    save_calibration(calibration, context.models / judging.SHIPPED)


def _agreed_triplets(
    context: Context, model: ShippedModel, shown: ModelBar, additions: Additions
) -> Iterator[tuple[int, Triplet]]:
    """The triplets that rules and model agree on, in offsets of the stored text.

    What the model says of the triplets that the rules do not have goes to `additions`: the proposals that they come
    from are at hand here. Of one with other words than the rules' it says what it says of theirs.
    """
    from builder.models.combiner import held, origin_of
    from builder.models.shipped import seen

    connection = context.connection
    rules, judge = (triplets.require_source(connection, name) for name in ("rules", judging.NAME))
    engine = make_engine(context.lexicon, context.rules, context.config.rules.convention)

    def items() -> Iterator[tuple[Example, tuple[Review, View, list[JudgedTriplet]]]]:
        for split in SPLITS:
            judged = triplets.judged(connection, rules, judge, split)
            in_split = reviews.in_split(connection, split)
            for review, verdicts in join_rows(in_split, judged, lambda verdict: verdict.stored.review):
                text_view = review_view(review, context.lexicon.variants)
                yield Example(review.key, text_view.text, ()), (review, text_view, verdicts)

    done, characters = 0, sum(reviews.characters(connection, split) for split in SPLITS)
    kept = partial(read_proposals, context.models / judging.SHIPPED, model.digest)
    for (review, text_view, verdicts), proposals in predictions.answer_pairs(items(), kept):
        done += len(review.text)
        shown(done, characters, "joining")
        ruled = [
            (moved, verdict)
            for verdict in verdicts
            if (moved := to_view(verdict.stored.triplet, text_view)) is not None
        ]
        placed = [(judging.place(model.limits, verdict), verdict.score or 0.0) for _, verdict in ruled]
        doc = (
            restored(review, reviews.words(connection, review.id), context.lexicon.variants).doc
            if proposals
            else Doc(text_view.text, (), ())
        )
        by_rules = {own.key: verdict for own, verdict in ruled}
        staying = [own for (own, _), (standing, _) in zip(ruled, placed, strict=True) if standing != "rejected"]
        for triplet in held(engine, doc, [own for own, _ in ruled], placed, proposals, model.limits):
            stated = to_text(triplet, text_view, review.text)
            if triplet.key not in by_rules:
                added = triplets.triplet_id(review.id, stated)
                if origin := origin_of(triplet, staying):
                    verdict = by_rules[origin.key]
                    additions.verdicts[added] = verdict.label, verdict.score or 0.0
                    additions.reworded[added] = verdict.stored.id
                else:
                    additions.verdicts[added] = model.verdicts(seen([triplet], proposals))[0]
                    additions.alone.add(added)
            yield review.id, stated


def _fit_calibration(context: Context, source: int, model: ShippedModel, alone: Collection[int]) -> Calibration:
    """The calibration of the build, fitted to gold and to labels that taught, if there are any. Labels that moved the
    weights say nothing of confidence: the model knows them.
    """
    connection, path = context.connection, context.config.evaluate.gold
    rows = layers.rows(path) if not is_pool(path) else []  # what a pool unites comes after this
    taught = [] if context.folders.taught_model else read_taught_labels(context)
    due = {labels.review.id: [scores.name_answer(triplet) for triplet in labels.triplets] for labels in taught}
    splits = {labels.split for labels in taught} | ({"test"} if rows else set())
    keys = {str(row["id"]) for row in rows}
    labelled = [review for review in reviews.in_split(connection, "test") if review.key in keys] if rows else []
    due |= {review.id: [] for review in labelled}
    for review, triplet in layers.labelled(rows, labelled, path):
        due[review].append(scores.name_answer(triplet))
    judge = triplets.require_source(connection, judging.NAME)
    return fitted(
        [
            (
                "model" if verdict.stored.id in alone else judging.place(model.limits, verdict),
                verdict.score,
                scores.right(due[verdict.stored.review], [scores.name_answer(verdict.stored.triplet)], "lenient") == 1,
            )
            for split in sorted(splits)
            for verdict in triplets.judged(connection, source, judge, split)
            if verdict.score is not None and verdict.stored.review in due
        ],
        model.calibration,
    )


# ---- The stage, and variants A to D


def run(context: Context) -> runs.Counts:
    """Run the rounds that are due of every variant; the sizes of their first and last training sets."""
    connection = context.connection
    if runs.setting(connection, "self_train.key") != context.key:
        with db.atomic(connection):
            for variant in VARIANTS:
                runs.forget_rounds(connection, variant)
            triplets.drop_sources(connection, "model")
            for layer, kind in pool_labels.KINDS.items():  # what models share with labels is theirs again
                triplets.drop_sources(connection, kind, layer)
            runs.set_setting(connection, "self_train.key", context.key)
    judge = judging.load_judge(context)
    counts: dict[str, int | float | str] = {}
    for variant in context.config.self_train.variants:
        last = 0 if variant == "E" else context.config.self_train.iterations
        for number in range(last + 1):
            if any(done.round == number for done in runs.rounds(connection, variant)):
                continue
            if variant == "E":
                run_round(context, judge)
            elif judge is not None:
                _run_round(context, variant, number, judge)
            else:
                raise ModelError(
                    "no model is shipped for these words and rules, and the variants A to D need a judge",
                    where=f"self-train {variant}",
                    fix="train one with `--set discriminate.mode=paper`, or use variant E",
                )
        finished = runs.rounds(connection, variant)
        counts[f"{variant} S_0"] = finished[0].triplets
        counts[f"{variant} S_{finished[-1].round}"] = finished[-1].triplets
        problems = kinds.problems(context.config, context.models / f"{variant}{finished[-1].round}")
        counts |= {f"{variant}{finished[-1].round} {reason}": number for reason, number in problems.items()}
    if context.config.profile == "paper" and context.config.paper.compare_templates and judge is not None:
        counts |= rounds.compare(context, judge)
    if judge is not None:
        context.crew.rest()  # a worker that has loaded models holds a third more than one that has not
    return counts


def _run_round(context: Context, variant: str, number: int, judge: Judge) -> None:
    """Build S_number, train M_number on it, predict with it, judge what is new; commit all of it at once."""
    connection = context.connection
    started = time.monotonic()
    before = [triplet.id for triplet in triplets.training(connection, variant, number - 1)] if number else []
    proposed = _select_proposals(context, variant, number)
    after = sorted(set(before) | set(proposed.accepted))
    if not after:
        raise ModelError(
            "the training set is empty after filtering",
            where=f"self-train {variant}, round {number}",
            fix="use variant B or D, or more reviews",
        )
    shown = ModelBar(f"self-train {variant}{number}", kinds.unit(context.config))
    extractor = rounds.train_extractor(context, f"{variant}{number}", after, shown)
    predicted = rounds.predict_splits(context, extractor, f"{variant}{number}", after, shown)
    counts = rounds.RoundCounts(proposed.predicted, len(proposed.accepted), len(after) - len(before))
    result = rounds.RoundResult(variant, number, extractor.digest, predicted, after)
    rounds.finish_round(context, judge, result, counts, started, shown)


@dataclass(frozen=True, slots=True)
class _Proposed:
    """R and R' of a round: how many triplets were predicted and the ids that the variant accepts."""

    predicted: int
    accepted: list[int]


def _select_proposals(context: Context, variant: str, number: int) -> _Proposed:
    connection = context.connection
    name = "rules" if number == 0 else f"{variant}{number - 1}"
    source, judge = (triplets.require_source(connection, asked) for asked in (name, judging.NAME))
    kept = triplets.judged(connection, source, judge, "train")
    if number:
        kept = (judged for judged in kept if (judged.confidence or 0.0) >= context.config.self_train.confidence)
    if number and variant in "AB":
        # S* of Algorithm 1 holds those whose opinion, less its negators, does not stand in the opinion lexicon
        kept = (judged for judged in kept if not context.lexicon.knows(judged.stored.triplet.opinion.text))
    return _Proposed(
        triplets.count(connection, source, "train"),
        [judged.stored.id for judged in kept if rounds.accepts(variant, number, judged)],
    )
