"""All that is known about a review and its triplets: who found each, by which rule and path, who judged it how, what became of it.

In: a read-only connection and an id. Out: records for the review page and `builder explain`, and the same as text.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from builder.errors import QueryError
from builder.records import StoredTriplet
from builder.store import triplets
from builder.store.outcomes import Outcome, outcomes
from builder.store.queries import public_id

_PUBLIC = re.compile("[0-9a-f]{16}")
_ENDS = {True: "released", False: "left out", None: "unknown"}


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a source says of a triplet: rule, lexicon entry, path, verdict, training set, confidence."""

    source: str
    kind: str
    detail: str


@dataclass(frozen=True, slots=True)
class Told:
    """A triplet, its id in a release, every step of its story in order, and what became of it in the release."""

    stored: StoredTriplet
    public: str
    sources: tuple[str, ...]
    steps: tuple[Step, ...]
    outcome: Outcome

    def details(self, kind: str) -> list[str]:
        return [step.detail for step in self.steps if step.kind == kind]


@dataclass(frozen=True, slots=True)
class Story:
    """A review as stored, what was read from where, and its triplets in order of place. `first`: the key of the review it repeats."""

    id: int
    key: str
    text: str
    split: str | None
    facts: tuple[tuple[str, str], ...]
    first: str | None
    words: tuple[tuple[str, str, int, str], ...]
    told: tuple[Told, ...]


def review(connection: sqlite3.Connection, i: int) -> Story:
    """The story of the review with row id `i`; QueryError if there is none."""
    row = connection.execute(
        "SELECT r.key, r.text, r.split, f.key, a.words, r.source, r.place, r.rating, r.file || ':' || r.row, r.script,"
        " (SELECT count(*) FROM reviews d WHERE d.duplicate_of = r.id)"
        " FROM reviews r LEFT JOIN reviews f ON f.id = r.duplicate_of LEFT JOIN annotations a ON a.review = r.id"
        " AND a.backend = (SELECT id FROM backends WHERE current = 1) WHERE r.id = ?",
        (i,),
    ).fetchone()
    if row is None:
        raise QueryError(f"no review {i}")
    key, text, split, first, words, *known, repeated = row
    stored = list(triplets.subset(connection, [t for (t,) in connection.execute("SELECT id FROM triplets WHERE review = ?", (i,))]))
    facts = [
        (name, f"{value:g}" if isinstance(value, float) else str(value))
        for name, value in zip(("source", "place", "rating", "read from", "script"), known, strict=True)
        if value not in (None, "")
    ]
    facts += [("repeated by", f"{repeated} other reviews")] if repeated else []
    tokens = tuple((text[start:end], pos, head, relation) for start, end, pos, head, relation in json.loads(words or "[]"))
    return Story(i, key, text, split, tuple(facts), first, tokens, tuple(_told(connection, i, key, split, stored)))


def find(connection: sqlite3.Connection, identifier: str) -> tuple[int, int | None]:
    """(review, triplet or None) of an id: a triplet's row id, KEY:HASH as in a release, or a review's key."""
    identifier = _own_id(connection, identifier)
    key, colon, suffix = identifier.rpartition(":")
    if colon and re.fullmatch("[0-9a-f]{8}", suffix) and (found := _one(connection, "SELECT id FROM reviews WHERE key = ?", key)):
        i = found << triplets.BITS | int(suffix, 16)
        if _one(connection, "SELECT 1 FROM triplets WHERE id = ?", i):
            return found, i
    if found := _one(connection, "SELECT id FROM reviews WHERE key = ?", identifier):
        return found, None
    number = int(identifier) if re.fullmatch("[0-9]{1,18}", identifier) else 0
    if found := _one(connection, "SELECT review FROM triplets WHERE id = ?", number):
        return found, number
    raise QueryError(
        f"no triplet or review {identifier!r}", fix='ids are in the column id of `builder sql "SELECT * FROM candidate_triplets"`'
    )


def text(connection: sqlite3.Connection, identifier: str) -> str:
    """The story of a triplet, or of each triplet of a review, for a terminal. `identifier` as `find` takes it."""
    i, wanted = find(connection, identifier)
    story = review(connection, i)
    told = [one for one in story.told if wanted in (None, one.stored.id)]
    if not told:
        what = f"repeats {story.first}: see there" if story.first else "no source finds a triplet"
        return f"{story.key}  {what}\n  text      {story.text}"
    return "\n\n".join("\n".join(_lines(story, one)) for one in told)


