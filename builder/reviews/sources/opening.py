"""Opening a file of reviews, plain or gzip, and its bytes as text.

Bytes read are reported. Every failure of the file system or of gzip is an `InputError`. Out: lines or chunks whose
invalid bytes are known to the byte.

A file is UTF-8 (with or without BOM), UTF-16 or UTF-32 with BOM, or what the user names. It is never guessed, because
Big5 and GB18030 decode each other's files to wrong characters without an error. A file of which most is invalid is an
`InputError` that names the likely encodings. Single invalid bytes come through as lone surrogates, so that a reader can
reject just their row.
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

from builder.core.errors import InputError, printable
from builder.core.settings import Input

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

# ---- Opening

Progress = Callable[[int], object]
"""Called with the bytes of the file read since the last call (compressed bytes of a .gz); `tqdm.update` is one."""
_BUFFER = 1 << 20
BOMB = 32 << 20
"""Bytes that a packed file may become however small it is; beyond, RATIO times its size. Texts pack to a third."""
RATIO = 100
MOST = 500_000
"""Rows or lines that a file may hold however small it is; beyond, one for two bytes: the shortest takes three."""
_FEWER = {
    "rows": "if they are what they should be, give them in several files",
    "lines": "take out the blank lines, or unpack the file and give the plain one",
}


@dataclass(slots=True)
class Understanding:
    """What a reader understood of a file: its encoding, the names of its columns, and by role the name of the column
    that has it, None where none has.

    `kept`: the file's names for the columns that pass through. `by_content`: the text column was known by what it
    holds, not by its name.
    """

    encoding: str = ""
    names: tuple[str, ...] = ()
    columns: dict[str, str | None] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    by_content: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read, what the user says of it, and who hears how far the reading is."""

    path: Path
    settings: Input = field(default_factory=Input)
    progress: Progress | None = None
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
    """`text` for a message: storable, on one line, at most `limit` characters, what cannot be seen as its code."""
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


