"""XLSX: the first sheet or the one that is named, a row of it the header. openpyxl is imported when a file needs it.

openpyxl keeps the table of strings in memory, so memory grows with the texts (a sheet has at most 1,048,576 rows).
"""

from __future__ import annotations

import contextlib
import io
import re
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

from builder.core.errors import InputError
from builder.reviews.sources.cells import RejectedRow, Row
from builder.reviews.sources.layouts import RawCells, read_table
from builder.reviews.sources.opening import Source, check_size, one_line, opened

_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    SyntaxError,
    LookupError,
    ArithmeticError,
    AssertionError,
    ValueError,
    TypeError,
    AttributeError,
    EOFError,
    RuntimeError,
)
"""What openpyxl raises on files that are not, or not wholly, workbooks; zipfile a RuntimeError for what is encrypted
or packed as it cannot read. A SyntaxError is that of XML: ElementTree and lxml have classes of their own below it.
"""
ELEMENTS = 1_000_000
"""Elements of XML that a workbook may hold however small it is; beyond, two for each of its bytes. Each costs some
microseconds; sheets have two for three bytes where their rows are all alike, and fewer else.
"""
_EMPTY = "delete empty rows and columns with their formats, or save it as .csv"
MOST_CELLS = 50_000_000
"""Cells of a sheet, the empty ones before the last of each row included: openpyxl makes them all."""
MOST_ROWS = 1_048_576
"""Rows of a sheet in Excel. A file may claim more, and openpyxl would give an empty one for each."""


def read(source: Source) -> Iterator[Row]:
    """The reviews of one sheet of a workbook in order; a row that cannot be used is a RejectedRow."""
    with workbook(source) as book:
        yield from _reviews(book, source)


@contextlib.contextmanager
def workbook(source: Source) -> Iterator[Any]:
    """A workbook of openpyxl, once it is known to be no bomb; InputError where it is one, or none at all."""
    import openpyxl

    with opened(source) as stream:
        _guarded(source, 0, lambda: _check_members(stream, source))
        # openpyxl prints what it misses among the styles; standard output is for what a command answers
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")  # styles and extensions that openpyxl does not know change no text
            book = _guarded(source, 0, lambda: openpyxl.load_workbook(stream, read_only=True, data_only=True))
        try:
            yield book
        finally:
            book.close()


def _reviews(book: Any, source: Source) -> Iterator[Row]:
    sheets = book.worksheets
    if not sheets:
        raise InputError("a workbook without a sheet", where=source.where, fix="put the reviews on a sheet")
    chosen = _choose(sheets, source)
    try:
        made = read_table(lambda again: map(RawCells, _rows(chosen, again)), source)
    except InputError as error:
        if len(sheets) == 1:
            raise
        what = f"sheet {chosen.title!r}: {error.what}"
        raise InputError(
            what, where=error.where, fix=f"{error.fix}, or choose another sheet with --sheet: {_titles(sheets)}"
        ) from error
    number = 0
    for row in made:
        number = row.row
        yield row
    for sheet in sheets:
        if sheet is not chosen and next(_rows(sheet, source), None) is not None:
            number += 1
            yield RejectedRow(
                number,
                "sheet",
                f"sheet {sheet.title!r} was not read: only {chosen.title!r} is; --sheet chooses another",
            )


def _choose(sheets: list[Any], source: Source) -> Any:
    """The sheet of the user's name, else of the user's number, else the first."""
    if not (wanted := source.settings.sheet):
        return sheets[0]
    named = next((sheet for sheet in sheets if sheet.title == wanted), None)
    numbered = sheets[int(wanted) - 1] if wanted.isdecimal() and 1 <= int(wanted) <= len(sheets) else None
    if named is None and numbered is None:
        raise InputError(
            f"no sheet {one_line(wanted)!r}",
            where=source.where,
            fix=f"--sheet is one of {_titles(sheets)}, or a number from 1",
        )
    return numbered if named is None else named


def _titles(sheets: list[Any]) -> str:
    return ", ".join(repr(one_line(sheet.title)) for sheet in sheets)


def _check_members(stream: BinaryIO, source: Source) -> None:
    """A workbook is a zip file: none of what is in it may be a bomb. zipfile gives no more than the size read here."""
    size, elements = source.path.stat().st_size, 0
    with zipfile.ZipFile(stream) as packed:
        check_size(sum(member.file_size for member in packed.infolist()), size, source)
        for member in packed.infolist():
            if not member.filename.endswith((".xml", ".rels")):  # pictures are not read
                continue
            with packed.open(member) as content:
                while chunk := content.read(1 << 20):
                    elements += chunk.count(b"<") - chunk.count(b"</")
                    if elements > max(ELEMENTS, 2 * size):
                        what = f"over {elements:,} elements of XML in {size:,} bytes, far more than texts need"
                        raise InputError(what, where=source.where, fix=_EMPTY)
    stream.seek(0)


def _rows(sheet: Any, source: Source) -> Iterator[list[object]]:
    """Rows with anything in them."""
    for values in cells_of(sheet, source):
        row = [_text(value) for value in values]
        if any(value is not None for value in row):
            yield row


def cells_of(sheet: Any, source: Source) -> Iterator[tuple[object, ...]]:
    """Every row of a sheet as openpyxl gives it, in bounded number."""
    sheet.reset_dimensions()  # some programs write a wrong size, and openpyxl would believe it
    table = sheet.iter_rows(values_only=True)
    number = cells = 0
    while (values := _guarded(source, number, lambda: next(table, None))) is not None:
        number += 1
        if number > MOST_ROWS:
            raise InputError(
                f"more than {MOST_ROWS:,} rows",
                where=source.where,
                fix="no spreadsheet has so many: save it again, or as .csv",
            )
        cells += len(values)
        if cells > MOST_CELLS:
            what = f"its rows reach to column {len(values):,}: over {MOST_CELLS // 1_000_000} million cells"
            raise InputError(what, where=f"{source.where} row {number} of the sheet", fix=_EMPTY)
        yield values


def _text(value: object) -> object:
    """Excel writes control characters as _x000D_, and that very text as _x005F_x000D_."""
    if not isinstance(value, str) or "_x" not in value:
        return value
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), value)


def _guarded(source: Source, row: int, step: Any) -> Any:
    try:
        return step()
    except _BROKEN as error:
        with opened(source.silently()) as stream:
            old = stream.read(4) == b"\xd0\xcf\x11\xe0"
        what = (
            "an old Excel file (.xls) or one with a password"
            if old
            else f"broken XLSX file ({one_line(str(error), 120)})"
        )
        where = f"{source.where} after row {row} of the sheet" if row else source.where
        raise InputError(what, where=where, fix="save it again as .xlsx, or as .csv") from error
