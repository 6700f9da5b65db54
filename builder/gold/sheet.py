"""Sheets for people: CSV (UTF-8 with a mark, so that Excel reads it) and XLSX with a guide and a list of labels to
choose from.

One row a candidate; rows without one add missing triplets. Cells that a spreadsheet would run as a formula get an
apostrophe in front, and lose it again on import (`escaped`, `unescaped`).
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from builder.core.errors import InputError
from builder.core.files import read_cells
from builder.core.records import Triplet
from builder.gold.items import GUIDE, UNSURE, Fault, Filled, LabelItem, corrected, label_text, missing_of, places
from builder.reviews.sources import xlsx
from builder.reviews.sources.opening import Source

_CANDIDATE = ("pool", "candidate", "review", "text", "marked", "aspect", "opinion", "polarity")
_ANSWER = ("label", "right_polarity", "right_aspect", "right_opinion", "note", "aspect_at", "opinion_at")
COLUMNS = (*_CANDIDATE, *_ANSWER)
NEEDED = ("pool", "candidate", "review", "aspect", "opinion", "polarity", "label")
NONE = "none"
"""In `label` of a row without a candidate: the person looked, nothing is missing."""
HELP = (
    *(f"{label}: {chinese} {english}" for label, chinese, english in GUIDE),
    "marked: 【對象】《意見》。 The aspect stands in 【】, the opinion in 《》.",
    "label: 填 YY、YN 或 NX；看過但不確定填 unsure。 Write YY, YN or NX; unsure when you cannot tell.",
    "right_polarity: YN 時填正確的 POS（正面）、NEG（負面）或 NEU（中性）。 With YN: the right polarity.",
    "right_aspect, right_opinion: 範圍不對時填正確的文字；出現多次時寫 文字@起-迄。 The right words where the span is "
    "wrong; where they stand more than once write WORDS@start-end (code points from 0, end not included).",
    "漏掉的三元組：在最下面加一列，複製 pool 和 review，candidate 和 label 留空，填 aspect、opinion、polarity。 A "
    "missing triplet: add a row, copy"
    " pool and review, leave candidate and label empty, fill in aspect, opinion, polarity.",
    "none: 沒有候選的評論若真的沒有三元組，label 填 none。 For a review without a candidate, "
    "none in `label` says that nothing is missing.",
    "其他欄請不要改。 Leave the other columns as they are.",
)
_WIDTHS = {
    "text": 50, "marked": 50, "aspect": 14, "opinion": 14, "right_aspect": 14, "right_opinion": 14, "note": 20,
}  # fmt: skip
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0d\x0e-\x1f\ufffe\uffff]|_x[0-9A-Fa-f]{4}_")
_CODED = re.compile("_x([0-9A-Fa-f]{4})_")


def escaped(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula; injective, so that `unescaped` gives back the same."""
    return "'" + cell if _FORMULA.match(cell) else cell


