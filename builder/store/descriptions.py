"""What the tables, views and columns of the database hold, for people.

In: schema/descriptions.toml, one table a table of the database. Out: a sentence about each table and each of its
columns.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class TableDescription:
    """A sentence about a table or view, and one about each of its columns."""

    about: str
    columns: Mapping[str, str]


def describe_tables() -> dict[str, TableDescription]:
    """Every table and view of the schema by its name."""
    text = (files("builder.store") / "schema" / "descriptions.toml").read_text(encoding="utf-8")
    return {name: TableDescription(columns.pop("about"), columns) for name, columns in tomllib.loads(text).items()}
