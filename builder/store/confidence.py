"""How likely a triplet is right, by the judge's calibrated score: `verdicts.confidence`, NULL where the judge is not
calibrated.

`self_train` writes it once the verdicts of variant E are there; `store.released.provenance` reads it for the rows of
a release, which leaves out what is below `release.min_confidence`.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Callable, Mapping


def rate(connection: sqlite3.Connection, judge: str, curve: Callable[[float], float] | None) -> None:
    """Write the confidence that `curve` gives to each score of a judge; without a curve there is none."""
    if curve is None:
        connection.execute(
            "UPDATE verdicts SET confidence = NULL WHERE confidence IS NOT NULL AND source = (SELECT id FROM sources"
            " WHERE name = ?)",
            (judge,),
        )
        return
    connection.create_function("calibrated", 1, curve, deterministic=True)
    connection.execute(
        "UPDATE verdicts SET confidence = calibrated(score) WHERE source = (SELECT id FROM sources WHERE name = ?)",
        (judge,),
    )


def set_chances(connection: sqlite3.Connection, judge: str, chances: Mapping[int, float]) -> None:
    """Write the confidence of single triplets, by their ids, in place of the one that the curve gave."""
    connection.executemany(
        "UPDATE verdicts SET confidence = ? WHERE triplet = ? AND source = (SELECT id FROM sources WHERE name = ?)",
        [(chance, triplet, judge) for triplet, chance in chances.items()],
    )


def scores(connection: sqlite3.Connection, judge: str, proposer: str, split: str) -> array[float]:
    """The scores that a judge gives to what a source proposes for the reviews of a split."""
    rows = connection.execute(
        "SELECT v.score FROM proposals p JOIN sources o ON o.id = p.source AND o.name = ? JOIN sources s ON s.name = ?"
        " JOIN verdicts v ON v.source = s.id AND v.triplet = p.triplet JOIN reviews r ON r.id = p.triplet >> 31"
        " WHERE r.split = ?",
        (proposer, judge, split),
    )
    return array("d", (score for (score,) in rows))