def _lines(story: Story, one: Told) -> Iterable[str]:
    triplet = one.stored.triplet
    yield (
        f"{one.public}  ({triplet.aspect.text}, {triplet.opinion.text}, {triplet.polarity})"
        f"  valence {triplet.valence:g}, split {story.split}"
    )
    yield f"  text      {story.text}"
    if story.facts:
        yield "  review    " + ", ".join(f"{name} {value}" for name, value in story.facts)
    spans = {"aspect": triplet.aspect, "aspect_full": triplet.aspect_full, "opinion": triplet.opinion, "opinion_full": triplet.opinion_full}
    shown = {name: element.spans for name, element in spans.items()} | ({"owner": triplet.owner.spans} if triplet.owner else {})
    yield "  spans     " + json.dumps(shown, separators=(",", ":"))
    if triplet.opinion_full.text != triplet.opinion.text:
        yield f"  full      {triplet.opinion_full.text}"
    if triplet.owner:
        yield f"  owner     {triplet.owner.text}"
    for step in one.steps:
        yield f"  {step.source:<13} {step.kind:<12} {step.detail}"
    yield f"  {'release':<13} {_ENDS[one.outcome.released]:<12} {one.outcome.text}"


def _told(connection: sqlite3.Connection, review: int, key: str, split: str | None, stored: list[StoredTriplet]) -> Iterable[Told]:
    """One statement a table for all triplets of a review: a long review has a hundred of them."""
    steps: dict[int, list[Step]] = {one.id: [] for one in stored}
    sources: dict[int, list[str]] = {one.id: [] for one in stored}
    late: list[tuple[int, Step]] = []
    for i, name, kind, confidence, story in _of(
        connection,
        "p.triplet, s.name, s.kind, p.confidence, p.story FROM proposals p JOIN sources s ON s.id = p.source",
        "p",
        "s.id",
        stored,
    ):
        sources[i].append(name)
        steps[i] += [Step(name, what, detail) for what, detail in json.loads(story)]
        if kind != "rules":
            late.append((i, Step(name, "proposed", "" if confidence is None else f"confidence {confidence:.3f}")))
    for i, name, label, score in _of(
        connection, "v.triplet, s.name, v.label, v.score FROM verdicts v JOIN sources s ON s.id = v.source", "v", "s.id", stored
    ):
        steps[i].append(Step(name, "verdict", f"{label or 'abstains'} {score:.3f}"))
    for i, variant, number in _of(connection, "x.triplet, x.variant, x.round FROM training_sets x", "x", "x.variant, x.round", stored):
        steps[i].append(Step(variant, "training set", f"S_{number}"))
    for i, step in late:
        steps[i].append(step)
    ends = outcomes(connection, review, key, split, [one.id for one in stored])
    for one in sorted(stored, key=lambda one: (one.triplet.opinion.start, one.triplet.aspect.start, one.id)):
        public = f"{key}:{one.id & triplets.HASH:08x}"
        yield Told(one, public, tuple(sources[one.id]), tuple(steps[one.id]), ends[one.id])


def _of(connection: sqlite3.Connection, columns: str, table: str, order: str, stored: list[StoredTriplet]) -> Iterable[tuple[Any, ...]]:
    """Rows about the triplets of one review: their ids lie together."""
    if not stored:
        return []
    first = stored[0].review << triplets.BITS
    return connection.execute(
        f"SELECT {columns} WHERE {table}.triplet BETWEEN ? AND ? ORDER BY {table}.triplet, {order}", (first, first | triplets.HASH)
    )


def _one(connection: sqlite3.Connection, statement: str, value: str | int) -> int | None:
    row = connection.execute(statement, (value,)).fetchone()
    return None if row is None else int(row[0])


def _own_id(connection: sqlite3.Connection, identifier: str) -> str:
    """An id of a release with hashed review ids as the working directory knows it; any other one as it is."""
    key, colon, suffix = identifier.partition(":")
    if not _PUBLIC.fullmatch(key):
        return identifier
    row = connection.execute("SELECT key FROM reviews WHERE public_id = ?", (key,)).fetchone()
    own = row[0] if row else next((own for (own,) in connection.execute("SELECT key FROM reviews") if public_id(own) == key), key)
    return str(own) + colon + suffix
