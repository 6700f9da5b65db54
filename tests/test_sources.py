"""Every format gives the same reviews; what is broken is rejected by row or refused in one line; nothing vanishes."""

from __future__ import annotations

import contextlib
import csv
import gzip
import hashlib
import io
import json
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.core.errors import InputError
from builder.core.settings import Input
from builder.reviews.sources import FORMATS, Row, digest, opening, read
from builder.reviews.sources.cells import RawReview, RejectedRow, rating_of

RECORDS: list[dict[str, object]] = [
    {"review_id": "a1", "place": "鼎香園", "rating": 5, "text": "湯頭很濃，\n麵也好吃🍜"},
    {"review_id": "a2", "place": None, "rating": None, "text": '他說"普通"而已\t\U00020bb7'},
    {"review_id": "a3", "place": "好日子", "rating": 2.5, "text": "等太久"},
]
EXPECTED = [
    RawReview(1, "湯頭很濃，\n麵也好吃🍜", "a1", None, "鼎香園", 5.0),
    RawReview(2, '他說"普通"而已\t\U00020bb7', "a2"),
    RawReview(3, "等太久", "a3", None, "好日子", 2.5),
]


def delimited(delimiter: str) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(RECORDS[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(RECORDS)
    return out.getvalue().encode()


def parquet() -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(RECORDS), out)
    return out.getvalue()


def xlsx(rows: list[list[object]] | None = None, more: list[list[object]] | None = None) -> bytes:
    book = openpyxl.Workbook()
    for row in rows or [list(RECORDS[0]), *(list(record.values()) for record in RECORDS)]:
        book.active.append(row)
    for row in more or []:
        (book["other"] if "other" in book.sheetnames else book.create_sheet("other")).append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


CONTENT: dict[str, Callable[[], bytes]] = {
    ".csv": lambda: delimited(","),
    ".tsv": lambda: delimited("\t"),
    ".txt": lambda: delimited("\t"),
    ".jsonl": lambda: "\n".join(json.dumps(record, ensure_ascii=False) for record in RECORDS).encode(),
    ".ndjson": lambda: "".join(json.dumps(record) + "\r\n" for record in RECORDS).encode(),
    ".json": lambda: json.dumps(RECORDS, ensure_ascii=False, indent=1).encode(),
    ".parquet": parquet,
    ".xlsx": xlsx,
}


def write(folder: Path, name: str, content: bytes | str) -> Path:
    path = folder / name
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def rows(folder: Path, name: str, content: bytes | str, settings: Input | None = None) -> list[Row]:
    return list(read(write(folder, name, content), settings))


def texts(read_rows: list[Row]) -> list[str]:
    return [row.text if isinstance(row, RawReview) else f"!{row.reason}" for row in read_rows]


def refused(folder: Path, name: str, content: bytes | str, settings: Input | None = None) -> str:
    with pytest.raises(InputError) as caught:
        rows(folder, name, content, settings)
    message = str(caught.value)
    assert "\n" not in message
    assert str(folder / name) in message
    assert caught.value.fix
    return message.replace(f"{folder}/", "")


# ---- formats


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_gives_the_same_reviews(tmp_path: Path, ending: str) -> None:
    assert rows(tmp_path, f"reviews{ending}", CONTENT[ending.removesuffix(".gz")]()) == EXPECTED


@pytest.mark.parametrize("ending", FORMATS)
def test_progress_adds_up_to_the_size_of_the_file(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path, f"reviews{ending}", CONTENT[ending.removesuffix(".gz")]())
    seen: list[int] = []
    assert len(list(read(path, progress=seen.append))) == 3
    assert sum(seen) == path.stat().st_size if not ending.startswith(".xlsx") else sum(seen) > 0


def test_an_ending_is_read_in_any_case(tmp_path: Path) -> None:
    assert len(rows(tmp_path, "REVIEWS.CSV", CONTENT[".csv"]())) == 3


def test_an_unknown_ending_lists_the_known_ones(tmp_path: Path) -> None:
    message = refused(tmp_path, "reviews.doc", "text\n好吃\n")
    assert message == f"reviews.doc: unknown ending '.doc'; use one of {', '.join(FORMATS)}"
    bare = refused(tmp_path, "reviews", "text\n好吃\n")
    assert bare == f"reviews: a name without an ending; use one of {', '.join(FORMATS)}"


def test_plain_text_has_a_review_a_line_as_it_stands_there(tmp_path: Path) -> None:
    content = '湯頭很好喝，便宜；\r\n\r\n "好吃"的店|不錯 \n一句\r二句\n"'
    expected = ["湯頭很好喝，便宜；", '"好吃"的店|不錯', "一句", "二句", '"']
    assert texts(rows(tmp_path, "reviews.txt", content)) == expected
    assert texts(rows(tmp_path, "marked.txt", content.encode("utf-16"))) == expected
    invalid = "好吃\n".encode() + b"\xe5\xa5 x\n"
    assert texts(rows(tmp_path, "invalid.txt", invalid)) == ["好吃", "!encoding"]
    assert texts(rows(tmp_path, "later.txt", "好吃\n很鹹\t不會再來\n")) == ["好吃", "很鹹\t不會再來"]
    message = refused(tmp_path, "tabs.txt", "很鹹\t不會再來\n好吃\n")
    assert message.endswith("; a .txt whose first line holds a tab is a table")


def test_plain_text_that_names_its_columns_is_a_table(tmp_path: Path) -> None:
    for header in ("編號,評論", '"編號";"評論"', "評論"):
        content = "\n".join([header, *(header.replace("編號", "7").replace("評論", "好吃") for _ in "12")])
        assert texts(rows(tmp_path, "reviews.txt", content)) == ["好吃", "好吃"], header
    named = rows(tmp_path, "own.txt", "想說的,誰\n好吃,我\n", Input(text_column="想說的"))
    assert texts(named) == ["好吃"]


def test_the_digest_is_that_of_the_stored_bytes(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv.gz", "text\n好吃\n")
    assert digest(path) == hashlib.sha256(path.read_bytes()).hexdigest()


# ---- columns


@pytest.mark.parametrize(
    "name",
    [
        "text", " Text ", "REVIEW_TEXT", "Review Text", "reviewText", "content", "評論", "評論內容", "内容", "评论",
        "心得",
    ],
)  # fmt: skip
def test_usual_names_of_the_text_column_are_known(tmp_path: Path, name: str) -> None:
    assert texts(rows(tmp_path, "a.csv", f"\ufeffn,{name}\n1,好吃\n")) == ["好吃"]


def test_of_two_good_guesses_the_first_of_the_table_wins(tmp_path: Path) -> None:
    assert texts(rows(tmp_path, "a.csv", "content,text\n乙,甲\n")) == ["甲"]


def test_named_columns_go_before_guesses_and_are_not_guessed_again(tmp_path: Path) -> None:
    columns = Input(text_column="title", id_column="key", source_column="site")
    assert rows(tmp_path, "a.csv", "title,text,key,site\n好吃,別的,7,web\n", columns) == [
        RawReview(1, "好吃", "7", "web")
    ]


def test_without_a_text_column_the_error_lists_the_columns_and_the_option(tmp_path: Path) -> None:
    message = refused(tmp_path, "a.csv", "a,b c\n1,2\n")
    assert (
        message == "a.csv: no text column; columns found: a, b c; "
        "name it with --text-column, or add a header row if there is none"
    )


@pytest.mark.parametrize("role", ["text", "id", "place", "rating", "source"])
def test_a_named_column_that_does_not_exist_is_an_error(tmp_path: Path, role: str) -> None:
    message = refused(tmp_path, "a.csv", "text,b\n1,2\n", Input(**{f"{role}_column": "c"}))
    assert message == f"a.csv: no column 'c'; columns found: text, b; correct --{role}-column"


def test_a_column_whose_name_is_nearly_right_is_offered(tmp_path: Path) -> None:
    message = refused(tmp_path, "a.csv", "顧客留言,b\n湯,2\n", Input(text_column="顧客留"))
    assert message.endswith("columns found: 顧客留言, b; did you mean 顧客留言? correct --text-column")


@pytest.mark.parametrize("named", [Input(), Input(text_column="text"), Input(keep_columns=("text",))])
def test_a_name_of_two_columns_does_not_say_which_is_meant(tmp_path: Path, named: Input) -> None:
    message = refused(tmp_path, "a.csv", "text,b,text\n湯好喝,2,服務差\n", named)
    assert message == "a.csv: 2 columns are called 'text'; rename all but the one that is meant"


def test_a_name_that_is_nearly_that_of_two_columns_does_not_say_which_is_meant(tmp_path: Path) -> None:
    message = refused(tmp_path, "a.csv", "Text,text\n湯好喝,服務差\n", Input(text_column="TEXT"))
    assert message.startswith("a.csv: 2 columns are called 'TEXT': Text, text; write --text-column as the column")
    exact = rows(tmp_path, "a.csv", "Text,text\n湯好喝,服務差\n", Input(text_column="text"))
    assert texts(exact) == ["服務差"], "a name as it is written says which"


def test_objects_may_lack_keys(tmp_path: Path) -> None:
    content = '{"rating": 3}\n{"text": "好吃", "place": "鼎香園"}\n{"text": null, "content": "別的"}\n'
    assert rows(tmp_path, "a.jsonl", content) == [
        RawReview(1, "", rating=3.0),
        RawReview(2, "好吃", place="鼎香園"),
        RawReview(3, ""),
    ]


@pytest.mark.parametrize(
    ("value", "rating"),
    [
        ("5", 5), ("5.0", 5), ("4,5", 4.5), ("5 星", 5), ("５星", 5), ("4 out of 5", 4), ("4.5/5", 4.5),
        ("Rated 3 stars", 3), ("四星", 4), ("三顆星", 3), ("★★★★☆", 4), ("⭐⭐", 2), (4, 4), (2.5, 2.5), ("", None),
        ("N/A", None), (None, None), (float("nan"), None), (True, None), ("2023-05-01", None), ("-1", None),
        (1e9, None), ("1,234", None), ([5], None),
    ],
)  # fmt: skip
def test_a_rating_is_read_leniently_or_not_at_all(value: object, rating: float | None) -> None:
    assert rating_of(value) == rating


def test_texts_of_other_types_become_strings_or_are_rejected(tmp_path: Path) -> None:
    content = (
        '[{"text": 12}, {"text": 1.5}, {"text": null}, {"text": ["好"]}, {"text": {"a": 1}}, {"text": '
        'true}, {"id": 3.0, "text": "好"}]'
    )
    read_rows = rows(tmp_path, "a.json", content)
    assert texts(read_rows) == ["12", "1.5", "", "!type", "!type", "!type", "好"]
    assert read_rows[3] == RejectedRow(4, "type", "row 4: the text is of type list, not a string", "['好']")
    assert read_rows[6] == RawReview(7, "好", "3")


def test_texts_are_stored_exactly_as_given(tmp_path: Path) -> None:
    content = 'text,id\n"  好 吃\r\n\u3000", 7 \n'
    assert rows(tmp_path, "a.csv", content) == [RawReview(1, "  好 吃\r\n\u3000", "7")]


# ---- encodings


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".json", ".csv.gz"])
def test_utf_8_and_what_has_a_byte_order_mark_is_read_by_itself(tmp_path: Path, encoding: str, ending: str) -> None:
    content = CONTENT[ending.removesuffix(".gz")]().decode().encode(encoding)
    assert rows(tmp_path, f"a{ending}", content) == EXPECTED


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".json"])
@pytest.mark.parametrize(
    ("encoding", "text"), [("cp950", "這家的湯很好喝，服務也不錯"), ("gb18030", "这家的汤很好喝，服务也不错")]
)
def test_a_file_in_another_encoding_is_refused_with_the_right_guess_and_read_once_named(
    tmp_path: Path, encoding: str, text: str, ending: str
) -> None:
    records = [{"text": text}] * 20
    csv_text = "text\n" + f"{text}\n" * 20
    lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    content = {".csv": csv_text, ".jsonl": lines, ".json": json.dumps(records, ensure_ascii=False)}[ending]
    message = refused(tmp_path, f"a{ending}", content.encode(encoding))
    first = {".csv": ("line 2", 5), ".jsonl": ("line 1", 10), ".json": ("line 1", 11)}[ending]
    assert message.startswith(
        f"a{ending} {first[0]}: most of the file is not UTF-8; first invalid byte at byte {first[1]}; "
        f"it decodes as {encoding}"
    )
    assert f"add --encoding {encoding}" in message
    assert texts(rows(tmp_path, f"a{ending}", content.encode(encoding), Input(encoding=encoding))) == [text] * 20


