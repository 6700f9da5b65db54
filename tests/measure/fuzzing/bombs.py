"""Small files that become large, by ratio: every kind with sizes by chance, in files of 1 MB at most; and the traps.

In: chance. Out: a file. The kinds are what readers cost time or memory with: bytes packed away, references, run lengths,
blank lines, depth, width, quotes.
"""

from __future__ import annotations

import gzip
import io
import random
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure.fuzzing.case import Family
from measure.fuzzing.reading import load_readers, prepare_nothing, use_file, write_case
from measure.fuzzing.traps import TRAPS, workbook

MOST = 1 << 20
Bomb = Callable[[random.Random], tuple[str, bytes]]


def make(base: Path, folder: Path, rng: random.Random) -> None:
    """A bomb of some kind; one in ten is a trap."""
    if rng.random() < 0.1:
        name, trap = rng.choice(TRAPS)
        write_case(folder, name, trap(rng), rng)
        return
    while True:
        name, content = rng.choice(BOMBS)(rng)
        if len(content) <= MOST:
            write_case(folder, name, content, rng)
            return


def size(rng: random.Random, most: int, least: int = 1) -> int:
    """A size between two, as often small as large."""
    return int(least * (most / least) ** rng.random())


def repeat(part: bytes, length: int) -> bytes:
    """So many bytes of a repeated part."""
    return part * max(1, length // len(part))


PARTS = (
    b"\n", b"\r", b"\r\n", b" ", b"\t", b",", b'"', b'""', b'","', b'"\n', b'a"\n', b'a","b\n', b'"a\n', b"\x00", b"0", b"\xff", b"\xe6\xb9\xaf", b"\xe6\xb9\xaf\n", b"a,b\n", b"\xef\xbb\xbf", b"\x0c\n", b"\xc2\x85", b"\xe2\x80\xa8",
    b"[", b"{", b"[]", b"{},", b"[],", b"0,", b"null,", b'"",', b'{"text":"\xe6\xb9\xaf"}\n', b'{"text":"\xe6\xb9\xaf"},', b'{"a":', b'"\\ud83c",', b'"\xff",', b"\\", b'\\"', b"9", b"-", b"1e5,",
)  # fmt: skip
STARTS = {
    ".csv": (b"text\n", b"text,b\n", b'text\n"', b'text,b\nx,"', b""),
    ".tsv": (b"text\n", b"text\tb\n", b'"', b""),
    ".jsonl": (b'{"text": "\xe6\xb9\xaf"}\n', b'{"text": "', b'{"text": ', b""),
    ".json": (b"[", b'[{"text": "\xe6\xb9\xaf"},', b'[{"text": "', b'[{"text": ', b'{"rows": [', b""),
}


def packed(rng: random.Random) -> tuple[str, bytes]:
    """A repeated part in gzip, of up to 400 MB."""
    ending = rng.choice(list(STARTS))
    part, length = rng.choice(PARTS), size(rng, 400 << 20, 1 << 20)
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=9, mtime=0) as file:
        file.write(rng.choice(STARTS[ending]))
        block = repeat(part, 1 << 20)
        for _ in range(max(1, length // len(block))):
            file.write(block)
        file.write(rng.choice((b"", b"]", b'"}]', b'"\n')))
    content = out.getvalue()
    if rng.random() < 0.1:
        content = gzip.compress(content)
    if rng.random() < 0.1:
        content += rng.choice((content, b"\x00" * 100, b"\x1f\x8b", b"junk"))
    return f"packed{ending}.gz", content


def plain(rng: random.Random) -> tuple[str, bytes]:
    """A repeated part, or two that take turns, as they are."""
    ending = rng.choice(list(STARTS))
    part = rng.choice(PARTS) + (rng.choice(PARTS) * rng.choice((1, 1, 30, 300)) if rng.random() < 0.5 else b"")
    ends = (b"", b"]", b'"', b'"}]', b"\n")
    return f"plain{ending}", rng.choice(STARTS[ending]) + repeat(part, size(rng, MOST - 2_000, 1_000)) + rng.choice(
        ends
    )


def deep(rng: random.Random) -> tuple[str, bytes]:
    """JSON nested deep, in one row or in many."""
    opening, closing = rng.choice(((b"[", b"]"), (b'{"a":', b"}"), (b'[{"a":', b"}]")))
    depth = size(rng, 80_000)
    row = b'{"text": ' + opening * depth + b"1" + closing * (depth if rng.random() < 0.8 else 0) + b"}"
    rows = [row] * max(1, min(size(rng, 3_000), (MOST - 2_000) // len(row)))
    if rng.random() < 0.5:
        return "deep.jsonl", b"\n".join(rows)
    return "deep.json", b"[" + b",".join(rows) + b"]"


def wide(rng: random.Random) -> tuple[str, bytes]:
    """Many columns: of one header, or new ones with every row."""
    columns = size(rng, 100_000)
    if rng.random() < 0.4:
        names = b",".join(b"c%d" % number if rng.random() < 0.9 else b"text" for number in range(columns))
        row = rng.choice((b"," * (columns - 1), b"", b"\xe6\xb9\xaf"))
        return "wide.csv", (names + b"\n" + repeat(row + b"\n", size(rng, MOST)))[: MOST - 1]
    columns = min(columns, 5_000)
    rows, fresh = max(1, 90_000 // columns), rng.random() < 0.5
    nested = rng.random() < 0.3
    objects = []
    for row in range(rows):
        pairs = b",".join(b'"k%d": 1' % (number + row * columns * fresh) for number in range(columns))
        objects.append(b'{"text": "\xe6\xb9\xaf", "in": {%s}}' % pairs if nested else b'{"text": 1, %s}' % pairs)
    if rng.random() < 0.5:
        return "wide.jsonl", b"\n".join(objects)
    return "wide.json", b"[" + b",".join(objects) + b"]"


def sheets(rng: random.Random) -> tuple[str, bytes]:
    """A workbook of repeated cells, rows or strings, with references that reach far."""
    column = rng.choice(("B", "Z", "ZZ", "XFD", "ZZZ", "ZZZZ"))
    cells = (
        '<c r="A{n}" t="inlineStr"><is><t>湯</t></is></c>', "<c/>", '<c r="{col}{n}"><v>1</v></c>', '<c t="s"><v>0</v></c>', "<row/>",
        '<c r="A{n}" t="inlineStr"><is><r><t>湯</t></r><r><t>頭</t></r></is></c>', '<c r="{n}A"/>', '<c r="A{n}" s="5"><v>1</v></c>', " ", "<!-- a -->", "<?a b?>", "<c><f>A1</f><v>1</v></c>",
    )  # fmt: skip
    count, cell = size(rng, 700_000), rng.choice(cells)
    long = "湯" * size(rng, 30_000)
    strings = rng.choice(("<sst/>", "<sst>" + f"<si><t>{long}</t></si>" * size(rng, 3_000) + "</sst>", "<sst>" + "<si/>" * count + "</sst>"))  # fmt: skip
    start = '<row r="1"><c r="A1" t="inlineStr"><is><t>text</t></is></c></row>'
    if rng.random() < 0.5:
        body = f'<row r="2">{cell.format(n=2, col=column) * count}</row>'
    else:
        few, far = min(count, 20_000), cells[2]
        body = "".join(
            f'<row r="{n}">{cell.format(n=n, col=column)}{far.format(n=n, col=column)}</row>' for n in range(2, few + 2)
        )
    return "sheets.xlsx", workbook(f"<worksheet><sheetData>{start}{body}</sheetData></worksheet>", strings)


def references(rng: random.Random) -> tuple[str, bytes]:
    """A Parquet file of references to long texts, of run lengths, or of long common beginnings."""
    import pyarrow
    from pyarrow import parquet

    rows, length = size(rng, 3_000_000), size(rng, 3_000_000)
    texts = pyarrow.array(["湯" * length, "麵" * size(rng, 1_000)][: rng.choice((1, 2))])
    options: dict[str, Any] = {"compression": rng.choice(("zstd", "gzip", "snappy", "none"))}
    if rng.random() < 0.2:
        few = min(rows, (60 << 20) // (3 * length) + 1)
        column: Any = pyarrow.array([f"{'湯' * length}{number}" for number in range(few)])
        options |= {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}}
    else:
        indices = pyarrow.array([0] * rows if rng.random() < 0.5 else [n % len(texts) for n in range(rows)])
        column = pyarrow.DictionaryArray.from_arrays(indices.cast(pyarrow.int32()), texts)
    columns = {"text": column}
    if rng.random() < 0.3:
        columns |= {f"c{number}": pyarrow.nulls(len(column)) for number in range(size(rng, 200))}
    if rng.random() < 0.3:
        columns["place"] = column
    if rng.random() < 0.3:
        options["row_group_size"] = size(rng, len(column), min(len(column), 1 + len(column) // 500))
    if rng.random() < 0.3:
        options["data_page_size"] = size(rng, 1 << 20, 100)
    out = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), out, **options)
    return "references.parquet", out.getvalue()


def archive(rng: random.Random) -> tuple[str, bytes]:
    """A workbook whose parts are bombs."""
    part = zlib.compress(b"\0" * size(rng, 100 << 20), 9) if rng.random() < 0.2 else b" " * size(rng, 200 << 20)
    name = rng.choice(("xl/styles.xml", "xl/media/a.bin", "docProps/core.xml", "xl/theme/theme1.xml", "a.xml"))
    sheet = '<row r="1"><c r="A1" t="inlineStr"><is><t>text</t></is></c></row><row r="2"><c r="A2"><v>1</v></c></row>'
    return "archive.xlsx", workbook(f"<worksheet><sheetData>{sheet}</sheetData></worksheet>", **{name: part})


BOMBS: tuple[Bomb, ...] = (packed, packed, plain, plain, plain, deep, wide, sheets, sheets, references, references, archive)  # fmt: skip
FAMILY = Family("bombs", "files of up to 1 MB that become large: packed, deep, wide, repeated, referred to", 700, prepare_nothing, load_readers, make, use_file)  # fmt: skip
