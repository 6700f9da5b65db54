"""What an audit draws from, and which reviews its people have read in full. The audit itself is a pool whose config
says `kind: audit`.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3

from builder.core.records import Candidate, PoolReview
from builder.store import triplets

_LATEST = "SELECT id FROM pools WHERE config ->> '$.kind' = 'audit' ORDER BY rowid DESC LIMIT 1"


def released(connection: sqlite3.Connection) -> tuple[str, list[PoolReview]]:
    """(version of the last release, its reviews that no person labelled, each with its triplets and who proposed them);
    ("", []) without a release.
    """
    version = connection.execute("SELECT max(version) FROM released").fetchone()[0]
    if version is None:
        return "", []
    reviews = connection.execute(
        "SELECT r.id, r.key, r.text, r.rating FROM reviews r WHERE r.id IN ("
        " SELECT review FROM released_reviews WHERE annotation <> 'gold'"
        " UNION SELECT t.review FROM released e JOIN triplets t ON t.id = e.triplet WHERE e.annotation <> 'gold')"
        " ORDER BY r.id"
    ).fetchall()
    who: dict[int, tuple[tuple[str, float | None], ...]] = {}
    for triplet, name in connection.execute(
        "SELECT e.triplet, s.name FROM released e LEFT JOIN proposals p ON p.triplet = e.triplet"
        " LEFT JOIN sources s ON s.id = p.source"
        " WHERE e.annotation <> 'gold' ORDER BY e.triplet, s.id"
    ):
        who[triplet] = (*who.get(triplet, ()), *(((name, None),) if name is not None else ()))
    held: dict[int, list[Candidate]] = {}
    for stored in triplets.subset(connection, list(who)):
        held.setdefault(stored.review, []).append(Candidate(None, stored.triplet, who[stored.id]))
    return str(version), [PoolReview(0, key, text, tuple(held.get(i, ())), rating) for i, key, text, rating in reviews]


def latest(connection: sqlite3.Connection) -> str | None:
    """The id of the last audit that was drawn. A working directory from before there were pools has none."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'pools'").fetchone() is None:
        return None
    row = connection.execute(_LATEST).fetchone()
    return None if row is None else str(row[0])


def is_audit(connection: sqlite3.Connection, pool: str) -> bool:
    """Whether a pool was drawn for an audit."""
    return (
        connection.execute("SELECT 1 FROM pools WHERE id = ? AND config ->> '$.kind' = 'audit'", (pool,)).fetchone()
        is not None
    )


def complete(connection: sqlite3.Connection, pool: str) -> frozenset[int]:
    """Ids of the pool's reviews in which somebody looked for what is missing:
    marked complete, or with a triplet added.
    """
    rows = connection.execute(
        "SELECT k.review FROM checked_reviews k JOIN pool_reviews r ON r.id = k.review WHERE r.pool = ?1"
        " UNION SELECT c.review FROM candidates c JOIN pool_reviews r ON r.id = c.review"
        " WHERE r.pool = ?1 AND c.n IS NULL",
        (pool,),
    )
    return frozenset(row[0] for row in rows)


def digest(connection: sqlite3.Connection) -> str:
    """What the last audit's people have said so far; "" without an audit."""
    pool = latest(connection)
    if pool is None:
        return ""
    rows = connection.execute(
        "SELECT f.candidate, f.label, f.polarity, f.spans FROM final_labels f JOIN candidates c ON c.id = f.candidate"
        " JOIN pool_reviews r ON r.id = c.review WHERE r.pool = ? ORDER BY f.candidate",
        (pool,),
    ).fetchall()
    return hashlib.sha256(json.dumps([pool, rows, sorted(complete(connection, pool))]).encode()).hexdigest()[:16]