def test_a_wrongly_named_encoding_is_refused_too(tmp_path: Path) -> None:
    message = refused(tmp_path, "a.csv", "text\n" + "這家的湯很好喝，服務也不錯\n" * 9, Input(encoding="ascii"))
    assert "most of the file is not ASCII; first invalid byte at byte 5; it decodes as utf-8" in message


@pytest.mark.parametrize("name", ["klingon", "base64"])
def test_an_unknown_encoding_is_an_error(tmp_path: Path, name: str) -> None:
    assert f"unknown encoding '{name}'; --encoding takes such as utf-8, cp950" in refused(
        tmp_path, "a.csv", "text\n好\n", Input(encoding=name)
    )


def test_a_csv_row_with_invalid_bytes_is_rejected_alone(tmp_path: Path) -> None:
    content = b"text,id\n" + "湯很好喝,1\n".encode() + b'"\xe5\xa5,\xff",2\n' + '"麵\n也好",3\n'.encode()
    assert rows(tmp_path, "a.csv", content) == [
        RawReview(1, "湯很好喝", "1"),
        RejectedRow(2, "encoding", "row 2: invalid UTF-8 at byte 24", '"\\xe5\\xa5,\\xff",2\n'),
        RawReview(3, "麵\n也好", "3"),
    ]


