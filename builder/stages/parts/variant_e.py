"""Variant E (builder.model.cotrain): the triplets that rules and the cross-fitted panel agree on. It trains nothing.

Its one training set S_0 is that of the train split: a second round with taggers trained on it adds more wrong
triplets than right ones. Without a judge, or with one that is not trusted, it holds the rules' triplets. They carry a
calibrated confidence where the judge is trusted, and none elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from builder.engine import Doc, make_engine
from builder.learning.task import Example, Judge
from builder.metrics import matching
from builder.metrics.matching import Answer
from builder.model.calibration import Curve, fitted, ranked, save_curve
from builder.progress import ModelBar
from builder.reader import restored, review_view, to_text, to_view
from builder.records import Review, Triplet, Verdict
from builder.stages.parts import gold, judging, predictions
from builder.stages.parts.context import Context
from builder.stages.parts.examples import join_rows
from builder.stages.parts.joined_votes import VotedChanges, heeded_labellers, join_votes
from builder.stages.parts.pool_layers import is_pool
from builder.stages.parts.rounds import SPLITS, RoundResult, TripletPlace, finish_round
from builder.stages.parts.sure_proposals import load_proposals
from builder.stages.parts.taught_reviews import read_taught_labels
from builder.store import confidence, labellers, readings, reviews, runs, triplets
from builder.store.triplets import JudgedTriplet
from builder.text import View

if TYPE_CHECKING:
    from builder.model.panel import Panel


_VOTED = "self_train.voted"
"""The setting that keeps what language models changed."""


def read_voted(connection: sqlite3.Connection) -> dict[str, int]:
    """How many triplets language models added and took out; empty where none was heeded."""
    counts: dict[str, int] = json.loads(runs.setting(connection, _VOTED) or "{}")
    return counts


def run_round(context: Context, judge: Judge | None) -> None:
    """Round 0 of variant E, its only one: what the rules and the panel hold together becomes training set and result.

    Args:
        judge: the panel; None where it was not trained or is not trusted, and the rules stand as they are.
    """
    started = time.monotonic()
    shown = ModelBar("self-train E0")
    trusted = None if judge is None else _trusted(judge)
    digest = trusted.digest if trusted is not None else triplets.RULES_REPEATED
    verdicts: dict[TripletPlace, tuple[Verdict | None, float]] = {}
    changes = VotedChanges()
    rows: Iterator[tuple[int, Triplet]] | None = None
    if trusted is not None:
        rows = chain.from_iterable(_agreed_triplets(context, trusted, split, shown, verdicts) for split in SPLITS)
    if heeded := heeded_labellers(context):
        signatures = [labellers.signature(context.connection, labeller.name) for labeller in heeded]
        digest = hashlib.sha256(json.dumps([digest, *signatures]).encode()).hexdigest()[:16]
        rows = chain.from_iterable(_rule_triplets(context, split) for split in SPLITS) if rows is None else rows
        curve = None if trusted is None else trusted.own_curve or _rank_curve(context)
        rows = join_votes(context, rows, heeded, curve, changes)
    result = RoundResult("E", 0, digest, rows, None, verdicts)

    def settle(source: int) -> None:
        _rate_confidence(context, source, trusted, changes.added)
        counts = {labellers.ADDED: len(changes.added), labellers.DROPPED: changes.dropped} if heeded else {}
        runs.set_setting(context.connection, _VOTED, json.dumps(counts))

    finish_round(context, judge, result, None, started, shown, settle)


def _trusted(judge: Judge) -> Panel | None:
    from builder.model.panel import Panel  # with torch, which a build without a judge does not need

    assert isinstance(judge, Panel), "the config was checked"
    return judge if judge.trust else None


def _rate_confidence(context: Context, source: int, trusted: Panel | None, added: Mapping[int, float]) -> None:
    """Make calibrated confidences of the verdicts, and keep the curve for `extract`; none of a panel that is not
    trusted. What language models `added` keeps the chance that all votes give it.
    """
    curve = None if trusted is None else _fit_curve(context, source, trusted.own_curve)
    confidence.rate(context.connection, judging.NAME, curve)
    if curve is not None:
        confidence.set_chances(context.connection, judging.NAME, added)
    if trusted is not None:
        save_curve(curve, context.models / "panel")


def _rule_triplets(context: Context, split: str) -> Iterator[tuple[int, Triplet]]:
    """The rules' triplets as they are."""
    rules = triplets.source_id(context.connection, "rules")
    assert rules is not None, "seed has run"
    return ((stored.review, stored.triplet) for stored in triplets.proposed(context.connection, rules, split))


