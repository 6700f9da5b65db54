"""Which reviews are worth a labeller's time: those in which the release would change most if somebody read them.

In: the proposals of rules and last model, and the judge's verdicts. Out: reviews, the most doubtful first. A triplet's
doubt is the chance that the release is wrong about it: it holds the triplet and should not, or the other way round.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator

from builder.core.errors import WorkdirError, did_you_mean
from builder.core.records import Review
from builder.pipeline.labellers import read_unreadable
from builder.store import pools, reviews, triplets
from builder.store.triplets import JudgedTriplet

JUDGE = "discriminator"
LEAST_DOUBT = 0.2
"""A review is disputed where a triplet is doubted at least so much."""
SELECTIONS = ("disputed", "all", "unreadable")


def choose_reviews(
    connection: sqlite3.Connection, selection: str, split: str, limit: int | None, source: str
) -> list[Review]:
    """The reviews of a split ("all" for every one) by doubt, then in the order of the hashes of their texts.

    `selection` "disputed" leaves out those in which nothing is doubted, "unreadable" those of which `source` gave an
    answer that can be read, or none; WorkdirError for another name than SELECTIONS.
    """
    if selection not in SELECTIONS:
        hint = did_you_mean(selection, SELECTIONS)
        known = ", ".join(sorted(SELECTIONS))
        raise WorkdirError(f"unknown selection {selection!r}", where="--select", fix=f"{hint}known: {known}")
    unreadable = read_unreadable(connection, source) if selection == "unreadable" else set()
    chosen: list[tuple[float, float, int]] = []
    for name in ("train", "valid", "test") if split == "all" else (split,):
        most, total = doubts(connection, name)
        for review in reviews.in_split(connection, name):
            doubt = total.get(review.id, 0.0) if selection == "disputed" else 0.0
            if selection == "disputed" and most.get(review.id, 0.0) < LEAST_DOUBT:
                continue
            if selection != "unreadable" or review.id in unreadable:
                chosen.append((-doubt, _shuffled(review.id), review.id))
    ids = [i for *_, i in sorted(chosen)[:limit]]
    by_id = {review.id: review for review in reviews.by_id(connection, ids)}
    return [by_id[i] for i in ids]


def doubts(connection: sqlite3.Connection, split: str) -> tuple[dict[int, float], dict[int, float]]:
    """Review row id -> the doubt of its most doubtful triplet, and the sum over its triplets."""
    most: dict[int, float] = {}
    total: dict[int, float] = {}
    for review, doubt in _triplet_doubts(connection, split):
        most[review] = max(most.get(review, 0.0), doubt)
        total[review] = total.get(review, 0.0) + doubt
    return most, total


def _triplet_doubts(connection: sqlite3.Connection, split: str) -> Iterator[tuple[int, float]]:
    systems = pools.systems(connection)
    judge = triplets.source_id(connection, JUDGE) or 0
    sources = [triplets.source_id(connection, name) for name in systems if systems[name] != triplets.RULES_REPEATED]
    seen: set[int] = set()
    for source in sources:
        if source is None:
            continue
        for judged in triplets.judged(connection, source, judge, split):
            if judged.stored.id not in seen:
                seen.add(judged.stored.id)
                yield judged.stored.review, min(chance := chance_of(judged), 1 - chance)


def chance_of(judged: JudgedTriplet) -> float:
    """How likely a triplet is right: by the judge's score, else by how far the rules' aspect is ahead."""
    if judged.score is not None:
        return min(1.0, max(0.0, judged.score))
    return 1 / (1 + math.exp(-min(judged.margin, 30.0)))


def _shuffled(review: int) -> float:
    """A fixed order that has nothing to do with that of the input."""
    return (review * 2654435761 % 2**32) / 2**32