def test_json_rows_with_invalid_bytes_are_rejected_alone(tmp_path: Path) -> None:
    good = '{"text": "湯很好喝"}'.encode()
    bad = b'{"text": "\xff"}'
    lines = rows(tmp_path, "a.jsonl", good + b"\n" + bad + b"\n" + good)
    array = rows(tmp_path, "a.json", b"[" + good + b"," + bad + b"," + good + b"]")
    assert texts(lines) == texts(array) == ["湯很好喝", "!encoding", "湯很好喝"]
    assert lines[1] == RejectedRow(2, "encoding", f"row 2: invalid UTF-8 at byte {len(good) + 11}", '{"text": "\\xff"}')
    assert array[1] == RejectedRow(2, "encoding", f"row 2: invalid UTF-8 at byte {len(good) + 12}", '{"text": "\\xff"}')


def test_a_parquet_cell_with_invalid_bytes_rejects_its_row_alone(tmp_path: Path) -> None:
    cells = pa.array([b"\xe5\xa5\xbd", b"\xff", None], pa.binary())
    table = pa.table({"text": pa.Array.from_buffers(pa.string(), 3, cells.buffers())})
    pq.write_table(table, tmp_path / "a.parquet")
    assert texts(list(read(tmp_path / "a.parquet"))) == ["好", "!encoding", ""]