def _agreed_triplets(
    context: Context,
    panel: Panel,
    split: str,
    shown: ModelBar,
    new_verdicts: dict[TripletPlace, tuple[Verdict | None, float]],
) -> Iterator[tuple[int, Triplet]]:
    """The triplets that rules and panel agree on, in offsets of the stored text.

    On the train split no tagger votes on a review that it was trained on. What the panel says of the triplets that the
    rules do not have goes to `new_verdicts`: the proposals that they come from are at hand here.
    """
    from builder.model.cotrain import held
    from builder.model.panel import seen

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
    folder, apart = context.models / "panel", split == "train" and not panel.own_limits
    ask = partial(predictions.propose_sure, context, panel, folder, progress, apart=apart)
    if apart or panel.own_limits:
        ask = partial(load_proposals(folder, panel.taggers.digest).answer, ask=ask)
    for (review, text_view, verdicts), proposals in predictions.answer_pairs(items(), ask):
        pairs = [
            (moved, verdict.score or 0.0, panel.limits.is_firm(verdict.margin, context.config.rules.convention))
            for verdict in verdicts
            if (moved := to_view(verdict.stored.triplet, text_view)) is not None
        ]
        doc = (
            restored(review, readings.words(connection, review.id), context.lexicon.variants).doc
            if proposals
            else Doc(text_view.text, (), ())
        )
        scores, firm = [score for _, score, _ in pairs], [sure for *_, sure in pairs]
        ruled = {own.key for own, *_ in pairs}
        for triplet in held(engine, doc, [own for own, *_ in pairs], scores, firm, proposals, panel.limits):
            stated = to_text(triplet, text_view, review.text)
            if triplet.key not in ruled:
                new_verdicts[review.id, stated.key] = panel.verdicts(seen([triplet], proposals))[0]
            yield review.id, stated


def _rank_curve(context: Context) -> Curve:
    """The curve by the rank of a score among the rules' triplets of train."""
    return ranked(confidence.scores(context.connection, judging.NAME, "rules", "train"))


def _fit_curve(context: Context, source: int, measured: Curve | None) -> Curve:
    """The curve from the discriminator's scores to confidences.

    It is `measured`, that of a model that was shipped with it, or follows the rank among the rules' triplets; it is
    fitted to gold and to labels that taught, if there are any.
    """
    connection, path = context.connection, context.config.evaluate.gold
    curve = measured or _rank_curve(context)
    rows = gold.rows(path) if not is_pool(path) else []  # what a pool unites comes after this
    taught = [labels for labels in read_taught_labels(context) if labels.split]
    due = {labels.review.id: [_answer(triplet) for triplet in labels.triplets] for labels in taught}
    splits = {labels.split for labels in taught} | ({"test"} if rows else set())
    keys = {str(row["id"]) for row in rows}
    labelled = [review for review in reviews.in_split(connection, "test") if review.key in keys] if rows else []
    due |= {review.id: [] for review in labelled}
    for review, triplet in gold.labelled(rows, labelled, path):
        due[review].append(_answer(triplet))
    judge = triplets.source_id(connection, judging.NAME)
    assert judge is not None, "there is a panel"
    return fitted(
        [
            (
                verdict.score,
                matching.right(due[verdict.stored.review], [_answer(verdict.stored.triplet)], "lenient") == 1,
            )
            for split in sorted(splits)
            for verdict in triplets.judged(connection, source, judge, split)
            if verdict.score is not None and verdict.stored.review in due
        ],
        curve,
    )


def _answer(triplet: Triplet) -> Answer:
    return triplet.aspect.text, triplet.opinion.text, triplet.polarity
