"""Files of texts for `builder extract`: (id, text), in the file's order.

JSON lines are read as a stream; a JSON array, as dimABSA's files of 2024 are, as a whole. Besides ours ({"id",
"text"}, releases) they may be rows of the gold files that `builder score` reads, as far as those hold texts:
dimABSA's ({"ID", "Sentence"}, {"ID", "Text"}), the paper's ({"id", "question"}: the text behind `context:`), and
dimABSA's lines `ID, Sentence`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from itertools import chain
from pathlib import Path

from builder.errors import InputError

Text = tuple[object, str]
STANDARD = Path("-")
"""As a source standard input, as a target standard output."""
_FIX = 'each line is {"id": …, "text": "…"} in UTF-8; gold files of dimABSA and of the paper are read too'
_HEADER = re.compile(rb"(\xef\xbb\xbf)?ID,\s*Sentence\s*")


def texts(source: Path) -> Iterator[Text]:
    """The texts of a file, a pipe, or standard input (`-`). InputError names the row that holds no id or no text."""
    try:
        with nullcontext(sys.stdin.buffer) if source == STANDARD else source.open("rb") as handle:
            blank = 0
            while (head := handle.readline()) and not head.strip():
                blank += 1
            if head.lstrip(b"\xef\xbb\xbf \t").startswith(b"["):
                yield from _array(head + handle.read(), source)
                return
            plain = bool(_HEADER.fullmatch(head))
            for number, raw in enumerate(chain([head], handle), start=1 + blank):  # no seek: a pipe goes one way
                if raw.strip() and not (plain and number == 1 + blank):
                    yield (_sentence if plain else _line)(raw, f"{source}:{number}")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(source)) from error


def _array(content: bytes, source: Path) -> Iterator[Text]:
    try:
        rows = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"not a JSON array: {error}", where=str(source), fix=_FIX) from error
    for number, row in enumerate(rows, start=1):
        yield _row(row, f"{source}, item {number}")


def _line(raw: bytes, where: str) -> Text:
    try:
        row = json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"not a JSON line: {error}", where=where, fix=_FIX) from error
    return _row(row, where)


def _sentence(raw: bytes, where: str) -> Text:
    """A line of dimABSA's `ID, Sentence` files."""
    try:
        i, comma, text = raw.decode("utf-8-sig").rstrip("\r\n").partition(", ")
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8: {error}", where=where, fix=_FIX) from error
    if not comma:
        raise InputError("no `ID, Sentence` here", where=where, fix=_FIX)
    return i, text


def _row(row: object, where: str) -> Text:
    if not isinstance(row, Mapping):
        raise InputError('"id" or a string "text" is missing', where=where, fix=_FIX)
    i = row.get("id", row.get("ID"))
    text = next((row[name] for name in ("text", "Text", "Sentence") if name in row), None)
    if text is None and isinstance(question := row.get("question"), str) and "context:" in question:
        text = question.partition("context:")[2].strip()
    if ("id" not in row and "ID" not in row) or not isinstance(text, str):
        raise InputError('"id" or a string "text" is missing', where=where, fix=_FIX)
    try:
        json.dumps([i, text], ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise InputError(
            "a lone surrogate (half an emoji) in id or text", where=where, fix="write the whole character"
        ) from error
    return i, text