def test_a_lone_surrogate_in_a_json_escape_is_rejected_because_no_database_takes_it(tmp_path: Path) -> None:
    read_rows = rows(tmp_path, "a.jsonl", '{"text": "好\\ud83d"}\n{"text": "\\ud83c\\udf5c"}\n')
    assert read_rows == [
        RejectedRow(1, "encoding", "row 1: invalid Unicode at character 1 of a cell", "好\\ud83d"),
        RawReview(2, "🍜"),
    ]


def test_rows_with_nul_are_rejected_alone(tmp_path: Path) -> None:
    assert texts(rows(tmp_path, "a.csv", "text,x\n好,\n壞\0,\n好,\0\n好,\n")) == ["好", "!nul", "!nul", "好"]
    assert texts(rows(tmp_path, "a.jsonl", '{"text": "好\0"}\n{"text": "\\u0000"}\n{"text": "好"}\n')) == [
        "!nul",
        "!nul",
        "好",
    ]
    assert texts(rows(tmp_path, "a.json", '[{"text": "好\0"}, {"text": "好"}]')) == ["!nul", "好"]


# ---- broken files


def test_rows_with_too_many_or_too_few_fields_are_rejected_with_their_text(tmp_path: Path) -> None:
    read_rows = rows(tmp_path, "a.csv", "text,id\n好,1\n好,便宜,2\n\n好\n好,3\n")
    assert read_rows[1:3] == [
        RejectedRow(2, "fields", "row 2: 3 fields where the header has 2, line 3", "好,便宜,2\n"),
        RejectedRow(3, "fields", "row 3: 1 field where the header has 2, line 5", "好\n"),
    ]
    assert texts(read_rows) == ["好", "!fields", "!fields", "好"]


def test_what_is_kept_of_a_rejected_row_is_bounded(tmp_path: Path) -> None:
    row = rows(tmp_path, "a.csv", f"text\n{'好,' * 5_000}\n好\n")[0]
    assert isinstance(row, RejectedRow)
    assert len(row.raw) == 2_000


