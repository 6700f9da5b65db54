"""What people and models say about the candidates of a pool, what was decided, and raw answers of judges."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from builder.core.records import Label, Pool, Span
from builder.core.wording import Annotators
from builder.store.pools import now
from builder.store.pools import read as read_pool
from builder.store.queries import insert

Labels = dict[str, dict[int, Label]]
"""Annotator -> candidate id -> label."""
_OF_POOL = "JOIN candidates c ON c.id = l.candidate JOIN pool_reviews r ON r.id = c.review WHERE r.pool = ?1"
"""What is said of the candidates of a pool: of a table or view `l`."""


class JudgeAnswer(NamedTuple):
    """A raw answer of a language model, as a row. `asked` candidates, `parsed` of them labelled by it."""

    payload_hash: str
    model: str
    endpoint: str
    payload: str
    raw: str
    asked: int
    parsed: int
    prompt_tokens: int
    completion_tokens: int


def annotator(connection: sqlite3.Connection, name: str, kind: str = "human") -> int:
    """The id of an annotator, entered if new. ValueError if the name is taken by another kind."""
    connection.execute("INSERT INTO annotators (name, kind) VALUES (?,?) ON CONFLICT DO NOTHING", (name, kind))
    i, known = connection.execute("SELECT id, kind FROM annotators WHERE name = ?", (name,)).fetchone()
    if known != kind:
        raise ValueError(f"{name!r} is the name of a {known}")
    return int(i)


def put(connection: sqlite3.Connection, annotator_id: int, rows: Iterable[tuple[int, Label]], tool: str) -> None:
    """Store labels of an annotator by candidate id; one that is there is replaced."""
    _put(connection, "labels", annotator_id, rows, tool)


def drop(connection: sqlite3.Connection, annotator_id: int, candidate: int) -> None:
    """Take back a label. A triplet that a person found missing, and nobody holds any more, goes with it."""
    connection.execute("DELETE FROM labels WHERE annotator = ? AND candidate = ?", (annotator_id, candidate))
    connection.execute(
        "DELETE FROM candidates WHERE id = ?1 AND n IS NULL AND NOT EXISTS (SELECT 1 FROM labels WHERE candidate = ?1)",
        (candidate,),
    )


def check(connection: sqlite3.Connection, annotator_id: int, reviews: Iterable[int], tool: str) -> None:
    """Note that an annotator has nothing to add to these reviews (ids of pool_reviews)."""
    rows = ((review, annotator_id, now(), tool) for review in reviews)
    insert(connection, "checked_reviews", "review, annotator, at, tool", rows, "ON CONFLICT DO NOTHING")


def uncheck(connection: sqlite3.Connection, annotator_id: int, review: int) -> None:
    """An annotator's review counts as not labelled again."""
    connection.execute("DELETE FROM checked_reviews WHERE annotator = ? AND review = ?", (annotator_id, review))


def checked(connection: sqlite3.Connection, pool: str, annotator_name: str) -> set[int]:
    """Ids of the pool's reviews that an annotator has marked as complete."""
    rows = connection.execute(
        "SELECT k.review FROM checked_reviews k JOIN annotators a ON a.id = k.annotator"
        " JOIN pool_reviews r ON r.id = k.review"
        " WHERE r.pool = ? AND a.name = ?",
        (pool, annotator_name),
    )
    return {row[0] for row in rows}


def of_pool(connection: sqlite3.Connection, pool: str, kind: str | None = None) -> Labels:
    """Every label of a pool, or of one kind of annotator."""
    out: Labels = {}
    for name, candidate, label, polarity, spans, note in connection.execute(
        "SELECT a.name, l.candidate, l.label, l.polarity, l.spans, l.note FROM labels l"
        f" JOIN annotators a ON a.id = l.annotator {_OF_POOL} AND (?2 IS NULL OR a.kind = ?2)"
        " ORDER BY a.name, l.candidate",
        (pool, kind),
    ):
        out.setdefault(name, {})[candidate] = _label(label, polarity, spans, note)
    return out


def moments(connection: sqlite3.Connection, pool: str, annotator_name: str) -> list[float]:
    """When an annotator gave the labels of a pool, in seconds since 1970, in order."""
    rows = connection.execute(
        f"SELECT unixepoch(l.at) FROM labels l JOIN annotators a ON a.id = l.annotator {_OF_POOL} AND a.name = ?2"
        " ORDER BY 1",
        (pool, annotator_name),
    )
    return [float(row[0]) for row in rows]


def labels_digest(connection: sqlite3.Connection, pool: str) -> str:
    """The digest of all that was said of a pool; when and with which tool leaves no trace in it."""
    total = hashlib.sha256()
    for query in (
        "SELECT c.name, r.key, a.name, l.label, l.polarity, l.spans FROM labels l"
        f" JOIN annotators a ON a.id = l.annotator {_OF_POOL} ORDER BY r.n, c.name, a.name",
        f"SELECT c.name, r.key, l.label, l.polarity, l.spans FROM adjudications l {_OF_POOL} ORDER BY r.n, c.name",
        "SELECT r.key, a.name FROM checked_reviews k JOIN annotators a ON a.id = k.annotator"
        " JOIN pool_reviews r ON r.id = k.review WHERE r.pool = ? ORDER BY r.n, a.name",
    ):
        for row in connection.execute(query, (pool,)):
            total.update(json.dumps(row).encode())
        total.update(b"\0")
    return total.hexdigest()


def decide(connection: sqlite3.Connection, annotator_id: int, rows: Iterable[tuple[int, Label]], tool: str) -> None:
    """Store decisions about candidates; a later one replaces an earlier one."""
    _put(connection, "adjudications", annotator_id, rows, tool)


