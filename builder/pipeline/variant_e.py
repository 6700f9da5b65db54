"""Variant E (builder.models.agreement): the triplets that rules and the shipped model agree on. It trains nothing.

Its one training set S_0 is that of the train split. Its triplets carry a calibrated confidence. Without a judge it
holds the rules' triplets, and they carry none.

Language models may propose for the same reviews, and all votes are weighed together (builder.models.label_model). In:
the triplets of variant E as a stream, and the proposals of the sources `llm:MODEL@PROMPT`. Out: the stream. Reviews
that a model read lose what is improbable by all votes and gain what is probable. Other reviews pass as they are.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from builder.core.edges import clashes
from builder.core.progress import ModelBar
from builder.core.records import Polarity, Review, Triplet, Verdict
from builder.engine import Doc, make_engine
from builder.engine.reader import restored, review_view, to_text, to_view
from builder.gold.metrics import scores
from builder.gold.metrics.scores import Answer
from builder.language.lexicon.categories import Categories
from builder.learning.task import Example, Judge
from builder.models.label_model import PRECISION, LabelModel, VotedCandidate, chance_by_margin, fit_label_model
from builder.models.trust import Calibration, fitted, save_calibration
from builder.pipeline import judging, layers, predictions
from builder.pipeline.context import Context
from builder.pipeline.judging import join_rows
from builder.pipeline.layers import is_pool, read_taught_labels
from builder.pipeline.predictions import load_proposals
from builder.pipeline.rounds import SPLITS, RoundResult, TripletPlace, finish_round
from builder.reviews.text import View
from builder.store import labels, released, reviews, runs, triplets
from builder.store import labels as labellers
from builder.store.released import Rating
from builder.store.triplets import JudgedTriplet

if TYPE_CHECKING:
    from builder.models.shipped import ShippedModel

# ---- Votes of language models

StoredRow = tuple[int, Triplet]

ADD, DROP = 0.6, 0.1
"""What only labellers propose comes in from the first chance on; what the build holds goes below the second."""


@dataclass(frozen=True, slots=True)
class Labeller:
    """A labeller's proposals by review, and the reviews it read."""

    name: str
    read: frozenset[int]
    proposed: Mapping[int, Sequence[Triplet]]


@dataclass(slots=True)
class VotedChanges:
    """What the votes of labellers change: triplet id -> chance of what comes in, and how much goes."""

    added: dict[int, float] = field(default_factory=dict)
    dropped: int = 0


def heeded_labellers(context: Context) -> list[Labeller]:
    """The labellers that have read enough."""
    connection, out = context.connection, []
    for name in labels.heeded(connection):
        source = triplets.source_id(connection, name)
        assert source is not None, "it has reviews"
        own: dict[int, list[Triplet]] = {}
        for split in SPLITS:
            for stored in triplets.proposed(connection, source, split):
                own.setdefault(stored.review, []).append(replace(stored.triplet, source=name))
        out.append(Labeller(name, frozenset(labels.reviews_of(connection, name)), own))
    return out


def join_votes(
    context: Context,
    rows: Iterator[StoredRow],
    heeded: Sequence[Labeller],
    rating: Rating | None,
    changes: VotedChanges,
) -> Iterator[StoredRow]:
    """The rows of the build with what the labellers change. `rating` makes chances of the judge's verdicts; None: there
    is no judge, and the rules' margins say how sure they are. What the labellers change is noted in `changes`.
    """
    read = frozenset().union(*(labeller.read for labeller in heeded))
    held: dict[int, list[Triplet]] = {review: [] for review in sorted(read)}
    for review, triplet in rows:
        if review in held:
            held[review].append(triplet)
        else:
            yield review, triplet
    chances = _chances(context, read, rating)
    categories = Categories(context.lexicon)
    voted = [
        (review, triplet, _vote(triplet, own, review, heeded, chances, categories))
        for review, own in held.items()
        for triplet in (*own, *_alone(review, own, heeded))
    ]
    judged = _judge_by_gold(context, voted)
    model = fit_label_model(judged, len(heeded))
    decided = [(*row[:2], candidate) for row, candidate in zip(voted, judged, strict=True)]
    yield from _decided(held, decided, model, changes)


def _decided(
    held: Mapping[int, Sequence[Triplet]],
    voted: Sequence[tuple[int, Triplet, VotedCandidate]],
    model: LabelModel,
    changes: VotedChanges,
) -> Iterator[StoredRow]:
    """What stays of the build and what comes in, by review."""
    kept: dict[int, list[Triplet]] = {review: [] for review in held}
    new: dict[int, list[tuple[float, Triplet]]] = {review: [] for review in held}
    for review, triplet, candidate in voted:
        chance = model.chance(candidate)
        if candidate.chance is None:
            new[review].append((chance, triplet))
        elif chance >= min(DROP, candidate.chance):
            kept[review].append(triplet)
        else:
            changes.dropped += 1
    for review, own in kept.items():
        for chance, triplet in sorted(new[review], key=lambda pair: (-pair[0], pair[1].opinion.start)):
            if chance >= ADD and not any(clashes(triplet, other) for other in own):
                own.append(replace(triplet, confidence=round(chance, 4)))
                changes.added[triplets.triplet_id(review, triplet)] = round(chance, 4)
        yield from ((review, triplet) for triplet in own)


def _vote(
    triplet: Triplet,
    own: Sequence[Triplet],
    review: int,
    heeded: Sequence[Labeller],
    chances: Mapping[int, float],
    categories: Categories,
) -> VotedCandidate:
    votes = tuple(
        any(_same(triplet, other) for other in labeller.proposed.get(review, ())) if review in labeller.read else None
        for labeller in heeded
    )
    known = any(triplet is other for other in own)
    chance = chances.get(triplets.triplet_id(review, triplet), PRECISION) if known else None
    return VotedCandidate(chance, categories.aspect(triplet.aspect.text) or "", votes)


