"""Readings: the words of each review as a backend read them, writing and streaming.

One backend is the current one; every function that reads means its words.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator

from builder.core.records import Review, Token
from builder.store.reviews import REVIEW_COLUMNS

_CURRENT = "(SELECT id FROM backends WHERE current = 1)"


def begin_annotations(connection: sqlite3.Connection, name: str, signature: str, key: str, *, anew: bool) -> int:
    """The id of a backend, which becomes the current one.

    What it annotated before under another key goes, and all of it if it shall begin `anew`; other backends keep theirs.
    """
    connection.execute("DELETE FROM backends WHERE name = ? AND (key <> ? OR ?)", (name, key, anew))
    connection.execute("UPDATE backends SET current = 0 WHERE current = 1")
    connection.execute(
        "INSERT INTO backends (name, signature, key, current) VALUES (?,?,?,1) ON CONFLICT (name) DO UPDATE"
        " SET current = 1",
        (name, signature, key),
    )
    return int(connection.execute("SELECT id FROM backends WHERE current = 1").fetchone()[0])


def annotate(connection: sqlite3.Connection, backend: int, rows: Iterable[tuple[int, str]]) -> None:
    """`rows` of (review id, words as `dump_tokens` makes them)."""
    connection.executemany(
        "INSERT INTO annotations (review, backend, words) VALUES (?,?,?)",
        ((review, backend, words) for review, words in rows),
    )


def annotated_to(connection: sqlite3.Connection) -> int:
    """The last review that the current backend has annotated, or 0."""
    return int(
        connection.execute(f"SELECT coalesce(max(review), 0) FROM annotations WHERE backend = {_CURRENT}").fetchone()[0]
    )


def annotated_count(connection: sqlite3.Connection) -> int:
    """Reviews that the current backend has annotated."""
    return int(connection.execute(f"SELECT count(*) FROM annotations WHERE backend = {_CURRENT}").fetchone()[0])


ReviewFields = tuple[int, str, str, str, str | None, str | None, float | None, str | None]
"""Those of a `Review`: workers get them as they are, for a dataclass takes several times as long on its way."""


def annotated(connection: sqlite3.Connection, after: int, limit: int) -> list[tuple[Review, str]]:
    """The next reviews with the words that the current backend gave them, in order of id."""
    return [(Review(*fields), words) for fields, words in annotated_fields(connection, after, limit)]


def annotated_fields(connection: sqlite3.Connection, after: int, limit: int) -> list[tuple[ReviewFields, str]]:
    """As `annotated`."""
    columns = ", ".join("r." + name for name in REVIEW_COLUMNS.split(", "))
    rows = connection.execute(
        f"SELECT {columns}, a.words FROM annotations a JOIN reviews r ON r.id = a.review"
        f" WHERE a.backend = {_CURRENT} AND a.review > ? ORDER BY a.review LIMIT ?",
        (after, limit),
    )
    return [(row[:-1], row[-1]) for row in rows]


def spread(connection: sqlite3.Connection, count: int) -> Iterator[tuple[Review, str]]:
    """At most `count` reviews with the words that the current backend gave them, from all over the table."""
    query = f"SELECT review FROM annotations WHERE backend = {_CURRENT} ORDER BY review"
    ids = [row[0] for row in connection.execute(query)]
    columns = ", ".join("r." + name for name in REVIEW_COLUMNS.split(", "))
    for place in range(min(count, len(ids))):
        row = connection.execute(
            f"SELECT {columns}, a.words FROM annotations a JOIN reviews r ON r.id = a.review"
            f" WHERE a.backend = {_CURRENT} AND a.review = ?",
            (ids[place * len(ids) // min(count, len(ids))],),
        ).fetchone()
        yield Review(*row[:-1]), row[-1]


def texts_with_words(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Every stored text with the words that the current backend gave it, as `dump_tokens` makes them."""
    yield from connection.execute(
        f"SELECT r.text, a.words FROM annotations a JOIN reviews r ON r.id = a.review WHERE a.backend = {_CURRENT}"
    )


def words(connection: sqlite3.Connection, review: int) -> list[tuple[int, int, str, int, str]]:
    """The words that the current backend gave a review; none if it has not read it."""
    row = connection.execute(
        f"SELECT words FROM annotations WHERE backend = {_CURRENT} AND review = ?", (review,)
    ).fetchone()
    return load_words(row[0]) if row else []


def dump_tokens(tokens: Iterable[Token]) -> str:
    """Tokens as the JSON that the table `annotations` holds."""
    return json.dumps([[t.start, t.end, t.pos, t.head, t.rel] for t in tokens], separators=(",", ":"))


def load_words(words: str) -> list[tuple[int, int, str, int, str]]:
    """The fields of the tokens that `dump_tokens` wrote, in offsets of the stored text."""
    tokens: list[tuple[int, int, str, int, str]] = json.loads(words)
    return tokens


def backend(connection: sqlite3.Connection) -> str:
    """The signature of the current backend, or nothing."""
    row = connection.execute("SELECT signature FROM backends WHERE current = 1").fetchone()
    return str(row[0]) if row else ""