def _put(
    connection: sqlite3.Connection, table: str, annotator_id: int, rows: Iterable[tuple[int, Label]], tool: str
) -> None:
    at = now()
    values = (
        (candidate, annotator_id, label.label, label.polarity, _spans(label), label.note, at, tool)
        for candidate, label in rows
    )
    insert(connection, table, "candidate, annotator, label, polarity, spans, note, at, tool", values, "REPLACE")


def undecide(connection: sqlite3.Connection, candidate: int) -> None:
    """Take the final label of a candidate away."""
    connection.execute("DELETE FROM adjudications WHERE candidate = ?", (candidate,))


def decisions(connection: sqlite3.Connection, pool: str) -> dict[int, Label]:
    """Candidate id -> what was decided."""
    asked = f"SELECT l.candidate, l.label, l.polarity, l.spans, l.note FROM adjudications l {_OF_POOL}"
    return {candidate: _label(*row) for candidate, *row in connection.execute(asked, (pool,))}


def final(connection: sqlite3.Connection, pool: str) -> dict[int, tuple[Label, str]]:
    """Candidate id -> (label, how): adjudicated, agreed, majority or single. Open disputes are absent."""
    asked = f"SELECT l.candidate, l.label, l.polarity, l.spans, '', l.how FROM final_labels l {_OF_POOL}"
    return {candidate: (_label(*row), how) for candidate, *row, how in connection.execute(asked, (pool,))}


def cached(connection: sqlite3.Connection, hashes: Iterable[str]) -> dict[str, str]:
    """Payload hash -> raw answer, of those that are known."""
    rows = connection.execute(
        "SELECT payload_hash, raw FROM judge_answers WHERE payload_hash IN (SELECT value FROM json_each(?))",
        (json.dumps(list(hashes)),),
    )
    return dict(rows.fetchall())


def keep(connection: sqlite3.Connection, answer: JudgeAnswer) -> None:
    """Store the raw answer of a language model, under the hash of the request; the first answer to a request stays."""
    columns = ", ".join((*JudgeAnswer._fields, "at"))
    insert(connection, "judge_answers", columns, [(*answer, now())], "ON CONFLICT DO NOTHING")


def _spans(label: Label) -> str | None:
    given = {name: spans for name, spans in (("aspect", label.aspect), ("opinion", label.opinion)) if spans is not None}
    return json.dumps(given, separators=(",", ":")) if given else None


def _label(label: str | None, polarity: str | None, spans: str | None, note: str) -> Label:
    given: Mapping[str, list[list[int]]] = json.loads(spans) if spans else {}

    def at(name: str) -> tuple[Span, ...] | None:
        return tuple((start, end) for start, end in given[name]) if name in given else None

    return Label(label, polarity, at("aspect"), at("opinion"), note)  # type: ignore[arg-type]  # the table checks both


# ---- What the report and the layers of the test split read


@dataclass(frozen=True, slots=True)
class LabelPool:
    """A pool with all that was said about it but for abstentions. `kinds`: of every annotator; `labels`: annotator ->
    candidate -> label; `final`: what people decided, by candidate.
    """

    pool: Pool
    kinds: dict[str, str]
    labels: dict[str, dict[int, Label]]
    final: dict[int, Label]


def labelled_pools(connection: sqlite3.Connection) -> list[LabelPool]:
    """Every pool, oldest first; but for audits, which hold a few triplets of a review and are no gold of it."""
    kinds = dict(connection.execute("SELECT name, kind FROM annotators ORDER BY id").fetchall())
    ids = connection.execute("SELECT id FROM pools WHERE config ->> '$.kind' IS NOT 'audit' ORDER BY created, id")
    return [_pool(connection, i, kinds) for (i,) in ids.fetchall()]


def _pool(connection: sqlite3.Connection, pool: str, kinds: dict[str, str]) -> LabelPool:
    by_kind = of_pool(connection, pool)
    given = {name: {i: label for i, label in by_kind.get(name, {}).items() if label.label} for name in kinds}
    decided = {i: label for i, (label, _) in sorted(final(connection, pool).items())}
    return LabelPool(read_pool(connection, pool), kinds, {name: own for name, own in given.items() if own}, decided)


GOLD, SILVER = "gold", "silver"
"""The sources of the layers, and what release rows call their annotation."""
KINDS = {GOLD: "gold", SILVER: "llm"}


@dataclass(frozen=True, slots=True)
class LabelledLayer:
    """A layer by its name, with the id of its source, who labelled it, and the row ids of its reviews."""

    name: str
    source: int
    labelled_by: str
    annotators: Annotators
    reviews: frozenset[int]


def put_layer(connection: sqlite3.Connection, source: int, reviews: Iterable[int]) -> None:
    """Note the reviews that a layer's source labelled."""
    insert(connection, "labelled_reviews", "source, review", ((source, review) for review in reviews))


def layers(connection: sqlite3.Connection) -> dict[str, LabelledLayer]:
    """Name -> layer, gold first; empty where nothing was labelled."""
    sources = connection.execute(
        "SELECT s.name, s.id, coalesce(s.labelled_by, ''), coalesce(s.annotators, '') FROM sources s"
        " WHERE s.name IN ('gold', 'silver') AND s.id IN (SELECT source FROM labelled_reviews) ORDER BY s.name"
    ).fetchall()
    asked = "SELECT review FROM labelled_reviews WHERE source = ?"
    return {
        name: LabelledLayer(name, source, by, kind, frozenset(i for (i,) in connection.execute(asked, (source,))))
        for name, source, by, kind in sources
    }
