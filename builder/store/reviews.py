"""Reviews, rejected rows and annotations: writing and streaming. One function, one statement or two."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence

from builder.records import Review, Token
from builder.store import search

_COLUMNS = "id, key, text, script, split, place, rating, source"
NewReview = tuple[str, str, str | None, str | None, float | None, str, int, str, str, str, str]
"""key, text, source, place, rating, file, row, script, language, hash, norm_hash"""


def clear(connection: sqlite3.Connection) -> None:
    """Drop everything that was ingested, and with it (foreign keys) all that was made of it."""
    connection.execute("DELETE FROM verdicts")
    connection.execute("DELETE FROM training_sets")
    connection.execute("DELETE FROM proposals")
    connection.execute("DELETE FROM triplets")
    connection.execute("DELETE FROM annotations")
    connection.execute("DELETE FROM reviews")
    search.clear(connection)
    clear_rejected(connection, "ingest")


def insert(connection: sqlite3.Connection, rows: Iterable[NewReview]) -> None:
    connection.executemany(
        "INSERT INTO reviews (key, text, source, place, rating, file, row, script, language, hash, norm_hash) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
        rows,
    )


def keys_taken(connection: sqlite3.Connection, keys: Sequence[str]) -> set[str]:
    """Those of `keys` that a stored review has already."""
    found = connection.execute("SELECT key FROM reviews WHERE key IN (SELECT value FROM json_each(?))", (json.dumps(keys),))
    return {row[0] for row in found}


def reject(connection: sqlite3.Connection, stage: str, rows: Iterable[tuple[str, str, str, str]]) -> None:
    """`rows` of (item, reason, detail, raw)."""
    connection.executemany("INSERT INTO rejected (stage, item, reason, detail, raw) VALUES (?,?,?,?,?)", ((stage, *row) for row in rows))


def clear_rejected(connection: sqlite3.Connection, stage: str) -> None:
    connection.execute("DELETE FROM rejected WHERE stage = ?", (stage,))


def mark_duplicates(connection: sqlite3.Connection) -> None:
    """The first review of a text stays; later ones with the same text, or the same normalised text, point to it."""
    for column, kind in (("hash", "exact"), ("norm_hash", "normalised")):
        connection.execute(
            f"""UPDATE reviews SET duplicate_of = f.first, duplicate_kind = '{kind}'
                FROM (SELECT {column} AS h, min(id) AS first FROM reviews GROUP BY {column} HAVING count(*) > 1) f
                WHERE reviews.{column} = f.h AND reviews.id > f.first AND reviews.duplicate_of IS NULL"""
        )


def set_splits(connection: sqlite3.Connection, splits: Iterable[tuple[str, int]]) -> None:
    """`splits` of (split, review id)."""
    connection.executemany("UPDATE reviews SET split = ? WHERE id = ?", splits)


def hashes(connection: sqlite3.Connection) -> Iterator[tuple[int, str, str]]:
    """(id, key, norm_hash) of the reviews that are no duplicates."""
    yield from connection.execute("SELECT id, key, norm_hash FROM reviews WHERE duplicate_of IS NULL ORDER BY id")


def texts(connection: sqlite3.Connection, after: int, limit: int) -> list[Review]:
    """The next `limit` distinct reviews with an id above `after`."""
    rows = connection.execute(f"SELECT {_COLUMNS} FROM reviews WHERE duplicate_of IS NULL AND id > ? ORDER BY id LIMIT ?", (after, limit))
    return [Review(*row) for row in rows]


def by_id(connection: sqlite3.Connection, ids: Sequence[int]) -> list[Review]:
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM reviews WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id", (json.dumps(ids),)
    )
    return [Review(*row) for row in rows]


def in_split(connection: sqlite3.Connection, split: str) -> Iterator[Review]:
    for row in connection.execute(f"SELECT {_COLUMNS} FROM reviews WHERE duplicate_of IS NULL AND split = ? ORDER BY id", (split,)):
        yield Review(*row)


def count(connection: sqlite3.Connection) -> int:
    """Distinct reviews."""
    return int(connection.execute("SELECT count(*) FROM reviews WHERE duplicate_of IS NULL").fetchone()[0])


def annotated_count(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM annotations").fetchone()[0])


def clear_annotations(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM annotations")


def annotate(connection: sqlite3.Connection, backend: str, rows: Iterable[tuple[int, str]]) -> None:
    """`rows` of (review id, words as `dump_tokens` makes them)."""
    connection.executemany(
        "INSERT INTO annotations (review, backend, words) VALUES (?,?,?)", ((review, backend, words) for review, words in rows)
    )


def annotated(connection: sqlite3.Connection, after: int, limit: int) -> list[tuple[Review, str]]:
    """The next reviews with their words, in order of id."""
    columns = ", ".join("r." + name for name in _COLUMNS.split(", "))
    rows = connection.execute(
        f"SELECT {columns}, a.words FROM annotations a JOIN reviews r ON r.id = a.review WHERE a.review > ? ORDER BY a.review LIMIT ?",
        (after, limit),
    )
    return [(Review(*row[:-1]), row[-1]) for row in rows]


def dump_tokens(tokens: Iterable[Token]) -> str:
    return json.dumps([[t.start, t.end, t.pos, t.head, t.rel] for t in tokens], separators=(",", ":"))


def load_tokens(words: str) -> tuple[Token, ...]:
    return tuple(Token(*word) for word in json.loads(words))


def ingest_counts(connection: sqlite3.Connection) -> dict[str, int | float | str]:
    """Rows read, kept, rejected and repeated, and the sizes of the splits."""

    def one(sql: str) -> int:
        return int(connection.execute(sql).fetchone()[0])

    rejected = one("SELECT count(*) FROM rejected WHERE stage = 'ingest'")
    stored = one("SELECT count(*) FROM reviews")
    out: dict[str, int | float | str] = {
        "rows": stored + rejected,
        "rejected": rejected,
        "duplicates": stored - count(connection),
        "reviews": count(connection),
    }
    return out | {
        split: one(f"SELECT count(*) FROM reviews WHERE duplicate_of IS NULL AND split = '{split}'") for split in ("train", "valid", "test")
    }


def reasons(connection: sqlite3.Connection) -> str:
    rows = connection.execute("SELECT reason, count(*) FROM rejected GROUP BY reason ORDER BY count(*) DESC, reason")
    return ", ".join(f"{reason} {number}" for reason, number in rows)


def backend(connection: sqlite3.Connection) -> str:
    """The signature of the annotations."""
    row = connection.execute("SELECT backend FROM annotations LIMIT 1").fetchone()
    return str(row[0]) if row else ""


def ids(connection: sqlite3.Connection, keys: Sequence[str]) -> dict[str, int]:
    """Key -> row id of stored reviews."""
    return dict(connection.execute("SELECT key, id FROM reviews WHERE key IN (SELECT value FROM json_each(?))", (json.dumps(keys),)))
