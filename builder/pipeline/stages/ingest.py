"""ingest: files of reviews in, table `reviews` out, and `rejected` for every row that cannot be used.

The text is stored exactly as given. One transaction: a broken file leaves nothing behind.

What the stage ingest makes of rows: what is stored.

Workers prepare the rows. In: rows as a reader gives them. Out: for each an `IngestRow`, with what the search and the
splits need of its text, or what is wrong with it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from builder.core.errors import InputError
from builder.core.progress import bar
from builder.core.shards import Job
from builder.pipeline import layers
from builder.pipeline.context import Context
from builder.pipeline.layers import named_files
from builder.pipeline.splits import StoredTexts, assign_splits
from builder.reviews import sources
from builder.reviews.assignment import norm_hash
from builder.reviews.near_duplicates import normal
from builder.reviews.script import HAN, find_other_language, language_tag, script_of
from builder.reviews.sources.cells import RawReview, RejectedRow, Row
from builder.reviews.sources.opening import one_line, storable
from builder.reviews.text import read_part
from builder.store import db, reviews, runs, search
from builder.store.reviews import NewReview

# ---- Rows

_ROWS, _CHARACTERS = 2_000, 200_000
"""Of a worker's task: so many rows, and fewer where they are long, for the search takes 50 bytes of a character."""
NUMBERED = "review-"
"""What stands before the number of a row that has no id."""
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


def make_job(name: str, max_chars: int) -> Job[_Settings, list[Row], list[IngestRow | UnusableRow]]:
    """The job for a file of this name."""
    return Job(_prepare, (storable(name), max_chars), _read)


