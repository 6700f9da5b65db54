"""All that is known about a review and its triplets: who found each, by which rule and path, who judged it how, what
became of it.

In: a read-only connection and an id. Out: records for the review page and `builder explain`.

How a triplet's story ends: the split of the last release that holds it, or why none does.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from builder.core.errors import QueryError
from builder.core.records import StoredTriplet, Verdict
from builder.store import runs, triplets
from builder.store import triplets as triplet_rows
from builder.store.queries import public_id, read_value


@dataclass(frozen=True, slots=True)
class Outcome:
    """`released` is None where that cannot be told: without a release, or with one of which no list was kept."""

    released: bool | None
    text: str


def outcomes(connection: sqlite3.Connection, review: int) -> dict[int, Outcome]:
    """What became of each triplet of a review, by row id, in the last release: the version that holds it, or the
    reason in words. `released` is None where nobody knows.
    """
    first = review << triplet_rows.BITS
    ids = first, first | triplet_rows.HASH
    known = [i for (i,) in connection.execute("SELECT id FROM triplets WHERE id BETWEEN ? AND ?", ids)]
    last = runs.last_release(connection)
    if last is None:
        unknown = Outcome(None, "this build is not released yet; `builder versions release` does that")
        return dict.fromkeys(known, unknown)
    if read_value(connection, "SELECT 1 FROM released LIMIT 1") is None:
        unknown = Outcome(None, f"v{last[0]} keeps no list of its triplets here; `builder resume` makes one")
        return dict.fromkeys(known, unknown)
    stale = "release" not in runs.runs(connection)
    due = "this build has changed since" if stale else "its builder did not keep why"
    text = f"not in v{last[0]}, and {due}; `builder resume` goes on"
    ends = dict.fromkeys(known, Outcome(None if stale else False, text))
    if not stale:
        rows = connection.execute(
            "SELECT triplet, reason, detail FROM rejected WHERE triplet BETWEEN ? AND ? ORDER BY id", ids
        )
        ends |= {i: Outcome(False, f"not in v{last[0]}, {reason}: {detail}") for i, reason, detail in rows}
    rows = connection.execute(
        "SELECT triplet, version, split, annotation FROM released WHERE triplet BETWEEN ? AND ?", ids
    )
    return ends | {i: Outcome(True, f"in v{version}, {split}, {annotation}") for i, version, split, annotation in rows}


_PUBLIC = re.compile("[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a source says of a triplet: rule, lexicon entry, path, verdict, training set, confidence."""

    source: str
    kind: str
    detail: str


@dataclass(frozen=True, slots=True)
class JudgeVerdict:
    """What a judge says of a triplet. `score`: its own, from 0 to 1; `confidence`: how often triplets of such a score
    are right, None where the judge is not calibrated.
    """

    source: str
    label: Verdict | None
    score: float
    confidence: float | None

    def numbers(self) -> str:
        """Both numbers by their names."""
        calibrated = "" if self.confidence is None else f", calibrated confidence {self.confidence:.3f}"
        return f"raw score {self.score:.3f}{calibrated}"


@dataclass(frozen=True, slots=True)
class TripletStory:
    """A triplet, its id in a release, its story in order, what became of it, and what judges say of it."""

    stored: StoredTriplet
    public: str
    sources: tuple[str, ...]
    steps: tuple[Step, ...]
    outcome: Outcome
    verdicts: tuple[JudgeVerdict, ...] = ()

    def details(self, kind: str) -> list[str]:
        """The details of the steps of a kind."""
        return [step.detail for step in self.steps if step.kind == kind]


@dataclass(frozen=True, slots=True)
class Story:
    """A review as stored, what was read from where, and its triplets in order of place. `first`: the key of the
    review it repeats. `negative`: the last release holds it as an unverified negative.
    """

    id: int
    key: str
    text: str
    split: str | None
    facts: tuple[tuple[str, str], ...]
    first: str | None
    words: tuple[tuple[str, str, int, str], ...]
    triplets: tuple[TripletStory, ...]
    negative: bool = False


def review(connection: sqlite3.Connection, i: int) -> Story:
    """The story of the review with row id `i`; QueryError if there is none."""
    row = connection.execute(
        "SELECT r.key, r.text, r.split, f.key, a.words, r.source, r.place, r.rating, r.file || ':' || r.row, r.script,"
        " (SELECT date FROM review_dates t WHERE t.review = r.id),"
        " (SELECT count(*) FROM reviews d WHERE d.duplicate_of = r.id)"
        " FROM reviews r LEFT JOIN reviews f ON f.id = r.duplicate_of LEFT JOIN annotations a ON a.review = r.id"
        " AND a.backend = (SELECT id FROM backends WHERE current = 1) WHERE r.id = ?",
        (i,),
    ).fetchone()
    if row is None:
        raise QueryError(f"no review {i}")
    key, text, split, first, words, *known, repeated = row
    stored = list(
        triplets.subset(
            connection, [t for (t,) in connection.execute("SELECT id FROM triplets WHERE review = ?", (i,))]
        )
    )
    facts = [
        (name, f"{value:g}" if isinstance(value, float) else str(value))
        for name, value in zip(("source", "place", "rating", "read from", "script", "date"), known, strict=True)
        if value not in (None, "")
    ]
    facts += [("repeated by", f"{repeated} other reviews")] if repeated else []
    tokens = tuple(
        (text[start:end], pos, head, relation) for start, end, pos, head, relation in json.loads(words or "[]")
    )
    asked = "SELECT 1 FROM released_reviews WHERE review = ? AND unverified_negative"
    negative = bool(read_value(connection, asked, (i,)))
    return Story(
        i, key, text, split, tuple(facts), first, tokens, tuple(_tell_triplets(connection, i, key, stored)), negative,
    )  # fmt: skip


