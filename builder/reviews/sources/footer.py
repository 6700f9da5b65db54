"""The footer of a Parquet file, as far as it says how long its columns are. Pure Python on purpose.

In: a file that pyarrow has opened. Out: for every column chunk its name and its sizes. pyarrow ends the whole process
where it is asked for the metadata of a chunk that contradicts itself, so it is not asked. The footer is a structure of
Thrift's compact protocol (apache/parquet-format, parquet.thrift; apache/thrift, thrift-compact-protocol.md).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

_TRUE, _FALSE, _BYTE, _DOUBLE, _TEXT, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_INTEGERS = (4, 5, 6)
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
        readers: dict[int, Callable[[int], Any]] = {
            _BYTE: lambda depth: self.take(1),
            _DOUBLE: lambda depth: self.take(8),
            _TEXT: lambda depth: self.take(self.unsigned()),
            _MAP: lambda depth: self.map(depth),
            _STRUCT: lambda depth: self.struct(depth),
        }
        readers |= dict.fromkeys(_INTEGERS, lambda depth: self.signed())
        readers |= dict.fromkeys((_LIST, _SET), lambda depth: self.list(depth))
        self.readers = readers

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

    def refuse_depth(self, depth: int) -> None:
        """Structures, lists and maps lie in one another."""
        if depth > _DEEPEST:
            raise ValueError("its footer is nested too deeply")

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """A structure; `depth` is how many others it lies in."""
        self.refuse_depth(depth)
        fields: dict[int, Any] = {}
        number = 0
        while (head := self.take(1)[0]) != 0:
            number = number + (head >> 4) if head >> 4 else self.signed()
            kind = head & 15
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self.readers[kind](depth + 1)
        return fields

    def list(self, depth: int) -> list[Any]:
        self.refuse_depth(depth)
        head = self.take(1)[0]
        count, kind = head >> 4, head & 15
        count = self.unsigned() if count == 15 else count
        read = self.readers[_BYTE if kind in (_TRUE, _FALSE) else kind]
        return [read(depth + 1) for _ in range(count)]

    def map(self, depth: int) -> None:
        """Nothing: no map says how long a column is. It is read to know where it ends."""
        self.refuse_depth(depth)
        if count := self.unsigned():
            kinds = self.take(1)[0]
            for _ in range(count):
                for kind in (kinds >> 4, kinds & 15):
                    self.readers[_BYTE if kind in (_TRUE, _FALSE) else kind](depth + 1)