def make_tasks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Rows by the task."""
    task: list[Row] = []
    characters = 0
    for row in rows:
        task.append(row)
        characters += len(row.text) if isinstance(row, RawReview) else 0
        if len(task) == _ROWS or characters >= _CHARACTERS:
            yield task
            task, characters = [], 0
    if task:
        yield task


def find_fault(row: Row, max_chars: int) -> UnusableRow | None:
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


def _read(settings: _Settings, task: list[Row]) -> list[IngestRow | UnusableRow]:
    name, max_chars = settings
    return [_make_row(row, name, max_chars) for row in task]


def _make_row(row: Row, name: str, max_chars: int) -> IngestRow | UnusableRow:
    if fault := find_fault(row, max_chars):
        return fault
    assert isinstance(row, RawReview)
    part = read_part(row.text)
    script = script_of(part)
    shown = normal(row.text, script)
    review = (
        row.id or f"{NUMBERED}{row.row}", row.text, row.source, row.place, row.rating, name, row.row, script,
        language_tag(part, row.text), norm_hash(row.text), norm_hash(shown),
    )  # fmt: skip
    return IngestRow(review, row.group, row.date, row.kept, shown, search.make_tokens(row.text))


# ---- The stage


def run(context: Context) -> runs.Counts:
    """Read all inputs, check them, assign the splits; the counts of reviews and rejected rows."""
    connection = context.connection
    with db.atomic(connection), StoredTexts() as stored:
        reviews.clear(connection)
        for path in context.inputs:
            _ingest(context, path, stored)
        reviews.mark_duplicates(connection)
        search.finish(connection)
        settings = context.config.evaluate
        files = {name: str(path) for name, path in named_files(settings).items()}
        labelled = {path: layers.rows(path) for path in files.values()}
        for name, file in files.items():
            layers.read_annotators(labelled[file], name, settings)
        for file, given in labelled.items():
            _check_keys(context, file, frozenset(str(row["id"]) for row in given))
        named = frozenset(str(row["id"]) for given in labelled.values() for row in given)
        assign_splits(context, stored, named)
        for file, given in labelled.items():  # now, not after the training
            layers.labelled(given, reviews.in_split(connection, "test"), file)
        counts = reviews.ingest_counts(connection) | reviews.near_counts(connection)
        if not counts["reviews"]:
            raise name_rejections(reviews.rejection_counts(connection), context.inputs)
    return counts


def name_rejections(rejected: Mapping[str, int], inputs: Iterable[Path]) -> InputError:
    """The error where every row was rejected, by how many for what reason, the commonest first."""
    total, rejected = sum(rejected.values()), dict(sorted(rejected.items(), key=lambda pair: (-pair[1], pair[0])))
    rows = "the only row was" if total == 1 else f"all {total:,} rows were"
    reasons = ", ".join(f"{reason} {number:,}" for reason, number in rejected.items())
    return InputError(
        f"no usable review: {rows} rejected ({reasons})",
        where=", ".join(map(str, inputs)),
        fix=_MENDS.get(next(iter(rejected), ""), _OTHER_COLUMN),
    )


def _check_keys(context: Context, path: str, keys: frozenset[str]) -> None:
    """InputError for labelled reviews that are not among the distinct ones."""
    if strange := sorted(keys - reviews.ids(context.connection, sorted(keys), distinct=True).keys()):
        what = f"gold names review {strange[0]!r}" + (f" and {len(strange) - 1} more" if len(strange) > 1 else "")
        raise InputError(f"{what}, not among the distinct reviews", where=path, fix="correct the ids")


_OTHER_COLUMN = "name the column that holds the reviews with --text-column"
_MENDS = {
    "no-han": f"give reviews in Chinese, or {_OTHER_COLUMN}",
    "not-chinese": f"give reviews in Chinese, or {_OTHER_COLUMN}",
    "owner-reply": f"give the guests' reviews, or {_OTHER_COLUMN}",
    "fields": "separate columns by the same character in every line; put a cell that holds it into quotation marks",
    "too-long": "split them into reviews, or raise the setting ingest.max_chars",
}
"""Reason code of rejected rows -> what to do where most rows have it."""


def _ingest(context: Context, path: Path, stored: StoredTexts) -> None:
    rows = sources.read(path, context.config.input)
    job = make_job(path.name, context.config.ingest.max_chars)
    with bar(None, f"ingest {one_line(path.name)}", unit=" rows") as shown:
        for answers in context.crew.map(job, make_tasks(rows)):
            kept = [row for row in answers if isinstance(row, IngestRow)]
            unusable = [row for row in answers if isinstance(row, UnusableRow)]
            if unusable and context.config.ingest.on_bad_row == "stop":
                raise InputError(
                    f"{unusable[0].reason}: {unusable[0].detail}",
                    where=f"{path} row {unusable[0].row}",
                    fix='or set ingest.on_bad_row = "reject"',
                )
            _write(context, kept, stored)
            name = storable(path.name)
            dropped = [(f"{name}:{row.row}", row.reason, row.detail, row.raw) for row in unusable]
            reviews.reject(context.connection, "ingest", dropped)
            shown.update(len(answers))


def _write(context: Context, rows: Sequence[IngestRow], stored: StoredTexts) -> None:
    """Write some reviews. A key that is taken gets the row's number: no review is lost to a careless id column."""
    connection = context.connection
    taken = set(reviews.ids(connection, [row.review[0] for row in rows]))
    keys: list[str] = []
    for row in rows:
        keys.append(row.review[0] if row.review[0] not in taken else _free_key(context, row.review, taken))
        taken.add(keys[-1])
    reviews.insert(connection, ((key, *row.review[1:]) for key, row in zip(keys, rows, strict=True)))
    ids, names = reviews.ids(connection, keys), context.config.input.keep_columns
    by_id = [(ids[key], row) for key, row in zip(keys, rows, strict=True)]
    reviews.set_groups(connection, ((i, row.group) for i, row in by_id if row.group))
    reviews.set_dates(connection, ((i, row.date) for i, row in by_id if row.date))
    cells = ((i, *cell) for i, row in by_id for cell in zip(names, row.kept, strict=True))
    reviews.set_columns(connection, ((i, name, value) for i, name, value in cells if value))
    search.add(connection, ((i, row.tokens) for i, row in by_id))
    for i, row in by_id:
        stored.append(i, row.normal)


def _free_key(context: Context, row: reviews.NewReview, taken: set[str]) -> str:
    """The key with the number of its row, and another number where that is taken too, by a row of another file."""
    for number in itertools.count(1):
        key = f"{row[0]}~{row[6]}" + (f"~{number}" if number > 1 else "")
        if key not in taken and not reviews.ids(context.connection, [key]):
            return key
    raise AssertionError("numbers do not end")