def check_count(count: int, noun: Literal["rows", "lines"], packed: int, where: str) -> None:
    """An `InputError` for more rows or lines than a file of `packed` bytes can honestly hold."""
    if count > max(MOST, packed // 2):
        what = f"{count:,} {noun} or more in {packed:,} bytes"
        raise InputError(what, where=where, fix=_FEWER[noun])


class _Bounded(io.RawIOBase):
    """What a gzip file unpacks to, if it is no bomb. Inherits only because BufferedReader wants a raw stream."""

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


# ---- Encodings

LINE_LIMIT = 64 << 20
"""Bytes. A text file without line ends would otherwise be read into memory whole."""
_CHUNK = 1 << 18
_SURROGATE = re.compile("[\ud800-\udfff]")
_BOMS = (
    (b"\xff\xfe\0\0", "utf-32-le"),
    (b"\0\0\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_NOT_TEXT = ((b"\x1f\x8b", "gzip", ".gz"), (b"PK\x03\x04", "zip or Excel", ".xlsx"), (b"PAR1", "Parquet", ".parquet"))
_CANDIDATES = ("utf-8", "cp950", "big5hkscs", "gb18030", "utf-16-le", "utf-16-be", "shift_jis", "euc_kr")
# The commonest characters of reviews in both scripts: the right decoding has many of them, a wrong one hardly any.
_COMMON = frozenset(
    "的是了不好吃我有一很人也都在到這这店服務务點点家來来還还會会可以就要味道餐推薦荐價价大小上下個个多錢钱菜湯汤麵面飯饭肉但態态度"
)


@dataclass(frozen=True, slots=True)
class Codec:
    """How a file decodes. A BOM decodes to U+FEFF, which `lines` and `chunks` drop, so that byte offsets stay true."""

    name: str

    @property
    def wide(self) -> bool:
        return self.name.startswith(("utf-16", "utf-32"))

    @property
    def errors(self) -> str:
        return "surrogatepass" if self.wide else "surrogateescape"

    @property
    def label(self) -> str:
        return self.name.upper()

    def size(self, text: str) -> int:
        """The bytes that `text` was decoded from."""
        return len(text.encode(self.name, self.errors))


@dataclass(frozen=True, slots=True)
class DecodedLine:
    """A line with its end; `number` from 1; `bad` the offset in the file of its first invalid byte."""

    text: str
    number: int
    bad: int | None


def codec_of(source: Source) -> Codec:
    """The encoding of a text file, after one look at all of it."""
    with opened(source.silently()) as stream:
        head = stream.read(4)
    for magic, kind, ending in _NOT_TEXT:
        if head.startswith(magic):
            raise InputError(
                f"holds {kind} data, not text",
                where=source.where,
                fix=f"give the file its right ending, such as {ending}",
            )
    codec = Codec(_named(source, head))
    source.understood.encoding = codec.label
    with opened(source.silently()) as stream:
        _check(stream, codec, source)
    return codec


def lines(source: Source, codec: Codec) -> Iterator[DecodedLine]:
    """Lines as \\n ends them; a lone \\r is left inside."""
    size = source.path.stat().st_size
    with opened(source) as stream:
        offset = 0
        for number, raw in enumerate(_raw_lines(stream, codec, source), 1):
            check_count(number, "lines", size, source.where)
            bad = None
            try:
                text = raw.decode(codec.name)
            except UnicodeDecodeError as error:
                bad, text = offset + error.start, raw.decode(codec.name, codec.errors)
            offset += len(raw)
            yield DecodedLine(text.removeprefix("\ufeff") if number == 1 else text, number, bad)


def chunks(source: Source, codec: Codec) -> Iterator[str]:
    """The text piece by piece, a BOM included (`json_array` counts its bytes)."""
    decoder = codecs.getincrementaldecoder(codec.name)(codec.errors)
    with opened(source) as stream:
        while raw := stream.read(_CHUNK):
            yield decoder.decode(raw)
    yield decoder.decode(b"", final=True)


def _named(source: Source, head: bytes) -> str:
    marked = next((name for bom, name in _BOMS if head.startswith(bom)), None)
    if not (encoding := source.settings.encoding):
        return marked or "utf-8"
    try:
        io.TextIOWrapper(io.BytesIO(), encoding)  # refuses what is a codec but no text encoding, such as base64
        name = codecs.lookup(encoding).name
    except LookupError as error:
        known = ", ".join(_CANDIDATES)
        raise InputError(
            f"unknown encoding {encoding!r}", where=source.where, fix=f"--encoding takes such as {known}"
        ) from error
    if name in ("utf-16", "utf-32"):
        return marked if marked and marked.startswith(name) else f"{name}-le"
    return name.removesuffix("-sig")


def _raw_lines(stream: BinaryIO, codec: Codec, source: Source) -> Iterator[bytes]:
    if codec.wide:  # their line ends are not the byte \n
        with io.TextIOWrapper(stream, codec.name, codec.errors, newline="\n") as lines:
            for text in lines:
                yield text.encode(codec.name, codec.errors)
        return
    number = 0
    while raw := stream.readline(LINE_LIMIT):
        number += 1
        if len(raw) == LINE_LIMIT and not raw.endswith(b"\n"):
            raise InputError(
                f"longer than {LINE_LIMIT >> 20} MB",
                where=f"{source.where} line {number}",
                fix="give each row a line of its own",
            )
        yield raw


def _check(stream: BinaryIO, codec: Codec, source: Source) -> None:
    """An `InputError` if more than half of what is not ASCII is invalid."""
    decoder = codecs.getincrementaldecoder(codec.name)(codec.errors)
    sample, first, offset, line, bad, good = b"", None, 0, 1, 0, 0
    while True:
        raw = stream.read(_CHUNK)
        sample = sample or raw
        try:
            text = decoder.decode(raw, final=not raw)
        except UnicodeDecodeError as error:
            raise InputError(
                f"{codec.label} text cut off in the middle of a character",
                where=f"{source.where} line {line}",
                fix="copy the file again",
            ) from error
        if not text.isascii():
            surrogates = _SURROGATE.findall(text)
            bad += len(surrogates)
            # One Han character is three bytes of UTF-8, as is a surrogate: two more than its one character.
            good += (len(text.encode("utf-8", "surrogatepass")) - len(text)) // 2 - len(surrogates)
        if first is None and (match := _SURROGATE.search(text)):
            before = text[: match.start()]
            first = line + before.count("\n"), offset + codec.size(before)
        if first is None:
            line, offset = line + text.count("\n"), offset + codec.size(text)
        if not raw:
            break
    if first is not None and bad > 2 * good:  # a foreign Han character is two bytes, so up to two invalid ones
        raise _foreign(codec, source, first, sample)


def _foreign(codec: Codec, source: Source, first: tuple[int, int], sample: bytes) -> InputError:
    guesses = [name for name in _guesses(sample) if name != codec.name]
    fix = (
        f"it decodes as {', '.join(guesses)}: add --encoding {guesses[0]}"
        if guesses
        else "save it as UTF-8, or name its encoding with --encoding"
    )
    return InputError(
        f"most of the file is not {codec.label}; first invalid byte at byte {first[1]}",
        where=f"{source.where} line {first[0]}",
        fix=fix,
    )


def _guesses(sample: bytes) -> list[str]:
    """The encodings that decode a sample, the most plausible first."""
    scores: dict[str, float] = {}
    for name in _CANDIDATES:
        text = codecs.getincrementaldecoder(name)("replace").decode(sample)
        foreign = [char for char in text if not char.isascii()]
        if not foreign or "\0" in text or foreign.count("\ufffd") > len(foreign) / 100:
            continue
        scores[name] = sum(char in _COMMON for char in foreign) / len(foreign)
    ranked = sorted(scores, key=lambda name: -scores[name])
    return [name for name in ranked if scores[name] >= scores[ranked[0]] / 4][:3]
