"""Small files that would become large are refused with one line, in seconds; of generated ones no row is lost."""

from __future__ import annotations

import gzip
import random
import resource
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import PUBLISHED_SAMPLE, environment, run_python
from forgeries import seal
from hostile_files import TRAPS, make_file, read_rows, workbook

from builder.core.errors import InputError
from builder.reviews.sources import delimited, opening, read, xlsx
from builder.reviews.sources.cells import RejectedRow
from builder.reviews.sources.parquet import read_chunks

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

MEMORY = 1 << 30
SECONDS = 10
READ = """
import sys
from pathlib import Path
from builder.core.errors import BuilderError
from builder.reviews.sources import read
for path in sys.argv[1:]:
    try:
        print(sum(1 for _ in read(Path(path))), "rows")
    except BuilderError as error:
        print(error)
"""
VERIFY = """
import sys
from pathlib import Path
from builder.release.verify import verify
print(*verify(Path(sys.argv[1])), sep="\\n")
"""


def limited(script: str, *paths: Path, seconds: int = SECONDS) -> list[str]:
    """What a process says, by lines. It may take `MEMORY` beyond its libraries (2 GB of addresses) and `seconds`."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY + (2 << 30), resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds + 5, resource.RLIM_INFINITY))

    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, paths)],
        env=environment() | {"OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"},
        capture_output=True,
        text=True,
        preexec_fn=limit,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def write(path: Path, texts: Any, **options: Any) -> Path:
    pq.write_table(
        pa.table({"text": pa.array(texts) if isinstance(texts, list) else texts}), path, compression="zstd", **options
    )
    return path


def lie(path: Path) -> Path:
    """The file with a footer that claims a byte in every column chunk; the pages are as they were."""

    def varint(number: int, length: int = 0) -> bytes:
        part, rest = bytes([number & 0x7F]), number >> 7
        return bytes([part[0] | 0x80]) + varint(rest, length - 1) if rest or length > 1 else part

    content = path.read_bytes()
    size = int.from_bytes(content[-8:-4], "little")
    footer, about = content[-8 - size : -8], pq.ParquetFile(path).metadata
    for position in range(about.num_columns):
        claim = varint(2 * about.row_group(0).column(position).total_uncompressed_size)
        assert claim in footer
        footer = footer.replace(claim, varint(2, len(claim)))
    path.write_bytes(content[: -8 - size] + footer + content[-8:])
    return path


def test_a_parquet_file_that_unpacks_to_gigabytes_is_refused(tmp_path: Path) -> None:
    """By references, dictionaries, a footer that claims less than its pages, common beginnings, unknown columns."""
    stays = pa.DictionaryArray.from_arrays(pa.array([0] * 5_000, pa.int32()), ["湯" * 100_000])
    long = pa.DictionaryArray.from_arrays(pa.array([0] * 300, pa.int32()), pa.array(["湯" * 1_000_000]))
    large = pa.DictionaryArray.from_arrays(pa.array([0] * 4096, pa.int32()), pa.array(["湯" * 1_000_000]))
    begun: list[object] = ["湯" * 100_000 + str(number) for number in range(400)]
    delta = {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}}
    unnamed = tmp_path / "unnamed.parquet"
    pq.write_table(pa.table({f"column {i}": long for i in range(26)}), unnamed, compression="zstd", store_schema=False)
    paths = [
        write(tmp_path / "referred.parquet", ["湯" * 100_000] * 512),
        write(tmp_path / "dictionary.parquet", stays),
        write(tmp_path / "struct.parquet", pa.StructArray.from_arrays([stays], ["inner"])),
        lie(write(tmp_path / "claimed.parquet", large)),
        lie(write(tmp_path / "dense.parquet", large, store_schema=False)),
        write(tmp_path / "begun.parquet", begun, **delta),
        unnamed,
    ]
    assert all(path.stat().st_size < 20_000 for path in paths)
    for path, answer in zip(paths, limited(READ, *paths), strict=True):
        assert path.name in answer and "unpacks to over 100 times its size" in answer


def test_a_parquet_file_that_contradicts_itself_does_not_end_the_process(tmp_path: Path) -> None:
    """pyarrow ends the process where it is asked for the metadata of such a column."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["湯很好喝"], "tags": [["甲"]]}), path)
    optional, required = b"\x25\x02\x18\x07element", b"\x25\x00\x18\x07element"
    assert optional in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(optional, required))
    broken = tmp_path / "b.parquet"
    pq.write_table(pa.table({"text": [["甲"]]}), broken)
    broken.write_bytes(broken.read_bytes().replace(optional, required))
    read, refused = limited(READ, path, broken)
    assert read == "1 rows" and "broken Parquet file" in refused


