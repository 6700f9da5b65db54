"""Pools and audits: writing, reading, and what they are drawn from. A pool is a frozen copy; no rebuild touches it."""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime

from builder.core.errors import QueryError
from builder.core.records import Candidate, Pool, PoolReview, Review, StoredTriplet
from builder.store import runs, triplets
from builder.store.queries import insert, read_value
from builder.store.reviews import select

Source = tuple[str, float | None]
"""A name, with the confidence that it gives."""
Proposed = dict[int, list[tuple[StoredTriplet, tuple[Source, ...]]]]


def systems(connection: sqlite3.Connection) -> dict[str, str]:
    """Name -> signature of the rules and of the last model of each variant, whose triplets a pool unites."""
    last = {done.variant: f"{done.variant}{done.round}" for done in runs.rounds(connection)}
    known = triplets.signatures(connection)
    return {name: known[name] for name in ("rules", *last.values()) if name in known}


def reviews_of(connection: sqlite3.Connection, split: str) -> list[Review]:
    """Distinct reviews of a split, or of `all`."""
    return list(select(connection, "duplicate_of IS NULL AND (split = ?1 OR ?1 = 'all') ORDER BY id", (split,)))


def proposals(connection: sqlite3.Connection, sources: Iterable[str], reviews: Iterable[int]) -> Proposed:
    """Review id -> triplets of the named sources for these reviews, each with (source, confidence)."""
    names = json.dumps(list(sources))
    rows = connection.execute(
        "SELECT p.triplet, s.name, p.confidence FROM proposals p JOIN sources s ON s.id = p.source"
        " JOIN triplets t ON t.id = p.triplet"
        " WHERE s.name IN (SELECT value FROM json_each(?1)) AND t.review IN (SELECT value FROM json_each(?2))"
        " ORDER BY p.triplet, s.id",
        (names, json.dumps(list(reviews))),
    )
    who = _group_sources(rows)
    out: Proposed = {}
    for stored in triplets.subset(connection, list(who)):
        out.setdefault(stored.review, []).append((stored, who[stored.id]))
    return out


def write(connection: sqlite3.Connection, pool: Pool) -> None:
    """Store a pool with its reviews and candidates, in one transaction of the caller."""
    row = pool.id, pool.seed, pool.split, json.dumps(pool.config), pool.digest, now()
    insert(connection, "pools", "id, seed, split, config, digest, created", [row])
    for review in pool.reviews:
        cursor = connection.execute(
            "INSERT INTO pool_reviews (pool, n, key, text, rating, stratum) VALUES (?,?,?,?,?,?)",
            (pool.id, review.n, review.key, review.text, review.rating, review.stratum),
        )
        assert cursor.lastrowid is not None
        for candidate in review.candidates:
            add(connection, cursor.lastrowid, candidate)


def add(connection: sqlite3.Connection, review: int, candidate: Candidate) -> int:
    """Store a candidate of a pool's review, or find it there; returns its id."""
    name = json.dumps(candidate.triplet.key, separators=(",", ":"))
    if known := read_value(connection, "SELECT id FROM candidates WHERE review = ? AND name = ?", (review, name)):
        return int(known)
    _, _, *own = triplets.make_row(0, 0, candidate.triplet)
    cursor = connection.execute(
        "INSERT INTO candidates (review, n, name, aspect, aspect_full, owner, opinion, opinion_full, polarity,"
        " valence, spans)"
        " VALUES (?,?,?,?,?,?,?,?,?,?,?)",
        (review, candidate.n, name, *own),
    )
    assert cursor.lastrowid is not None
    who = ((cursor.lastrowid, *source) for source in candidate.sources)
    insert(connection, "candidate_sources", "candidate, source, confidence", who)
    return cursor.lastrowid


def exists(connection: sqlite3.Connection, pool: str) -> bool:
    """Whether there is a pool of this id."""
    return bool(read_value(connection, "SELECT 1 FROM pools WHERE id = ?", (pool,)))


def summarise(connection: sqlite3.Connection) -> list[tuple[str, str, int, int, str]]:
    """(id, split, reviews, candidates, created) of every pool, the latest first."""
    rows = connection.execute(
        "SELECT p.id, p.split, (SELECT count(*) FROM pool_reviews r WHERE r.pool = p.id),"
        " (SELECT count(*) FROM pool_reviews r JOIN candidates c ON c.review = r.id AND c.n IS NOT NULL"
        " WHERE r.pool = p.id), p.created"
        " FROM pools p ORDER BY p.rowid DESC"
    )
    return list(rows)


def chosen(connection: sqlite3.Connection, pool: str | None) -> str:
    """The id of the pool whose id begins with `pool`, of the latest if None; QueryError unless there is one."""
    known = [row[0] for row in connection.execute("SELECT id FROM pools ORDER BY rowid DESC")]
    if not known:
        raise QueryError("there is no pool yet", fix="make one with `builder gold pool`")
    if pool is None:
        return str(known[0])
    matching = [name for name in known if name.startswith(pool)]
    if len(matching) != 1:
        raise QueryError(f"{len(matching)} pools begin with {pool!r}", where="--pool", fix="known: " + ", ".join(known))
    return str(matching[0])


