"""What differs between two releases, in the web pages' copy: a row a review with its triplets.

In: `ChangedReview`s. Out: the same by kind, page by page. The tables are there only where releases were compared.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import astuple, dataclass

Change = tuple[str, str, str, str, str]
"""kind, aspect, opinion, polarity, what it was before ("" where it was not, or is no more)"""
TABLES = ("release_changes", "changed_triplets", "compared_releases")


@dataclass(frozen=True, slots=True)
class Side:
    """A release of a comparison."""

    path: str
    version: str
    reviews: int
    triplets: int


@dataclass(frozen=True, slots=True)
class ChangedReview:
    """A review that differs: its kinds of change, and its changed triplets."""

    key: str
    text: str
    kinds: tuple[str, ...]
    triplets: tuple[Change, ...]


def store(connection: sqlite3.Connection, before: Side, after: Side, rows: Iterable[ChangedReview]) -> None:
    """Keep a comparison."""
    connection.execute(
        "CREATE TABLE compared_releases"
        " (n INTEGER PRIMARY KEY, path TEXT, version TEXT, reviews INTEGER, triplets INTEGER) STRICT"
    )
    connection.executemany(
        "INSERT INTO compared_releases (path, version, reviews, triplets) VALUES (?,?,?,?)",
        [astuple(before), astuple(after)],
    )
    connection.execute(
        "CREATE TABLE release_changes (n INTEGER PRIMARY KEY, key TEXT, text TEXT, kinds TEXT, triplets TEXT) STRICT"
    )
    connection.execute(
        "CREATE TABLE changed_triplets (kind TEXT, change INTEGER, number INTEGER, PRIMARY KEY (kind, change))"
        " STRICT, WITHOUT ROWID"
    )
    for n, row in enumerate(rows, start=1):
        connection.execute(
            "INSERT INTO release_changes VALUES (?,?,?,?,?)",
            (n, row.key, row.text, " ".join(row.kinds), json.dumps(row.triplets, ensure_ascii=False)),
        )
        numbers = {kind: sum(change[0] == kind for change in row.triplets) for kind, *_ in row.triplets}
        numbers |= dict.fromkeys(set(row.kinds) - set(numbers), 1)
        connection.executemany(
            "INSERT INTO changed_triplets VALUES (?,?,?)", [(kind, n, m) for kind, m in numbers.items()]
        )


def sides(connection: sqlite3.Connection) -> list[Side]:
    """The two releases; [] where none were compared."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'compared_releases'").fetchone() is None:
        return []
    rows = connection.execute("SELECT path, version, reviews, triplets FROM compared_releases ORDER BY n")
    return [Side(*row) for row in rows]


def counts(connection: sqlite3.Connection) -> dict[str, tuple[int, int]]:
    """Kind of change -> (how many, in how many reviews)."""
    rows = connection.execute("SELECT kind, sum(number), count(*) FROM changed_triplets GROUP BY 1")
    return {kind: (int(number), int(reviews)) for kind, number, reviews in rows}


def count(connection: sqlite3.Connection, kind: str) -> int:
    """The reviews with a kind of change, or with any."""
    statement = "SELECT count(DISTINCT change) FROM changed_triplets WHERE ?1 IN ('', kind)"
    return int(connection.execute(statement, (kind,)).fetchone()[0])


def reviews(
    connection: sqlite3.Connection, kind: str, limit: int, offset: int
) -> list[tuple[ChangedReview, int | None]]:
    """Reviews with a kind of change, or with any, each with its row id where the pages show it."""
    rows = connection.execute(
        "SELECT c.key, c.text, c.kinds, c.triplets, r.id FROM release_changes c"
        " LEFT JOIN reviews r ON r.public_id = c.key"
        " WHERE ?1 = '' OR EXISTS (SELECT 1 FROM changed_triplets t WHERE t.kind = ?1 AND t.change = c.n)"
        " ORDER BY c.n LIMIT ?2 OFFSET ?3",
        (kind, limit, offset),
    )
    return [
        (ChangedReview(key, text, tuple(kinds.split()), tuple(map(tuple, json.loads(triplets)))), i)
        for key, text, kinds, triplets, i in rows
    ]
