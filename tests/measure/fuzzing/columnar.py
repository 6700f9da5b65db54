"""Parquet files of any schema, layout, encoding and compression, whole or with broken pages and footers.

In: chance. Out: a .parquet file.
"""

from __future__ import annotations

import datetime
import decimal
import io
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure.fuzzing.case import Family
from measure.fuzzing.changes import BREAKERS, change_bytes
from measure.fuzzing.reading import load_readers, prepare_nothing, use_file, write_case
from measure.fuzzing.reviews import PIECES

NAMES = ("text", "review_text", "review_id", "id", "place", "rating", "stars", "source", "評論", "content", "x", "", "a.b", "text.list", "é\n", "\x1b[31m", "meta")  # fmt: skip


def make(base: Path, folder: Path, rng: random.Random) -> None:
    """A file; half of them are damaged, most of these in the footer."""
    import pyarrow

    try:
        content = _file(rng)
    except (pyarrow.ArrowException, OSError, ValueError):  # a combination that pyarrow does not write
        content = _file(random.Random(rng.random()), plain=True)
    if rng.random() < 0.5:
        content = _damaged(content, rng)
    write_case(folder, "columns.parquet", content, rng)


def _file(rng: random.Random, plain: bool = False) -> bytes:
    import pyarrow
    from pyarrow import parquet

    rows = rng.choice((0, 1, 3, 40, 3_000))
    names = [rng.choice(NAMES) for _ in range(rng.choice((0, 1, 2, 3, 6)))]
    if rng.random() < 0.8:
        names.insert(rng.randrange(len(names) + 1), "text")
    arrays = [
        _texts(rng, rows) if name == "text" and (plain or rng.random() < 0.6) else _column(rng, rows, plain)
        for name in names
    ]
    table = pyarrow.Table.from_arrays(arrays, names=names) if arrays else pyarrow.table({})
    if rng.random() < 0.2:
        metadata = {"pandas": rng.choice(("{", "{}", "[" * 5_000, '{"columns": 5}')), "x": "y" * 9_000, "": ""}
        table = table.replace_schema_metadata(metadata)
    options: dict[str, Any] = {}
    if not plain:
        options = {
            "compression": rng.choice(("none", "snappy", "gzip", "brotli", "lz4", "zstd")),
            "use_dictionary": rng.random() < 0.5,
            "data_page_version": rng.choice(("1.0", "2.0")),
            "version": rng.choice(("1.0", "2.4", "2.6")),
            "row_group_size": rng.choice((1, 2, 100, 100_000)) if rows < 100 else 1_000,
            "data_page_size": rng.choice((1, 100, 1 << 20)),
            "write_statistics": rng.random() < 0.5,
            "store_schema": rng.random() < 0.7,
            "write_page_checksum": rng.random() < 0.3,
            "write_page_index": rng.random() < 0.3,
        }
        if not options["use_dictionary"] and rng.random() < 0.5:
            encodings = ("PLAIN", "DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", "BYTE_STREAM_SPLIT", "RLE")  # fmt: skip
            options["column_encoding"] = rng.choice(encodings)
    out = io.BytesIO()
    parquet.write_table(table, out, **options)
    return out.getvalue()


def _texts(rng: random.Random, rows: int) -> Any:
    import pyarrow

    def text() -> bytes | None:
        cell = "".join(rng.choices(PIECES, k=rng.randint(0, 6)))
        return None if rng.random() < 0.1 else cell.encode("utf-8", rng.choice(("surrogatepass", "replace")))

    array = pyarrow.array([text() for _ in range(rows)], pyarrow.binary())
    return pyarrow.Array.from_buffers(pyarrow.string(), rows, array.buffers())


def _column(rng: random.Random, rows: int, plain: bool) -> Any:
    """A column of any type; nested ones hold others."""
    import pyarrow

    kinds = SCALARS if plain else (*SCALARS, *NESTED)
    kind, values = rng.choice(kinds)
    holes = rng.choice((0.0, 0.1, 1.0))
    cells = [None if rng.random() < holes else rng.choice(values) for _ in range(rows)]
    return pyarrow.array(cells, kind(pyarrow))


