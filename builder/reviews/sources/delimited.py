"""CSV and TSV: a header and rows, quoted as spreadsheets do. A row that is broken is rejected alone. JSON with such an
ending is read as JSON.

The csv module's strict mode is used because its lenient mode changes texts (`"好吃"的店` loses its quotes) and hides a
quote that never closes.
"""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Iterator, Sequence

from builder.core.errors import InputError
from builder.reviews.sources.cells import Row
from builder.reviews.sources.columns import LOOK_AT, Columns
from builder.reviews.sources.dialects import Dialect, find_dialect
from builder.reviews.sources.json_values import read_json
from builder.reviews.sources.layouts import RawCells, read_table, roles_of
from builder.reviews.sources.opening import Codec, DecodedLine, Source, check_lines, codec_of, lines

_JSON = re.compile(r'\s*(?:\{\s*"|\[\s*\{)')
_CHARACTERS = 1 << 20
"""Of the lines that are looked at to tell how the table is written, about."""
CELL_LIMIT = 32 << 20
"""Characters. A longer cell is a quote that never closes."""
AGAIN = 1_000_000
"""Lines that stray quotes joined and that are read again; a file of such quotes alone would be read as often as it has
lines.
"""


def read_csv(source: Source, columns: Columns) -> Iterator[Row]:
    """The rows of a CSV file."""
    return _read(source, columns, ",")


def read_tsv(source: Source, columns: Columns) -> Iterator[Row]:
    """The rows of a TSV file."""
    return _read(source, columns, "\t")


def _read(source: Source, columns: Columns, delimiter: str) -> Iterator[Row]:
    # The limit belongs to the process, so it is only ever raised, and only once a file is read.
    csv.field_size_limit(max(csv.field_size_limit(), CELL_LIMIT))
    codec = codec_of(source)
    start = _first_lines(source.silently(), codec)
    if _JSON.match("".join(start[:2])):
        return read_json(source, columns)
    dialect = find_dialect(start, delimiter, lambda names: roles_of(names, columns), source.where)
    return read_table(lambda again: _rows(again, codec, dialect), columns, source)


def _first_lines(source: Source, codec: Codec) -> list[str]:
    taken, size = list[str](), 0
    for line in _Feed(lines(source, codec), source):
        taken.append(line)
        size += len(line)
        if len(taken) > LOOK_AT or size > _CHARACTERS:
            break
    return taken


class _Feed:
    """Hands lines to the csv module and keeps those of the current row: for their numbers, bytes and text, and to
    give them back.
    """

    def __init__(self, given: Iterator[DecodedLine], source: Source) -> None:
        self._lines, self._again, self._source = given, deque[DecodedLine](), source
        self._parts: Iterator[DecodedLine] = iter(())
        self._size, self._count, self._reread = source.path.stat().st_size, 0, 0
        self.row: list[DecodedLine] = []

    def __iter__(self) -> _Feed:
        return self

    def __next__(self) -> str:
        line = self._again.popleft() if self._again else self._take()
        self.row.append(line)
        return line.text

    def _take(self) -> DecodedLine:
        """The next line that was not read before. Old Mac line ends come one by one, for there may be millions."""
        self._count += 1
        check_lines(self._count, self._size, self._source.where)
        if (part := next(self._parts, None)) is not None:
            return part
        line = next(self._lines)
        if "\r" not in line.text[:-2]:
            return line
        self._parts = _parted(line)
        return next(self._parts)

    @property
    def text(self) -> str:
        return "".join(line.text for line in self.row)

    def keep_first(self) -> None:
        """Give back all lines of the row but its first: a stray quote joined them, they are rows of their own."""
        self._reread += len(self.row) - 1
        if self._reread > AGAIN:
            raise InputError(
                "quotes that do not pair join line after line",
                where=f"{self._source.where} line {self.row[0].number}",
                fix="write a quote that belongs to a text twice, and the text in quotes",
            )
        self._again.extendleft(reversed(self.row[1:]))
        del self.row[1:]


def _parted(line: DecodedLine) -> Iterator[DecodedLine]:
    """The lines that a lone \\r ends inside a line that \\n ends."""
    return (
        DecodedLine(part[0], line.number, line.bad)
        for part in re.finditer(r"[^\r]*(?:\r+\n?|\n|\Z)", line.text)
        if part[0]
    )


def _rows(source: Source, codec: Codec, dialect: Dialect) -> Iterator[RawCells]:
    """Rows as cells, or with the fault of one that does not parse. Blank lines are no rows."""
    feed = _Feed(lines(source, codec), source)
    if dialect.told:
        next(feed)
    reader = dialect.reader(feed)
    while True:
        feed.row.clear()
        cells: Sequence[str] = ()
        fault = None
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if "end of data" in str(error) or "field limit" in str(error):
                raise _unclosed(feed, source, dialect.delimiter) from error
            feed.keep_first()
            fault = "quote", "text after a closing quote" if "expected after" in str(error) else str(error)
        if cells or fault:
            yield RawCells(dialect.values(cells), feed.row[0].number, feed.text, _broken(feed.row, codec) or fault)


def _broken(read: Sequence[DecodedLine], codec: Codec) -> tuple[str, str] | None:
    bad = next((line.bad for line in read if line.bad is not None), None)
    if bad is not None:
        return "encoding", f"invalid {codec.label} at byte {bad}"
    return ("nul", "NUL byte") if any("\0" in line.text for line in read) else None


def _unclosed(feed: _Feed, source: Source, delimiter: str) -> InputError:
    text = feed.text
    opening = re.search(rf'(?:\A|(?<=[{delimiter}\n\r]))"(?:[^"]|"")*+\Z', text)
    number = feed.row[0].number + (text.count("\n", 0, opening.start()) if opening else 0)
    what = "a quote opens here and does not close before the end of the file, or for 32 million characters"
    return InputError(
        what, where=f"{source.where} line {number}", fix="close the quote, or write it twice if it belongs to the text"
    )
