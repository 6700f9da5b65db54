"""CSV and TSV: a header and rows, quoted as spreadsheets do. A row that is broken is rejected alone. JSON with such an
ending is read as JSON. Plain text: a review a line, unless it begins as a table or as JSON.

The csv module's strict mode is used because its lenient mode changes texts (`"好吃"的店` loses its quotes) and hides a
quote that never closes.

How a table of text is written, whatever its ending says: the delimiter, and whether backslashes escape.

In: the first lines. Out: a `Dialect`, or an `InputError` that names the delimiter of a header whose rows do not fit.
"""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from builder.core.errors import InputError
from builder.core.settings import Input
from builder.reviews.sources.cells import Row
from builder.reviews.sources.columns import LOOK_AT, RolesOf, find_header, known_roles
from builder.reviews.sources.json_values import read_json
from builder.reviews.sources.layouts import RawCells, read_table, roles_of
from builder.reviews.sources.opening import Codec, DecodedLine, Source, check_count, codec_of, lines

if TYPE_CHECKING:
    from _csv import Reader

# ---- Dialects

_DELIMITERS = ",;\t|\x01"
_MARKS = "；｜，、"
"""Full-width punctuation of texts, which few rows have as often as their header if it is no delimiter."""
_NAMES = {"\t": "a tab", "\x01": "the character U+0001"}
_SEPARATOR = re.compile(r'"?sep=([^"\r\n])"?\s*', re.I)
"""The first line that tells Excel the delimiter."""
_ENOUGH, _MOST, _FEW = 0.5, 0.8, 0.3
"""Shares of rows with as many cells as the header: enough where that has a known name, most where it has none; with so
few of at least as many the header may still be no name of one column.
"""
_FAULTS = 20
"""Rows that do not parse, before the lines are taken not to be written so."""
_ESCAPE = re.compile(r"\\(.)", re.S)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", "b": "\b", "Z": "\x1a", "\\": "\\", "'": "'", '"': '"'}
"""What MySQL, Hive and others write behind a backslash."""
_NULL = "\\N"
_BREAK = re.compile(r"(?<![A-Za-z:\\])\\[nrt](?![a-z])")
"""A line break or tab that is written with a letter, not the path of a file."""
RawRow = list[str] | None


@dataclass(frozen=True, slots=True)
class Dialect:
    """`escaped`: a backslash escapes what follows. `stated`: the first line says the delimiter and is no row."""

    delimiter: str
    escaped: bool = False
    stated: bool = False

    def reader(self, lines: Iterable[str]) -> Reader:
        """The rows of lines; csv.Error for one that does not parse."""
        if not self.escaped:
            return csv.reader(lines, delimiter=self.delimiter, strict=True)
        plain = f'"\n\r{self.delimiter}'  # the csv module unescapes these; the others keep their backslash through it

        def doubled(match: re.Match[str]) -> str:
            return match[0] if match[1] in plain else match[0].replace("\\", "\\\\")

        given = (_ESCAPE.sub(doubled, line) for line in lines)
        return csv.reader(given, delimiter=self.delimiter, strict=True, escapechar="\\")

    def values(self, cells: Sequence[str]) -> list[str | None]:
        """Cells as they were before they were written: None for a null, and without escapes."""
        if not self.escaped:
            return [None if cell == _NULL else cell for cell in cells] if _NULL in cells else list(cells)
        return [
            None if cell == _NULL else _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[0]), cell)
            for cell in cells
        ]


@dataclass(frozen=True, slots=True)
class _Fit:
    """How some lines read in a dialect: the header, the share of rows with as many cells, and with no fewer."""

    dialect: Dialect
    header: Sequence[str]
    as_many: float
    no_fewer: float

    @property
    def known(self) -> bool:
        return bool(known_roles(self.header))

    @property
    def marks(self) -> bool:
        return self.dialect.delimiter in _MARKS


def find_dialect(lines: Sequence[str], usual: str, roles_of: RolesOf, where: str) -> Dialect:
    """The dialect of a table that begins with `lines`; `usual` is the delimiter that its ending promises."""
    if lines and (stated := _SEPARATOR.fullmatch(lines[0])):
        return Dialect(stated[1], _fit(lines[1:], stated[1], roles_of).dialect.escaped, stated=True)
    start = "".join(lines[:10])
    fits = [_fit(lines, one, roles_of) for one in _DELIMITERS + _MARKS if one in start or one == usual]
    own = next(fit for fit in fits if fit.dialect.delimiter == usual)
    split = [fit for fit in fits if len(fit.header) > 1]
    best = max(split, key=lambda fit: (fit.as_many, fit is own, fit.known, len(fit.header)), default=own)
    if best is own or (own in split and (own.as_many >= _ENOUGH or not best.known)):
        return own.dialect
    if best.as_many >= (_ENOUGH if best.known and not best.marks else _MOST):
        return best.dialect
    for fit in split:
        if own not in split and fit.no_fewer >= (_MOST if fit.marks else _FEW) and (fit.known or not fit.marks):
            name = _NAMES.get(fit.dialect.delimiter, repr(fit.dialect.delimiter))
            what = f"the header has {name} between its names, but {1 - fit.as_many:.0%} of the rows do not fit"
            fix = f"put cells that hold {name} in quotes, the header as well if it is the name of one column"
            raise InputError(what, where=where, fix=fix)
    return own.dialect


