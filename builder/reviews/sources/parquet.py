"""Parquet: only the columns used are read, batch by batch. pyarrow is imported when a file needs it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from builder.core.errors import InputError
from builder.reviews.sources.batches import read_bounded
from builder.reviews.sources.cells import review
from builder.reviews.sources.columns import Columns, Table, known_roles, resolve
from builder.reviews.sources.guessing import LOOK_AT, REVIEWS
from builder.reviews.sources.layouts import RawObject, read_objects
from builder.reviews.sources.nesting import review_lists
from builder.reviews.sources.opening import Source, door, one_line
from builder.reviews.sources.rows import Row


def read(source: Source, columns: Columns) -> Iterator[Row]:
    """The reviews of a Parquet file in order, a row group at a time; a row that cannot be used is a RejectedRow."""
    arrow, parquet = door("pyarrow", "pyarrow", source), door("pyarrow.parquet", "pyarrow", source)
    row = 0
    try:
        # Without pre_buffer and with a buffer_size, column chunks are streamed: one row group may be the whole file.
        with parquet.ParquetFile(source.path, buffer_size=1 << 20, pre_buffer=False) as file:
            names = list(file.schema_arrow.names)
            if columns.text not in names and (lists := _possible_lists(file.schema_arrow)):
                seen = [dict(zip(lists, cells, strict=True)) for cells in islice(_all(source, parquet, lists), LOOK_AT)]
                if review_lists(seen, "text" in known_roles(names)):
                    yield from read_objects(lambda again: _objects(again, parquet, names), columns, source)
                    return
            table = Table(
                names,
                lambda: _all(source.silently(), parquet, names),
                lambda i: (cells[0] for cells in _all(source.silently(), parquet, [names[i]])),
            )
            picks = resolve(table, columns, source)
            wanted = [None if i is None else names[i] for i in picks.used]
            due = [name for name in wanted if name is not None]
            share = source.path.stat().st_size / max(file.metadata.num_rows, 1)
            for batch in read_bounded(file, source.path, due, source.where):
                read_names = list(batch.schema.names)
                cells = [
                    [None] * len(batch) if name is None else _cells(batch.column(read_names.index(name)))
                    for name in wanted
                ]
                for values in zip(*cells, strict=True):
                    row += 1
                    yield review(row, picks.order, *values)
                if source.progress:
                    source.progress(round(share * row) - round(share * (row - len(batch))))
    except (
        arrow.ArrowException,
        OSError,
        ValueError,
    ) as error:  # ValueError: names of columns that are no UTF-8, for one
        where = f"{source.where} after row {row}" if row else source.where
        raise InputError(
            f"broken Parquet file ({one_line(str(error), 120)})", where=where, fix="copy or export the file again"
        ) from error


def _all(source: Source, parquet: Any, names: Sequence[str]) -> Iterator[tuple[object, ...]]:
    """The cells of some columns in every row."""
    with parquet.ParquetFile(source.path, buffer_size=1 << 20, pre_buffer=False) as file:
        for batch in read_bounded(file, source.path, names, source.where):
            read_names = list(batch.schema.names)
            yield from zip(*(_cells(batch.column(read_names.index(name))) for name in names), strict=True)


def _objects(source: Source, parquet: Any, names: Sequence[str]) -> Iterator[RawObject]:
    for row, cells in enumerate(_all(source, parquet, names), 1):
        yield RawObject(row, dict(zip(names, cells, strict=True)))


def _possible_lists(schema: Any) -> list[str]:
    """The columns that may hold lists of reviews: lists of objects, and those whose name says so."""
    return [
        column.name
        for column in schema
        if REVIEWS.search(column.name) or (str(column.type).startswith("list<") and "struct<" in str(column.type))
    ]


def _cells(column: Any) -> list[object]:
    """A column's values; strings of invalid UTF-8 with their bytes hidden in surrogates, so that only their rows are
    rejected. Times that Python cannot hold are the last that it can: no role of a review takes a time.
    """
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):
        strings = column.dictionary_decode() if hasattr(column, "dictionary_decode") else column
        return [_cell(scalar) for scalar in strings]


def _cell(scalar: Any) -> object:
    """A value; what is nested and holds invalid UTF-8 becomes a list, which no role of a review takes."""
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return (
            scalar.as_buffer().to_pybytes().decode("utf-8", "surrogateescape") if hasattr(scalar, "as_buffer") else []
        )
    except (ValueError, OverflowError):  # nanoseconds, a year beyond 9999, a zone that nobody knows
        return datetime.max
