"""How likely a triplet is right, by the judge's calibrated score: `verdicts.confidence`, NULL where the judge is not
calibrated.

`self_train` writes it once the verdicts of variant E are there; `store.released.provenance` reads it for the rows of
a release, which leaves out what is below `release.min_confidence`.
"""

from __future__ import annotations

import math
import sqlite3
from array import array
from collections.abc import Callable, Mapping

from builder.core.records import Polarity, Verdict

Rating = Callable[[Verdict | None, float, str, Polarity, float], float]
"""Label and score of a judge, and the rule of a triplet ("": the judge alone or a longer aspect than the rules'), its
polarity and the rules' margin -> how likely it is right.
"""


def rate(connection: sqlite3.Connection, judge: str, rating: Rating | None) -> None:
    """Write the confidence of all that a judge has said; without a rating there is none."""
    if rating is None:
        connection.execute(
            "UPDATE verdicts SET confidence = NULL WHERE confidence IS NOT NULL AND source = (SELECT id FROM sources"
            " WHERE name = ?)",
            (judge,),
        )
        return

    def rated(label: Verdict | None, score: float, rule: str | None, polarity: Polarity, margin: float | None) -> float:
        return rating(label, score, rule or "", polarity, math.inf if margin is None else margin)

    connection.create_function("rated", 5, rated, deterministic=True)
    connection.execute(
        "UPDATE verdicts SET confidence = rated(verdicts.label, verdicts.score, p.rule, t.polarity, p.margin)"
        " FROM triplets t LEFT JOIN proposals p ON p.triplet = t.id AND p.source ="
        " (SELECT id FROM sources WHERE name = 'rules') WHERE t.id = verdicts.triplet AND verdicts.source ="
        " (SELECT id FROM sources WHERE name = ?)",
        (judge,),
    )


def set_chances(connection: sqlite3.Connection, judge: str, chances: Mapping[int, float]) -> None:
    """Write the confidence of single triplets, by their ids, in place of the one they were given."""
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
