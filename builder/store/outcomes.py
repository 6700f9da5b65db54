"""How a triplet's story ends: the split of the last release that holds it, or why none does.

What is not released stands in `rejected`, a row for each candidate (builder.store.drops).
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from builder.store import runs, triplet_rows


@dataclass(frozen=True, slots=True)
class Outcome:
    """`released` is None where that cannot be told: there is no release, or one of an older builder, which kept no
    list.
    """

    released: bool | None
    text: str


def outcomes(connection: sqlite3.Connection, review: int) -> dict[int, Outcome]:
    """What became of each triplet of a review, by row id, in the last release: the version that holds it, or the
    reason in words. `released` is None where nobody knows.
    """
    first = review << triplet_rows.BITS
    ids = first, first | triplet_rows.HASH
    found = [i for (i,) in connection.execute("SELECT id FROM triplets WHERE id BETWEEN ? AND ?", ids)]
    last = connection.execute("SELECT version FROM releases ORDER BY rowid DESC LIMIT 1").fetchone()
    if last is None:
        return dict.fromkeys(found, Outcome(None, "this build is not released yet; `builder release` does that"))
    if connection.execute("SELECT 1 FROM released LIMIT 1").fetchone() is None:
        return dict.fromkeys(
            found, Outcome(None, f"v{last[0]} keeps no list of its triplets here; `builder resume` makes one")
        )
    stale = "release" not in runs.runs(connection)
    due = "this build has changed since" if stale else "its builder did not keep why"
    text = f"not in v{last[0]}, and {due}; `builder resume` goes on"
    ends = dict.fromkeys(found, Outcome(None if stale else False, text))
    if not stale:
        rows = connection.execute(
            "SELECT triplet, reason, detail FROM rejected WHERE triplet BETWEEN ? AND ? ORDER BY id", ids
        )
        ends |= {i: Outcome(False, f"not in v{last[0]}, {reason}: {detail}") for i, reason, detail in rows}
    rows = connection.execute(
        "SELECT triplet, version, split, annotation FROM released WHERE triplet BETWEEN ? AND ?", ids
    )
    return ends | {i: Outcome(True, f"in v{version}, {split}, {annotation}") for i, version, split, annotation in rows}
