"""ingest: files of reviews in, table `reviews` out, and `rejected` for every row that cannot be used.

The text is stored exactly as given. One transaction: a broken file leaves nothing behind.
"""

from __future__ import annotations

import itertools
from pathlib import Path

from builder import sources
from builder.dedup.assignment import norm_hash
from builder.dedup.near_duplicates import normal
from builder.errors import InputError
from builder.progress import bar
from builder.settings import Input
from builder.sources.opening import one_line, storable
from builder.sources.rows import RawReview, RejectedRow
from builder.stages.parts import gold, splits
from builder.stages.parts.context import Context
from builder.stages.parts.pool_layers import named_files
from builder.store import db, reviews, runs, search
from builder.text import HAN, script_of

_BATCH = 2000
_Read = tuple[reviews.NewReview, str | None, str | None]
"""A row for the database, and its group."""
_LANGUAGES = {"traditional": "zh-Hant", "simplified": "zh-Hans", "mixed": "zh"}


def run(context: Context) -> runs.Counts:
    """Read all inputs, check them, assign the splits; the counts of reviews and rejected rows."""
    connection = context.connection
    with db.atomic(connection):
        reviews.clear(connection)
        for path in context.inputs:
            _ingest(context, path)
        reviews.mark_duplicates(connection)
        search.index(connection)
        files = [str(path) for path in named_files(context.config.evaluate).values()]
        labelled = {path: gold.rows(path) for path in files}
        for file, given in labelled.items():
            _check_keys(context, file, frozenset(str(row["id"]) for row in given))
        splits.assign_splits(context, frozenset(str(row["id"]) for given in labelled.values() for row in given))
        for file, given in labelled.items():  # now, not after the training
            gold.labelled(given, reviews.in_split(connection, "test"), file)
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
    )


def _ingest(context: Context, path: Path) -> None:
    settings = context.config.input
    columns = columns_of(settings)
    kept: list[_Read] = []
    dropped: list[tuple[str, str, str, str]] = []
    with bar(None, f"ingest {one_line(path.name)}", unit=" rows") as shown:
        for item in sources.read(path, columns, settings.encoding or None, sheet=settings.sheet or None):
            shown.update()
            reason = unusable(item, context.config.ingest.max_chars)
            if reason is None:
                assert isinstance(item, RawReview)
                kept.append((_row(item, path), item.group, item.date))
            else:
                if context.config.ingest.on_bad_row == "stop":
                    raise InputError(
                        f"{reason[0]}: {reason[1]}",
                        where=f"{path} row {item.row}",
                        fix='or set ingest.on_bad_row = "reject"',
                    )
                dropped.append((f"{storable(path.name)}:{item.row}", *reason))
            if len(kept) + len(dropped) >= _BATCH:
                _flush(context, kept, dropped)
    _flush(context, kept, dropped)


def unusable(item: RawReview | RejectedRow, max_chars: int) -> tuple[str, str, str] | None:
    """(reason, detail, raw) of a row that cannot be used."""
    if isinstance(item, RejectedRow):
        return item.reason, item.detail, item.raw
    if not item.text.strip():
        return "empty", "the text is empty", item.text
    if not HAN.search(item.text):
        return "no-han", "the text has no Han character", item.text
    if len(item.text) > max_chars:
        return "too-long", f"{len(item.text)} characters, ingest.max_chars is {max_chars}", item.text
    return None


def _row(item: RawReview, path: Path) -> reviews.NewReview:
    script = script_of(item.text)
    name = storable(path.name)  # a name need not be valid Unicode, a row of the database has to
    key = item.id if item.id else f"{storable(path.stem)}-{item.row}"
    language = _LANGUAGES.get(script, "und")
    return (
        key,
        item.text,
        item.source,
        item.place,
        item.rating,
        name,
        item.row,
        script,
        language,
        norm_hash(item.text),
        norm_hash(normal(item.text)),
    )


def _flush(context: Context, kept: list[_Read], dropped: list[tuple[str, str, str, str]]) -> None:
    """Write a batch. A key that is taken gets the row's number, so that no review is lost to a careless id column."""
    taken = reviews.keys_taken(context.connection, [row[0] for row, _, _ in kept])
    batch: list[reviews.NewReview] = []
    groups: list[tuple[str, str]] = []
    dates: list[tuple[str, str]] = []
    for row, group, date in kept:
        key = row[0] if row[0] not in taken else _free_key(context, row, taken)
        taken.add(key)
        batch.append((key, *row[1:]))
        if group:
            groups.append((group, key))
        if date:
            dates.append((date, key))
    reviews.insert(context.connection, batch)
    reviews.set_groups(context.connection, groups)
    reviews.set_dates(context.connection, dates)
    reviews.reject(context.connection, "ingest", dropped)
    kept.clear()
    dropped.clear()


def _free_key(context: Context, row: reviews.NewReview, taken: set[str]) -> str:
    """The key with file and row, and a number where that is taken too (a file given three times)."""
    for number in itertools.count(1):
        key = f"{row[0]}~{row[5]}:{row[6]}" + (f"~{number}" if number > 1 else "")
        if key not in taken and not reviews.keys_taken(context.connection, [key]):
            return key
    raise AssertionError("numbers do not end")