def test_a_stray_quote_costs_its_own_row_and_not_those_it_joined(tmp_path: Path) -> None:
    content = 'text,id\n"開頭有引號,1\n好一,2\n好二,3\n"好三",4\n"好"的店,5\n好四,6\n'
    assert texts(rows(tmp_path, "a.csv", content)) == ["!quote", "好一", "好二", "好三", "!quote", "好四"]


def test_a_quote_that_never_closes_names_the_line_where_it_opened(tmp_path: Path) -> None:
    message = refused(tmp_path, "a.csv", 'text,id\n好,1\n"兩\n行","壞 ""掉""\n' + "好,2\n" * 50)
    assert message.startswith("a.csv line 4: a quote opens here and does not close before the end of the file")


def test_a_cell_of_ten_megabytes_is_read(tmp_path: Path) -> None:
    assert texts(rows(tmp_path, "a.csv", f'text\n"{"好" * 10_000_000}"\n')) == ["好" * 10_000_000]


def test_old_mac_line_ends_are_read(tmp_path: Path) -> None:
    assert texts(rows(tmp_path, "a.csv", 'text,id\r好,1\r"兩\r行",2\r')) == ["好", "兩\r行"]


def test_a_bad_json_line_is_rejected_alone_with_its_line(tmp_path: Path) -> None:
    read_rows = rows(tmp_path, "a.jsonl", '{"text": "好"}\n\n{"text": \n[1]\n' + "[" * 100_000 + '\n{"text": "好"}')
    assert texts(read_rows) == ["好", "!json", "!json", "!json", "好"]
    assert read_rows[1] == RejectedRow(2, "json", "row 2: bad JSON, line 3 (Expecting value)", '{"text": ')
    assert read_rows[2] == RejectedRow(3, "json", "row 3: list where an object should be", "[1]")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[{"text": "好"}, {"text": "', "a.json row 2, byte 27: broken JSON: Unterminated string"),
        ('[{"text": "好"}', "a.json row 1, byte 16: broken JSON: the file ends inside the array"),
        ('[{"text": "好"} {"text": "好"}]', "a.json row 1, byte 17: broken JSON: '{' after an element"),
        ('[{"text": "好"},]', "a.json row 2, byte 17: broken JSON: Expecting value"),
        ('[{"text": "好"}] x', "a.json row 1, byte 18: broken JSON: 'x' after the end"),
        ('"好"', "a.json row 0, byte 0: broken JSON: it begins with '\"', not with '[' or '{'"),
        ('[{"text": 好}' + " " * 3_000_000 + "]", "a.json row 1, byte 10: broken JSON: Expecting value"),
    ],
)
def test_a_broken_json_array_is_refused_with_row_and_byte(tmp_path: Path, content: str, message: str) -> None:
    assert refused(tmp_path, "a.json", content).startswith(message)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_a_json_array_is_read_the_same_wherever_its_pieces_are_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr("builder.reviews.sources.opening._CHUNK", size)
    content = json.dumps(
        [{"text": "麵🍜"}, 1234567, -1.5e10, {"text": "🍜好", "rating": 4}, None, "字"], ensure_ascii=False
    )
    content = content.replace("好", "好\\ud83c\\udf5c")
    assert texts(rows(tmp_path, "a.json", content)) == ["麵🍜", "!json", "!json", "🍜好🍜", "!json", "!json"]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.json", "a.parquet", "a.xlsx"])
def test_a_file_of_no_bytes_is_refused(tmp_path: Path, name: str) -> None:
    assert (
        refused(tmp_path, name, "") == f"{name}: empty file: no rows; give a file with a header and at least one review"
    )


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "text\n"),
        ("a.tsv", "text"),
        ("a.csv", "\n\n"),
        ("a.csv.gz", ""),
        ("a.tsv.gz", "text\n"),
        ("a.jsonl", "\n \n"),
        ("a.jsonl.gz", ""),
        ("a.json", "[ ]"),
    ],
)
def test_a_file_without_rows_is_refused(tmp_path: Path, name: str, content: str) -> None:
    assert refused(tmp_path, name, content) == f"{name}: no rows; give a file with at least one review under its header"


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_a_blank_json_file_is_refused(tmp_path: Path, name: str) -> None:
    assert "broken JSON: the file is blank" in refused(tmp_path, name, "\n\n")


