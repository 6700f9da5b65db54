"""The database as Markdown: every table and view with its columns, their types and a sentence each."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from builder.store import db
from builder.store.queries import describe_tables

Columns = dict[str, str]


def describe_database() -> str:
    """Tables first, then views, in the order of `descriptions.toml`."""
    tables, sentences = read_schema(), describe_tables()
    parts = []
    for kind, title in (("table", "Tables"), ("view", "Views")):
        parts += [f"## {title}", ""]
        for name in (name for name in sentences if name in tables[kind]):
            rows = [
                f"| `{column}` | {type_ or '&nbsp;'} | {sentences[name].columns[column]} |"
                for column, type_ in tables[kind][name].items()
            ]
            parts += [
                f"### `{name}`",
                "",
                sentences[name].about,
                "",
                "| column | type | meaning |",
                "|---|---|---|",
                *rows,
                "",
            ]
    return "\n".join(parts)


def read_schema() -> dict[str, dict[str, Columns]]:
    """Tables and views of an empty database of the newest schema: kind, name, columns with their types."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for _, script in db.schema():
            connection.executescript(script)
        rows = connection.execute(
            "SELECT type, name FROM sqlite_master WHERE type IN ('table', "
            "'view') AND name NOT LIKE 'search!_%' ESCAPE '!' AND name NOT LIKE 'reviews!_fts!_%' ESCAPE '!'"
        )
        kinds: dict[str, dict[str, Columns]] = {"table": {}, "view": {}}
        for kind, name in rows.fetchall():
            kinds[kind][name] = {row[1]: row[2] for row in connection.execute(f'PRAGMA table_info("{name}")')}
    return kinds
