"""Files of reviews in all formats: rows of hostile texts as they are, or with damaged bytes.

In: chance. Out: a file. Of a sound one every row must come back as a review or as a rejection with a reason.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from collections.abc import Callable
from pathlib import Path

from measure.fuzzing.case import Family
from measure.fuzzing.changes import change_bytes
from measure.fuzzing.reading import load_readers, prepare_nothing, use_file, write_case

ENDINGS = (".csv", ".tsv", ".jsonl", ".json", ".parquet", ".xlsx", ".csv.gz", ".json.gz", ".jsonl.gz")
PIECES = (
    "湯頭很濃", "服務親切，", "麵不會太鹹。", "店員態度差！", "<script>alert(1)</script>", "'; DROP TABLE reviews;--", "=cmd|'/c calc'!A0", "+1+1", "@SUM(A1)",
    "\x1b]0;x\x07\x1b[2J\x1b[31m", "\x9b31m", "\u202e", "\u2066", "\u2069", "\u200b", "\ufeff", "\u2028", "\x85", "\x0b", "\x0c", "\x00", "\x01", "\x7f", '"', '""', "'", ",", "\t", "\n", "\r",
    "\r\n", "\\", "\\u0000", "_x000D_", "_xD800_", "_x0000_", "../../etc/passwd", "C:\\CON", "%00", "\ud83c", "\udf5c", "\udcff", "🍜", "\U00020bb7", "e\u0301" * 9, "ﷺ" * 5, "{", "}", "[", "]", "&lt;", "]]>",
    "https://例え.テスト/x", "0912-345-678", "NaN", "1e999", "　",
)  # fmt: skip
Rows = list[dict[str, object]]


def make(base: Path, folder: Path, rng: random.Random) -> None:
    """A sound file, or a damaged one."""
    ending = rng.choice(ENDINGS)
    rows = [record(rng) for _ in range(rng.choice((1, 2, 3, 8, 40)))]
    content, sound = _WRITERS[ending.removesuffix(".gz")](rows, rng)
    damaged = rng.random() < 0.6
    inside = rng.random() < 0.7
    if damaged and inside:
        content = change_bytes(content, rng)
    if ending.endswith(".gz"):
        content = gzip.compress(content, 1)
    if damaged and not inside:
        content = change_bytes(content, rng)
    rows_due = len(rows) if sound and not damaged else None
    write_case(folder, f"{'damaged' if damaged else 'sound'}{ending}", content, rng, rows_due)


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

FAMILY = Family("reviews", "rows of hostile texts in nine formats, as they are or with damaged bytes", 2_000, prepare_nothing, load_readers, make, use_file)  # fmt: skip
