"""JSON, in whatever shape: values by the line, in an array, or one after another. The ending does not say which.

An array and values that span lines are read one by one through a sliding window, so that the size of the file does not
matter. A line that is not JSON is rejected alone; blank lines are no rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from builder.core.errors import InputError
from builder.reviews.sources.cells import RejectedRow, Row
from builder.reviews.sources.layouts import RawObject, read_objects
from builder.reviews.sources.nesting import DECODER
from builder.reviews.sources.opening import Codec, DecodedLine, Source, chunks, codec_of, lines, storable

ELEMENT_LIMIT = 64 << 20
"""Characters. A longer element is a string that never closes."""
_SPACE = re.compile(r"[ \t\r\n]*")
_TOKEN = 16
"""An error this near the end of the window may be a token cut in two (\\ud83c\\udf5c is 12 long), not an error."""


def read_json(source: Source, by_line: bool = False) -> Iterator[Row]:
    """The reviews of a JSON file; `by_line`: its name says that each line is a value."""
    codec = codec_of(source)
    items = _lines if _is_by_line(_Window(source.silently(), codec), by_line) else _values
    return read_objects(lambda again: items(again, codec), source)


def _is_by_line(window: _Window, named_so: bool) -> bool:
    """Whether each line is a value: the first value ends with its line. What is broken is as its name says."""
    if (first := window.begin()) != "{":
        line, _, rest = window.text[window.at :].partition("\n")
        return named_so and (first != "[" or (line.rstrip().endswith("]") and rest.lstrip().startswith("[")))
    try:
        _, end = _value(window)
    except InputError:
        return named_so
    return "\n" not in window.text[window.at : end].strip()


def _lines(source: Source, codec: Codec) -> Iterator[RawObject | RejectedRow]:
    filled = (line for line in lines(source, codec) if line.text.strip())
    return (_line(row, line, codec) for row, line in enumerate(filled, 1))


def _line(row: int, line: DecodedLine, codec: Codec) -> RawObject | RejectedRow:
    if line.bad is not None:
        fault = "encoding", f"invalid {codec.label} at byte {line.bad}"
    elif "\0" in line.text:
        fault = "nul", f"NUL byte, line {line.number}"
    else:
        try:
            return RawObject(row, DECODER.decode(line.text.rstrip().removesuffix(",")))
        except (ValueError, RecursionError) as error:  # ValueError: also an integer of more digits than Python converts
            reason = error.msg if isinstance(error, json.JSONDecodeError) else type(error).__name__
            fault = "json", f"bad JSON, line {line.number} ({reason})"
    return RejectedRow(row, fault[0], f"row {row}: {fault[1]}", storable(line.text.rstrip("\r\n")))


class _Window:
    """Part of the text: `text[at:]` is not consumed yet."""

    def __init__(self, source: Source, codec: Codec) -> None:
        self._chunks, self._codec, self._where = chunks(source, codec), codec, source.where
        self._before = 0
        self._counted = (0, 0)  # a position in the window and the bytes before it: errors in each row ask for them
        self.text, self.at, self.row = "", 0, 0

    def more(self) -> bool:
        """Read as much again as waits here, so that a long element is not parsed for every chunk. False at the end."""
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

    def begin(self) -> str:
        """The first character behind a byte order mark."""
        if self.peek() == "\ufeff":
            self.at += 1
        return self.peek()

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
        return InputError(f"broken JSON: {what}", where=where, fix=fix)


def _values(source: Source, codec: Codec) -> Iterator[RawObject | RejectedRow]:
    """The elements of arrays, and the objects outside them."""
    window = _Window(source, codec)
    first = window.begin()
    if first not in ("[", "{"):
        raise window.error(f"it begins with {first!r}, not with '[' or '{{'" if first else "the file is blank")
    while first:
        if first == "[":
            yield from _elements(window, codec)
        elif first == "{":
            yield _element(window, codec)
        else:
            raise window.error(f"{first!r} after the end of a value")
        if (first := window.peek()) == ",":
            window.at += 1
            first = window.peek()


def _elements(window: _Window, codec: Codec) -> Iterator[RawObject | RejectedRow]:
    """The elements of the array that begins at `window.at`."""
    window.at += 1
    more = window.peek() != "]"
    while more:
        window.peek()
        yield _element(window, codec)
        if (mark := window.peek()) not in (",", "]"):
            raise window.error(
                f"{mark!r} after an element, not ',' or ']'" if mark else "the file ends inside the array"
            )
        more = mark == ","
        window.at += more
    window.at += 1


def _element(window: _Window, codec: Codec) -> RawObject | RejectedRow:
    """The value that begins at `window.at`, which is then behind it."""
    window.row += 1
    value, end = _value(window)
    raw = window.text[window.at : end]
    made = _bad_bytes(window, raw, codec) or RawObject(window.row, value)
    window.at = end
    return made


def _value(window: _Window) -> tuple[object, int]:
    """The value that begins at `window.at`, and where it ends."""
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
