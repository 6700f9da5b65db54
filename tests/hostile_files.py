"""Files of reviews that nobody should write: traps that cost time or memory, and rows of hostile texts, damaged or not.

In: chance. Out: a file. `read_rows` says what became of it: every row of a sound file must come back as a review or as
a rejection with a reason.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path

from builder.core.errors import InputError
from builder.reviews.sources import read
from builder.reviews.sources.cells import RawReview

# ---- Traps


def workbook(sheet: str, strings: str = "<sst/>", **more: bytes) -> bytes:
    """The least that openpyxl takes for a workbook, with the given XML."""
    main, office = (
        "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
        "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    )
    package = "http://schemas.openxmlformats.org/package/2006"
    kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    files = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kinds}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kinds}.worksheet+xml"/>'
        f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kinds}.sharedStrings+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet name="a" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{office}/worksheet" Target="worksheets/sheet1.xml"/>'
        f'<Relationship Id="r2" Type="{office}/sharedStrings" Target="sharedStrings.xml"/></Relationships>',
        "xl/sharedStrings.xml": strings.replace("<sst", f'<sst xmlns="{main}"', 1),
        "xl/worksheets/sheet1.xml": sheet.replace("<worksheet", f'<worksheet xmlns="{main}"', 1),
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in files.items():
            packed.writestr(name, text)
        for name, content in more.items():
            packed.writestr(name, content)
    return out.getvalue()


def _sheet(*rows: str) -> str:
    head = '<row r="1"><c r="A1" t="inlineStr"><is><t>text</t></is></c></row>'
    return f"<worksheet><sheetData>{head}{''.join(rows)}</sheetData></worksheet>"


def _cell(text: str, row: int = 2) -> str:
    return f'<row r="{row}"><c r="A{row}" t="inlineStr"><is><t>{text}</t></is></c></row>'


def _laughs() -> bytes:
    entities = '<!ENTITY a "湯湯湯湯湯湯湯湯湯湯">' + "".join(
        f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(9)
    )
    return workbook(f"<!DOCTYPE x [{entities}]>" + _sheet(_cell("&j;")))


def _zeros(size: int) -> bytes:
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=9, mtime=0) as packed:
        packed.write(b"text\n")
        for _ in range(size >> 20):
            packed.write(b"0" * (1 << 20))
    return out.getvalue()


TRAPS: dict[str, Callable[[], bytes]] = {
    "zeros.csv.gz": lambda: _zeros(256 << 20),
    "bomb.xlsx": lambda: workbook(_sheet(_cell("0" * (128 << 20)))),
    "laughs.xlsx": _laughs,
    "gap.xlsx": lambda: workbook(_sheet(_cell("湯頭", 99_999_999_999))),
    "deep.jsonl": lambda: b"".join(
        b'{"text": ' + b"[" * n + b"]" * n + b"}\n" for n in (10, 300, 600, 900, 950, 990, 5000, 200_000)
    ),
    "dots.jsonl": lambda: '{"a": "湯頭非常濃郁好喝"}\n{"'.encode() + b"a." * 100_000 + b'": 1}\n',
    "depth.json": lambda: (
        b"[" + b",".join(b'{"text": ' + b'{"a":' * n + b"1" + b"}" * n + b"}" for n in (10, 300, 600, 900, 980)) + b"]"
    ),
    "number.jsonl": lambda: (
        b'{"text": "'
        + "湯".encode()
        + b'", "rating": '
        + b"9" * 4000
        + b'}\n{"text": 1e999}\n{"text": '
        + b"9" * 5000
        + b"}\n"
    ),
    "mac.csv": lambda: b"text\r" + "湯頭".encode() + b"\r" * (12 << 20),
    "strays.csv": lambda: b"text\n" + (b'"x\n' + b"y\n" * 300 + b'"z\n') * 300,
    "zip.xlsx": lambda: workbook(
        _sheet(_cell("湯")), **{"../../../tmp/escaped": b"x", "xl/media/big.bin": b"\0" * (64 << 20)}
    ),
}

# ---- Rows of hostile texts

BREAKERS = (b'"', b"'", b",", b"\t", b"\r", b"\n", b"\x00", b"\xff", b"{", b"}", b"[", b"]", b":", b"\\", b"\\u", b"\xed\xa0\x80", b"\xf0", b"PK", b"\x1f\x8b", b"PAR1", b"<", b">", b"&", b"9" * 30)  # fmt: skip
ENDINGS = (".csv", ".tsv", ".jsonl", ".json", ".parquet", ".xlsx", ".csv.gz", ".json.gz", ".jsonl.gz")
PIECES = (
    "湯頭很濃", "服務親切，", "麵不會太鹹。", "店員態度差！", "<script>alert(1)</script>", "'; DROP TABLE reviews;--", "=cmd|'/c calc'!A0", "+1+1", "@SUM(A1)",
    "\x1b]0;x\x07\x1b[2J\x1b[31m", "\x9b31m", "\u202e", "\u2066", "\u2069", "\u200b", "\ufeff", "\u2028", "\x85", "\x0b", "\x0c", "\x00", "\x01", "\x7f", '"', '""', "'", ",", "\t", "\n", "\r",
    "\r\n", "\\", "\\u0000", "_x000D_", "_xD800_", "_x0000_", "../../etc/passwd", "C:\\CON", "%00", "\ud83c", "\udf5c", "\udcff", "🍜", "\U00020bb7", "e\u0301" * 9, "ﷺ" * 5, "{", "}", "[", "]", "&lt;", "]]>",
    "https://例え.テスト/x", "0912-345-678", "NaN", "1e999", "　",
)  # fmt: skip
Rows = list[dict[str, object]]


def make_file(folder: Path, rng: random.Random) -> tuple[Path, int | None]:
    """A sound file with its number of rows, or a damaged one, of which nobody knows it."""
    ending = rng.choice(ENDINGS)
    rows = [record(rng) for _ in range(rng.choice((1, 2, 3, 8, 40)))]
    content, sound = _WRITERS[ending.removesuffix(".gz")](rows, rng)
    damaged = rng.random() < 0.6
    inside = rng.random() < 0.7
    if damaged and inside:
        content = damage(content, rng)
    if ending.endswith(".gz"):
        content = gzip.compress(content, 1)
    if damaged and not inside:
        content = damage(content, rng)
    path = folder / f"{'damaged' if damaged else 'sound'}{ending}"
    path.write_bytes(content or b"\n")
    return path, len(rows) if sound and not damaged else None


def record(rng: random.Random) -> dict[str, object]:
    """A row."""
    text = "".join(rng.choices(PIECES, k=rng.randint(0, 12)))
    odd: tuple[object, ...] = (None, 5, -1, 4.5, True, "五星", "5/5", 10**400, 1e308, [1, [2]], {"a": {"b": []}}, "x" * 300)  # fmt: skip
    return {
        "review_id": rng.choice((None, "r1", f"r{rng.random()}", *odd[1:5], rng.choice(PIECES))),
        "place": rng.choice((None, "小木屋", rng.choice(PIECES))),
        "rating": rng.choice(odd),
        "text": text if rng.random() < 0.9 else rng.choice(odd),
    }


def _delimited(delimiter: str) -> Callable[[Rows, random.Random], tuple[bytes, bool]]:
    def write(rows: Rows, rng: random.Random) -> tuple[bytes, bool]:
        out = io.StringIO(newline="")
        writer = csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator=rng.choice(("\n", "\r\n")))
        writer.writerow(rows[0])
        writer.writerows([["" if cell is None else str(cell) for cell in row.values()] for row in rows])
        text = out.getvalue()
        # Where a row is no valid text, the lines of its quoted cells are rows of their own: nobody can count them.
        return text.encode("utf-8", "surrogatepass"), not _broken(text) and "\0" not in text

    return write


def _jsonl(rows: Rows, rng: random.Random) -> tuple[bytes, bool]:
    plain = rng.random() < 0.5
    text = "".join(json.dumps(row, ensure_ascii=plain) + "\n" for row in rows)
    return text.encode("utf-8", "surrogatepass"), not _broken(text)


def _json(rows: Rows, rng: random.Random) -> tuple[bytes, bool]:
    text = json.dumps(rows, ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, 1)))
    return text.encode("utf-8", "surrogatepass"), not _broken(text)


def _broken(text: str) -> bool:
    """Whether it cannot be written as UTF-8; a file that is mostly so is refused as one of another encoding."""
    return any("\ud800" <= char <= "\udfff" for char in text)


def _parquet(rows: Rows, rng: random.Random) -> tuple[bytes, bool]:
    import pyarrow
    from pyarrow import parquet

    def cell(value: object) -> object:
        return None if value is None else str(value).encode("utf-8", "surrogatepass")

    columns = {name: pyarrow.array([cell(row[name]) for row in rows], pyarrow.binary()) for name in rows[0]}
    texts = {
        name: pyarrow.Array.from_buffers(pyarrow.string(), len(rows), array.buffers())
        for name, array in columns.items()
    }
    out = io.BytesIO()
    parquet.write_table(pyarrow.table(texts), out, compression=rng.choice(("none", "snappy", "zstd")))
    return out.getvalue(), True


def _xlsx(rows: Rows, rng: random.Random) -> tuple[bytes, bool]:
    from openpyxl import Workbook
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    def cell(value: object) -> object:
        if isinstance(value, int | float | None) and value != 10**400:
            return value
        text = ILLEGAL_CHARACTERS_RE.sub("", str(value)).encode("utf-8", "replace").decode()
        return "'" + text if text.startswith("=") else text

    book = Workbook(write_only=rng.random() < 0.5)
    sheet = book.create_sheet("x") if book.write_only else book.active
    sheet.append(list(rows[0]))
    full = True
    for row in rows:
        cells = [cell(value) for value in row.values()]
        sheet.append(cells)
        full = full and any(value not in (None, "") for value in cells)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue(), full  # an empty row of a sheet is no row


_WRITERS: dict[str, Callable[[Rows, random.Random], tuple[bytes, bool]]] = {
    ".csv": _delimited(","),
    ".tsv": _delimited("\t"),
    ".jsonl": _jsonl,
    ".json": _json,
    ".parquet": _parquet,
    ".xlsx": _xlsx,
}


def damage(content: bytes, rng: random.Random) -> bytes:
    """Bytes flipped, cut, doubled, moved in, taken out."""
    out = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 5, 30))):
        at, size = rng.randrange(len(out) + 1), rng.choice((1, 2, 9, 60))
        match rng.randrange(6):
            case 0:
                out[at : at + size] = bytes(rng.randrange(256) for _ in out[at : at + size])
            case 1:
                del out[at : at + size]
            case 2:
                out[at:at] = rng.choice(BREAKERS) * rng.choice((1, 1, 3))
            case 3:
                out[at:at] = out[at : at + size]
            case 4:
                del out[at:]
            case _ if out:
                out[at % len(out)] ^= 1 << rng.randrange(8)
        if not out:
            break
    return bytes(out)


# ---- Reading them


def read_rows(path: Path, rows: int | None) -> str:
    """`read`, `rejected rows` or `refused`; AssertionError for a row that is lost or a message of several lines."""
    count = rejected = 0
    try:
        for row in read(path):
            count += 1
            assert row.row == count, f"row {row.row} comes as number {count}"
            if isinstance(row, RawReview):
                for cell in (row.text, row.id or "", row.place or "", row.source or ""):
                    cell.encode()
                    assert "\0" not in cell, f"row {row.row} holds NUL"
            else:
                rejected += 1
                assert row.reason and row.detail, f"row {row.row} is rejected without a reason"
                row.raw.encode()
    except InputError as error:
        text = str(error)
        assert text.isprintable(), f"an error of several lines or with control characters: {text!r}"
        assert len(text) < 2_000, f"an error of {len(text)} characters: {text[:300]}"
        assert rows is None, f"a sound file is refused: {error}"
        return "refused"
    assert rows is None or count == rows, f"{count} rows of {rows}"
    return "rejected rows" if rejected else "read"
