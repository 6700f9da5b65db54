"""What the web pages read: a consistent copy of a database, its flat table of candidates for filters and facets, and
the overview's numbers.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from builder.records import Polarity, Triplet
from builder.store import db, queries, released, triplets

TABLE = "triplet_list"
_LIST = f"""
CREATE TABLE {TABLE} (
  id INTEGER PRIMARY KEY, review TEXT NOT NULL, aspect TEXT NOT NULL, opinion TEXT NOT NULL, polarity TEXT NOT NULL,
  valence REAL NOT NULL, split TEXT, released TEXT, confidence REAL, verdict TEXT, rule TEXT, aspect_category TEXT,
  opinion_category TEXT, sources TEXT, source TEXT, text TEXT NOT NULL
) STRICT;
INSERT INTO {TABLE}
  SELECT t.id, r.key, t.aspect, t.opinion, t.polarity, t.valence, r.split, 'v' || e.version,
         coalesce(e.confidence,
                  (SELECT round(v.confidence, 4) FROM verdicts v
                   WHERE v.triplet = t.id AND v.confidence IS NOT NULL)),
         coalesce(e.verdict, (SELECT v.label FROM verdicts v WHERE v.triplet = t.id ORDER BY v.source LIMIT 1)),
         coalesce(e.rule, (SELECT p.rule FROM proposals p WHERE p.triplet = t.id AND p.rule IS NOT NULL)),
         e.aspect_category, e.opinion_category,
         (SELECT group_concat(name, ' ')
          FROM (SELECT s.name FROM proposals p JOIN sources s ON s.id = p.source
                WHERE p.triplet = t.id ORDER BY s.id)),
         r.source,
         CASE WHEN length(r.text) > 80 THEN substr(r.text, 1, 80) || '…' ELSE r.text END
  FROM triplets t JOIN reviews r ON r.id = t.review LEFT JOIN released e ON e.triplet = t.id;
"""
_INDEXED = (
    "review", "aspect", "opinion", "polarity", "split", "released", "confidence", "verdict", "rule", "aspect_category",
    "opinion_category", "sources", "source",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Restored:
    """A triplet of a release: its id there (31 bits), and the names of its sources."""

    hash: int
    triplet: Triplet
    sources: tuple[str, ...]


def snapshot(workdir: Path, target: Path) -> None:
    """Copy the database as it stands now, a running build's last commit included, into `target` and make the flat
    table.
    """
    with db.reading(workdir) as connection, closing(sqlite3.connect(target, isolation_level=None)) as copy:
        connection.backup(copy)
        finish(copy)


def finish(connection: sqlite3.Connection) -> None:
    """Make the flat table with an index for every facet, and let the file be read where it lies, without a log beside
    it.
    """
    connection.execute("PRAGMA journal_mode = OFF")
    connection.executescript(f"BEGIN; DROP TABLE IF EXISTS {TABLE}; {_LIST}")
    for column in _INDEXED:
        connection.execute(f"CREATE INDEX {TABLE}_{column} ON {TABLE} ({column})")
    connection.execute("COMMIT")


def restore(connection: sqlite3.Connection, rows: Sequence[tuple[int, Restored]]) -> None:
    """Store the triplets of a release, `rows` of (review id, triplet), under the ids that they have there."""
    ids = [review << triplets.BITS | restored.hash for review, restored in rows]
    triplets.insert(connection, ids, [(review, restored.triplet) for review, restored in rows])
    by_source: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
    for i, (_, restored) in zip(ids, rows, strict=True):
        for name in restored.sources:
            by_source.setdefault(name, []).append((i, restored.triplet.rules if name == "rules" else ()))
    for name, proposals in by_source.items():
        kind = {"rules": "rules", "gold": "human"}.get(name, "model")
        known = triplets.source_id(connection, name)
        source = known if known is not None else triplets.source(connection, name, kind, "release")
        triplets.proposed_by(connection, source, proposals)


def totals(connection: sqlite3.Connection) -> dict[str, int]:
    """What the overview begins with: the last release's numbers, then all candidates; without a release the reviews
    and candidates alone.
    """
    numbers = {f"released {name}": number for name, number in released.totals(connection).items()}
    statements = {
        "distinct reviews": "SELECT count(*) FROM reviews WHERE duplicate_of IS NULL",
        "reviews with a candidate": "SELECT count(DISTINCT review) FROM triplets",
        "candidate triplets": "SELECT count(*) FROM triplets",
    }
    candidates = {name: int(connection.execute(statement).fetchone()[0]) for name, statement in statements.items()}
    return numbers | candidates if numbers["released reviews"] else candidates


def overview(connection: sqlite3.Connection, names: Iterable[str]) -> dict[str, list[dict[str, object]]]:
    """Answers of named queries, each row by column."""
    out = {}
    for name in names:
        columns, rows = queries.named(connection, name, {}, 20)
        out[name] = [dict(zip(columns, row, strict=True)) for row in rows]
    return out


def polarities(
    connection: sqlite3.Connection, reviews: Sequence[int]
) -> dict[int, list[tuple[str, str, Polarity, int, bool]]]:
    """Review id -> (aspect, opinion, polarity, id, whether it is released) of its candidates, the released first, for
    the hits of a search. Before a release all count as released.
    """
    any_released = connection.execute("SELECT 1 FROM released LIMIT 1").fetchone() is not None
    rows = connection.execute(
        "SELECT t.review, t.aspect, t.opinion, t.polarity, t.id, e.triplet IS NOT NULL OR NOT ? AS shown"
        " FROM triplets t"
        " LEFT JOIN released e ON e.triplet = t.id WHERE t.review IN (SELECT value FROM json_each(?))"
        " ORDER BY t.review, shown DESC, t.id",
        (any_released, json.dumps(list(reviews))),
    )
    out: dict[int, list[tuple[str, str, Polarity, int, bool]]] = {}
    for review, aspect, opinion, polarity, i, shown in rows:
        out.setdefault(review, []).append((aspect, opinion, polarity, i, bool(shown)))
    return out


def is_review(connection: sqlite3.Connection, i: int) -> bool:
    """Whether there is a review with this row id."""
    return connection.execute("SELECT 1 FROM reviews WHERE id = ?", (i,)).fetchone() is not None


def neighbours(connection: sqlite3.Connection, review: int) -> tuple[int | None, int | None]:
    """The distinct reviews with a triplet before and behind one."""
    before = connection.execute("SELECT max(review) FROM triplets WHERE review < ?", (review,)).fetchone()[0]
    after = connection.execute("SELECT min(review) FROM triplets WHERE review > ?", (review,)).fetchone()[0]
    return before, after
