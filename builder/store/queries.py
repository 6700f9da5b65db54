"""Questions to the database: free SQL, the named queries of `queries/`, and the story of one triplet. Read-only connections only."""

from __future__ import annotations

import hashlib
import re
import sqlite3
import time
from collections.abc import Mapping
from importlib.resources import files

from builder.errors import ConfigError, QueryError
from builder.store.triplets import HASH

Table = tuple[tuple[str, ...], list[tuple[object, ...]]]
SECONDS = 60.0
"""A query may take so long before it is interrupted."""


def public_id(key: str) -> str:
    """The id of a review in a release with `release.ids = "hash"`."""
    return hashlib.sha256(key.encode()).hexdigest()[:16]


_PUBLIC = re.compile("[0-9a-f]{16}")


def names() -> list[str]:
    return sorted(item.name.removesuffix(".sql") for item in (files("builder.store") / "queries").iterdir() if item.name.endswith(".sql"))


def about(name: str) -> str:
    """The comment on a named query's first line."""
    return _text(name).splitlines()[0].removeprefix("-- ")


def named(connection: sqlite3.Connection, name: str, params: Mapping[str, str]) -> Table:
    """Run a query of `queries/`; its parameters are named :like_this."""
    return free(connection, _text(name), None, params)


def free(connection: sqlite3.Connection, statement: str, limit: int | None, params: Mapping[str, str] | None = None) -> Table:
    """Run one statement and fetch up to `limit` rows; QueryError with SQLite's own words if it refuses."""
    stop = time.monotonic() + SECONDS
    connection.set_progress_handler(lambda: int(time.monotonic() > stop), 10_000)
    try:
        cursor = connection.execute(statement, dict(params or {}))
        rows = cursor.fetchall() if limit is None else cursor.fetchmany(limit)
    except sqlite3.OperationalError as error:
        if "interrupted" in str(error):
            raise QueryError(f"the query took longer than {SECONDS:.0f} s", fix="add a LIMIT or a WHERE") from error
        raise QueryError(
            str(error), fix='`builder sql "SELECT name FROM sqlite_master"` lists tables and views' if "no such" in str(error) else ""
        ) from error
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise QueryError(str(error)) from error
    finally:
        connection.set_progress_handler(None, 0)
    return tuple(column[0] for column in cursor.description or ()), rows


def story(connection: sqlite3.Connection, identifier: str) -> str:
    """Everything known about a triplet in order, for people. `identifier`: a row id, KEY:HASH as in a release, or a review's key."""
    identifier = _own_id(connection, identifier)
    if ids := _triplets(connection, identifier):
        return "\n\n".join(_story(connection, i) for i in ids)
    row = connection.execute(
        "SELECT r.key, r.text, f.key FROM reviews r LEFT JOIN reviews f ON f.id = r.duplicate_of WHERE r.key = ?", (identifier,)
    ).fetchone()
    if row is None:
        raise QueryError(
            f"no triplet or review {identifier!r}", fix='ids are in the column id of `builder sql "SELECT * FROM current_triplets"`'
        )
    key, text, first = row
    return f"{key}  {f'repeats {first}: see there' if first else 'no source finds a triplet'}\n  text      {text}"


def _own_id(connection: sqlite3.Connection, identifier: str) -> str:
    """An id of a release with hashed review ids as the working directory knows it; any other one as it is."""
    key, colon, suffix = identifier.partition(":")
    if not _PUBLIC.fullmatch(key):
        return identifier
    found = next((own for (own,) in connection.execute("SELECT key FROM reviews") if public_id(own) == key), key)
    return found + colon + suffix


def _triplets(connection: sqlite3.Connection, identifier: str) -> list[int]:
    key, colon, suffix = identifier.rpartition(":")
    if colon and len(suffix) == 8:
        try:
            hashed = int(suffix, 16)
        except ValueError:
            hashed = -1
        rows = connection.execute(
            "SELECT t.id FROM triplets t JOIN reviews r ON r.id = t.review WHERE r.key = ? AND t.id & ? = ?", (key, HASH, hashed)
        ).fetchall()
        if rows:
            return [row[0] for row in rows]
    rows = connection.execute(
        "SELECT t.id FROM triplets t JOIN reviews r ON r.id = t.review WHERE r.key = ? ORDER BY t.id", (identifier,)
    ).fetchall()
    if not rows and identifier.isdecimal() and int(identifier) < 1 << 63:
        rows = connection.execute("SELECT id FROM triplets WHERE id = ?", (int(identifier),)).fetchall()
    return [row[0] for row in rows]


def _story(connection: sqlite3.Connection, i: int) -> str:
    row = connection.execute(
        "SELECT r.key, r.text, r.split, t.aspect, t.opinion, t.polarity, t.valence, t.opinion_full, t.owner, t.spans FROM triplets t JOIN reviews r ON r.id = t.review WHERE t.id = ?",
        (i,),
    ).fetchone()
    key, text, split, aspect, opinion, polarity, valence, full, owner, spans = row
    lines = [
        f"{key}:{i & HASH:08x}  ({aspect}, {opinion}, {polarity})  valence {valence:g}, split {split}",
        f"  text      {text}",
        f"  spans     {spans}",
    ]
    lines += [f"  full      {full}"] if full != opinion else []
    lines += [f"  owner     {owner}"] if owner else []
    for source, kind, detail in connection.execute(
        "SELECT source, kind, detail FROM explain WHERE triplet = ? ORDER BY source <> 'rules', source, n", (i,)
    ):
        lines.append(f"  {source:<13} {kind:<12} {detail}")
    for name, confidence in connection.execute(
        "SELECT s.name, p.confidence FROM proposals p JOIN sources s ON s.id = p.source WHERE p.triplet = ? AND s.kind <> 'rules' ORDER BY s.id",
        (i,),
    ):
        lines.append(f"  {name:<13} {'proposed':<12} " + ("" if confidence is None else f"confidence {confidence:.3f}"))
    return "\n".join(lines)


def _text(name: str) -> str:
    if name not in names():
        raise ConfigError(f"unknown query {name!r}", fix="known: " + ", ".join(names()))
    return (files("builder.store") / "queries" / f"{name}.sql").read_text(encoding="utf-8")
