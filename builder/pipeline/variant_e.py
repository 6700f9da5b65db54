"""Variant E (builder.models.agreement): the triplets that rules and the shipped model agree on. It trains nothing.

Its one training set S_0 is that of the train split. Its triplets carry a calibrated confidence. Without a judge it
holds the rules' triplets, and they carry none.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from builder.core.progress import ModelBar
from builder.core.records import Polarity, Review, Triplet, Verdict
from builder.engine import Doc, make_engine
from builder.engine.reader import restored, review_view, to_text, to_view
from builder.gold.metrics import scores
from builder.gold.metrics.scores import Answer
from builder.learning.task import Example, Judge
from builder.models.trust import Calibration, fitted, save_calibration
from builder.pipeline import judging, layers, predictions
from builder.pipeline.context import Context
from builder.pipeline.judging import join_rows
from builder.pipeline.layers import is_pool, read_taught_labels
from builder.pipeline.predictions import load_proposals
from builder.pipeline.rounds import SPLITS, RoundResult, TripletPlace, finish_round
from builder.reviews.text import View
from builder.store import released, reviews, triplets
from builder.store.triplets import JudgedTriplet

if TYPE_CHECKING:
    from builder.models.shipped import ShippedModel


@dataclass(frozen=True, slots=True)
class Additions:
    """What variant E holds beside the rules' triplets: the model's verdict on each, and the score of those that the
    model alone found, by their ids.
    """

    verdicts: dict[TripletPlace, tuple[Verdict | None, float]] = field(default_factory=dict)
    alone: dict[int, float] = field(default_factory=dict)


def run_round(context: Context, judge: Judge | None) -> None:
    """Round 0 of variant E, its only one: what the rules and the judge hold together becomes training set and result.

    Args:
        judge: the shipped model; None where there is none, and the rules stand as they are.
    """
    started = time.monotonic()
    shown = ModelBar("self-train E0")
    model = None if judge is None else _as_shipped(judge)
    digest = model.digest if model is not None else triplets.RULES_REPEATED
    additions = Additions()
    rows: Iterator[tuple[int, Triplet]] | None = None
    if model is not None:
        rows = chain.from_iterable(_agreed_triplets(context, model, split, shown, additions) for split in SPLITS)
    result = RoundResult("E", 0, digest, rows, None, additions.verdicts)

    def settle(source: int) -> None:
        _rate_confidence(context, source, model, additions.alone)

    finish_round(context, judge, result, None, started, shown, settle)


def _as_shipped(judge: Judge) -> ShippedModel:
    from builder.models.shipped import ShippedModel  # with torch, which a build without a judge does not need

    assert isinstance(judge, ShippedModel), "the config was checked"
    return judge


def _rate_confidence(context: Context, source: int, model: ShippedModel | None, alone: Mapping[int, float]) -> None:
    """Make calibrated confidences of the verdicts, and keep the calibration for `extract`. `alone`: the score of each
    triplet that the model alone found.
    """
    if model is None:
        released.rate(context.connection, judging.NAME, None)
        return
    calibration = _fit_calibration(context, source, model, alone)
    released.rate(context.connection, judging.NAME, _rate_by_rules(model, calibration))
    by_model = {triplet: calibration.rate("model", score) for triplet, score in alone.items()}
    released.set_chances(context.connection, judging.NAME, by_model)
    save_calibration(calibration, context.models / judging.SHIPPED)


def _rate_by_rules(model: ShippedModel, calibration: Calibration) -> released.Rating:
    """How likely a triplet of the rules is right by its verdict."""

    def rate(label: Verdict | None, score: float, rule: str, polarity: Polarity, margin: float) -> float:
        return calibration.rate(model.limits.place(label, score, rule, polarity, margin), score)

    return rate


def _agreed_triplets(
    context: Context,
    model: ShippedModel,
    split: str,
    shown: ModelBar,
    additions: Additions,
) -> Iterator[tuple[int, Triplet]]:
    """The triplets that rules and model agree on, in offsets of the stored text.

    What the model says of the triplets that the rules do not have goes to `additions`: the proposals that they come
    from are at hand here.
    """
    from builder.models.agreement import held
    from builder.models.shipped import seen

    connection = context.connection
    rules, judge = triplets.source_id(connection, "rules"), triplets.source_id(connection, judging.NAME)
    assert rules is not None and judge is not None, "rules and discriminator have run"
    engine = make_engine(context.lexicon, context.rules, context.config.rules.convention)
    judged_reviews = join_rows(
        reviews.in_split(connection, split),
        triplets.judged(connection, rules, judge, split),
        lambda verdict: verdict.stored.review,
    )

    def items() -> Iterator[tuple[Example, tuple[Review, View, list[JudgedTriplet]]]]:
        for review, verdicts in judged_reviews:
            text_view = review_view(review, context.lexicon.variants)
            yield Example(review.key, text_view.text, ()), (review, text_view, verdicts)

    progress = predictions.CharacterProgress(shown, reviews.characters(connection, split))
    folder = context.models / judging.SHIPPED
    kept = load_proposals(folder, model.digest)
    ask = partial(kept.answer, ask=partial(predictions.propose_sure, context, model, folder, progress))
    for (review, text_view, verdicts), proposals in predictions.answer_pairs(items(), ask):
        pairs = [
            (moved, judging.place(model.limits, verdict) != "rejected")
            for verdict in verdicts
            if (moved := to_view(verdict.stored.triplet, text_view)) is not None
        ]
        doc = (
            restored(review, reviews.words(connection, review.id), context.lexicon.variants).doc
            if proposals
            else Doc(text_view.text, (), ())
        )
        ruled = {own.key for own, _ in pairs}
        for triplet in held(
            engine, doc, [own for own, _ in pairs], [stays for _, stays in pairs], proposals, model.limits
        ):
            stated = to_text(triplet, text_view, review.text)
            if triplet.key not in ruled:
                verdict = model.verdicts(seen([triplet], proposals))[0]
                additions.verdicts[review.id, stated.key] = verdict
                if triplet.source != "rules":
                    additions.alone[triplets.triplet_id(review.id, stated)] = round(verdict[1], 6)
            yield review.id, stated


def _fit_calibration(context: Context, source: int, model: ShippedModel, alone: Mapping[int, float]) -> Calibration:
    """The calibration of the build, fitted to gold and to labels that taught, if there are any. Labels that moved the
    weights say nothing of confidence: the model knows them.
    """
    connection, path = context.connection, context.config.evaluate.gold
    rows = layers.rows(path) if not is_pool(path) else []  # what a pool unites comes after this
    taught = [] if context.folders.taught_model else read_taught_labels(context)
    due = {labels.review.id: [_answer(triplet) for triplet in labels.triplets] for labels in taught}
    splits = {labels.split for labels in taught} | ({"test"} if rows else set())
    keys = {str(row["id"]) for row in rows}
    labelled = [review for review in reviews.in_split(connection, "test") if review.key in keys] if rows else []
    due |= {review.id: [] for review in labelled}
    for review, triplet in layers.labelled(rows, labelled, path):
        due[review].append(_answer(triplet))
    judge = triplets.source_id(connection, judging.NAME)
    assert judge is not None, "there are verdicts"
    return fitted(
        [
            (
                "model" if verdict.stored.id in alone else judging.place(model.limits, verdict),
                verdict.score,
                scores.right(due[verdict.stored.review], [_answer(verdict.stored.triplet)], "lenient") == 1,
            )
            for split in sorted(splits)
            for verdict in triplets.judged(connection, source, judge, split)
            if verdict.score is not None and verdict.stored.review in due
        ],
        model.calibration,
    )


def _answer(triplet: Triplet) -> Answer:
    return triplet.aspect.text, triplet.opinion.text, triplet.polarity