@pytest.mark.parametrize("harm", ["short", "structures", "endless"])
def test_a_footer_that_cannot_be_read_is_a_value_error(harm: str, tmp_path: Path) -> None:
    footer = {"short": b"\x15", "endless": b"\x15" + b"\xff" * 100, "structures": b"\x1c" * 1_001}[harm]
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(ValueError, match="its footer"):
        read_chunks(path, {"text"})


def test_the_footer_says_of_columns_what_pyarrow_says(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    columns = {"text": ["湯" * i for i in range(200)], "a.b": list(range(200)), "tags": [["甲"] * 3] * 200}
    pq.write_table(pa.table(columns), path, row_group_size=60, compression="zstd")
    about = pq.ParquetFile(path).metadata
    due = [about.row_group(group).column(i) for group in range(about.num_row_groups) for i in range(3)]
    assert len(due) == 12
    chunks = read_chunks(path, set(columns))
    assert [(chunk.unpacked, chunk.packed) for chunk in chunks] == [
        (column.total_uncompressed_size, column.total_compressed_size) for column in due
    ]
    assert [chunk.column for chunk in chunks] == [*columns] * 4
    assert {chunk.column for chunk in read_chunks(path, {"a.b"})} == {"a.b"}


@pytest.mark.parametrize("name", ["a.tsv.gz", "a.csv", "a.jsonl"])
def test_a_file_of_thousands_of_columns_is_refused(name: str, tmp_path: Path) -> None:
    """Of 11 kB of tabs, packed, twelve seconds went into looking for names in eleven million cells."""
    path = tmp_path / name
    if name == "a.jsonl":
        path.write_text("{" + ", ".join(f'"{i}": 1' for i in range(20_000)) + "}\n", encoding="utf-8")
    else:
        line = ("\t" if name == "a.tsv.gz" else ",").join(map(str, range(20_000))).encode() + b"\n"
        path.write_bytes(gzip.compress(line) if name.endswith(".gz") else line)
    with pytest.raises(InputError, match="20,000 columns; no spreadsheet has over 16,384"):
        list(read(path))


def test_rows_of_one_text_again_and_again_are_read_where_they_are_few(tmp_path: Path) -> None:
    few = write(tmp_path / "few.parquet", ["湯很鹹"] * 50_000)
    many = write(tmp_path / "many.parquet", ["湯很鹹"] * 1_000_000)
    blank = tmp_path / "blank.csv.gz"
    blank.write_bytes(gzip.compress(b"text\na\n" + b"\n" * 5_000_000))
    assert many.stat().st_size < 10_000
    read_few, refused, refused_blank = limited(READ, few, many, blank)
    assert read_few == "50000 rows"
    assert ": 1,000,000 rows or more in " in refused and "lines or more in" in refused_blank


def sheet(path: Path, rows: str, strings: str = "<sst/>") -> Path:
    head = '<row r="1"><c r="A1" t="inlineStr"><is><t>text</t></is></c></row>'
    path.write_bytes(workbook(f"<worksheet><sheetData>{head}{rows}</sheetData></worksheet>", strings))
    return path


def test_a_sheet_of_millions_of_empty_cells_or_strings_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    cells = sheet(tmp_path / "a.xlsx", '<row r="2">' + "<c/>" * 3_000_000 + "</row>")
    strings = sheet(tmp_path / "b.xlsx", "", "<sst>" + "<si/>" * 3_000_000 + "</sst>")
    assert [line for line in limited(READ, cells, strings) if "elements of XML" not in line] == []


def test_a_sheet_whose_rows_reach_far_to_the_right_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx, "MOST_CELLS", 1_000_000)
    row = '<row r="{0}"><c r="A{0}" t="inlineStr"><is><t>湯</t></is></c><c r="ZZZ{0}"><v>1</v></c></row>'
    path = sheet(tmp_path / "a.xlsx", "".join(row.format(number) for number in range(2, 200)))
    with pytest.raises(InputError, match=r"row 56 of the sheet: its rows reach to column 18,278.*delete"):
        list(read(path))