def unescaped(cell: str) -> str:
    """The cell that `escaped` was given."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def write_csv(path: Path, items: Iterable[LabelItem]) -> None:
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows([escaped(cell) for cell in row] for row in _rows(items))


def write_xlsx(path: Path, items: Iterable[LabelItem]) -> None:
    """Write the items as a workbook: a sheet `labels` and a guide."""
    from openpyxl import Workbook
    from openpyxl.worksheet.datavalidation import DataValidation

    book = Workbook(write_only=True)
    sheet, guide = book.create_sheet("labels"), book.create_sheet("guide")
    sheet.freeze_panes = "A2"
    for place, name in enumerate(COLUMNS):
        sheet.column_dimensions[chr(65 + place)].width = _WIDTHS.get(name, 9)
    for column, choices in (("label", f"YY,YN,NX,{UNSURE},{NONE}"), ("right_polarity", "POS,NEG,NEU")):
        letter = chr(65 + COLUMNS.index(column))
        sheet.data_validations.append(
            DataValidation("list", formula1=f'"{choices}"', allow_blank=True, sqref=f"{letter}2:{letter}1048576")
        )
    sheet.append(COLUMNS)
    for row in _rows(items):
        sheet.append([_coded(escaped(cell)) or None for cell in row])
    guide.column_dimensions["A"].width = 140
    for line in HELP:
        guide.append([line])
    whole = io.BytesIO()  # on a disk that is full the library would write tracebacks of its own, one a sheet
    book.save(whole)
    path.write_bytes(whole.getvalue())


def read_csv(path: Path) -> Iterator[Filled | Fault]:
    """The rows of a filled-in CSV sheet, each with its line. InputError where it is no such sheet."""
    yield from _filled(path, read_cells(path, InputError), "line")


def read_xlsx(path: Path) -> Iterator[Filled | Fault]:
    """The rows of a filled-in workbook, each with its row number. InputError where it cannot be read."""
    source = Source(path)
    with xlsx.workbook(source) as book:
        sheets = [sheet for sheet in book.worksheets if sheet.title == "labels"] or book.worksheets
        if not sheets:
            raise InputError("a workbook without a sheet", where=str(path), fix="give the sheet that was filled in")
        rows = [["" if cell is None else _decoded(cell) for cell in row] for row in xlsx.cells_of(sheets[0], source)]
    yield from _filled(path, list(enumerate(rows, start=1)), "row")


def _rows(items: Iterable[LabelItem]) -> Iterator[list[str]]:
    for item in items:
        review, candidate = item.review, item.candidate
        start = [item.pool, "" if candidate is None else str(candidate.n), review.key, review.text]
        if candidate is None:
            yield [*start, review.text, "", "", "", NONE if item.checked else "", *[""] * 6]
        else:
            t, label = candidate.triplet, item.label
            right = corrected(review, candidate, label) if label else ("", "", "")
            answer = [
                label_text(label),
                *right,
                label.note if label else "",
                places(t.aspect.spans),
                places(t.opinion.spans),
            ]
            yield [*start, marked(review.text, t), t.aspect.text, t.opinion.text, t.polarity, *answer]
            if item.checked:
                yield [item.pool, "", *start[2:], review.text, "", "", "", NONE, *[""] * 6]
        for aspect, opinion, polarity in missing_of(item):
            yield [item.pool, "", *start[2:], review.text, aspect, opinion, polarity, *[""] * 7]


def marked(text: str, triplet: Triplet) -> str:
    """The text with 【】 around the aspect and 《》 around the opinion."""
    opening: dict[int, str] = {}
    closing: dict[int, str] = {}
    for element, (open_, close) in ((triplet.aspect, "【】"), (triplet.opinion, "《》")):
        for start, end in element.spans:
            opening[start] = opening.get(start, "") + open_
            closing[end] = closing.get(end, "") + close
    return "".join(closing.get(i, "") + opening.get(i, "") + char for i, char in enumerate(text)) + closing.get(
        len(text), ""
    )


def _filled(path: Path, rows: Sequence[tuple[int, Sequence[str]]], noun: str) -> Iterator[Filled]:
    header = [name.strip() for name in rows[0][1]] if rows else []
    lacking = [name for name in NEEDED if name not in header]
    if lacking:
        fix = "give the sheet that `builder gold annotate export` wrote, with its header"
        raise InputError(f"lacks the columns {', '.join(lacking)}", where=str(path), fix=fix)
    for number, row in rows[1:]:
        cells = {name: unescaped(cell) for name, cell in zip(header, row, strict=False)}
        if any(cell.strip() for cell in row):
            yield _row(f"{path.name} {noun} {number}", cells)


def _row(where: str, cells: dict[str, str]) -> Filled:
    def cell(name: str) -> str:
        return cells.get(name, "").strip()

    start = {
        "where": where,
        "pool": cell("pool"),
        "review": cell("review"),
        "note": cells.get("note", ""),
        "text": cells.get("text") or None,
    }
    if cell("candidate"):
        shown = {name: cell(name) for name in ("aspect", "opinion", "polarity")}
        right = {name: cell(f"right_{name}") for name in ("polarity", "aspect", "opinion")}
        return Filled(n=cell("candidate"), label=cell("label"), shown=shown, **right, **start)  # type: ignore[arg-type]
    given = cell("aspect"), cell("opinion"), cell("polarity")
    if not any(given):  # what is missing may stand where what is right stands
        given = cell("right_aspect"), cell("right_opinion"), cell("right_polarity")
    none = cell("label").lower() == NONE
    label = "" if none or (any(given) and cell("label").lower() in ("yy", "missing")) else cell("label")
    missing = (given,) if any(given) else ()
    return Filled(n="", label=label, missing=missing, checked=none, **start)  # type: ignore[arg-type]


def _coded(cell: str) -> str:
    """Control characters as Excel writes them, and such writing as text."""
    return _CONTROL.sub(lambda match: f"_x{ord(match[0]):04X}_" if len(match[0]) == 1 else "_x005F" + match[0], cell)


def _decoded(cell: Any) -> str:
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    return _CODED.sub(lambda match: chr(int(match[1], 16)), str(cell))