def _alone(review: int, own: Sequence[Triplet], heeded: Sequence[Labeller]) -> list[Triplet]:
    """What only labellers propose for a review, each triplet once."""
    out: list[Triplet] = []
    for labeller in heeded:
        for triplet in labeller.proposed.get(review, ()):
            if not any(_same(triplet, other) for other in (*own, *out)):
                out.append(triplet)
    return out


def _same(triplet: Triplet, other: Triplet) -> bool:
    return triplet.polarity == other.polarity and clashes(triplet, other)


def _chances(context: Context, read: frozenset[int], rating: Rating | None) -> dict[int, float]:
    """Triplet id -> how likely a rule triplet is right by itself, in the reviews that labellers read."""
    connection = context.connection
    rules, judge = triplets.source_id(connection, "rules"), triplets.source_id(connection, judging.NAME)
    assert rules is not None, "seed has run"
    out: dict[int, float] = {}
    for split in SPLITS:
        for row in triplets.judged(connection, rules, judge or 0, split):
            if row.stored.review in read:
                out[row.stored.id] = (
                    chance_by_margin(row.margin)
                    if rating is None or row.score is None
                    else rating(row.label, row.score, row.rule, row.stored.triplet.polarity, row.margin)
                )
    return out


def _judge_by_gold(context: Context, voted: Sequence[tuple[int, Triplet, VotedCandidate]]) -> list[VotedCandidate]:
    """The candidates, those of reviews in the gold file with whether they are right."""
    path = context.config.evaluate.gold
    rows = layers.rows(path) if not is_pool(path) else []
    if not rows:
        return [candidate for *_, candidate in voted]
    keys = {str(row["id"]) for row in rows}
    labelled = [review for review in reviews.in_split(context.connection, "test") if review.key in keys]
    due: dict[int, list[Answer]] = {review.id: [] for review in labelled}
    for review, triplet in layers.labelled(rows, labelled, path):
        due[review].append(_answer(triplet))
    return [
        replace(candidate, right=scores.right(due[review], [_answer(triplet)], "lenient") == 1)
        if review in due
        else candidate
        for review, triplet, candidate in voted
    ]


def _answer(triplet: Triplet) -> Answer:
    return triplet.aspect.text, triplet.opinion.text, triplet.polarity


# ---- The round

_VOTED = "self_train.voted"
"""The setting that keeps what language models changed."""


def read_voted(connection: sqlite3.Connection) -> dict[str, int]:
    """How many triplets language models added and took out; empty where none was heeded."""
    counts: dict[str, int] = json.loads(runs.setting(connection, _VOTED) or "{}")
    return counts


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
    changes = VotedChanges()
    rows: Iterator[tuple[int, Triplet]] | None = None
    if model is not None:
        rows = chain.from_iterable(_agreed_triplets(context, model, split, shown, additions) for split in SPLITS)
    if heeded := heeded_labellers(context):
        signatures = [labellers.signature(context.connection, labeller.name) for labeller in heeded]
        digest = hashlib.sha256(json.dumps([digest, *signatures]).encode()).hexdigest()[:16]
        rows = chain.from_iterable(_rule_triplets(context, split) for split in SPLITS) if rows is None else rows
        rating = None if model is None else _rate_by_rules(model, model.calibration)
        rows = join_votes(context, rows, heeded, rating, changes)
    result = RoundResult("E", 0, digest, rows, None, additions.verdicts)

    def settle(source: int) -> None:
        _rate_confidence(context, source, model, additions.alone, changes.added)
        counts = {labellers.ADDED: len(changes.added), labellers.DROPPED: changes.dropped} if heeded else {}
        runs.set_setting(context.connection, _VOTED, json.dumps(counts))

    finish_round(context, judge, result, None, started, shown, settle)


def _as_shipped(judge: Judge) -> ShippedModel:
    from builder.models.shipped import ShippedModel  # with torch, which a build without a judge does not need

    assert isinstance(judge, ShippedModel), "the config was checked"
    return judge


def _rate_confidence(
    context: Context, source: int, model: ShippedModel | None, alone: Mapping[int, float], added: Mapping[int, float]
) -> None:
    """Make calibrated confidences of the verdicts, and keep the calibration for `extract`. `alone`: the score of each
    triplet that the model alone found. What language models `added` keeps the chance that all votes give it.
    """
    if model is None:
        released.rate(context.connection, judging.NAME, None)
        return
    calibration = _fit_calibration(context, source, model, alone)
    released.rate(context.connection, judging.NAME, _rate_by_rules(model, calibration))
    by_model = {triplet: calibration.rate("model", score) for triplet, score in alone.items()}
    released.set_chances(context.connection, judging.NAME, {**by_model, **added})
    save_calibration(calibration, context.models / judging.SHIPPED)


def _rate_by_rules(model: ShippedModel, calibration: Calibration) -> released.Rating:
    """How likely a triplet of the rules is right by its verdict."""

    def rate(label: Verdict | None, score: float, rule: str, polarity: Polarity, margin: float) -> float:
        return calibration.rate(model.limits.place(label, score, rule, polarity, margin), score)

    return rate


def _rule_triplets(context: Context, split: str) -> Iterator[tuple[int, Triplet]]:
    """The rules' triplets as they are."""
    rules = triplets.source_id(context.connection, "rules")
    assert rules is not None, "seed has run"
    return ((stored.review, stored.triplet) for stored in triplets.proposed(context.connection, rules, split))


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
