"""Parquet: only the columns used are read, batch by batch. pyarrow is imported when a file needs it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from builder.errors import InputError
from builder.sources.batches import read_bounded
from builder.sources.columns import Columns, Row, resolve, review
from builder.sources.opening import Source, door, one_line


def read(source: Source, columns: Columns) -> Iterator[Row]:
    """The reviews of a Parquet file in order, a row group at a time; a row that cannot be used is a RejectedRow."""
    arrow, parquet = door("pyarrow", "pyarrow", source), door("pyarrow.parquet", "pyarrow", source)
    row = 0
    try:
        # Without pre_buffer and with a buffer_size, column chunks are streamed: one row group may be the whole file.
        with parquet.ParquetFile(source.path, buffer_size=1 << 20, pre_buffer=False) as file:
            names = list(file.schema_arrow.names)
            picks = resolve(names, columns, source, lambda: _sample(source, parquet)).used
            wanted = [None if i is None else names[i] for i in picks]
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
                    yield review(row, *values)
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


def _sample(source: Source, parquet: Any) -> Iterator[tuple[object, ...]]:
    with parquet.ParquetFile(source.path, buffer_size=1 << 20, pre_buffer=False) as file:
        for batch in read_bounded(file, source.path, file.schema_arrow.names, source.where):
            yield from zip(*map(_cells, batch.columns), strict=True)


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
