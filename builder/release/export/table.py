"""A release as a table: one triplet a row, a review without any a row of its own. CSV and XLSX, nothing
lost.

In: rows of ours. Out: columns named after our keys. The review's stand first, `triplet_` marks a key that both have.
An element is its text and its `_spans` as JSON, code-point offsets into `text`; `aspect_start` to `opinion_end`
repeat their outer bounds for people and readers skip them. A list is JSON, what is unknown an empty cell. XLSX is
written here, not by a library: its bytes hold no clock.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from xml.sax.saxutils import escape

from builder.core.errors import ConfigError
from builder.release import parquet_files
from builder.release.export.native_rows import Labelled, ReviewRow, Skipped, TripletRow, row_of
from builder.release.parquet_files import Fields

Cell = str | float | None
BOUNDS = ("aspect", "opinion")
"""The elements whose outer bounds have columns."""
BOUND_COLUMNS = tuple(f"{part}_{end}" for part in BOUNDS for end in ("start", "end"))
MOST_ROWS = 1_048_576
MOST_CHARACTERS = 32_767
"""What a sheet and a cell hold in Excel."""


def _list_cells(fields: Fields) -> dict[str, str]:
    """The kind of cell of each field: text, number, element, or JSON."""
    cells = {"string": "text", "number": "number", "element": "element"}
    return {
        name: cells.get(kind.removesuffix(" or null"), "json") for name, (kind, _) in fields.items() if kind != "list"
    }


REVIEW, TRIPLET = _list_cells(parquet_files.REVIEW), _list_cells(parquet_files.TRIPLET)


def _name(key: str) -> str:
    """The column of a triplet's key."""
    return f"triplet_{key}" if key in REVIEW else key


KEPT = "columns."
"""What stands before the name of a column that passed through from the input."""


def columns(reviews: Sequence[ReviewRow] = ()) -> list[str]:
    """The header. All reviews have the columns of the first that passed through from the input."""
    names = list(REVIEW)
    for key, kind in TRIPLET.items():
        names += [_name(key), f"{key}_spans"] if kind == "element" else [_name(key)]
        names += [name for name in BOUND_COLUMNS if name.startswith(f"{key}_")] if key in BOUNDS else []
    return names + [f"{KEPT}{name}" for review in reviews[:1] for name in review.get("columns", ())]


def cells(rows: Iterable[ReviewRow]) -> Iterator[list[Cell]]:
    """The lines of the table below its header."""
    for row in rows:
        review = [_written(row.get(key), kind) for key, kind in REVIEW.items()]
        for triplet in row["triplets"] or (None,):
            yield [*review, *_of_triplet(triplet), *row.get("columns", {}).values()]


def _of_triplet(triplet: TripletRow | None) -> list[Cell]:
    line: list[Cell] = []
    for key, kind in TRIPLET.items():
        value: Any = triplet.get(key) if triplet else None
        if kind == "element":
            spans = value["spans"] if value else []
            line += [value["text"], json.dumps(spans)] if value else [None, None]
            line += ([spans[0][0], spans[-1][1]] if spans else [None, None]) if key in BOUNDS else []
        else:
            line.append(_written(value, kind))
    return line


def _written(value: Any, kind: str) -> Cell:
    if value is None:
        return None
    return json.dumps(value, ensure_ascii=False) if kind == "json" else value


# ---- CSV


def dump_csv(reviews: Sequence[Labelled]) -> str:
    """UTF-8, commas, all text in quotes, so that texts may hold line breaks."""
    out, rows = io.StringIO(), list(map(row_of, reviews))
    writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow(columns(rows))
    writer.writerows(cells(rows))
    return out.getvalue()


# ---- XLSX

_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
"""What XML cannot hold or its readers change, and the beginning of what looks like the escape for it."""
_PARTS = {
    "[Content_Types].xml": """<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Override PartName="/xl/workbook.xml"
 ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>
<Override PartName="/xl/worksheets/sheet1.xml"
 ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>
</Types>""",
    "_rels/.rels": """<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
<Relationship Id="rId1"
 Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
 Target="xl/workbook.xml"/>
</Relationships>""",
    "xl/workbook.xml": """<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"
 xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">
<sheets><sheet name="triplets" sheetId="1" r:id="rId1"/></sheets></workbook>""",
    "xl/_rels/workbook.xml.rels": """<Relationships
 xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
<Relationship Id="rId1"
 Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet"
 Target="worksheets/sheet1.xml"/>
</Relationships>""",
}
_DECLARED = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_SHEET = f"""{_DECLARED}<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">
<sheetViews><sheetView workbookViewId="0">
<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>
<sheetData>
"""


def oversized(review: Labelled) -> Skipped | None:
    """Why a sheet cannot hold a review, or None."""
    lines = cells([row_of(review)])
    longest = max((len(_shielded(cell)) for line in lines for cell in line if isinstance(cell, str)), default=0)
    if longest <= MOST_CHARACTERS:
        return None
    return Skipped(review.id, None, f"{longest:,} characters in a cell, which holds {MOST_CHARACTERS:,} in Excel")


def dump_xlsx(reviews: Sequence[Labelled]) -> bytes:
    """A workbook of one sheet, cells as text (a leading = makes no formula) or numbers. ConfigError for more rows
    than a sheet holds.
    """
    out, rows = io.BytesIO(), list(map(row_of, reviews))
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as book:
        for name, part in _PARTS.items():
            book.writestr(_dated(name), _DECLARED + part)
        with book.open(_dated("xl/worksheets/sheet1.xml"), "w") as sheet:
            sheet.write((_SHEET + _line(columns(rows))).encode())
            for number, line in enumerate(cells(rows), start=2):
                if number > MOST_ROWS:
                    raise ConfigError(
                        f"more than {MOST_ROWS:,} rows, which no sheet of Excel holds", fix="use --format csv"
                    )
                sheet.write(_line(line).encode())
            sheet.write(b"</sheetData></worksheet>")
    return out.getvalue()


def _dated(name: str) -> zipfile.ZipInfo:
    """A member of the archive with the same date always."""
    member = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    member.compress_type = zipfile.ZIP_DEFLATED
    return member


def _line(line: Sequence[Cell]) -> str:
    return f"<row>{''.join(map(_cell, line))}</row>\n"


def _cell(value: Cell) -> str:
    if value is None:
        return "<c/>"
    if not isinstance(value, str):
        return f"<c><v>{value!r}</v></c>"
    return f'<c t="inlineStr"><is><t xml:space="preserve">{escape(_shielded(value))}</t></is></c>'


def _shielded(text: str) -> str:
    """As workbooks write what XML cannot: _x000D_ for a carriage return, _x005F_ for the underscore that would begin
    such a mark.
    """
    return _UNFIT.sub(lambda match: f"_x{ord(match[0]):04X}_", text)