def read(connection: sqlite3.Connection, pool: str) -> Pool:
    """A pool with everything; candidates that people added come last in their review, with n None."""
    seed, split, config, digest = connection.execute(
        "SELECT seed, split, config, digest FROM pools WHERE id = ?", (pool,)
    ).fetchone()
    who = _group_sources(
        connection.execute(
            "SELECT s.candidate, s.source, s.confidence FROM candidate_sources s JOIN candidates c"
            " ON c.id = s.candidate JOIN pool_reviews r ON r.id = c.review WHERE r.pool = ?",
            (pool,),
        )
    )
    by_review: dict[int, list[Candidate]] = {}
    for row in connection.execute(
        "SELECT c.id, c.review, c.n, c.aspect, c.aspect_full, c.owner, c.opinion, c.opinion_full, c.polarity,"
        " c.valence, c.spans"
        " FROM candidates c JOIN pool_reviews r ON r.id = c.review WHERE r.pool = ?"
        " ORDER BY c.review, c.n IS NULL, c.n, c.id",
        (pool,),
    ):
        by_review.setdefault(row[1], []).append(
            Candidate(row[2], triplets.restore((row[0], row[1], *row[3:])).triplet, who.get(row[0], ()), row[0])
        )
    rows = connection.execute(
        "SELECT id, n, key, text, rating, stratum FROM pool_reviews WHERE pool = ? ORDER BY n", (pool,)
    )
    reviews = tuple(
        PoolReview(n, key, text, tuple(by_review.get(i, ())), rating, stratum, i)
        for i, n, key, text, rating, stratum in rows
    )
    return Pool(pool, seed, split, digest, json.loads(config), reviews)


def margins(connection: sqlite3.Connection, pool: str) -> dict[int, float]:
    """Candidate id -> by how much the rules' choice of its aspect is ahead, of those that the rules still propose."""
    rows = connection.execute(
        "SELECT c.id, p.margin FROM pool_reviews q JOIN candidates c ON c.review = q.id"
        " JOIN reviews r ON r.key = q.key AND r.duplicate_of IS NULL"
        " JOIN triplets t ON t.review = r.id AND t.polarity = c.polarity"
        " AND t.spans ->> '$.aspect' = c.spans ->> '$.aspect' AND t.spans ->> '$.opinion' = c.spans ->> '$.opinion'"
        " JOIN proposals p ON p.triplet = t.id JOIN sources s ON s.id = p.source AND s.kind = 'rules'"
        " WHERE q.pool = ?",
        (pool,),
    )
    return {candidate: math.inf if margin is None else margin for candidate, margin in rows}


def now() -> str:
    """The wall clock, for people."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _group_sources(rows: Iterable[tuple[int, str | None, float | None]]) -> dict[int, tuple[Source, ...]]:
    """The sources of each triplet or candidate; none of one that nobody proposes."""
    out: dict[int, tuple[Source, ...]] = {}
    for i, name, confidence in rows:
        out[i] = (*out.get(i, ()), *([] if name is None else [(name, confidence)]))
    return out


def released(connection: sqlite3.Connection) -> tuple[str, list[PoolReview]]:
    """(version of the last release, its reviews that no person labelled, with triplets); ("", []) without one."""
    version = read_value(connection, "SELECT max(version) FROM released")
    if version is None:
        return "", []
    reviews = connection.execute(
        "SELECT r.id, r.key, r.text, r.rating FROM reviews r WHERE r.id IN ("
        " SELECT review FROM released_reviews WHERE annotation <> 'gold'"
        " UNION SELECT t.review FROM released e JOIN triplets t ON t.id = e.triplet WHERE e.annotation <> 'gold')"
        " ORDER BY r.id"
    ).fetchall()
    rows = connection.execute("SELECT triplet, sources FROM released WHERE annotation <> 'gold'")
    who = {i: tuple((name, None) for name in (sources or "").split()) for i, sources in rows}
    held: dict[int, list[Candidate]] = {}
    for stored in triplets.subset(connection, list(who)):
        held.setdefault(stored.review, []).append(Candidate(None, stored.triplet, who[stored.id]))
    return str(version), [PoolReview(0, key, text, tuple(held.get(i, ())), rating) for i, key, text, rating in reviews]


def latest(connection: sqlite3.Connection) -> str | None:
    """The id of the last audit that was drawn."""
    asked = "SELECT id FROM pools WHERE config ->> '$.kind' = 'audit' ORDER BY rowid DESC LIMIT 1"
    pool: str | None = read_value(connection, asked)
    return pool


def is_audit(connection: sqlite3.Connection, pool: str) -> bool:
    """Whether a pool was drawn for an audit."""
    return bool(read_value(connection, "SELECT 1 FROM pools WHERE id = ? AND config ->> '$.kind' = 'audit'", (pool,)))


def complete(connection: sqlite3.Connection, pool: str) -> frozenset[int]:
    """Ids of the pool's reviews in which somebody looked for what is missing: complete, or with a triplet added."""
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