@pytest.mark.parametrize("ending", [".parquet", ".xlsx"])
def test_a_table_without_rows_is_refused(tmp_path: Path, ending: str) -> None:
    out = io.BytesIO()
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), out)
    assert "no rows" in refused(tmp_path, f"a{ending}", {".parquet": out.getvalue(), ".xlsx": xlsx([["text"]])}[ending])


@pytest.mark.parametrize(("ending", "what"), [(".parquet", "broken Parquet file"), (".xlsx", "broken XLSX file")])
def test_what_is_no_workbook_or_table_or_is_cut_is_refused(tmp_path: Path, ending: str, what: str) -> None:
    whole = CONTENT[ending]()
    for content in (b"text\n", whole[: len(whole) // 2], whole[:-30], b"\0" * 100):
        assert what in refused(tmp_path, f"a{ending}", content)


def test_an_old_excel_file_is_told_apart(tmp_path: Path) -> None:
    assert "an old Excel file (.xls) or one with a password" in refused(
        tmp_path, "a.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600
    )


@pytest.mark.parametrize(("at", "byte"), [(6, 99), (8, 1), (10, 77)], ids=["version", "password", "method"])
def test_a_workbook_packed_as_nobody_here_can_unpack_is_named(tmp_path: Path, at: int, byte: int) -> None:
    """Bytes of the entries in the directory of the zip file: the version needed, the flags, the compression."""
    content = xlsx()
    pieces = content.split(b"PK\x01\x02")
    damaged = b"PK\x01\x02".join(
        [pieces[0], *(piece[: at - 4] + bytes([byte]) + piece[at - 3 :] for piece in pieces[1:])]
    )
    assert "broken XLSX file" in refused(tmp_path, "a.xlsx", damaged)


@pytest.mark.parametrize(
    ("content", "kind"),
    [(gzip.compress(b"text\n"), "gzip"), (xlsx(), "zip or Excel"), (parquet(), "Parquet")],
    ids=["gzip", "XLSX", "Parquet"],
)
def test_binary_data_under_a_text_ending_is_told_apart(tmp_path: Path, content: bytes, kind: str) -> None:
    assert f"holds {kind} data, not text" in refused(tmp_path, "a.csv", content)


def test_broken_gzip_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(delimited(",") * 100)
    for name, content in {
        "cut": whole[:-20],
        "plain": b"text\n",
        "flipped": whole[:40] + b"\0\0\0\0" + whole[44:],
    }.items():
        (tmp_path / f"{name}.csv.gz").write_bytes(content)
        with pytest.raises(InputError, match="compressed bytes: broken gzip data"):
            list(read(tmp_path / f"{name}.csv.gz"))


def test_missing_files_and_folders_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    for name, what in {"none.csv": "no such file", "folder.csv": "is a directory"}.items():
        with pytest.raises(InputError, match=what):
            read(tmp_path / name)


def test_a_workbook_with_a_style_that_is_not_there_writes_nothing_to_standard_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book = openpyxl.Workbook()
    book.active.append(["text"])
    book.active.append(["湯很鹹"])
    book.save(tmp_path / "sound.xlsx")
    with ZipFile(tmp_path / "sound.xlsx") as sound, ZipFile(tmp_path / "odd.xlsx", "w") as odd:
        for name in sound.namelist():
            content = sound.read(name)
            if name == "xl/styles.xml":
                assert b'xfId="0" builtinId' in content or b'builtinId="0"' in content
                content = re.sub(rb"(<cellStyle [^>]*xfId=)\"0\"", rb'\1"9"', content)
            odd.writestr(name, content)
    with contextlib.suppress(InputError):
        list(read(tmp_path / "odd.xlsx"))
    assert capsys.readouterr().out == ""


def test_a_workbook_with_a_gap_an_escape_and_a_second_sheet_loses_nothing_silently(tmp_path: Path) -> None:
    content = xlsx(
        [["id", "text"], [1, "好_x000D_\n吃"], [None, None], [2, "a_x005F_x0041_"], [3, None]],
        more=[["text"], ["別的"]],
    )
    assert rows(tmp_path, "a.xlsx", content) == [
        RawReview(1, "好\r\n吃", "1"),
        RawReview(2, "a_x0041_", "2"),
        RawReview(3, "", "3"),
        RejectedRow(4, "sheet", "sheet 'other' was not read: only 'Sheet' is; --sheet chooses another"),
    ]


# ---- streaming and round trips


@pytest.mark.parametrize("ending", [".csv.gz", ".jsonl", ".json", ".parquet"])
def test_memory_does_not_grow_with_the_rows(tmp_path: Path, ending: str) -> None:
    times, count = (12, 40_000) if ending == ".parquet" else (60, 12_000)  # whose rows come by thousands
    path, record = tmp_path / f"a{ending}", {"text": "這家的湯很好喝，服務也不錯" * times, "id": "r"}
    line = json.dumps(record, ensure_ascii=False)
    if ending == ".parquet":
        pq.write_table(pa.Table.from_pylist([record] * count), path)
    elif ending == ".json":
        path.write_text("[" + ",\n".join([line] * count) + "]", encoding="utf-8")
    elif ending == ".jsonl":
        path.write_text(f"{line}\n" * count, encoding="utf-8")
    else:
        path.write_bytes(gzip.compress(("text,id\n" + f"{record['text']},r\n" * count).encode(), 1))
    list(read(write(tmp_path, f"small{ending}", CONTENT[ending.removesuffix(".gz")]())))  # imports are not counted
    tracemalloc.start()
    try:
        assert sum(isinstance(row, RawReview) for row in read(path)) == count
        assert tracemalloc.get_traced_memory()[1] < 12_000_000
    finally:
        tracemalloc.stop()


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30).filter(
    lambda text: not re.search(r"\\[nrt]", text)  # in a whole column MySQL writes so for the end of a line
)


@given(st.lists(TEXT, min_size=1, max_size=5))
def test_any_text_comes_back_as_written(tmp_path_factory: pytest.TempPathFactory, given_texts: list[str]) -> None:
    folder = tmp_path_factory.mktemp("any")
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerows([["text", "n"], *([text, "1"] for text in given_texts)])
    records = [{"text": text, "n": 1} for text in given_texts]
    files = {
        "a.csv": out.getvalue(),
        "a.jsonl": "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records),
        "a.json": json.dumps(records),
    }
    for name, content in files.items():
        assert texts(rows(folder, name, content)) == given_texts


@given(st.binary(min_size=1, max_size=120), st.sampled_from([".csv", ".tsv", ".jsonl", ".json", ".parquet", ".xlsx"]))
def test_any_bytes_give_rows_or_one_clear_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, ending: str
) -> None:
    path = write(tmp_path_factory.getbasetemp(), f"any{ending}", content)
    try:
        for row in read(path):
            text = row.text if isinstance(row, RawReview) else row.detail + row.raw
            assert "\0" not in text
            text.encode()
    except InputError as error:
        assert "\n" not in str(error)
        assert str(error).encode()


