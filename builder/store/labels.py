"""Labels, and the triplets that variants train on.

Training sets say which triplets each variant trains on, round by round.

The report and the layers of the test split read labels: of pools, of reviews labelled in full, and answers of language
models about whole reviews. A working directory from before there were pools has none.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from builder.core.annotators import Annotators
from builder.core.records import Span, StoredTriplet
from builder.store.triplets import BITS, EVERY, HASH, TRIPLET_COLUMNS, restore, source_id

# ---- Training sets


def set_training(connection: sqlite3.Connection, variant: str, round_: int, ids: Iterable[int]) -> None:
    """Store the training set of a round: the ids of its triplets."""
    connection.execute("DELETE FROM training_sets WHERE variant = ? AND round = ?", (variant, round_))
    connection.executemany(
        "INSERT INTO training_sets (variant, round, triplet) VALUES (?,?,?)", ((variant, round_, i) for i in ids)
    )


def train_on(connection: sqlite3.Connection, variant: str, round_: int, source: int) -> None:
    """Make what a source proposes for the train split the training set of a round."""
    connection.execute("DELETE FROM training_sets WHERE variant = ? AND round = ?", (variant, round_))
    connection.execute(
        "INSERT INTO training_sets (variant, round, triplet) SELECT ?, ?, p.triplet"
        " FROM proposals p JOIN reviews r ON r.id = p.triplet >> 31 WHERE p.source = ? AND r.split = 'train'",
        (variant, round_, source),
    )


def training_counts(connection: sqlite3.Connection, variant: str, round_: int, source: int) -> tuple[int, int, int]:
    """Of a training set the reviews, the triplets, and of these those that a source proposes too."""
    reviews, total, shared = connection.execute(
        "SELECT count(DISTINCT s.triplet >> 31), count(*), count(p.triplet) FROM training_sets s"
        " LEFT JOIN proposals p ON p.triplet = s.triplet AND p.source = ? WHERE s.variant = ? AND s.round = ?",
        (source, variant, round_),
    ).fetchone()
    return reviews, total, shared


def training(
    connection: sqlite3.Connection, variant: str, round_: int, within: tuple[int, int] = EVERY
) -> Iterator[StoredTriplet]:
    """S_round of a variant, by review and place; `within`: of the reviews from one row id to another."""
    rows = connection.execute(
        f"SELECT {TRIPLET_COLUMNS} FROM training_sets s CROSS JOIN triplets t ON t.id = s.triplet"
        " WHERE s.variant = ? AND s.round = ? AND s.triplet BETWEEN ? AND ? ORDER BY s.triplet",
        (variant, round_, within[0] << BITS, within[1] << BITS | HASH),
    )
    yield from map(restore, rows)


# ---- Labels

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


GOLD, SILVER = "gold", "silver"
"""The sources of the layers, and what release rows call their annotation."""
KINDS = {GOLD: "gold", SILVER: "llm"}


@dataclass(frozen=True, slots=True)
class LabelledLayer:
    """A layer by its name, with the id of its source, who labelled it (in words, and as far as somebody says), and the
    row ids of its reviews.
    """

    name: str
    source: int
    labelled_by: str
    annotators: Annotators
    reviews: frozenset[int]


def put(connection: sqlite3.Connection, source: int, reviews: Iterable[int]) -> None:
    """Note the reviews that a layer's source labelled."""
    connection.executemany(
        "INSERT INTO labelled_reviews (source, review) VALUES (?,?)", ((source, review) for review in reviews)
    )


def layers(connection: sqlite3.Connection) -> dict[str, LabelledLayer]:
    """Name -> layer, gold first; empty where nothing was labelled."""
    sources = connection.execute(
        "SELECT s.name, s.id, coalesce(s.labelled_by, ''), coalesce(s.annotators, '') FROM sources s"
        " WHERE s.name IN ('gold', 'silver') AND s.id IN (SELECT source FROM labelled_reviews) ORDER BY s.name"
    ).fetchall()
    return {
        name: LabelledLayer(
            name,
            source,
            labelled_by,
            annotators,
            frozenset(
                row[0] for row in connection.execute("SELECT review FROM labelled_reviews WHERE source = ?", (source,))
            ),
        )
        for name, source, labelled_by, annotators in sources
    }


PREFIX = "llm:"
"""What the names of these sources begin with."""
STAGE = "label"
"""The stage under which rows of their answers are rejected."""


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """What a labeller answered about a stored review: row id and text of the review, the raw body of the answer."""

    review: int
    key: str
    text: str
    raw: str


