"""Files made on purpose, to cost time or memory: bombs, depth, cells of megabytes, endless lines.

In: nothing but chance. Out: a file of one of the formats, of any size; `bombs` keeps to 1 MB, for which the promise is.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import zipfile
from collections.abc import Callable


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


def _laughs(rng: random.Random) -> bytes:
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


def _lines(size: int) -> bytes:
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=9, mtime=0) as packed:
        packed.write(b"text\n")
        for _ in range(size >> 20):
            packed.write(b"\n" * (1 << 20))
    return out.getvalue()


def _column(value: str, rows: int) -> bytes:
    import pyarrow
    from pyarrow import parquet

    out = io.BytesIO()
    parquet.write_table(
        pyarrow.table(
            {"text": pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * rows, pyarrow.int32()), [value])}
        ),
        out,
        compression="zstd",
    )
    return out.getvalue()


TRAPS: tuple[tuple[str, Callable[[random.Random], bytes]], ...] = (
    ("cell.csv", lambda rng: b'text\n"' + "湯".encode() * (10 << 20 >> 1) + b'"\n'),
    ("cell.jsonl", lambda rng: json.dumps({"text": "湯" * (5 << 20)}, ensure_ascii=False).encode() + b"\n"),
    ("cell.json", lambda rng: json.dumps([{"text": "湯" * (5 << 20)}], ensure_ascii=False).encode()),
    ("cell.xlsx", lambda rng: workbook(_sheet(_cell("湯" * (10 << 20 >> 2))))),
    ("cells.parquet", lambda rng: _column("湯" * 400_000, 1500)),
    ("zeros.csv.gz", lambda rng: _zeros(1 << 30)),
    ("lines.csv.gz", lambda rng: _lines(1 << 29)),
    ("lines.jsonl.gz", lambda rng: _lines(1 << 29)),
    ("bomb.xlsx", lambda rng: workbook(_sheet(_cell("0" * (500 << 20))))),
    ("laughs.xlsx", _laughs),
    ("gap.xlsx", lambda rng: workbook(_sheet(_cell("湯頭", 99_999_999_999)))),
    (
        "wide.xlsx",
        lambda rng: workbook(_sheet('<row r="2"><c r="ZZZZZZZ2" t="inlineStr"><is><t>湯頭</t></is></c></row>')),
    ),
    (
        "deep.jsonl",
        lambda rng: b"".join(
            b'{"text": ' + b"[" * n + b"]" * n + b"}\n" for n in (10, 300, 600, 900, 950, 990, 5000, 200_000)
        ),
    ),
    ("deep.json", lambda rng: b"[" + b"[" * rng.choice((400, 950, 990, 100_000)) + b"]"),
    (
        "depth.json",
        lambda rng: (
            b"["
            + b",".join(b'{"text": ' + b'{"a":' * n + b"1" + b"}" * n + b"}" for n in (10, 300, 600, 900, 980))
            + b"]"
        ),
    ),
    (
        "number.jsonl",
        lambda rng: (
            b'{"text": "'
            + "湯".encode()
            + b'", "rating": '
            + b"9" * 4000
            + b'}\n{"text": 1e999}\n{"text": '
            + b"9" * 5000
            + b"}\n"
        ),
    ),
    ("mac.csv", lambda rng: b"text\r" + "湯頭".encode() + b"\r" * (12 << 20)),
    ("quotes.csv", lambda rng: b"text,b\n" + b'"a\n' * 200_000),
    ("quote.csv", lambda rng: b"text,b\n" + b'x,"' + b"y\n" * 3_000_000),
    ("stray.csv", lambda rng: b"text\n" + b'"x\n' + b"y\n" * 200_000 + b'"z\n'),
    ("strays.csv", lambda rng: b"text\n" + (b'"x\n' + b"y\n" * 300 + b'"z\n') * 300),
    ("line.jsonl", lambda rng: b'{"text": "' + b"x" * (70 << 20)),
    (
        "surrogates.jsonl",
        lambda rng: b"".join(b'{"text": "\\ud8%02x\xe6\xb9\xaf\\udc%02x"}\n' % (n, n) for n in range(256)),
    ),
    (
        "columns.csv",
        lambda rng: b",".join(b"c%d" % n for n in range(50_000)) + b",text\n" + b"," * 50_000 + "湯\n".encode(),
    ),
    (
        "names.json",
        lambda rng: json.dumps([{f"k{n}{m}": 1 for m in range(100)} | {"text": "湯"} for n in range(900)]).encode(),
    ),
    ("utf16.csv", lambda rng: ("text\n" + "湯頭\ud800\n" * 50).encode("utf-16", "surrogatepass")),
    (
        "zip.xlsx",
        lambda rng: workbook(
            _sheet(_cell("湯")), **{"../../../tmp/escaped": b"x", "xl/media/big.bin": b"\0" * (300 << 20)}
        ),
    ),
)
