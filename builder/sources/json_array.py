"""JSON: one array of objects, read element by element through a sliding window, so that its size does not matter."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from builder.errors import InputError
from builder.sources.columns import Columns, Row
from builder.sources.encoding import Codec, chunks, codec_of
from builder.sources.jsonlines import DECODER
from builder.sources.objects import RawObject, reviews
from builder.sources.opening import Source, storable
from builder.sources.rows import RejectedRow

ELEMENT_LIMIT = 64 << 20
"""Characters. A longer element is a string that never closes."""
_SPACE = re.compile(r"[ \t\r\n]*")
_TOKEN = 16
"""An error this near the end of the window may be a token cut in two (\\ud83c\\udf5c is 12 long), not an error."""


def read(source: Source, columns: Columns) -> Iterator[Row]:
    """The objects of a JSON array, as rows."""
    codec = codec_of(source)
    return reviews(_items(_Window(source, codec), codec), columns, source)


class _Window:
    """Part of the text: `text[at:]` is not consumed yet."""

    def __init__(self, source: Source, codec: Codec) -> None:
        self._chunks, self._codec, self._where = chunks(source, codec), codec, source.where
        self._before = 0
        self._counted = (0, 0)  # a position in the window and the bytes before it: errors in each row ask for them
        self.text, self.at, self.row = "", 0, 0

    def more(self) -> bool:
        """Read on: as much again as waits here, so that a long element is not parsed for every chunk. False at the
        end of the file.
        """
        self._before = self.byte(self.at)
        waiting = self.text[self.at :]
        if len(waiting) > ELEMENT_LIMIT:
            raise self.error(f"an element longer than {ELEMENT_LIMIT >> 20} million characters", self._before)
        parts, wanted = [waiting], max(len(waiting), 1)
        while wanted > 0 and (part := next(self._chunks, None)) is not None:
            parts.append(part)
            wanted -= len(part)
        self.text, self.at, self._counted = "".join(parts), 0, (0, 0)
        return len(self.text) > len(waiting)

    def blank_end(self) -> int:
        """Where the white space that begins at `at` ends."""
        match = _SPACE.match(self.text, self.at)
        assert match, "nothing is white space too"
        return match.end()

    def peek(self) -> str:
        """The next character that is no space; "" at the end of the file."""
        while True:
            self.at = self.blank_end()
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def byte(self, at: int) -> int:
        """The offset in the file of a position in the window."""
        place, size = self._counted if self._counted[0] <= at else (0, 0)
        self._counted = at, size + self._codec.size(self.text[place:at])
        return self._before + self._counted[1]

    def error(self, what: str, byte: int | None = None) -> InputError:
        where = f"{self._where} row {self.row}, byte {self.byte(self.at) if byte is None else byte}"
        fix = 'correct the file, or give one object a line and the ending ".jsonl"'
        return InputError(f"broken JSON array: {what}", where=where, fix=fix)


def _items(window: _Window, codec: Codec) -> Iterator[RawObject | RejectedRow]:
    if window.peek() == "\ufeff":
        window.at += 1
    if (first := window.peek()) != "[":
        raise window.error(f"it begins with {first!r}, not with '['" if first else "the file is blank")
    window.at += 1
    more = window.peek() != "]"
    while more:
        window.row += 1
        window.peek()
        value, end = _value(window)
        raw = window.text[window.at : end]
        yield _bad_bytes(window, raw, codec) or RawObject(window.row, value)
        window.at = end
        if (mark := window.peek()) not in (",", "]"):
            raise window.error(
                f"{mark!r} after an element, not ',' or ']'" if mark else "the file ends inside the array"
            )
        more = mark == ","
        window.at += more
    window.at += 1
    if rest := window.peek():
        raise window.error(f"{rest!r} after the end of the array")


def _value(window: _Window) -> tuple[object, int]:
    """The element that begins at `window.at`, and where it ends."""
    while True:
        try:
            value, end = DECODER.raw_decode(window.text, window.at)
        except json.JSONDecodeError as error:
            byte = window.byte(error.pos)  # before the window moves
            cut = error.msg.startswith("Unterminated string") or error.pos > len(window.text) - _TOKEN
            if cut and window.more():
                continue
            raise window.error(error.msg, byte) from error
        except (ValueError, RecursionError) as error:
            raise window.error(type(error).__name__) from error
        if end < len(window.text) or not window.more():  # a number at the very end may go on
            return value, end


def _bad_bytes(window: _Window, raw: str, codec: Codec) -> RejectedRow | None:
    try:
        raw.encode()
    except UnicodeEncodeError as error:
        at = window.byte(window.at + error.start)
        return RejectedRow(
            window.row, "encoding", f"row {window.row}: invalid {codec.label} at byte {at}", storable(raw)
        )
    return None
