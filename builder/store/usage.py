"""Which lexicon words the rules' triplets rest on: table `lexicon_use`, made of the stories at the end of the stage
seed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from builder.store import db

Entry = tuple[str, str, str, str]
"""list (aspects or opinions), word, category, place (file:line as stories cite it)."""


def record(connection: sqlite3.Connection, entries: Iterable[Entry]) -> None:
    """Replace the table by `entries`, each with the number of triplets whose story cites its place."""
    with db.atomic(connection):
        connection.execute("DELETE FROM lexicon_use")
        cited: dict[str, int] = {}
        for detail, number in connection.execute(
            "SELECT detail, count(*) FROM provenance WHERE kind IN ('aspect', 'opinion') GROUP BY detail"
        ):
            place = detail.rpartition("(")[2].removesuffix(")")
            cited[place] = cited.get(place, 0) + number
        connection.executemany(
            "INSERT INTO lexicon_use (list, word, category, place, triplets) VALUES (?,?,?,?,?)",
            ((kind, word, category, place, cited.get(place, 0)) for kind, word, category, place in entries),
        )
