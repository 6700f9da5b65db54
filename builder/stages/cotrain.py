"""Variant E (builder.model.cotrain): what the rules and the discriminator's cross-fitted panel hold together. It
trains nothing more.

Its one set S_0 is that of the train split; a second round with taggers trained on it was measured to add more wrong
triplets than right ones. Without a judge, or with one that is not trusted, it holds what the rules hold. What it
proposes bears a calibrated confidence where the judge is trusted, and none where it is not.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from builder.engine import Doc, Engine
from builder.learning.task import Example, Judge
from builder.metrics import matching
from builder.metrics.matching import Answer
from builder.model.calibration import Curve, fitted, ranked, save_curve
from builder.reader import restored, review_view, to_text, to_view
from builder.records import Review, Triplet
from builder.stages import discriminate, gold, predicting
from builder.stages.context import Context, ModelBar
from builder.stages.rounds import SPLITS, Made, finish
from builder.stages.training import beside
from builder.store import confidence, reviews, triplets
from builder.store.triplets import JudgedTriplet
from builder.text import View

if TYPE_CHECKING:
    from builder.model.panel import Panel


def hold(context: Context, judge: Judge | None) -> None:
    """Round 0 of variant E, its only one."""
    from builder.model.panel import Panel

    assert judge is None or isinstance(judge, Panel), "the config was checked"
    started = time.monotonic()
    shown = ModelBar("self-train E0")
    trusted = judge if judge is not None and judge.trust else None
    digest = judge.digest if judge is not None else triplets.RULES_REPEATED
    predictions = (
        _ruled(context, split) if trusted is None else _held(context, trusted, split, shown) for split in SPLITS
    )
    finish(
        context, judge, Made("E", 0, digest, chain.from_iterable(predictions), None), None, started, shown,
        lambda source: _rate(context, source, trusted),
    )  # fmt: skip


def _rate(context: Context, source: int, trusted: Panel | None) -> None:
    """Make calibrated confidences of the verdicts, and keep the curve for `extract`; none of a panel that is not
    trusted.
    """
    curve = None if trusted is None else _curve(context, source)
    confidence.rate(context.connection, discriminate.NAME, curve)
    if trusted is not None:
        save_curve(curve, context.models / "panel")


def _ruled(context: Context, split: str) -> Iterator[tuple[int, Triplet]]:
    """The rules' triplets as they are."""
    rules = triplets.source_id(context.connection, "rules")
    assert rules is not None, "seed has run"
    return ((one.review, one.triplet) for one in triplets.proposed(context.connection, rules, split))


def _held(context: Context, panel: Panel, split: str, shown: ModelBar) -> Iterator[tuple[int, Triplet]]:
    """What rules and panel hold together of every review, in stored offsets; on the train split no tagger speaks of
    what it learnt.
    """
    from builder.model.cotrain import held

    connection = context.connection
    rules, judge = triplets.source_id(connection, "rules"), triplets.source_id(connection, discriminate.NAME)
    assert rules is not None and judge is not None, "rules and discriminator have run"
    engine = Engine(context.lexicon, context.rules, context.config.rules.convention)
    ruled = beside(
        reviews.in_split(connection, split),
        triplets.judged(connection, rules, judge, split),
        lambda one: one.stored.review,
    )

    def items() -> Iterator[tuple[Example, tuple[Review, View, list[JudgedTriplet]]]]:
        for review, listed in ruled:
            seen = review_view(review, context.lexicon.variants)
            yield Example(review.key, seen.text, ()), (review, seen, listed)

    told, folder = predicting.Told(shown, reviews.characters(connection, split)), context.models / "panel"
    found = predicting.along(items(), partial(predicting.sure, context, panel, folder, told, apart=split == "train"))
    for (review, seen, listed), proposals in found:
        pairs = [
            (verdict.score or 0.0, moved)
            for verdict in listed
            if (moved := to_view(verdict.stored.triplet, seen)) is not None
        ]
        doc = (
            restored(review, reviews.words(connection, review.id), context.lexicon.variants).doc
            if proposals
            else Doc(seen.text, (), ())
        )
        for triplet in held(
            engine, doc, [own for _, own in pairs], [score for score, _ in pairs], proposals, panel.trust
        ):
            yield review.id, to_text(triplet, seen, review.text)


def _curve(context: Context, source: int) -> Curve:
    """From the discriminator's scores to confidences: by the rank among the rules' triplets, moved by gold where the
    user has some.
    """
    connection, path = context.connection, context.config.evaluate.gold
    curve = ranked(confidence.scores(connection, discriminate.NAME, "rules", "train"))
    rows = gold.rows(path)
    if not rows:
        return curve
    keys = {str(row["id"]) for row in rows}
    labelled = [review for review in reviews.in_split(connection, "test") if review.key in keys]
    due: dict[int, list[Answer]] = {review.id: [] for review in labelled}
    for review, triplet in gold.labelled(rows, labelled, path):
        due[review].append(_answer(triplet))
    judge = triplets.source_id(connection, discriminate.NAME)
    assert judge is not None, "there is a panel"
    return fitted(
        [
            (
                verdict.score,
                matching.right(due[verdict.stored.review], [_answer(verdict.stored.triplet)], "lenient") == 1,
            )
            for verdict in triplets.judged(connection, source, judge, "test")
            if verdict.score is not None and verdict.stored.review in due
        ],
        curve,
    )


def _answer(triplet: Triplet) -> Answer:
    return triplet.aspect.text, triplet.opinion.text, triplet.polarity