def test_a_time_that_python_cannot_hold_costs_no_row(tmp_path: Path) -> None:
    """Nanoseconds, a year beyond 9999 and an unknown zone, in columns that are only looked at to find the text."""
    times = {
        "nanoseconds": pa.array([1, None], pa.timestamp("ns")),
        "year": pa.array([1 << 62, None], pa.timestamp("ms")),
        "zone": pa.array([0, None], pa.timestamp("us", tz="Nowhere/Never")),
    }
    for name, column in times.items():
        path = tmp_path / f"{name}.parquet"
        pq.write_table(pa.table({"reviews here": ["湯頭很濃而且好喝", "等了一個小時才有"], "when": column}), path)
        assert [row.text for row in read(path) if isinstance(row, RawReview)] == [
            "湯頭很濃而且好喝",
            "等了一個小時才有",
        ]
        pq.write_table(pa.table({"text": column}), path)
        rejected = next(iter(read(path)))
        assert isinstance(rejected, RejectedRow) and rejected.reason == "type"  # a Timestamp where pandas is installed


def test_the_name_of_a_file_is_made_printable_once_and_not_for_every_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    real = opening.one_line
    monkeypatch.setattr(opening, "one_line", lambda *arguments: calls.append("") or real(*arguments))
    (tmp_path / "a.csv").write_text("text\n" + "湯頭很濃\n" * 1_000, encoding="utf-8")
    assert len(list(read(tmp_path / "a.csv"))) == 1_000
    assert len(calls) < 20


def test_a_file_may_have_a_row_for_two_of_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "MOST", 10)
    opening.check_count(500, "rows", 1_000, "a")
    with pytest.raises(InputError, match=r"501 lines or more in 1,000 bytes; take out the blank lines"):
        opening.check_count(501, "lines", 1_000, "a")
