"""From bytes to text: which encoding, and lines or chunks whose invalid bytes are known to the byte.

A file is UTF-8 (with or without BOM), UTF-16 or UTF-32 with BOM, or what the user names; never a guess, because Big5
and GB18030 decode each other's files to wrong characters without an error. A file of which most is invalid is an
`InputError` that names the likely encodings. Single invalid bytes come through as lone surrogates, so that a reader
can reject just their row.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from builder.core.errors import InputError
from builder.reviews.sources.opening import Source, check_lines, opened

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
    """How a file decodes. A BOM decodes to U+FEFF, which `lines` and `chunks` drop, so that byte offsets stay those
    of the file.
    """

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
            check_lines(number, size, source.where)
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
    if source.encoding is None:
        return marked or "utf-8"
    try:
        io.TextIOWrapper(io.BytesIO(), source.encoding)  # refuses what is a codec but no text encoding, such as base64
        name = codecs.lookup(source.encoding).name
    except LookupError as error:
        known = ", ".join(_CANDIDATES)
        raise InputError(
            f"unknown encoding {source.encoding!r}", where=source.where, fix=f"--encoding takes such as {known}"
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
