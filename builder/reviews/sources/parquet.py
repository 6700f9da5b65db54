"""Parquet: only the columns used are read, in batches as small as the file's own account of its columns asks for.

pyarrow is imported when a file needs it; footers and headers of pages are read in pure Python on purpose.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from builder.core.errors import InputError
from builder.reviews.sources.cells import Row, review
from builder.reviews.sources.columns import LOOK_AT, REVIEWS, Table, known_roles, resolve
from builder.reviews.sources.layouts import RawObject, read_objects
from builder.reviews.sources.nesting import review_lists
from builder.reviews.sources.opening import BOMB, RATIO, Source, check_count, one_line

_TRUE, _FALSE = 1, 2
_DEEPEST = 32
_GROUPS, _COLUMNS, _ABOUT, _PATH, _UNPACKED, _PACKED, _DATA, _DICTIONARY = 4, 1, 3, 3, 6, 7, 9, 11
"""Numbers of fields: the row groups of a file, the columns of a group, a column's metadata, and of what is in that."""
_PAGE_UNPACKED, _PAGE_PACKED = 2, 3
_HEADERS = (1 << 10, 1 << 24)
"""Bytes of the header of a page, mostly and at most: it may hold statistics."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """The part of a column that a row group holds. `column` is the outermost name where columns are nested; `unpacked`
    counts the pages, whatever the footer claims of them.
    """

    column: str
    unpacked: int
    packed: int


def read_chunks(path: Path, names: Collection[str]) -> list[Chunk]:
    """The chunks of the columns `names` in every row group, in order; ValueError where the footer cannot be read."""
    with path.open("rb") as file:
        file.seek(-8, 2)
        end = file.read(8)
        file.seek(-8 - int.from_bytes(end[:4], "little"), 2)
        content = file.read(int.from_bytes(end[:4], "little"))
        try:
            columns = [column[_ABOUT] for group in _Thrift(content).struct()[_GROUPS] for column in group[_COLUMNS]]
            named = [(about[_PATH][0].decode("utf-8", "surrogateescape"), about) for about in columns]
            return [_chunk(name, about, file) for name, about in named if name in names]
        except (LookupError, TypeError, AttributeError) as error:
            raise ValueError(f"its footer is broken: {error!r}") from error


def _chunk(name: str, about: dict[int, Any], file: BinaryIO) -> Chunk:
    """A column chunk, whose pages are looked through: who reads it believes them, and not the footer."""
    unpacked, packed = about[_UNPACKED], about[_PACKED]
    at = min(about[_DATA], about.get(_DICTIONARY) or about[_DATA])
    end, seen = at + packed, 0
    while at < end and (page := _page(file, at)):
        seen += page[0]
        at += page[1]
    return Chunk(name, max(unpacked, seen), packed)


def _page(file: BinaryIO, at: int) -> tuple[int, int] | None:
    """(bytes unpacked, bytes in the file) of the page at a place; None where none begins there."""
    for most in _HEADERS:
        file.seek(at)
        header = _Thrift(file.read(most))
        try:
            page = header.struct()
        except (ValueError, LookupError):
            continue
        if page.get(_PAGE_UNPACKED, -1) < 0 or page.get(_PAGE_PACKED, -1) < 0:
            return None
        return page[_PAGE_UNPACKED], header.at + page[_PAGE_PACKED]
    return None


class _Thrift:
    """Reads structures as {number of the field: value}."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def value(self, kind: int, depth: int) -> Any:
        """A value of a kind that lies in so many others; LookupError for a kind that there is not. Of a map nothing:
        it is read to know where it ends, for none says how long a column is.
        """
        if depth > _DEEPEST:
            raise ValueError("its footer is nested too deeply")
        match kind:
            case 1 | 2 | 3:  # a truth value in a list, a byte
                return self.take(1)
            case 4 | 5 | 6:  # an integer
                return self.signed()
            case 7:  # a float
                return self.take(8)
            case 8:  # a text
                return self.take(self.unsigned())
            case 9 | 10:  # a list, a set
                head = self.take(1)[0]
                count = self.unsigned() if head >> 4 == 15 else head >> 4
                return [self.value(head & 15, depth + 1) for _ in range(count)]
            case 11:  # a map
                count = self.unsigned()
                kinds = self.take(1)[0] if count else 0
                for _ in range(count):
                    self.value(kinds >> 4, depth + 1)
                    self.value(kinds & 15, depth + 1)
                return None
            case 12:  # a structure
                return self.struct(depth)
        raise LookupError(kind)

    def take(self, size: int) -> bytes:
        part = self.content[self.at : self.at + size]
        if len(part) < size:
            raise ValueError("its footer is cut short")
        self.at += size
        return part

    def unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift > 63:
                raise ValueError("its footer holds a number without end")

    def signed(self) -> int:
        value = self.unsigned()
        return (value >> 1) ^ -(value & 1)

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """A structure; `depth` is how many others it lies in."""
        fields: dict[int, Any] = {}
        number = 0
        while (head := self.take(1)[0]) != 0:
            number = number + (head >> 4) if head >> 4 else self.signed()
            kind = head & 15
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self.value(kind, depth + 1)
        return fields


