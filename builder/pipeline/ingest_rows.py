"""What the stage ingest makes of rows: what is stored.

Workers prepare the rows. In: rows as a reader gives them. Out: for each an `IngestRow`, with what the search and the
splits need of its text, or what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from builder.core.shards import Job
from builder.reviews.dedup.assignment import norm_hash
from builder.reviews.dedup.near_duplicates import normal
from builder.reviews.script import HAN, find_other_language, language_tag, script_of
from builder.reviews.sources.cells import RawReview, RejectedRow
from builder.reviews.sources.opening import storable
from builder.reviews.text import read_part
from builder.store import search
from builder.store.reviews import NewReview

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
    kept: tuple[str | None, ...]
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
    return IngestRow(review, row.group, row.date, row.kept, shown, search.make_tokens(row.text))
