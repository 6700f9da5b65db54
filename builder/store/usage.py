"""Which lexicon words the rules' triplets rest on: table `lexicon_use`, counted at the end of the stage seed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from builder.store import db

Entry = tuple[str, str, str, str]
"""list (aspects or opinions), word, category, place (file:line)."""


def record(connection: sqlite3.Connection, entries: Iterable[Entry]) -> None:
    """Replace the table by `entries`, each with the number of proposals that rest on it."""
    with db.atomic(connection):
        connection.execute("DELETE FROM lexicon_use")
        used = dict(
            connection.execute(
                "SELECT entry, count(*) FROM (SELECT aspect_entry AS entry FROM proposals UNION ALL"
                " SELECT opinion_entry FROM proposals) GROUP BY entry"
            ).fetchall()
        )
        connection.executemany(
            "INSERT INTO lexicon_use (list, word, category, place, triplets) VALUES (?,?,?,?,?)",
            ((kind, word, category, place, used.get(place, 0)) for kind, word, category, place in entries),
        )
