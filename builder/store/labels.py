"""Pools and their labels as the report reads them. A working directory from before there were pools has none."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass

from builder.core.records import Span

Spans = dict[str, tuple[Span, ...]]


@dataclass(frozen=True, slots=True)
class LabelCandidate:
    """A triplet of a pool with the text it stands in; `sources` proposed it (nobody, if a person found it missing)."""

    id: int
    review: str
    text: str
    aspect: str
    opinion: str
    polarity: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StoredLabel:
    """YY, YN or NX, with what would be right: a polarity, spans of aspect and opinion as far as they change."""

    label: str
    polarity: str | None
    spans: Spans


@dataclass(frozen=True, slots=True)
class LabelPool:
    """A pool with all that was said about it. `labels`: annotator -> candidate -> label; `final`: what people
    decided, by candidate.
    """

    id: str
    split: str
    reviews: tuple[str, ...]
    candidates: tuple[LabelCandidate, ...]
    kinds: dict[str, str]
    labels: dict[str, dict[int, StoredLabel]]
    final: dict[int, StoredLabel]


def pools(connection: sqlite3.Connection) -> list[LabelPool]:
    """Every pool, oldest first; but for audits, which hold a few triplets of a review and are no gold of it."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'pools'").fetchone() is None:
        return []
    rows = connection.execute(
        "SELECT id, split FROM pools WHERE config ->> '$.kind' IS NOT 'audit' ORDER BY created, id"
    ).fetchall()
    kinds = dict(connection.execute("SELECT name, kind FROM annotators ORDER BY id"))
    return [_pool(connection, i, split, kinds) for i, split in rows]


def _pool(connection: sqlite3.Connection, pool: str, split: str, kinds: dict[str, str]) -> LabelPool:
    keys = tuple(
        row[0] for row in connection.execute("SELECT key FROM pool_reviews WHERE pool = ? ORDER BY n", (pool,))
    )
    candidates = connection.execute(
        "SELECT c.id, r.key, r.text, c.aspect, c.opinion, c.polarity,"
        " (SELECT json_group_array(source) FROM (SELECT source FROM candidate_sources s WHERE s.candidate = c.id"
        " ORDER BY source))"
        " FROM candidates c JOIN pool_reviews r ON r.id = c.review WHERE r.pool = ?"
        " ORDER BY r.n, c.n IS NULL, c.n, c.id",
        (pool,),
    )
    proposed = tuple(
        LabelCandidate(i, key, text, a, o, p, tuple(json.loads(names))) for i, key, text, a, o, p, names in candidates
    )
    labels: dict[str, dict[int, StoredLabel]] = {name: {} for name in kinds}
    for name, candidate, label, polarity, spans in connection.execute(
        "SELECT a.name, l.candidate, l.label, l.polarity, l.spans FROM labels l JOIN annotators a ON a.id = l.annotator"
        " JOIN candidates c ON c.id = l.candidate JOIN pool_reviews r ON r.id = c.review"
        " WHERE r.pool = ? AND l.label IS NOT NULL ORDER BY a.id, l.candidate",
        (pool,),
    ):
        labels[name][candidate] = StoredLabel(label, polarity, _spans(spans))
    final = connection.execute(
        "SELECT f.candidate, f.label, f.polarity, f.spans FROM final_labels f JOIN candidates c ON c.id = f.candidate"
        " JOIN pool_reviews r ON r.id = c.review WHERE r.pool = ? ORDER BY f.candidate",
        (pool,),
    )
    decided = {candidate: StoredLabel(label, polarity, _spans(spans)) for candidate, label, polarity, spans in final}
    return LabelPool(
        pool,
        split,
        keys,
        proposed,
        kinds,
        {name: decisions for name, decisions in labels.items() if decisions},
        decided,
    )


def _spans(text: str | None) -> Spans:
    return {name: tuple((start, end) for start, end in spans) for name, spans in json.loads(text or "{}").items()}
