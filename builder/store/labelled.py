"""Layers of the test split: which of its reviews are labelled in full, and who labelled them.

A layer's triplets are the proposals of its source (`gold` or `silver`), read with `builder.store.triplets`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from builder.core.annotators import Annotators

GOLD, SILVER = "gold", "silver"
"""The sources of the layers, and what release rows call their annotation."""
KINDS = {GOLD: "gold", SILVER: "llm"}


@dataclass(frozen=True, slots=True)
class LabelledLayer:
    """A layer by its name, with the id of its source, who labelled it (in words, and as far as somebody says), and the
    row ids of its reviews.
    """

    name: str
    source: int
    labelled_by: str
    annotators: Annotators
    reviews: frozenset[int]


def put(connection: sqlite3.Connection, source: int, reviews: Iterable[int]) -> None:
    """Note the reviews that a layer's source labelled."""
    connection.executemany(
        "INSERT INTO labelled_reviews (source, review) VALUES (?,?)", ((source, review) for review in reviews)
    )


def layers(connection: sqlite3.Connection) -> dict[str, LabelledLayer]:
    """Name -> layer, gold first; empty where nothing was labelled."""
    sources = connection.execute(
        "SELECT s.name, s.id, coalesce(s.labelled_by, ''), coalesce(s.annotators, '') FROM sources s"
        " WHERE s.name IN ('gold', 'silver') AND s.id IN (SELECT source FROM labelled_reviews) ORDER BY s.name"
    ).fetchall()
    return {
        name: LabelledLayer(
            name,
            source,
            labelled_by,
            annotators,
            frozenset(
                row[0] for row in connection.execute("SELECT review FROM labelled_reviews WHERE source = ?", (source,))
            ),
        )
        for name, source, labelled_by, annotators in sources
    }
