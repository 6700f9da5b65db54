"""What the build holds, weighed with what language models propose for the same reviews (builder.models.label_model).

In: the triplets of variant E as a stream, and the proposals of the sources `llm:MODEL@PROMPT`. Out: the stream, in
which reviews that a model read lose what is improbable and gain what is probable by all votes. Other reviews pass as
they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from builder.core.edges import clashes
from builder.core.records import Triplet
from builder.gold.metrics import scores
from builder.gold.metrics.scores import Answer
from builder.language.lexicon.categories import Categories
from builder.models.label_model import PRECISION, LabelModel, VotedCandidate, chance_by_margin, fit_label_model
from builder.models.trust import DROP
from builder.pipeline import judging, layers
from builder.pipeline.context import Context
from builder.pipeline.layers import is_pool
from builder.pipeline.rounds import SPLITS
from builder.store import labels, reviews, triplets
from builder.store.released import Rating

StoredRow = tuple[int, Triplet]

ADD = 0.6
"""What only labellers propose comes in from such a chance to be right. The panel's score has a limit of its own."""


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
