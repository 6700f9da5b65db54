"""Training sets: which triplets each variant trains on, round by round."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator

from builder.core.records import StoredTriplet
from builder.store.triplets import BITS, EVERY, HASH, TRIPLET_COLUMNS, restore


def set_training(connection: sqlite3.Connection, variant: str, round_: int, ids: Iterable[int]) -> None:
    """Store the training set of a round: the ids of its triplets."""
    connection.execute("DELETE FROM training_sets WHERE variant = ? AND round = ?", (variant, round_))
    connection.executemany(
        "INSERT INTO training_sets (variant, round, triplet) VALUES (?,?,?)", ((variant, round_, i) for i in ids)
    )


def train_on(connection: sqlite3.Connection, variant: str, round_: int, source: int) -> None:
    """Make what a source proposes for the train split the training set of a round."""
    connection.execute("DELETE FROM training_sets WHERE variant = ? AND round = ?", (variant, round_))
    connection.execute(
        "INSERT INTO training_sets (variant, round, triplet) SELECT ?, ?, p.triplet"
        " FROM proposals p JOIN reviews r ON r.id = p.triplet >> 31 WHERE p.source = ? AND r.split = 'train'",
        (variant, round_, source),
    )


def training_counts(connection: sqlite3.Connection, variant: str, round_: int, source: int) -> tuple[int, int, int]:
    """Of a training set the reviews, the triplets, and of these those that a source proposes too."""
    reviews, total, shared = connection.execute(
        "SELECT count(DISTINCT s.triplet >> 31), count(*), count(p.triplet) FROM training_sets s"
        " LEFT JOIN proposals p ON p.triplet = s.triplet AND p.source = ? WHERE s.variant = ? AND s.round = ?",
        (source, variant, round_),
    ).fetchone()
    return reviews, total, shared


def training(
    connection: sqlite3.Connection, variant: str, round_: int, within: tuple[int, int] = EVERY
) -> Iterator[StoredTriplet]:
    """S_round of a variant, by review and place; `within`: of the reviews from one row id to another."""
    rows = connection.execute(
        f"SELECT {TRIPLET_COLUMNS} FROM training_sets s CROSS JOIN triplets t ON t.id = s.triplet"
        " WHERE s.variant = ? AND s.round = ? AND s.triplet BETWEEN ? AND ? ORDER BY s.triplet",
        (variant, round_, within[0] << BITS, within[1] << BITS | HASH),
    )
    yield from map(restore, rows)