def digest_text(text: str) -> str:
    """What a review's text is remembered by."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def remember(connection: sqlite3.Connection, source: str, prompt: str, rows: Iterable[tuple[str, str, str]]) -> None:
    """Note whose answers are those to `rows` of (review key, its text, payload hash)."""
    connection.executemany(
        "INSERT INTO labeller_answers (source, review_key, text, answer, prompt) VALUES (?,?,?,?,?)"
        " ON CONFLICT (source, review_key) DO UPDATE SET text = excluded.text, answer = excluded.answer,"
        " prompt = excluded.prompt",
        ((source, key, digest_text(text), answer, prompt) for key, text, answer in rows),
    )


def names(connection: sqlite3.Connection) -> list[str]:
    """The sources of which there are answers."""
    return [row[0] for row in connection.execute("SELECT DISTINCT source FROM labeller_answers ORDER BY source")]


def signature(connection: sqlite3.Connection, source: str) -> str:
    """What decides the proposals of a source: its prompt and its answers, by their digests."""
    digest = hashlib.sha256()
    rows = connection.execute(
        "SELECT review_key, text, answer, prompt FROM labeller_answers WHERE source = ? ORDER BY review_key", (source,)
    )
    prompts = set()
    for row in rows:
        digest.update("\t".join(row).encode("utf-8", "surrogatepass") + b"\n")
        prompts.add(row[-1])
    return f"{source}, prompt {' '.join(sorted(prompts))}, answers {digest.hexdigest()[:16]}"


def kept(connection: sqlite3.Connection, source: str) -> Iterator[KeptAnswer]:
    """The answers of a source about reviews that are here with the text it was asked about, in order of reviews."""
    rows = connection.execute(
        "SELECT r.id, r.key, r.text, a.raw, l.text FROM labeller_answers l JOIN reviews r ON r.key = l.review_key"
        " JOIN judge_answers a ON a.payload_hash = l.answer"
        " WHERE l.source = ? AND r.duplicate_of IS NULL ORDER BY r.id",
        (source,),
    )
    for review, key, text, raw, asked in rows:
        if digest_text(text) == asked:
            yield KeptAnswer(review, key, text, raw)


def clear_rows(connection: sqlite3.Connection, detail: str) -> None:
    """Forget the rows that were rejected with this detail: the name of a source, and what else is said of it."""
    connection.execute("DELETE FROM rejected WHERE stage = ? AND detail = ?", (STAGE, detail))


def reviews_of(connection: sqlite3.Connection, source: str) -> set[int]:
    """The row ids of the reviews about which a source gave a readable answer."""
    number = source_id(connection, source)
    rows = connection.execute("SELECT review FROM labelled_reviews WHERE source = ?", (number,))
    return {int(row[0]) for row in rows}


_BESIDE_RULES = """
WITH placed AS (
  SELECT t.id, t.review, t.polarity, p.source,
         t.spans ->> '$.aspect[0][0]' AS a0, t.spans ->> '$.aspect[#-1][1]' AS a1,
         t.spans ->> '$.opinion[0][0]' AS o0, t.spans ->> '$.opinion[#-1][1]' AS o1
  FROM triplets t JOIN proposals p ON p.triplet = t.id WHERE p.source IN (:labeller, :rules)),
judged AS (
  SELECT x.id,
         count(r.id) AS opinions,
         coalesce(sum(r.a0 < x.a1 AND x.a0 < r.a1 AND r.polarity = x.polarity), 0) AS same
  FROM placed x LEFT JOIN placed r ON r.source = :rules AND r.review = x.review AND r.o0 < x.o1 AND x.o0 < r.o1
  WHERE x.source = :labeller GROUP BY x.id),
held AS (SELECT DISTINCT p.triplet FROM proposals p JOIN sources s ON s.id = p.source WHERE s.kind = 'model')
SELECT count(*), coalesce(sum(same = 0 AND id IN (SELECT triplet FROM held)), 0), coalesce(sum(same > 0), 0),
       coalesce(sum(same = 0 AND opinions > 0), 0)
FROM judged
"""


def compare_rules(connection: sqlite3.Connection, source: str) -> tuple[int, int, int, int]:
    """Triplets that a source proposes; of those the rules lack, how many a variant holds all the same; how many the
    rules find too, modifiers aside; and how many have an opinion of which the rules say something else.
    """
    numbers = {"labeller": source_id(connection, source), "rules": source_id(connection, "rules")}
    hits, decides, overlaps, conflicts = connection.execute(_BESIDE_RULES, numbers).fetchone()
    return int(hits), int(decides), int(overlaps), int(conflicts)


def rejection_counts(connection: sqlite3.Connection, source: str) -> dict[str, int]:
    """Why rows of a source's answers are no triplets, the most frequent reason first."""
    rows = connection.execute(
        "SELECT reason, count(*) FROM rejected WHERE stage = ? AND detail = ? GROUP BY reason ORDER BY 2 DESC, 1",
        (STAGE, source),
    )
    return dict(rows.fetchall())
