"""Files that nobody should write, through every reader: `python tests/measure/fuzz.py [--count 10000] [--seed 1] [--keep FOLDER]`.

A file is made from its number alone: rows of hostile texts in one of the formats, as they are (then every row must come back as a review or
as a rejection with a reason), or damaged: bytes flipped, cut, doubled, swapped, quotes and brackets strewn in; or a trap made on purpose
(bombs, depth, cells of ten megabytes, endless lines). Whatever it is, a reader gives rows, numbered without a gap, and may end with one clear
`InputError`; anything else, ten seconds of one core, or two gigabytes, is a failure and named with its number. Files are read in processes of their own,
so that one that crashes is told too.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import random
import resource
import signal
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any

SECONDS = 10
MEMORY = 2 << 30
ENDINGS = (".csv", ".tsv", ".jsonl", ".json", ".parquet", ".xlsx", ".csv.gz", ".json.gz", ".jsonl.gz")
PIECES = (
    "湯頭很濃", "服務親切，", "麵不會太鹹。", "店員態度差！", "<script>alert(1)</script>", "'; DROP TABLE reviews;--", "=cmd|'/c calc'!A0", "+1+1", "@SUM(A1)",
    "\x1b]0;x\x07\x1b[2J\x1b[31m", "\x9b31m", "\u202e", "\u2066", "\u2069", "\u200b", "\ufeff", "\u2028", "\x85", "\x0b", "\x0c", "\x00", "\x01", "\x7f", '"', '""', "'", ",", "\t", "\n", "\r",
    "\r\n", "\\", "\\u0000", "_x000D_", "_xD800_", "_x0000_", "../../etc/passwd", "C:\\CON", "%00", "\ud83c", "\udf5c", "\udcff", "🍜", "\U00020bb7", "e\u0301" * 9, "ﷺ" * 5, "{", "}", "[", "]", "&lt;", "]]>",
    "https://例え.テスト/x", "0912-345-678", "NaN", "1e999", "　",
)  # fmt: skip
BREAKERS = (b'"', b"'", b",", b"\t", b"\r", b"\n", b"\x00", b"\xff", b"{", b"}", b"[", b"]", b":", b"\\", b"\\u", b"\xed\xa0\x80", b"\xf0", b"PK", b"\x1f\x8b", b"PAR1", b"<", b">", b"&", b"9" * 30)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="where files that fail are kept")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    started = time.monotonic()
    told, failures = run(options.count, options.seed, options.workers, options.keep)
    print(
        f"{options.count} files in {time.monotonic() - started:.0f} s: "
        + ", ".join(f"{what} {n}" for what, n in sorted(told.items()))
    )
    for failure in failures:
        print("FAILED", failure)
    raise SystemExit(bool(failures))


def run(
    count: int, seed: int, workers: int, keep: Path | None = None, traps: bool = True
) -> tuple[Counter[str], list[str]]:
    """What became of the files, and those that failed; a process that dies is begun anew behind the file that killed it."""
    told: Counter[str] = Counter()
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        left = [range(first, min(first + 50, count)) for first in range(0, count, 50)]
        while left:
            chunks, left = left, []
            with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
                for chunk, future in [
                    (chunk, pool.submit(read_all, chunk, seed, folder, keep, traps)) for chunk in chunks
                ]:
                    try:
                        some, bad = future.result()
                        told.update(some)
                        failures += bad
                    except BrokenProcessPool:
                        if len(chunk) == 1:
                            failures.append(f"file {chunk[0]} of seed {seed}: the process died")
                        else:
                            left += [range(one, one + 1) for one in chunk]
    return told, failures


def read_all(numbers: range, seed: int, folder: str, keep: Path | None, traps: bool) -> tuple[Counter[str], list[str]]:
    limit_memory()
    told: Counter[str] = Counter()
    failures = []
    for number in numbers:
        name, content, rows = made(number, seed, traps)
        path = Path(folder) / f"{number}-{name}"
        path.write_bytes(content)
        try:
            told[outcome(path, rows)] += 1
        except BaseException as error:
            failures.append(
                f"file {number} of seed {seed} ({name}, {len(content)} bytes): {type(error).__name__}: {str(error)[:200]}"
            )
            if keep:
                keep.mkdir(parents=True, exist_ok=True)
                (keep / path.name).write_bytes(content)
        finally:
            path.unlink()
    return told, failures


def limit_memory() -> None:
    """What is loaded takes address space too, so the limit counts from here."""
    import openpyxl  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, resource.RLIM_INFINITY))


def outcome(path: Path, rows: int | None) -> str:
    """`read`, `rejected`, `refused`; AssertionError for a row that is lost, and whatever the reader should not have raised."""
    from builder.errors import InputError
    from builder.sources import read
    from builder.sources.rows import RawReview

    numbers, rejected = [], 0
    before = signal.signal(signal.SIGPROF, _too_long)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        for row in read(path):
            numbers.append(row.row)
            if isinstance(row, RawReview):
                for cell in (row.text, row.id or "", row.place or "", row.source or ""):
                    cell.encode()
                    assert "\0" not in cell, f"row {row.row} holds NUL"
            else:
                rejected += 1
                assert row.reason and row.detail, f"row {row.row} is rejected without a reason"
                row.raw.encode()
    except InputError as error:
        assert "\n" not in str(error) and str(error).isprintable(), (
            f"an error of several lines or with control characters: {str(error)!r}"
        )
        assert rows is None, f"a sound file is refused: {error}"
        return "refused"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    assert numbers == list(range(1, len(numbers) + 1)), "rows are numbered without a gap"
    assert rows is None or len(numbers) == rows, f"{len(numbers)} rows of {rows}"
    return "rejected rows" if rejected else "read"


def _too_long(number: int, frame: Any) -> None:
    raise TimeoutError(f"more than {SECONDS} s of one core")


# ---- making files


def made(number: int, seed: int, traps: bool = True) -> tuple[str, bytes, int | None]:
    """Name, bytes, and how many rows there are in it, None where it was damaged. A function of number and seed."""
    rng = random.Random(f"{seed} {number}")
    if traps and number % 200 == 7:
        name, trap = TRAPS[(number // 200) % len(TRAPS)]
        return name, trap(rng), None
    ending = ENDINGS[number % len(ENDINGS)]
    rows = [record(rng) for _ in range(rng.choice((1, 2, 3, 8, 40)))]
    content, sound = written(ending, rows, rng)
    if rng.random() < 0.6:
        plain = gzip.decompress(content) if ending.endswith(".gz") and rng.random() < 0.7 else content
        plain = damaged(plain, rng)
        content = (
            gzip.compress(plain, 1)
            if plain is not content and content[:2] == b"\x1f\x8b" and rng.random() < 0.9
            else plain
        )
        return f"damaged{ending}", content or b"\n", None
    return f"sound{ending}", content, len(rows) if sound else None


def record(rng: random.Random) -> dict[str, object]:
    text = "".join(rng.choices(PIECES, k=rng.randint(0, 12)))
    odd: tuple[object, ...] = (
        None,
        5,
        -1,
        4.5,
        True,
        "五星",
        "5/5",
        10**400,
        1e308,
        [1, [2]],
        {"a": {"b": []}},
        "x" * 300,
    )
    return {
        "review_id": rng.choice((None, "r1", f"r{rng.random()}", *odd[1:5], rng.choice(PIECES))),
        "place": rng.choice((None, "小木屋", rng.choice(PIECES))),
        "rating": rng.choice(odd),
        "text": text if rng.random() < 0.9 else rng.choice(odd),
    }


def written(ending: str, rows: list[dict[str, object]], rng: random.Random) -> tuple[bytes, bool]:
    """The file, and whether a reader can tell how many rows it has: texts with lone surrogates cannot be written in some formats."""
    packed = ending.removesuffix(".gz")
    content, sound = _WRITERS[packed](rows, rng)
    return (gzip.compress(content, 1) if ending.endswith(".gz") else content), sound


def _delimited(delimiter: str) -> Callable[[list[dict[str, object]], random.Random], tuple[bytes, bool]]:
    def write(rows: list[dict[str, object]], rng: random.Random) -> tuple[bytes, bool]:
        out = io.StringIO(newline="")
        writer = csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator=rng.choice(("\n", "\r\n")))
        writer.writerow(rows[0])
        writer.writerows([["" if cell is None else str(cell) for cell in row.values()] for row in rows])
        text = out.getvalue()
        # Where a row is no valid text, the lines of its quoted cells are rows of their own: nobody can count them beforehand.
        sound = not _broken(text) and "\0" not in text
        return text.encode("utf-8", "surrogatepass"), sound

    return write


def _jsonl(rows: list[dict[str, object]], rng: random.Random) -> tuple[bytes, bool]:
    ascii_ = rng.random() < 0.5
    text = "".join(json.dumps(row, ensure_ascii=ascii_) + "\n" for row in rows)
    return text.encode("utf-8", "surrogatepass"), not _broken(text)


def _json(rows: list[dict[str, object]], rng: random.Random) -> tuple[bytes, bool]:
    ascii_ = rng.random() < 0.5
    text = json.dumps(rows, ensure_ascii=ascii_, indent=rng.choice((None, 1)))
    return text.encode("utf-8", "surrogatepass"), not _broken(text)


def _broken(text: str) -> bool:
    """Whether it cannot be written as UTF-8; a file that is mostly so is refused as one of another encoding."""
    return any("\ud800" <= char <= "\udfff" for char in text)


def _parquet(rows: list[dict[str, object]], rng: random.Random) -> tuple[bytes, bool]:
    import pyarrow
    from pyarrow import parquet

    def cell(value: object) -> object:
        return None if value is None else str(value).encode("utf-8", "surrogatepass")

    columns = {name: pyarrow.array([cell(row[name]) for row in rows], pyarrow.binary()) for name in rows[0]}
    table = pyarrow.table(
        {name: pyarrow.Array.from_buffers(pyarrow.string(), len(rows), one.buffers()) for name, one in columns.items()}
    )
    out = io.BytesIO()
    parquet.write_table(table, out, compression=rng.choice(("none", "snappy", "zstd")))
    return out.getvalue(), True


def _xlsx(rows: list[dict[str, object]], rng: random.Random) -> tuple[bytes, bool]:
    from openpyxl import Workbook
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    book = Workbook(write_only=rng.random() < 0.5)
    sheet = book.create_sheet("x") if book.write_only else book.active
    sheet.append(list(rows[0]))
    full = True
    for row in rows:
        cells = [
            value if isinstance(value, int | float | None) and value != 10**400 else str(value)
            for value in row.values()
        ]
        cells = [
            ILLEGAL_CHARACTERS_RE.sub("", one).encode("utf-8", "replace").decode() if isinstance(one, str) else one
            for one in cells
        ]
        sheet.append(["'" + one if isinstance(one, str) and one.startswith("=") else one for one in cells])
        full = full and any(cell not in (None, "") for cell in cells)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue(), full  # an empty row of a sheet is no row


_WRITERS = {
    ".csv": _delimited(","),
    ".tsv": _delimited("\t"),
    ".jsonl": _jsonl,
    ".json": _json,
    ".parquet": _parquet,
    ".xlsx": _xlsx,
}


def damaged(content: bytes, rng: random.Random) -> bytes:
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


# ---- traps


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


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    main()
