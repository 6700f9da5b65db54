"""Texts for `builder extract`: (id, text) in order, from a file in any format that `build` reads, or from a stream.

A stream (standard input, a pipe) holds a text a line, as a file that ends in `.txt` does. Where its first line begins
as JSON it holds rows: ours ({"id", "text"}, releases), or rows of the gold files that `builder gold score` reads, as
far as those hold texts: dimABSA's ({"ID", "Sentence"}, {"ID", "Text"}, lines `ID, Sentence`) and the paper's ({"id",
"question"}: the text behind `context:`). JSON lines are read as a stream, an array as a whole. All other files, and
JSON whose text has another name, are read by the readers of `build`. A row without an id gets its number.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from itertools import chain
from pathlib import Path

from builder.core.errors import ConfigError, InputError
from builder.core.settings import Input
from builder.reviews.sources import FORMATS, read
from builder.reviews.sources.cells import RejectedRow
from builder.reviews.sources.columns import REVIEWS

Text = tuple[object, str]
STANDARD = Path("-")
"""As a source standard input, as a target standard output."""
ENDINGS = tuple(FORMATS)
"""How the names of files with texts end."""
_TEXT_KEYS = ("text", "Text", "Sentence")
_FIX = 'each line is {"id": …, "text": "…"} in UTF-8; gold files of dimABSA and of the paper are read too'
_HEADER = re.compile(rb"(\xef\xbb\xbf)?ID,\s*Sentence\s*")
_JSON = re.compile(rb'(\xef\xbb\xbf)?\s*(\{\s*(["}]|$)|\[\s*([\[{\]"]|$))')
"""How JSON begins: a text may begin with a bracket too, as in [推薦]."""
_LOOK_AT = 1 << 16
_WITHOUT_TEXT = ("header", "empty")
"""Reasons of rejected rows that hold no text: a header that stands again, a place without reviews."""


def texts(source: Path, settings: Input | None = None) -> Iterator[Text]:
    """The texts of a file, a pipe, or standard input (`-`). InputError names the row that holds no text.

    `settings` are for files, which the readers of `build` then read.
    """
    described = settings not in (None, Input())
    if source == STANDARD or (source.exists() and not source.is_file() and not source.is_dir()):
        if described:
            raise ConfigError("columns, encoding and sheet are those of a file", fix="save the stream to a file first")
        yield from _streamed(source, lines=True)
    elif described or _is_table(source):
        yield from _from_table(source, settings)
    else:
        yield from _streamed(source, lines=False)


def _is_table(source: Path) -> bool:
    """Whether the readers of `build` are to read a file: always, but for JSON rows with the names of texts known here,
    each on a line of its own or in an array, and for dimABSA's lines.
    """
    name = source.name.lower()
    if not name.endswith((".json", ".jsonl", ".ndjson", ".txt")):
        return name.endswith(ENDINGS)
    try:
        with source.open("rb") as handle:
            raw = handle.read(_LOOK_AT)
        if name.endswith(".txt") and not _JSON.match(raw):
            return not _HEADER.match(raw)
        start = raw.decode("utf-8-sig", "ignore").lstrip()
        listed = start.startswith("[")
        start = start.removeprefix("[").lstrip()
        row, end = json.JSONDecoder().raw_decode(start)
    except (OSError, ValueError, RecursionError):  # the one who reads it will say so
        return False
    if not isinstance(row, dict) or any(isinstance(row[key], list) and REVIEWS.search(key) for key in row):
        return True
    known = [key for key in (*_TEXT_KEYS, "question") if not isinstance(row.get(key, {}), dict | list)]
    return not known or not (listed or "\n" not in start[:end])


def _from_table(source: Path, settings: Input | None) -> Iterator[Text]:
    for item in read(source, settings):
        if isinstance(item, RejectedRow):
            if item.reason in _WITHOUT_TEXT:
                continue
            fix = "correct the row; `builder build` would keep it aside"
            raise InputError(f"{item.reason}: {item.detail}", where=str(source), fix=fix)
        yield item.id or item.row, item.text


def _streamed(source: Path, lines: bool) -> Iterator[Text]:
    """The texts of JSON, or of plain `lines` where the first does not begin as JSON does."""
    try:
        with nullcontext(sys.stdin.buffer) if source == STANDARD else source.open("rb") as handle:
            blank = 0
            while (head := handle.readline()) and not head.strip():
                blank += 1
            header = bool(_HEADER.fullmatch(head))
            if head.lstrip(b"\xef\xbb\xbf \t").startswith(b"[") and (not lines or _JSON.match(head)):
                yield from _array(head + handle.read(), source)
                return
            read_line = _sentence if header else _plain if lines and not _JSON.match(head) else _line
            for number, raw in enumerate(chain([head], handle), start=1 + blank):  # no seek: a pipe goes one way
                if raw.strip() and not (header and number == 1 + blank):
                    yield read_line(raw, f"{source}:{number}", number - blank)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(source)) from error


def _plain(raw: bytes, where: str, number: int) -> Text:
    """A line that is a text."""
    try:
        return number, raw.decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8", where=where, fix="convert it first, for example with `iconv -f big5`") from error


def _array(content: bytes, source: Path) -> Iterator[Text]:
    try:
        rows: list[object] = []
        rest = content.decode("utf-8-sig").strip()
        while rest.startswith("["):  # one more array may follow
            part, end = json.JSONDecoder().raw_decode(rest)
            rows, rest = rows + part, rest[end:].lstrip()
        if rest:
            raise ValueError(f"{rest[0]!r} after its end")
    except (ValueError, RecursionError) as error:
        raise InputError(f"not a JSON array: {error}", where=str(source), fix=_FIX) from error
    for number, row in enumerate(rows, start=1):
        yield _row(row, f"{source}, item {number}", number)


def _line(raw: bytes, where: str, number: int) -> Text:
    try:
        row = json.loads(raw.decode("utf-8-sig").rstrip().removesuffix(","))
    except (ValueError, RecursionError) as error:
        raise InputError(f"not a JSON line: {error}", where=where, fix=_FIX) from error
    return _row(row, where, number)


def _sentence(raw: bytes, where: str, number: int) -> Text:
    """A line of dimABSA's `ID, Sentence` files."""
    try:
        i, comma, text = raw.decode("utf-8-sig").rstrip("\r\n").partition(", ")
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8: {error}", where=where, fix=_FIX) from error
    if not comma:
        raise InputError("no `ID, Sentence` here", where=where, fix=_FIX)
    return i, text


def _row(row: object, where: str, number: int) -> Text:
    if not isinstance(row, Mapping):
        raise InputError('a string "text" is missing', where=where, fix=_FIX)
    i = row.get("id", row.get("ID", number))
    text = next((row[name] for name in _TEXT_KEYS if name in row), None)
    if text is None and isinstance(question := row.get("question"), str) and "context:" in question:
        text = question.partition("context:")[2].strip()
    if not isinstance(text, str):
        raise InputError('a string "text" is missing', where=where, fix=_FIX)
    try:
        json.dumps([i, text], ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise InputError(
            "a lone surrogate (half an emoji) in id or text", where=where, fix="write the whole character"
        ) from error
    return i, text
