"""CSV and TSV: a header and rows, quoted as spreadsheets do. A row that is broken is rejected alone.

The csv module's strict mode is used because its lenient mode changes texts (`"好吃"的店` loses its quotes) and hides a
quote that never closes.
"""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Iterator

from builder.errors import InputError
from builder.sources.columns import Columns, Row, resolve, review
from builder.sources.encoding import Codec, DecodedLine, codec_of, lines
from builder.sources.opening import Source, check_lines, storable
from builder.sources.rows import RejectedRow
from builder.wording import counted

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
    feed = _Feed(lines(source, codec), source)
    table = _rows(feed, source, delimiter)
    header = next(table, None)
    if header is None:
        return
    if isinstance(header, str):
        raise InputError(
            f"broken header ({header})", where=f"{source.where} line {feed.row[0].number}", fix="correct the first line"
        )
    picks = resolve(header, columns, source, lambda: _sample(source.silently(), codec, delimiter))
    for row, cells in enumerate(table, 1):
        if rejected := _broken(row, cells, len(header), feed.row, codec):
            yield rejected
        else:
            yield review(row, *(None if i is None else cells[i] for i in picks.used))


def _sample(source: Source, codec: Codec, delimiter: str) -> Iterator[list[str]]:
    """The rows below the header, read on their own; broken ones are left out."""
    table = _rows(_Feed(lines(source, codec), source), source, delimiter)
    next(table)
    return (cells for cells in table if not isinstance(cells, str))


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


def _rows(feed: _Feed, source: Source, delimiter: str) -> Iterator[list[str] | str]:
    """Rows as lists of cells, or the fault of a row that does not parse. Blank lines are no rows."""
    reader = csv.reader(feed, delimiter=delimiter, strict=True)
    while True:
        feed.row.clear()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if "end of data" in str(error) or "field limit" in str(error):
                raise _unclosed(feed, source, delimiter) from error
            feed.keep_first()
            yield "text after a closing quote" if "expected after" in str(error) else str(error)
        else:
            if cells:
                yield cells


def _broken(row: int, cells: list[str] | str, width: int, read: list[DecodedLine], codec: Codec) -> RejectedRow | None:
    line = read[0].number
    bad = next((line.bad for line in read if line.bad is not None), None)
    if bad is not None:
        fault = "encoding", f"invalid {codec.label} at byte {bad}"
    elif any("\0" in line.text for line in read):
        fault = "nul", f"NUL byte, line {line}"
    elif isinstance(cells, str):
        fault = "quote", f"{cells}, line {line}"
    elif len(cells) != width:
        fault = "fields", f"{counted(len(cells), 'field')} where the header has {width}, line {line}"
    else:
        return None
    return RejectedRow(row, fault[0], f"row {row}: {fault[1]}", storable("".join(line.text for line in read)))


def _unclosed(feed: _Feed, source: Source, delimiter: str) -> InputError:
    text = feed.text
    opening = re.search(rf'(?:\A|(?<=[{delimiter}\n\r]))"(?:[^"]|"")*+\Z', text)
    number = feed.row[0].number + (text.count("\n", 0, opening.start()) if opening else 0)
    what = "a quote opens here and does not close before the end of the file, or for 32 million characters"
    return InputError(
        what, where=f"{source.where} line {number}", fix="close the quote, or write it twice if it belongs to the text"
    )
