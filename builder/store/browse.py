"""What the web pages read: a consistent copy of a database, its flat table of candidates for filters and facets, and
the overview's numbers.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from builder.core.records import Triplet
from builder.core.wording import counted
from builder.store import browse_tables, db, queries, released, runs, triplet_rows, triplets

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
FIRST_QUERY = """SELECT aspect, opinion, polarity, count(*) AS triplets, min(text) AS example
FROM triplet_list WHERE released IS NOT NULL OR NOT EXISTS (SELECT 1 FROM released)
GROUP BY aspect, opinion, polarity ORDER BY triplets DESC LIMIT 20"""
"""What the page of SQL begins with: it has rows, released or not."""
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
    browse_tables.make_tables(connection)
    connection.execute("COMMIT")


def restore(connection: sqlite3.Connection, rows: Sequence[tuple[int, Restored]]) -> None:
    """Store the triplets of a release, `rows` of (review id, triplet), under the ids that they have there."""
    ids = [review << triplet_rows.BITS | restored.hash for review, restored in rows]
    triplets.insert(connection, ids, [(review, restored.triplet) for review, restored in rows])
    by_source: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
    for i, (_, restored) in zip(ids, rows, strict=True):
        for name in restored.sources:
            by_source.setdefault(name, []).append((i, restored.triplet.rules if name == "rules" else ()))
    for name, proposals in by_source.items():
        kind = name if name in ("rules", "gold", "discriminator") else "model"
        known = triplets.source_id(connection, name)
        source = known if known is not None else triplets.source(connection, name, kind, "release")
        triplets.proposed_by(connection, source, proposals)


@dataclass(frozen=True, slots=True)
class Totals:
    """What the overview begins with: numbers of the last release by name, or of the candidates where there is none;
    and a sentence about what they were chosen from.
    """

    tiles: dict[str, int]
    of: str


def totals(connection: sqlite3.Connection) -> Totals:
    """Counts of what was released: words of both scripts are one."""
    numbers = released.totals(connection)
    reviews, candidates, covered = connection.execute(
        "SELECT (SELECT count(*) FROM review_list), count(*), count(DISTINCT review) FROM triplet_facets"
    ).fetchone()
    words = dict(
        connection.execute(
            "SELECT role, count(*) FROM word_counts WHERE released OR ? GROUP BY 1", (not numbers["reviews"],)
        )
    )
    different = {"different aspects": words.get("aspect", 0), "different opinions": words.get("opinion", 0)}
    if not numbers["reviews"]:
        tiles = {"distinct reviews": reviews, "reviews with a candidate": covered, "candidate triplets": candidates}
        return Totals(tiles | different, "Nothing is released yet: these are candidates.")
    tiles = {
        "released reviews": numbers["reviews"],
        "of them with a triplet": numbers["reviews with a triplet"],
        "released triplets": numbers["triplets"],
    }
    return Totals(
        tiles | different,
        f"Chosen from {counted(candidates, 'candidate triplet')} in {counted(reviews, 'distinct review')}.",
    )


def overview(connection: sqlite3.Connection, names: Iterable[str]) -> dict[str, list[dict[str, object]]]:
    """Answers of named queries, each row by column."""
    out = {}
    for name in names:
        columns, rows = queries.named(connection, name, {}, 20)
        out[name] = [dict(zip(columns, row, strict=True)) for row in rows]
    return out


def kinds_there(connection: sqlite3.Connection) -> int:
    """The kinds of triplets that there are, as bits of `browse_tables`."""
    kinds = 0
    for (some,) in connection.execute("SELECT DISTINCT kinds FROM triplet_facets"):
        kinds |= some
    return kinds


def judge_doubt(connection: sqlite3.Connection) -> str:
    """Why the judge's numbers are not to be trusted, in a sentence; "" where nothing says so, or nothing was judged."""
    if connection.execute("SELECT 1 FROM verdicts LIMIT 1").fetchone() is None:
        return ""
    stage = runs.runs(connection).get("discriminate")
    untrusted = stage is not None and stage.counts.get("trust") == 0
    return "The judge learnt from too few reviews to be trusted: its numbers say nothing about quality." * untrusted


def is_review(connection: sqlite3.Connection, i: int) -> bool:
    """Whether there is a review with this row id."""
    return connection.execute("SELECT 1 FROM reviews WHERE id = ?", (i,)).fetchone() is not None
