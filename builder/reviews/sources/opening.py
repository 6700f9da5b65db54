"""Opening a file of reviews: plain or gzip, with the bytes read reported. Every failure of the file system or of gzip
is an `InputError`.
"""

from __future__ import annotations

import gzip
import importlib
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, BinaryIO

from builder.core.errors import InputError, printable

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Progress = Callable[[int], object]
"""Called with the bytes of the file read since the last call (compressed bytes of a .gz); `tqdm.update` is one."""
_BUFFER = 1 << 20
BOMB = 32 << 20
"""Bytes that a packed file may become however small it is; beyond, it may become RATIO times its size. Texts pack to
a third or a tenth.
"""
RATIO = 100
ROWS = 500_000
"""A file may hold so many rows however small it is; beyond, one for two of its bytes: a text of one character and a
line end take three.
"""
LINES = 500_000
"""The same for its lines."""


@dataclass(slots=True)
class Understanding:
    """What a reader understood of a file: its encoding, the names of its columns, and by role the name of the column
    that has it, None where none has.

    `by_content`: the text column was known by what it holds, not by its name.
    """

    encoding: str = ""
    names: tuple[str, ...] = ()
    columns: dict[str, str | None] = field(default_factory=dict)
    by_content: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read, the encoding and the sheet its user named, who wants to know how far the reading is, and where
    the reader notes what it understood.
    """

    path: Path
    encoding: str | None = None
    progress: Progress | None = None
    sheet: str | None = None
    understood: Understanding = field(default_factory=Understanding, compare=False)

    @property
    def where(self) -> str:
        """The path for a message; asked for with every row, so made once."""
        return _shown_path(str(self.path))

    def silently(self) -> Source:
        return replace(self, progress=None)


@lru_cache(maxsize=8)
def _shown_path(path: str) -> str:
    return one_line(path, 500)


def one_line(text: str, limit: int = 60) -> str:
    """`text` for a message: storable, at most `limit` characters, on one line, with what cannot be seen (and what a
    terminal would obey) as its code.
    """
    return printable(" ".join(storable(text, limit).split()))


def storable(text: str, limit: int = 2_000) -> str:
    """`text` as valid Unicode without NUL; bytes that `surrogateescape` hid come out as \\xNN."""

    def shown(char: str) -> str:
        code = ord(char)
        if 0xDC80 <= code <= 0xDCFF:
            return f"\\x{code - 0xDC00:02x}"
        return f"\\u{code:04x}" if 0xD800 <= code <= 0xDFFF else "\\x00" if not code else char

    return "".join(map(shown, text[:limit]))[:limit]


def written(value: object) -> str:
    """A value as Python writes it, or its type where it is nested deeper than Python can write."""
    try:
        return repr(value)
    except RecursionError:
        return f"a {type(value).__name__} nested very deep"


def check_readable(path: Path) -> None:
    """Check that a path is a regular file with something in it. InputError with the reason where it is not."""
    where = one_line(str(path), 500)
    try:
        if path.is_dir():
            raise InputError("is a directory", where=where, fix="name a file")
        if not path.exists():
            raise InputError("no such file", where=where, fix="check the path")
        if not path.is_file():
            raise InputError(
                "is not a regular file", where=where, fix="save its content to a file first: it is read more than once"
            )
        if not path.stat().st_size:
            raise InputError(
                "empty file: no rows", where=where, fix="give a file with a header and at least one review"
            )
    except OSError as error:
        raise _unreadable(error, where) from error


@contextmanager
def opened(source: Source, *, unpack: bool = True) -> Iterator[BinaryIO]:
    """The bytes of the file; those of the packed content for a .gz, unless `unpack` is off."""
    raw: _Counted | None = None
    try:
        raw = _Counted(source.path, source.progress)
        with io.BufferedReader(raw, _BUFFER) as packed:
            if unpack and source.path.suffix.lower() == ".gz":
                with (
                    gzip.GzipFile(fileobj=packed) as unpacked,
                    io.BufferedReader(_Bounded(unpacked, raw, source), _BUFFER) as stream,
                ):
                    yield stream
            else:
                yield packed
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        at = f"{source.where} after {raw.position if raw else 0:,} compressed bytes"
        raise InputError(f"broken gzip data ({error})", where=at, fix="copy or compress the file again") from error
    except OSError as error:
        raise _unreadable(error, source.where) from error


def door(module: str, package: str, source: Source) -> ModuleType:
    """An optional reader's library, imported only when a file needs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            f"reading it needs {package}, which is not installed", where=source.where, fix=f"pip install {package}"
        ) from error


def _unreadable(error: OSError, where: str) -> InputError:
    return InputError(
        f"cannot be read ({error.strerror or one_line(str(error))})",
        where=where,
        fix="check the file and its permissions",
    )


def check_size(unpacked: int, packed: int, source: Source) -> None:
    """An `InputError` for a bomb: a small file that unpacks to more than any disk or memory holds."""
    if unpacked > max(BOMB, RATIO * packed):
        what = f"unpacks to {unpacked >> 20:,} MB or more, over {RATIO} times its size"
        raise InputError(
            what, where=source.where, fix="if it is what it should be, unpack it yourself and give the plain file"
        )


def check_rows(rows: int, packed: int, where: str) -> None:
    """An `InputError` for more rows than a file of `packed` bytes can honestly hold."""
    if rows > max(ROWS, packed // 2):
        what = f"{rows:,} rows or more in {packed:,} bytes"
        raise InputError(what, where=where, fix="if they are what they should be, give them in several files")


def check_lines(lines: int, packed: int, where: str) -> None:
    """An `InputError` for more lines than a file of `packed` bytes can honestly hold."""
    if lines > max(LINES, packed // 2):
        what = f"{lines:,} lines or more in {packed:,} bytes"
        raise InputError(what, where=where, fix="take out the blank lines, or unpack the file and give the plain one")


class _Bounded(io.RawIOBase):
    """What a gzip file unpacks to, as long as it is no bomb.
    Inherits only because BufferedReader wants a raw stream.
    """

    def __init__(self, unpacked: gzip.GzipFile, raw: _Counted, source: Source) -> None:
        self._unpacked, self._raw, self._source, self._size = unpacked, raw, source, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        count = self._unpacked.readinto(buffer)
        self._size += count
        check_size(self._size, self._raw.position, self._source)
        return count


class _Counted(io.FileIO):
    """A file that reports how much of it has been read. Inherits only because BufferedReader wants a raw stream."""

    def __init__(self, path: Path, progress: Progress | None) -> None:
        super().__init__(path, "rb")
        self.position = 0
        self._progress = progress

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        count = super().readinto(buffer) or 0
        self.position += count
        if self._progress and count:
            self._progress(count)
        return count