def _fit(lines: Sequence[str], delimiter: str, roles_of: RolesOf) -> _Fit:
    plain, escaped = (_measure(lines, Dialect(delimiter, escapes), roles_of) for escapes in (False, True))
    text = "".join(lines)
    if "\\" not in text or escaped.as_many < plain.as_many:
        return plain
    return escaped if escaped.as_many > plain.as_many or _has_escapes(text, delimiter) else plain


def _measure(lines: Sequence[str], dialect: Dialect, roles_of: RolesOf) -> _Fit:
    rows = list(_parsed(lines, dialect))
    whole = [row for row in rows if row]
    if not whole:
        return _Fit(dialect, [], 0.0, 0.0)
    head = find_header(whole, roles_of)
    width, counts = len(whole[head]), [len(row or ()) for row in rows[rows.index(whole[head]) + 1 :]]
    if counts and all(row and len(row) == width + 1 and row[0] == str(i) for i, row in enumerate(rows[1:], 1)):
        width += 1  # rows that begin with their number have no name for it
    many, more = sum(count == width for count in counts), sum(count >= width for count in counts)
    return _Fit(dialect, whole[head], many / len(counts) if counts else 1.0, more / len(counts) if counts else 1.0)


def _parsed(lines: Sequence[str], dialect: Dialect) -> Iterator[RawRow]:
    """The rows of the lines, None for one that does not parse: lines that a stray quote joined to it are rows of their
    own. What opens late and does not close is the end of the sample in a cell.
    """
    begun = faults = 0
    while faults < _FAULTS:
        reader, first = dialect.reader(lines[begun:]), begun
        try:
            for cells in reader:
                begun = first + reader.line_num
                if cells:
                    yield cells
            return
        except csv.Error as error:
            if "end of data" in str(error) and begun * 2 > len(lines):
                return
            begun, faults = begun + 1, faults + 1
            yield None


def _has_escapes(text: str, delimiter: str) -> bool:
    """Whether backslashes that are no fault either way escape: all of them could, and one is a null or a line break."""
    if "\\" in re.sub(rf"\\(?:[0bnrtZN'\"\\%_\n]|{re.escape(delimiter)})", "", text) or '""' in text or '":' in text:
        return False
    null = re.search(rf"(?:^|{re.escape(delimiter)})\\N(?:$|[\r{re.escape(delimiter)}])", text, re.M)
    return bool(null or _BREAK.search(text))


# ---- Files

_JSON = re.compile(r'\s*(?:\{\s*"|\[\s*\{)')
_CHARACTERS = 1 << 20
"""Of the lines that are looked at to tell how the table is written, about."""
CELL_LIMIT = 32 << 20
"""Characters. A longer cell is a quote that never closes."""
AGAIN = 1_000_000
"""Lines that stray quotes joined and that are read again; of quotes alone each would be read as often as there are."""


def read_txt(source: Source) -> Iterator[Row]:
    """A review a line. What begins with tabs or the names of columns, or has columns that the user names, is a table:
    spreadsheets call theirs `.txt` too.
    """
    codec = codec_of(source)
    start = _first_lines(source.silently(), codec)
    head = next((line for line in start if line.strip()), "")
    names = [name.strip(' "') for name in re.split(r"[,;\t|]", head.strip())]
    roles = roles_of(names, source)
    named = "text" in roles and len(roles) >= min(2, len(names))  # one known name among others may be a review's word
    described = replace(source.settings, encoding="", sheet="") != Input()
    if named or "\t" in head.strip() or described or _JSON.match("".join(start[:2])):
        return read_delimited(source, "\t")
    return read_table(lambda again: _plain_rows(again, codec), source)


def _plain_rows(source: Source, codec: Codec) -> Iterator[RawCells]:
    """Lines below a header that they lack."""
    yield RawCells(["text"])
    for line in lines(source, codec):
        for part in _parted(line) if "\r" in line.text[:-2] else (line,):
            if text := part.text.strip():
                yield RawCells([text], part.number, part.text, _broken([part], codec))


def read_delimited(source: Source, delimiter: str) -> Iterator[Row]:
    """The rows of a file whose ending promises this delimiter."""
    # The limit belongs to the process, so it is only ever raised, and only once a file is read.
    csv.field_size_limit(max(csv.field_size_limit(), CELL_LIMIT))
    codec = codec_of(source)
    start = _first_lines(source.silently(), codec)
    if _JSON.match("".join(start[:2])):
        return read_json(source)
    dialect = find_dialect(start, delimiter, lambda names: roles_of(names, source), source.where)
    return read_table(lambda again: _rows(again, codec, dialect), source)


def _first_lines(source: Source, codec: Codec) -> list[str]:
    taken, size = list[str](), 0
    for line in _Feed(lines(source, codec), source):
        taken.append(line)
        size += len(line)
        if len(taken) > LOOK_AT or size > _CHARACTERS:
            break
    return taken


class _Feed:
    """Hands lines to the csv module and keeps those of the current row, for their numbers, bytes and text."""

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
        check_count(self._count, "lines", self._size, self._source.where)
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
    if dialect.stated:
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
