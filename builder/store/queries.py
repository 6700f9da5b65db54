"""Questions to the database: free SQL, the named queries of `queries/`, and what tables and views hold. Read-only
connections only, with limits on what strangers' SQL may cost.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import sqlite3
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from builder.core.errors import ConfigError, QueryError, did_you_mean

CELL = 64 << 20
"""Bytes of a cell that our own questions may read: far longer than any review."""
CELL_OF_STRANGERS = 256 << 10
"""Bytes of a cell on the web pages. `instr` takes the square of it, and nothing interrupts that: half a second here."""
ANSWER_OF_STRANGERS = 8 << 20
"""Bytes of an answer on the web pages."""
HEAP = 256 << 20
"""Bytes that SQLite may hold in the server, whatever it is asked."""
HEAP_OF_SQL = 1 << 30
"""Bytes that SQLite may hold for `builder db sql`."""
PATTERN = 1000
"""Bytes of a pattern of LIKE and GLOB."""


class AnswerTooLarge(sqlite3.OperationalError):
    """An answer holds more bytes than it may."""


def limit_cells(connection: sqlite3.Connection, cell: int) -> None:
    """Let no text, blob or row of `connection` be longer than `cell` bytes."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, cell)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, PATTERN)


def limit_heap(connection: sqlite3.Connection, heap: int) -> None:
    """Let SQLite hold at most `heap` bytes in this process: all connections together, until the process ends."""
    connection.execute(f"PRAGMA hard_heap_limit = {heap}")


def limit_strangers(connection: sqlite3.Connection) -> None:
    """All limits of the web pages; answers that are too large are an `AnswerTooLarge`."""
    limit_heap(connection, HEAP)
    limit_cells(connection, CELL_OF_STRANGERS)
    connection.row_factory = counted_rows(ANSWER_OF_STRANGERS)


def bytes_of(row: Sequence[object]) -> int:
    """About what the cells of a row take in memory and in an answer."""
    return sum(8 + (len(cell) if isinstance(cell, str | bytes) else 8) for cell in row)


def counted_rows(most: int) -> Callable[[sqlite3.Cursor, tuple[Any, ...]], sqlite3.Row]:
    """A row factory (`sqlite3.Row`) that raises AnswerTooLarge once the rows of a cursor hold over `most` bytes."""
    current: sqlite3.Cursor | None = None
    size = 0

    def count(cursor: sqlite3.Cursor, cells: tuple[Any, ...]) -> sqlite3.Row:
        nonlocal current, size
        if cursor is not current:
            current, size = cursor, 0
        size += bytes_of(cells)
        if size > most:
            raise AnswerTooLarge(f"the answer is larger than {most >> 20} MB: add a LIMIT, or ask for fewer columns")
        return sqlite3.Row(cursor, cells)

    return count


def read_value(
    connection: sqlite3.Connection, statement: str, parameters: Sequence[object] | Mapping[str, object] = ()
) -> Any:
    """The first value of the first row; None without a row."""
    row = connection.execute(statement, parameters).fetchone()
    return None if row is None else row[0]


def insert(
    connection: sqlite3.Connection, table: str, columns: str, rows: Iterable[Sequence[object]], conflict: str = ""
) -> None:
    """Store rows of some columns, which are named with commas between. `conflict`: what becomes of a row whose key is
    taken, as an ON CONFLICT clause says it; REPLACE puts the new one in its place.
    """
    verb, clause = ("INSERT OR REPLACE", "") if conflict == "REPLACE" else ("INSERT", conflict)
    marks = ",".join("?" * len(columns.split(",")))
    connection.executemany(f"{verb} INTO {table} ({columns}) VALUES ({marks}) {clause}", rows)


@dataclass(frozen=True, slots=True)
class TableDescription:
    """A sentence about a table or view, and one about each of its columns."""

    about: str
    columns: Mapping[str, str]


def describe_tables() -> dict[str, TableDescription]:
    """Every table and view of the schema by its name."""
    text = (files("builder.store") / "schema" / "descriptions.toml").read_text(encoding="utf-8")
    return {name: TableDescription(columns.pop("about"), columns) for name, columns in tomllib.loads(text).items()}


Table = tuple[tuple[str, ...], list[tuple[object, ...]]]
SECONDS = 60.0
"""A query may take so long before it is interrupted."""
MEGABYTES = 64
"""An answer may hold so many."""
_SMALLER = "add a LIMIT or a WHERE, ask for fewer columns, or raise --megabytes of `builder db sql`"


def public_id(key: str) -> str:
    """The id of a review in a release with `release.ids = "hash"`."""
    return hashlib.sha256(key.encode()).hexdigest()[:16]


_READING = "ask with SELECT, WITH, EXPLAIN, or a PRAGMA that only tells, such as table_info(reviews)"
_PARAM = re.compile(r":(\w+) for example (\S+)")
_NEEDS = {
    "dates": ("review_dates", "no review of this build has a date: the input has no column of dates that was read"),
    "stars": ("reviews WHERE rating IS NOT NULL", "no review of this build has a rating"),
    "gold": ("sources WHERE kind = 'gold'", "nobody has labelled reviews of this build: set evaluate.gold"),
    "labels": (
        "(SELECT 1 FROM sources WHERE kind = 'gold' UNION ALL SELECT 1 FROM final_labels)",
        "nobody has labelled reviews of this build: label a pool, or set evaluate.gold",
    ),
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
    """A query of `queries/`. Its comments: title, description, `needs WHAT`, and `:name for example VALUE` lines."""
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
    return "" if read_value(connection, f"SELECT 1 FROM {where} LIMIT 1") else sentence


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
            raise QueryError(what, fix="cut it with substr, or raise --megabytes of `builder db sql`") from error
        if any(words in str(error) for words in ("not authorized", "authorization denied", "readonly database")):
            raise QueryError("only reading is allowed here", fix=_READING) from error
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
    """What there is in place of a name that is not: the tables, or the columns of the tables in the statement."""
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
