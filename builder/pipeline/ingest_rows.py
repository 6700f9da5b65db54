"""What the stage ingest makes of rows: what is stored, and in which split.

Workers prepare the rows. In: rows as a reader gives them. Out: for each an `IngestRow`, with what the search and the
splits need of its text, or what is wrong with it.

Splits: near-duplicates and groups stay together, gold goes to test, and a review that had a split keeps it. A text's
place is its hash, a unit's that of its smallest hash, so most reviews would stay where they are even without memory.
Where a new review joins two old ones of different splits, neither moves: the newcomer is left out of the splits, and
counted.
"""

from __future__ import annotations

import sqlite3
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import NamedTuple

from builder.core.config import flat
from builder.core.shards import Job
from builder.pipeline.context import Context
from builder.release.reading import Existing, existing, rows
from builder.reviews.dedup.assignment import Groups, assign, norm_hash
from builder.reviews.dedup.near_duplicates import alike, among, bigrams, clusters, disputed, links, normal
from builder.reviews.dedup.rare_pairs import Texts
from builder.reviews.privacy import masking as privacy
from builder.reviews.script import HAN, find_other_language, language_tag, script_of
from builder.reviews.sources.cells import RawReview, RejectedRow
from builder.reviews.sources.opening import storable
from builder.reviews.text import read_part
from builder.store import reviews, runs, search
from builder.store.queries import public_id
from builder.store.reviews import NewReview

# ---- Splits

SHARES = ("ingest.test_share", "ingest.valid_share")
_WISHES = ("ingest.test_count", "ingest.valid_count", "input.group_column")
"""Settings that change the splits where they are given: releases made before they existed name none."""
PLACED = 8 * 10
"""Bytes of memory that `assign_splits` holds of each review, beside the search for near-duplicates, where none had a
split before: its id (twice), where its text lies, its split, cluster, unit, the split it is meant for and the place of
its hash.
"""


class StoredTexts:
    """The normal texts of all stored reviews by their ids, which ascend, in a temporary file."""

    def __init__(self) -> None:
        self._ids, self._texts = array("q"), Texts()

    def __enter__(self) -> StoredTexts:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._texts.close()

    def append(self, review: int, text: str) -> None:
        self._ids.append(review)
        self._texts.append(text)

    def find(self, review: int) -> str:
        return self._texts[_place_of(self._ids, review)]


def assign_splits(context: Context, stored: StoredTexts, gold: frozenset[str]) -> None:
    """Give every distinct review its split and cluster; remember the splits. Inside the transaction of `ingest`.

    `gold`: the ids that labels name.
    """
    connection, share = context.connection, context.config.ingest
    ids = array("q")
    with Texts() as texts, Texts() as hashes:
        for review, _, known, _ in reviews.distinct(connection):
            ids.append(review)
            texts.append(stored.find(review))
            hashes.append(known)
        pinned = {_place_of(ids, review): split for review, split in _before(context, gold).items()}
        near = links(texts)
        near += among(texts, disputed(clusters(len(ids), near), pinned.items()))
        shares = 0.0 if gold else share.test_share, share.valid_share
        chosen = assign(hashes, near, pinned, shares, (share.test_count, share.valid_count), _groups(connection, ids))
    reviews.set_splits(connection, zip(chosen, ids, strict=True))
    cluster_of = clusters(len(ids), near)
    several = {cluster_of[a] for a, _ in near}
    reviews.set_clusters(connection, ((ids[n], ids[first]) for n, first in enumerate(cluster_of) if first in several))
    reviews.clear_rejected(connection, "split")
    reviews.reject_nowhere(
        connection, "split", "near-duplicate", "it is a near-duplicate, or of the group, of reviews in different splits"
    )
    reviews.remember_splits(connection)
    runs.set_setting(connection, "splits.shares", _shares(flat(context.config)))


def _groups(connection: sqlite3.Connection, ids: Sequence[int]) -> Groups | None:
    """The groups of the reviews with these ids; None where the input names none."""
    numbers: dict[str, int] = {}
    of = array("q", (-1 for _ in ids))
    for review, name in reviews.groups(connection):
        of[_place_of(ids, review)] = numbers.setdefault(name, len(numbers))
    return Groups(of, [norm_hash(name) for name in numbers]) if numbers else None


def _place_of(ids: Sequence[int], review: int) -> int:
    """Where an id stands among ids in order."""
    n = bisect_left(ids, review)
    assert ids[n] == review, review
    return n


def _before(context: Context, gold: frozenset[str]) -> dict[int, str]:
    """Review id -> the split it had: in this working directory, or in the last release of this name, which goes
    first; test, if it is gold.

    Other shares in the settings are the wish for other splits: then nothing is kept.
    """
    shares = _shares(flat(context.config))
    if runs.setting(context.connection, "splits.shares") != shares:
        reviews.forget_splits(context.connection)
    kept = dict(reviews.remembered_splits(context.connection))
    parents = existing(context.out, context.config.release.name)
    if parents and _shares(parents[-1].manifest.get("config", {})) == shares:
        kept.update(released_splits(context.connection, parents[-1]))
    kept.update(dict.fromkeys(reviews.ids(context.connection, sorted(gold)).values(), "test"))
    return kept


