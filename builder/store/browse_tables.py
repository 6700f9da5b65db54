"""Tables that only the web pages have, made in their copy of a database so that every page is quick.

In: a copy that may be written. Out: `review_list` (what reviews are filtered by), `triplet_facets` (the same for
triplets) and `word_counts` (aspects and opinions counted over both scripts).
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from itertools import groupby

from builder.reviews.folding import fold
from builder.reviews.script import converter, script_of
from builder.store.triplets import RULES_REPEATED

RELEASED, RULES, MODELS, GOLD, LEFT_OUT = (1 << bit for bit in range(5))
"""Bits of `triplet_facets.kinds`: the last release holds it; rules, a model, a person propose it; the release left it
out.
"""
ALL = RELEASED | RULES | MODELS | GOLD | LEFT_OUT
TABLES = ("review_list", "triplet_facets", "word_counts")

_REVIEWS = """
CREATE TABLE review_list (
  id INTEGER PRIMARY KEY, source TEXT, split TEXT, rating REAL, month TEXT, released INTEGER NOT NULL
) STRICT;
INSERT INTO review_list
  SELECT r.id, r.source, coalesce(e.split, r.split), r.rating, substr(d.date, 1, 7), e.review IS NOT NULL
  FROM reviews r LEFT JOIN released_reviews e ON e.review = r.id LEFT JOIN review_dates d ON d.review = r.id
  WHERE r.duplicate_of IS NULL;
"""
_FACETS = f"""
CREATE TABLE triplet_facets (
  review INTEGER NOT NULL, triplet INTEGER NOT NULL, kinds INTEGER NOT NULL, polarity TEXT NOT NULL, rule TEXT,
  category TEXT, tenth INTEGER, confidence REAL, aspect TEXT NOT NULL, opinion TEXT NOT NULL,
  PRIMARY KEY (review, triplet)
) STRICT, WITHOUT ROWID;
INSERT INTO triplet_facets
  SELECT t.review, t.id,
         CASE WHEN e.triplet IS NOT NULL THEN {RELEASED} WHEN :released THEN {LEFT_OUT} ELSE 0 END
         | coalesce((SELECT sum(DISTINCT CASE s.kind WHEN 'rules' THEN {RULES} WHEN 'gold' THEN {GOLD}
                                         ELSE {MODELS} END)
                     FROM proposals p JOIN sources s ON s.id = p.source
                     WHERE p.triplet = t.id AND NOT (s.kind = 'model' AND s.signature = '{RULES_REPEATED}')), 0),
         t.polarity, l.rule, l.aspect_category,
         CASE WHEN l.confidence < 0.5 THEN 0 ELSE min(9, CAST(10 * l.confidence + 1e-9 AS INTEGER)) END, l.confidence,
         fold(t.aspect), fold(t.opinion)
  FROM triplets t JOIN triplet_list l ON l.id = t.id LEFT JOIN released e ON e.triplet = t.id ORDER BY t.review, t.id;
CREATE INDEX triplet_facets_aspect ON triplet_facets (aspect, kinds);
CREATE INDEX triplet_facets_opinion ON triplet_facets (opinion, kinds);
"""
_WORDS = """
CREATE TABLE word_counts (
  role TEXT NOT NULL, word TEXT NOT NULL, traditional TEXT NOT NULL, simplified TEXT NOT NULL,
  released INTEGER NOT NULL, POS INTEGER NOT NULL, NEG INTEGER NOT NULL, NEU INTEGER NOT NULL,
  candidates INTEGER NOT NULL,
  PRIMARY KEY (role, word)
) STRICT, WITHOUT ROWID;
"""


def make_tables(connection: sqlite3.Connection) -> None:
    """Make all three, within the caller's transaction. `triplet_list` has to be there."""
    connection.create_function("fold", 1, fold, deterministic=True)
    for name in TABLES:
        connection.execute(f"DROP TABLE IF EXISTS {name}")
    released = connection.execute("SELECT EXISTS (SELECT 1 FROM released)").fetchone()[0]
    for statement in _statements(_REVIEWS) + _statements(_FACETS) + _statements(_WORDS):
        connection.execute(statement, {"released": released} if ":released" in statement else {})
    for role in ("aspect", "opinion"):
        connection.executemany(
            "INSERT INTO word_counts VALUES (?,?,?,?,?,?,?,?,?)", _count_words(connection, role, released)
        )
    connection.execute("CREATE INDEX word_counts_released ON word_counts (role, released DESC, candidates DESC)")


def _statements(script: str) -> list[str]:
    return [statement for statement in script.split(";\n") if statement.strip()]


def _count_words(connection: sqlite3.Connection, role: str, released_there: bool) -> Iterator[tuple[object, ...]]:
    """A row for each word of a role; before a release all candidates count. How it is shown: as it is written
    most often in a script, else converted.
    """
    rows = connection.execute(
        f"SELECT f.{role}, t.{role}, t.polarity, count(*), sum(f.kinds & {RELEASED} > 0)"
        " FROM triplets t JOIN triplet_facets f ON f.review = t.review AND f.triplet = t.id GROUP BY 1, 2, 3"
    ).fetchall()
    for word, group in groupby(rows, key=lambda row: str(row[0])):
        spellings, released = Counter[str](), Counter[str]()
        for _, spelling, polarity, number, out in group:
            spellings[spelling] += number
            released[polarity] += out if released_there else number
        counts = [released[polarity] for polarity in ("POS", "NEG", "NEU")]
        traditional, simplified = _shown(spellings)
        yield role, word, traditional, simplified, sum(counts), *counts, sum(spellings.values())


def _shown(spellings: Counter[str]) -> tuple[str, str]:
    """A word in Traditional and in Simplified script."""
    often = [spelling for spelling, _ in spellings.most_common()]
    traditional = next((spelling for spelling in often if script_of(spelling) == "traditional"), None)
    return traditional or converter("s2tw")(often[0]), converter("t2s")(often[0])
