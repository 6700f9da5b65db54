"""The tables and views of a database: their names, columns, rows and statements."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from builder.core.errors import QueryError, did_you_mean


def table_kinds(connection: sqlite3.Connection) -> dict[str, str]:
    """Tables and views with their kind, by name; those behind the search index left out."""
    rows = connection.execute(
        "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')"
        " AND name NOT LIKE 'sqlite!_%' ESCAPE '!' AND name NOT LIKE 'search!_%' ESCAPE '!' ORDER BY name"
    )
    return dict(rows.fetchall())


def known_table(connection: sqlite3.Connection, name: str) -> str:
    """The name of a table or view, in any case; QueryError with the likeliest for one that is not there."""
    names = list(table_kinds(connection))
    match = next((known for known in names if known.lower() == name.lower()), None)
    if match is None:
        raise QueryError(f"no table {name!r}", fix=did_you_mean(name, names) + "`builder tables` lists them")
    return match


def table_columns(connection: sqlite3.Connection, name: str) -> list[tuple[str, str]]:
    """Names and types of the columns, in order; a column of a view may have no type."""
    return connection.execute("SELECT name, type FROM pragma_table_info(?)", (name,)).fetchall()


def count_rows(connection: sqlite3.Connection, name: str) -> int:
    """How many rows a table or view has."""
    quoted = name.replace('"', '""')
    return int(connection.execute(f'SELECT count(*) FROM "{quoted}"').fetchone()[0])


def statements(connection: sqlite3.Connection, names: Sequence[str]) -> list[str]:
    """The statements that make tables and views, in the order of their names."""
    marks = ", ".join("?" * len(names))
    rows = connection.execute(
        f"SELECT sql FROM sqlite_master WHERE type IN ('table', 'view') AND name IN ({marks}) ORDER BY name",
        list(names),
    )
    return [sql for (sql,) in rows]