def released_splits(connection: sqlite3.Connection, parent: Existing) -> dict[int, str]:
    """The splits of a release's reviews, found by their text or, where masks or another script changed it, by id and
    likeness; a review for which both are found has that of its text.
    """
    split_of: dict[int, str] = {}
    others: set[str] = set()
    for split in parent.splits:
        for row in rows(parent.path, split):
            review = reviews.saying(connection, norm_hash(normal(row["text"])))
            if review is None:
                others.add(row["id"])
            else:
                split_of.setdefault(review, split)
    named = {
        name: review
        for review, key, *_ in reviews.distinct(connection)
        for name in (key, public_id(key))
        if name in others
    }
    for split in parent.splits if named else ():
        for row in rows(parent.path, split):
            if row["id"] in named and _may_be_released_as(connection, named[row["id"]], row["text"]):
                split_of.setdefault(named[row["id"]], split)
    return split_of


def _may_be_released_as(connection: sqlite3.Connection, i: int, released: str) -> bool:
    """Whether a released text may be what masks and another script have made of a review."""
    (review,) = reviews.by_id(connection, [i])
    masked = privacy.mask(review.text, [review.place] if review.place else []).text
    return alike(bigrams(normal(masked)), bigrams(normal(released)))


def _shares(config: Mapping[str, object]) -> str:
    given = [f"{name}={value}" for name in _WISHES if (value := config.get(name))]
    return " ".join([*(str(config.get(name)) for name in SHARES), *given])


# ---- Rows as they are stored

_ROWS, _CHARACTERS = 2_000, 200_000
"""Of a worker's task: so many rows, and fewer where they are long, for the search takes 50 bytes of a character."""
NUMBERED = "review-"
"""What stands before the number of a row that has no id."""
RawRow = RawReview | RejectedRow
_Settings = tuple[str, int]


class IngestRow(NamedTuple):
    """A review for the database; `normal` is what is compared with other reviews, `tokens` what the search stores."""

    review: NewReview
    group: str | None
    date: str | None
    normal: str
    tokens: search.Tokens


class UnusableRow(NamedTuple):
    """The row's number in its file, and why it cannot be used."""

    row: int
    reason: str
    detail: str
    raw: str


def make_job(name: str, max_chars: int) -> Job[_Settings, list[RawRow], list[IngestRow | UnusableRow]]:
    """The job for a file of this name."""
    return Job(_prepare, (storable(name), max_chars), _read)


def make_tasks(rows: Iterable[RawRow]) -> Iterator[list[RawRow]]:
    """Rows by the task."""
    task: list[RawRow] = []
    characters = 0
    for row in rows:
        task.append(row)
        characters += len(row.text) if isinstance(row, RawReview) else 0
        if len(task) == _ROWS or characters >= _CHARACTERS:
            yield task
            task, characters = [], 0
    if task:
        yield task


def find_fault(row: RawRow, max_chars: int) -> UnusableRow | None:
    """Why a row cannot be used, or None."""
    if isinstance(row, RejectedRow):
        return UnusableRow(row.row, row.reason, row.detail, row.raw)
    if not row.text.strip():
        return UnusableRow(row.row, "empty", "the text is empty", row.text)
    if len(row.text) > max_chars:
        detail = f"{len(row.text)} characters, ingest.max_chars is {max_chars}"
        return UnusableRow(row.row, "too-long", detail, row.text)
    part = read_part(row.text)
    if not part:
        return UnusableRow(row.row, "owner-reply", "the text is the reply of an owner", row.text)
    if not HAN.search(part):
        return UnusableRow(row.row, "no-han", "the text has no Han character", row.text)
    if other := find_other_language(part):
        return UnusableRow(row.row, "not-chinese", f"the text is mostly {other}", row.text)
    return None


def _prepare(name: str, max_chars: int) -> _Settings:
    return name, max_chars


def _read(settings: _Settings, task: list[RawRow]) -> list[IngestRow | UnusableRow]:
    name, max_chars = settings
    return [_make_row(row, name, max_chars) for row in task]


def _make_row(row: RawRow, name: str, max_chars: int) -> IngestRow | UnusableRow:
    if fault := find_fault(row, max_chars):
        return fault
    assert isinstance(row, RawReview)
    part = read_part(row.text)
    script = script_of(part)
    shown = normal(row.text, script)
    review = (
        row.id or f"{NUMBERED}{row.row}",
        row.text,
        row.source,
        row.place,
        row.rating,
        name,
        row.row,
        script,
        language_tag(part, row.text),
        norm_hash(row.text),
        norm_hash(shown),
    )
    return IngestRow(review, row.group, row.date, shown, search.make_tokens(row.text))