def find(connection: sqlite3.Connection, identifier: str) -> tuple[int, int | None]:
    """(review, triplet or None) of an id: a triplet's row id, KEY:HASH as in a release, or a review's key."""
    identifier = _own_id(connection, identifier)
    key, colon, suffix = identifier.rpartition(":")
    if (
        colon
        and re.fullmatch("[0-9a-f]{8}", suffix)
        and (review := read_value(connection, "SELECT id FROM reviews WHERE key = ?", (key,)))
    ):
        i = review << triplet_rows.BITS | int(suffix, 16)
        if read_value(connection, "SELECT 1 FROM triplets WHERE id = ?", (i,)):
            return review, i
    if review := read_value(connection, "SELECT id FROM reviews WHERE key = ?", (identifier,)):
        return review, None
    number = int(identifier) if re.fullmatch("[0-9]{1,18}", identifier) else 0
    if review := read_value(connection, "SELECT review FROM triplets WHERE id = ?", (number,)):
        return review, number
    key = read_value(connection, "SELECT key FROM reviews ORDER BY id LIMIT 1")
    raise QueryError(
        f"no triplet or review {identifier!r}" + (f"; reviews have ids such as {key!r}" if key is not None else ""),
        fix='`builder db sql "SELECT review_key, id FROM candidate_triplets"` has the ids of reviews and of triplets',
    )


def _tell_triplets(
    connection: sqlite3.Connection, review: int, key: str, stored: list[StoredTriplet]
) -> Iterable[TripletStory]:
    """One statement a table for all triplets of a review: a long review has a hundred of them."""
    steps: dict[int, list[Step]] = {triplet.id: [] for triplet in stored}
    sources: dict[int, list[str]] = {triplet.id: [] for triplet in stored}
    late: list[tuple[int, Step]] = []
    for i, name, kind, confidence, story in _of(
        connection,
        "p.triplet, s.name, s.kind, p.confidence, p.story FROM proposals p JOIN sources s ON s.id = p.source",
        "p",
        "s.id",
        stored,
    ):
        steps[i] += [Step(name, what, detail) for what, detail in json.loads(story)]
        if kind != "rules":
            late.append((i, Step(name, "proposed", "" if confidence is None else f"raw score {confidence:.3f}")))
    for i, name in _of(connection, "x.triplet, x.name FROM triplet_sources x", "x", "x.source", stored):
        sources[i].append(name)
    judge = "model" if runs.judge(connection) == "shipped model" else ""
    verdicts: dict[int, list[JudgeVerdict]] = {triplet.id: [] for triplet in stored}
    for i, name, label, score, confidence in _of(
        connection,
        "v.triplet, s.name, v.label, v.score, v.confidence FROM verdicts v JOIN sources s ON s.id = v.source",
        "v",
        "s.id",
        stored,
    ):
        verdict = JudgeVerdict(judge or name, label, score, confidence)
        verdicts[i].append(verdict)
        steps[i].append(Step(verdict.source, "verdict", f"{label or 'abstains'}, {verdict.numbers()}"))
    for i, variant, number in _of(
        connection, "x.triplet, x.variant, x.round FROM training_sets x", "x", "x.variant, x.round", stored
    ):
        steps[i].append(Step(variant, "training set", f"S_{number}"))
    for i, step in late:
        steps[i].append(step)
    ends = outcomes(connection, review)
    for triplet in sorted(stored, key=lambda row: (row.triplet.opinion.start, row.triplet.aspect.start, row.id)):
        public = f"{key}:{triplet.id & triplet_rows.HASH:08x}"
        yield TripletStory(
            triplet, public, tuple(sources[triplet.id]), tuple(steps[triplet.id]), ends[triplet.id],
            tuple(verdicts[triplet.id]),
        )  # fmt: skip


def _of(
    connection: sqlite3.Connection, columns: str, table: str, order: str, stored: list[StoredTriplet]
) -> Iterable[tuple[Any, ...]]:
    """Rows about the triplets of one review: their ids lie together."""
    if not stored:
        return []
    first = stored[0].review << triplet_rows.BITS
    return connection.execute(
        f"SELECT {columns} WHERE {table}.triplet BETWEEN ? AND ? ORDER BY {table}.triplet, {order}",
        (first, first | triplet_rows.HASH),
    )


def _own_id(connection: sqlite3.Connection, identifier: str) -> str:
    """An id of a release with hashed review ids as the working directory knows it; any other one as it is."""
    key, colon, suffix = identifier.partition(":")
    if not _PUBLIC.fullmatch(key):
        return identifier
    own = read_value(connection, "SELECT key FROM reviews WHERE public_id = ?", (key,))
    if own is None:
        own = next((own for (own,) in connection.execute("SELECT key FROM reviews") if public_id(own) == key), key)
    return f"{own}{colon}{suffix}"