_DAYS = (datetime.date(1, 1, 1), datetime.date(2020, 2, 29), datetime.date(9999, 12, 31))
_TIMES = (datetime.datetime(1970, 1, 1), datetime.datetime(2262, 4, 11), datetime.datetime(1678, 1, 1), datetime.datetime(2020, 2, 29, 23, 59, 59, 999999))  # fmt: skip
_EDGES = (0, 1, -1, 5, 127, -128)
_WORDS = ("湯頭很濃", "", "a", "x" * 300)
SCALARS: tuple[tuple[Callable[[Any], Any], tuple[Any, ...]], ...] = (
    (lambda pa: pa.string(), _WORDS),
    (lambda pa: pa.large_string(), _WORDS),
    (lambda pa: pa.string_view(), _WORDS),
    (lambda pa: pa.dictionary(pa.int32(), pa.string()), _WORDS),
    (lambda pa: pa.binary(), (b"\xff\xfe", b"", b"a\x00")),
    (lambda pa: pa.large_binary(), (b"\xff\xfe", b"")),
    (lambda pa: pa.binary(2), (b"\xff\xfe", b"\x00\x00")),
    (lambda pa: pa.bool_(), (True, False)),
    (lambda pa: pa.int8(), _EDGES),
    (lambda pa: pa.uint64(), (0, (1 << 64) - 1)),
    (lambda pa: pa.int64(), (0, -(1 << 63), 5)),
    (lambda pa: pa.float16(), (0.5, float("nan"), float("inf"))),
    (lambda pa: pa.float64(), (4.5, float("nan"), float("-inf"), 1e308, -0.0)),
    (lambda pa: pa.decimal128(38, 0), (decimal.Decimal(10**37), decimal.Decimal(4))),
    (lambda pa: pa.decimal128(5, 2), (decimal.Decimal("4.50"), decimal.Decimal("-999.99"))),
    (lambda pa: pa.decimal256(76, 10), (decimal.Decimal(10) ** 60, decimal.Decimal("0.1"))),
    (lambda pa: pa.date32(), _DAYS),
    (lambda pa: pa.date64(), _DAYS),
    (lambda pa: pa.timestamp("s"), _TIMES[:1]),
    (lambda pa: pa.timestamp("us", tz="Asia/Taipei"), _TIMES),
    (lambda pa: pa.timestamp("us", tz="Nowhere/Never"), _TIMES[:1]),
    (lambda pa: pa.timestamp("ns"), (0, (1 << 63) - 1, -(1 << 62))),
    (lambda pa: pa.timestamp("ms"), (0, (1 << 62), -(1 << 62))),
    (lambda pa: pa.time32("ms"), (datetime.time(23, 59),)),
    (lambda pa: pa.time64("ns"), (0, 86_399_999_999_999, 1)),
    (lambda pa: pa.duration("ns"), (0, 1, (1 << 62))),
    (lambda pa: pa.duration("s"), (0, (1 << 53))),
    (lambda pa: pa.null(), (None,)),
)
NESTED: tuple[tuple[Callable[[Any], Any], tuple[Any, ...]], ...] = (
    (lambda pa: pa.list_(pa.string()), (["湯"], [], [None, "a"])),
    (lambda pa: pa.list_(pa.list_(pa.int8())), ([[1], []], [], [None])),
    (lambda pa: pa.large_list(pa.string()), (["湯"], [])),
    (lambda pa: pa.list_(pa.int8(), 2), ([1, 2],)),
    (lambda pa: pa.struct({"text": pa.string(), "b": pa.int8()}), ({"text": "湯", "b": 1}, {"text": None, "b": None})),
    (lambda pa: pa.struct({"a": pa.struct({"b": pa.list_(pa.string())})}), ({"a": {"b": ["湯"]}}, {"a": None})),
    (lambda pa: pa.map_(pa.string(), pa.int8()), ([("a", 1)], [])),
    (lambda pa: pa.list_(pa.struct({"a": pa.timestamp("ns")})), ([{"a": (1 << 63) - 1}], [])),
    (lambda pa: pa.list_(pa.binary()), ([b"\xff"], [])),
    (lambda pa: pa.struct({"text": pa.dictionary(pa.int8(), pa.string())}), ({"text": "湯"},)),
    (lambda pa: pa.list_(pa.decimal128(9, 2)), ([decimal.Decimal("1.50")],)),
)


def _damaged(content: bytes, rng: random.Random) -> bytes:
    """Bytes changed in the footer, in the pages, in the length of the footer, or in the mark at the end."""
    length = struct.unpack("<I", content[-8:-4])[0]
    start = len(content) - 8 - length
    pages, footer, end = content[:start], content[start:-8], content[-8:]
    match rng.randrange(7):
        case 0 | 1:
            footer = _flipped(footer, rng)
        case 2:
            footer = change_bytes(footer, rng)
        case 3:
            pages = _flipped(pages, rng)
        case 4:
            odd = (0, 1, length - 1, length + 1, (1 << 31) - 1, (1 << 32) - 1, len(content))
            return pages + footer + struct.pack("<I", rng.choice(odd)) + rng.choice((b"PAR1", b"PARE", b"XXXX"))
        case 5:
            return change_bytes(content, rng)
        case _:
            pages = pages[: rng.randrange(len(pages) + 1)] + rng.choice(BREAKERS)
    if rng.random() < 0.8:
        end = struct.pack("<I", len(footer)) + b"PAR1"
    return pages + footer + end


def _flipped(content: bytes, rng: random.Random) -> bytes:
    """The same length, with one to some bytes another value: what a parser does not notice at once."""
    out = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 4))):
        if out:
            out[rng.randrange(len(out))] = rng.choice((0, 1, 2, 127, 128, 255, rng.randrange(256)))
    return bytes(out)


FAMILY = Family("parquet", "Parquet: any schema, layout, encoding and compression, with broken pages and footers", 2_000, prepare_nothing, load_readers, make, use_file)  # fmt: skip
