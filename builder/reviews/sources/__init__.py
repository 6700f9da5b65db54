"""Readers of review files: a path in, a stream of `RawReview` and `RejectedRow` out, one for every row of the file.

A file that cannot be used at all is an `InputError`; it may come after rows were read, so a caller commits only at
the end. Which rows are empty, too long or not Chinese is not decided here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from builder.core.errors import InputError
from builder.core.settings import Input
from builder.reviews.sources import delimited, json_values, parquet, xlsx
from builder.reviews.sources.cells import Row
from builder.reviews.sources.opening import (
    Progress,
    Source,
    Understanding,
    check_count,
    check_readable,
    one_line,
    opened,
)

__all__ = ["FORMATS", "Progress", "Row", "Understanding", "digest", "read"]

Reader = Callable[[Source], Iterator[Row]]
_TEXTS: dict[str, Reader] = {
    ".csv": partial(delimited.read_delimited, delimiter=","),
    ".tsv": partial(delimited.read_delimited, delimiter="\t"),
    ".txt": delimited.read_txt,
    ".jsonl": partial(json_values.read_json, by_line=True),
    ".ndjson": partial(json_values.read_json, by_line=True),
    ".json": json_values.read_json,
}
FORMATS: dict[str, Reader] = {
    **{ending + packed: reader for ending, reader in _TEXTS.items() for packed in ("", ".gz")},
    ".parquet": parquet.read,
    ".xlsx": xlsx.read,
}


def read(
    path: Path, settings: Input | None = None, progress: Progress | None = None, understood: Understanding | None = None
) -> Iterator[Row]:
    """The rows of a file in order. Its name, existence and size are checked now, the rest as the rows are taken.

    `progress` is called with the bytes read since its last call; they add up to about the size of the file.
    `understood` is filled when the first row is taken.
    """
    reader = _reader(path)
    check_readable(path)
    return _some(reader, Source(path, settings or Input(), progress, understood or Understanding()))


def digest(path: Path) -> str:
    """sha256 of the file's bytes, in hexadecimal."""
    check_readable(path)
    sha256 = hashlib.sha256()
    with opened(Source(path), unpack=False) as stream:
        while chunk := stream.read(1 << 20):
            sha256.update(chunk)
    return sha256.hexdigest()


def _reader(path: Path) -> Reader:
    name = path.name.lower()
    for ending, reader in FORMATS.items():
        if name.endswith(ending):
            return reader
    check_readable(path)
    known = ", ".join(FORMATS)
    what = f"unknown ending {path.suffix!r}" if path.suffix else "a name without an ending"
    raise InputError(what, where=one_line(str(path), 500), fix=f"use one of {known}")


def _some(reader: Reader, source: Source) -> Iterator[Row]:
    count, size = 0, source.path.stat().st_size
    for row in reader(source):
        count += 1
        check_count(count, "rows", size, source.where)
        yield row
    if not count:
        raise InputError("no rows", where=source.where, fix="give a file with at least one review under its header")
