"""ingest: files of reviews in, table `reviews` out, and `rejected` for every row that cannot be used.

The text is stored exactly as given. One transaction: a broken file leaves nothing behind.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from builder.core.errors import InputError
from builder.core.progress import bar
from builder.core.settings import Input
from builder.pipeline import layers
from builder.pipeline.context import Context
from builder.pipeline.ingest_rows import IngestRow, UnusableRow, make_job, make_tasks
from builder.pipeline.layers import named_files
from builder.pipeline.splits import StoredTexts, assign_splits
from builder.reviews import sources
from builder.reviews.sources.opening import one_line, storable
from builder.store import db, reviews, runs, search


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
            rejected = reviews.rejection_counts(connection)
            rows = "the only row was" if counts["rejected"] == 1 else f"all {counts['rejected']:,} rows were"
            reasons = ", ".join(f"{reason} {number:,}" for reason, number in rejected.items())
            raise InputError(
                f"no usable review: {rows} rejected ({reasons})",
                where=", ".join(map(str, context.inputs)),
                fix=_MENDS.get(next(iter(rejected), ""), _OTHER_COLUMN),
            )
    return counts


def _check_keys(context: Context, path: str, keys: frozenset[str]) -> None:
    """InputError for labelled reviews that are not among the distinct ones."""
    if strange := sorted(keys - reviews.distinct_keys(context.connection, sorted(keys))):
        what = f"gold names review {strange[0]!r}" + (f" and {len(strange) - 1} more" if len(strange) > 1 else "")
        raise InputError(f"{what}, not among the distinct reviews", where=path, fix="correct the ids")


_OTHER_COLUMN = "name the column that holds the reviews with --text-column"
_MENDS = {
    "no-han": f"give reviews in Chinese, or {_OTHER_COLUMN}",
    "not-chinese": f"give reviews in Chinese, or {_OTHER_COLUMN}",
    "owner-reply": f"give the guests' reviews, or {_OTHER_COLUMN}",
    "fields": "part columns by the same character in every line; put a cell that holds it into quotation marks",
    "too-long": "split them into reviews, or raise the setting ingest.max_chars",
}
"""Reason code of rejected rows -> what to do where most rows have it."""


def columns_of(settings: Input) -> sources.Columns:
    """The columns that the settings name; the reader guesses the others."""
    return sources.Columns(
        text=settings.text_column or None,
        id=settings.id_column or None,
        place=settings.place_column or None,
        rating=settings.rating_column or None,
        source=settings.source_column or None,
        group=settings.group_column or None,
        date=settings.date_column or None,
        keep=settings.keep_columns,
    )


def _ingest(context: Context, path: Path, stored: StoredTexts) -> None:
    settings = context.config.input
    rows = sources.read(path, columns_of(settings), settings.encoding or None, sheet=settings.sheet or None)
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
    """Write some reviews. A key that is taken gets the row's number, so that no review is lost to a careless id
    column.
    """
    connection = context.connection
    taken = reviews.keys_taken(connection, [row.review[0] for row in rows])
    batch: list[reviews.NewReview] = []
    for row in rows:
        key = row.review[0] if row.review[0] not in taken else _free_key(context, row.review, taken)
        taken.add(key)
        batch.append((key, *row.review[1:]))
    reviews.insert(connection, batch)
    keys = [review[0] for review in batch]
    reviews.set_groups(connection, [(row.group, key) for row, key in zip(rows, keys, strict=True) if row.group])
    reviews.set_dates(connection, [(row.date, key) for row, key in zip(rows, keys, strict=True) if row.date])
    ids = reviews.ids(connection, keys)
    names = context.config.input.keep_columns
    kept = ((ids[key], zip(names, row.kept, strict=True)) for row, key in zip(rows, keys, strict=True))
    reviews.set_columns(connection, ((i, name, value) for i, cells in kept for name, value in cells if value))
    search.add(connection, ((ids[key], row.tokens) for row, key in zip(rows, keys, strict=True)))
    for row, key in zip(rows, keys, strict=True):
        stored.append(ids[key], row.normal)


def _free_key(context: Context, row: reviews.NewReview, taken: set[str]) -> str:
    """The key with the number of its row, and another number where that is taken too, by a row of another file."""
    for number in itertools.count(1):
        key = f"{row[0]}~{row[6]}" + (f"~{number}" if number > 1 else "")
        if key not in taken and not reviews.keys_taken(context.connection, [key]):
            return key
    raise AssertionError("numbers do not end")