BATCH = 1024
"""Rows of a batch, at most."""
_SMALL_BATCH = 64
"""Rows of a batch where values may be long but the file is packed as texts are."""
_DECODED = 128 << 20
"""Bytes that a batch may take if each of its values were as long as a column's whole content."""
_PACKS_WELL = 20
"""Texts pack to a third or a tenth; a column that packs better than this may hold the same long text many times."""


def check_claims(file: Any, chunks: Sequence[Chunk], size: int, where: str) -> None:
    """InputError where the footer claims more rows, or more bytes in the chunks to read, than a file of `size` has."""
    check_count(file.metadata.num_rows, "rows", size, where)
    if sum(chunk.unpacked for chunk in chunks) > max(BOMB, RATIO * size):
        raise _bomb(f"unpacks to over {RATIO} times its size", where)


def read_batches(
    file: Any, chunks: Iterable[Chunk], names: Sequence[str], groups: Sequence[int] | None = None
) -> Iterator[Any]:
    """The record batches of `groups` (of all), each of as few rows as memory needs by what the `chunks` claim."""
    chosen, rows = range(file.num_row_groups) if groups is None else groups, _batch_size(chunks)
    return iter(file.iter_batches(rows, row_groups=list(chosen), columns=list(names), use_threads=False))


def read_bounded(file: Any, path: Path, names: Sequence[str], where: str) -> Iterator[Any]:
    """All record batches of the file that was opened at `path`; InputError once their bytes in memory are out of
    proportion to its size, ValueError where its footer is broken.
    """
    size, total = path.stat().st_size, 0
    chunks = read_chunks(path, set(names))
    check_claims(file, chunks, size, where)
    for batch in read_batches(file, chunks, names):
        total += sum(map(_decoded_bytes, batch.columns))
        if total > max(BOMB, RATIO * size):
            raise _bomb(f"unpacks to over {RATIO} times its size", where)
        yield batch


def _decoded_bytes(column: Any) -> int:
    """Bytes of a column's values once each stands for itself: a dictionary is counted with every reference to it."""
    if hasattr(column, "dictionary_decode"):
        return _referred_bytes(column)
    if not column.type.num_fields:
        return int(column.nbytes)
    if hasattr(column, "items"):  # a map
        inside = [column.keys, column.items]
    else:
        content = column.flatten()  # the columns of a struct, the elements of a list
        inside = content if isinstance(content, list) else [content]
    return int(column.nbytes) + sum(map(_decoded_bytes, inside))


def _referred_bytes(column: Any) -> int:
    """Bytes of a dictionary's values, each as often as it is referred to. They are counted, not made."""
    from pyarrow import compute

    values = column.dictionary
    if values.type.num_fields:
        return int(values.nbytes) * len(column)
    if not str(values.type).endswith(("string", "binary")):
        return int(values.nbytes) * len(column) // max(len(values), 1)
    return int(compute.sum(compute.binary_length(values).take(column.indices)).as_py() or 0)


def _batch_size(chunks: Iterable[Chunk]) -> int:
    """So many rows that a batch fits into memory even if every value were the longest that its column can hold."""
    rows = BATCH
    for chunk in chunks:
        least = 1 if chunk.unpacked > _PACKS_WELL * chunk.packed else _SMALL_BATCH
        rows = min(rows, max(_DECODED // max(chunk.unpacked, 1), least))
    return rows


def _bomb(what: str, where: str) -> InputError:
    fix = "if it is what it should be, write it again as .csv or .jsonl and give that file"
    return InputError(what, where=where, fix=fix)


def read(source: Source) -> Iterator[Row]:
    """The reviews of a Parquet file in order, a row group at a time; a row that cannot be used is a RejectedRow."""
    import pyarrow as arrow
    from pyarrow import parquet

    row = 0
    try:
        # Without pre_buffer and with a buffer_size, column chunks are streamed: one row group may be the whole file.
        with parquet.ParquetFile(source.path, buffer_size=1 << 20, pre_buffer=False) as file:
            names = list(file.schema_arrow.names)
            if (source.settings.text_column or None) not in names and (lists := _possible_lists(file.schema_arrow)):
                seen = [dict(zip(lists, cells, strict=True)) for cells in islice(_all(source, parquet, lists), LOOK_AT)]
                if review_lists(seen, "text" in known_roles(names)):
                    yield from read_objects(lambda again: _objects(again, parquet, names), source)
                    return
            table = Table(
                names,
                lambda: _all(source.silently(), parquet, names),
                lambda i: (cells[0] for cells in _all(source.silently(), parquet, [names[i]])),
            )
            picks = resolve(table, source)
            due = list(dict.fromkeys(names[i] for i in picks.used if i is not None))
            places = [None if i is None else due.index(names[i]) for i in picks.used]
            share = source.path.stat().st_size / max(file.metadata.num_rows, 1)
            for row, cells in enumerate(_all(source, parquet, due), 1):
                yield review(row, picks.order, *(None if n is None else cells[n] for n in places))
                if source.progress and (more := round(share * row) - round(share * (row - 1))):
                    source.progress(more)
    except (arrow.ArrowException, OSError, ValueError) as error:  # ValueError: names of columns that are no UTF-8
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
