"""Questions to the database: free SQL and the named queries of `queries/`. Read-only connections only."""

from __future__ import annotations

import hashlib
import itertools
import re
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from builder.core.errors import ConfigError, QueryError, did_you_mean
from builder.store.limits import bytes_of

Table = tuple[tuple[str, ...], list[tuple[object, ...]]]
SECONDS = 60.0
"""A query may take so long before it is interrupted."""
MEGABYTES = 64
"""An answer may hold so many."""
_SMALLER = "add a LIMIT or a WHERE, ask for fewer columns, or raise --megabytes of `builder sql`"


def public_id(key: str) -> str:
    """The id of a review in a release with `release.ids = "hash"`."""
    return hashlib.sha256(key.encode()).hexdigest()[:16]


_READING = "ask with SELECT, WITH, EXPLAIN, or a PRAGMA that only tells, such as table_info(reviews)"
_PARAM = re.compile(r":(\w+) for example (\S+)")
_NEEDS = {
    "dates": ("review_dates", "no review of this build has a date: the input has no column of dates that was read"),
    "stars": ("reviews WHERE rating IS NOT NULL", "no review of this build has a rating"),
    "gold": ("sources WHERE kind = 'gold'", "nobody has labelled reviews of this build: set evaluate.gold"),
}
"""What a query needs -> where it stands, and what to say where there is none."""


@dataclass(frozen=True, slots=True)
class Named:
    """A named query: its title, what its answer means (may be empty), its parameters with an example each,
    its SQL, and what it needs of `_NEEDS`.
    """

    name: str
    title: str
    description: str
    params: Mapping[str, str]
    sql: str
    needs: str = ""


def names() -> list[str]:
    """The names of the shipped queries, in order."""
    return sorted(
        item.name.removesuffix(".sql")
        for item in (files("builder.store") / "queries").iterdir()
        if item.name.endswith(".sql")
    )


def lookup(name: str) -> Named:
    """A query of `queries/`. Its leading comments: the title, lines of description, `needs WHAT`, and
    `:name for example VALUE` for each parameter.
    """
    if name not in names():
        raise ConfigError(f"unknown query {name!r}", fix=did_you_mean(name, names()) + "known: " + ", ".join(names()))
    lines = (files("builder.store") / "queries" / f"{name}.sql").read_text(encoding="utf-8").splitlines()
    comments = [line.removeprefix("-- ") for line in itertools.takewhile(lambda line: line.startswith("-- "), lines)]
    params = {match[1]: match[2] for line in comments if (match := _PARAM.fullmatch(line))}
    needs = next((line.removeprefix("needs ") for line in comments if line.startswith("needs ")), "")
    description = [line for line in comments[1:] if not _PARAM.fullmatch(line) and not line.startswith("needs ")]
    return Named(name, comments[0], " ".join(description), params, "\n".join(lines[len(comments) :]), needs)


def missing(connection: sqlite3.Connection, name: str) -> str:
    """What this build lacks for a named query, in a sentence; empty where it lacks nothing."""
    if not (needs := lookup(name).needs):
        return ""
    where, sentence = _NEEDS[needs]
    return "" if connection.execute(f"SELECT 1 FROM {where} LIMIT 1").fetchone() else sentence


def about(name: str) -> str:
    """The title of a named query."""
    return lookup(name).title


def named(connection: sqlite3.Connection, name: str, params: Mapping[str, str], limit: int | None = None) -> Table:
    """Run a query of `queries/`; its parameters are named :like_this."""
    query = lookup(name)
    if missing := [param for param in query.params if param not in params]:
        example = query.params[missing[0]]
        raise QueryError(f"{name} takes a value for {missing[0]!r}", fix=f"for example --param {missing[0]}={example}")
    return free(connection, query.sql, limit, params)


def free(
    connection: sqlite3.Connection,
    statement: str,
    limit: int | None,
    params: Mapping[str, str] | None = None,
    seconds: float | None = None,
    megabytes: int = MEGABYTES,
) -> Table:
    """Run one statement and fetch up to `limit` rows; QueryError with SQLite's own words if it refuses, after
    `seconds` (SECONDS), or where the answer is larger than `megabytes`.
    """
    allowed = SECONDS if seconds is None else seconds
    stop = time.monotonic() + allowed
    # A step may take a millisecond where cells are long, so the clock is looked at often.
    connection.set_progress_handler(lambda: int(time.monotonic() > stop), 1000)
    try:
        cursor = connection.execute(statement, dict(params or {}))
        rows = _fetch(cursor, limit, megabytes)
    except MemoryError as error:
        raise QueryError("the query takes too much memory", fix=_SMALLER) from error
    except (sqlite3.Error, sqlite3.Warning) as error:
        if "interrupted" in str(error):
            raise QueryError(f"the query took longer than {allowed:.0f} s", fix="add a LIMIT or a WHERE") from error
        if "too big" in str(error):
            longest = connection.getlimit(sqlite3.SQLITE_LIMIT_LENGTH)
            what = f"a value or row of the query is longer than {longest / (1 << 20):g} MB"
            raise QueryError(what, fix="cut it with substr, or raise --megabytes of `builder sql`") from error
        if any(words in str(error) for words in ("not authorized", "authorization denied", "readonly database")):
            raise QueryError("this is no reading, and nothing else is allowed here", fix=_READING) from error
        raise QueryError(str(error), fix=_known(connection, statement, str(error))) from error
    finally:
        connection.set_progress_handler(None, 0)
    if cursor.description is None:
        raise QueryError(
            "the query asks nothing", fix='for example "SELECT * FROM reviews"; `builder query` lists named queries'
        )
    return tuple(column[0] for column in cursor.description), rows


def _fetch(cursor: sqlite3.Cursor, limit: int | None, megabytes: int) -> list[tuple[object, ...]]:
    """Up to `limit` rows; QueryError once they hold more than `megabytes`."""
    rows, size = [], 0
    for row in itertools.islice(cursor, limit):
        rows.append(row)
        size += bytes_of(row)
        if size > megabytes << 20:
            raise QueryError(f"the answer is larger than {megabytes} MB", fix=_SMALLER)
    return rows


def _known(connection: sqlite3.Connection, statement: str, refusal: str) -> str:
    """What there is instead of a name that there is not: the tables, or the columns of the tables that the statement
    names.
    """
    if "no such table" in refusal:
        missing = refusal.rpartition(": ")[2]
        return did_you_mean(missing, _tables(connection)) + "known: " + ", ".join(_tables(connection))
    if "no such column" not in refusal:
        return ""
    words = set(re.findall(r"\w+", statement.lower()))
    named = [table for table in _tables(connection) if table.lower() in words]
    columns = {
        table: [row[0] for row in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))]
        for table in named
    }
    missing = refusal.rpartition(": ")[2].rpartition(".")[2]
    hint = did_you_mean(missing, [column for held in columns.values() for column in held])
    return hint + "; ".join(f"{table} has {', '.join(names)}" for table, names in columns.items())


def _tables(connection: sqlite3.Connection) -> list[str]:
    """Tables and views, those behind the search index left out."""
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
    return [name for (name,) in rows if not name.startswith(("sqlite_", "search_"))]