def test_a_sheet_of_broken_xml_is_one_line_with_either_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sheet(tmp_path / "a.xlsx", "<row></c>")
    for lxml in ("True", "False"):
        monkeypatch.setenv("OPENPYXL_LXML", lxml)
        done = run_python("-c", READ, path)
        assert "broken XLSX file" in done.stdout


def test_a_small_json_array_of_millions_of_elements_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "MOST", 10_000)
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(b"[" + b"0," * 100_000 + b"0]"))
    with pytest.raises(InputError, match="10,001 rows or more in "):
        list(read(tmp_path / "a.json.gz"))


def test_a_json_array_of_broken_rows_takes_no_longer_for_each_row(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"[" + b'"\xe6\xb9\xaf\xe6\xb9\xaf\xff",' * 50_000 + b"0]")
    started = time.process_time()
    rows = list(read(tmp_path / "a.json"))
    assert time.process_time() - started < 10
    assert len(rows) == 50_001
    details = [row.detail for row in rows if isinstance(row, RejectedRow)]
    assert details[0].endswith("at byte 8") and details[49_999].endswith(f"at byte {10 * 49_999 + 8}")


def test_quotes_that_join_line_after_line_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "AGAIN", 10_000)
    (tmp_path / "a.csv").write_bytes(b"text\n" + b'a","c\n' * 2_000 + b'"b\n')
    with pytest.raises(InputError, match=r"line \d+: quotes that do not pair join line after line; write a quote"):
        list(read(tmp_path / "a.csv"))


def test_a_release_with_a_parquet_bomb_has_other_rows_and_is_not_read_whole(tmp_path: Path) -> None:
    from builder.release import parquet_files

    release = Path(shutil.copytree(PUBLISHED_SAMPLE, tmp_path / "release"))
    victim = release / "parquet" / "valid-silver.parquet"
    row = pq.read_table(victim).to_pylist()[0] | {"text": "湯" * 100_000}
    layout = 2 if "source" not in row else 3
    pq.write_table(pa.Table.from_pylist([row] * 3000, schema=parquet_files.schema(layout)), victim, compression="zstd")
    assert victim.stat().st_size < 100_000
    seal(release)
    assert "valid-silver.parquet: holds other reviews than data/" in "\n".join(limited(VERIFY, release))


# ---- generated files


@pytest.mark.filterwarnings("ignore")
def test_hundreds_of_generated_files_are_read_or_refused_and_lose_no_row(tmp_path: Path) -> None:
    outcomes: Counter[str] = Counter()
    for number in range(300):
        path, rows = make_file(tmp_path, random.Random(f"reviews 9 {number}"))
        outcomes[read_rows(path, rows)] += 1
    assert outcomes["refused"] > 15 and outcomes["read"] + outcomes["rejected rows"] > 15, outcomes


def test_a_trap_costs_neither_time_nor_memory_nor_rows(tmp_path: Path) -> None:
    """Each is read in one process that may take what SECURITY.md promises."""
    paths = [tmp_path / name for name in TRAPS]
    for path in paths:
        path.write_bytes(TRAPS[path.name]())
    script = (
        "import sys, time; from pathlib import Path; from hostile_files import read_rows\n"
        "for path in sys.argv[1:]:\n"
        "    began = time.process_time()\n"
        "    print(read_rows(Path(path), None), time.process_time() - began, sep='\\t')"
    )
    answers = [line.split("\t") for line in limited(script, *paths, seconds=10 * len(paths))]
    assert len(answers) == len(TRAPS) >= 10
    assert {outcome for outcome, _ in answers} <= {"read", "rejected rows", "refused"}
    slow = [path.name for path, (_, seconds) in zip(paths, answers, strict=True) if float(seconds) > 10]
    assert not slow
