"""Columns that no table of names has: known by content, by path in nested JSON, or refused."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builder.core.errors import InputError
from builder.reviews.sources import Columns, Row, Understanding, read
from builder.reviews.sources.cells import RawReview

HEADER = ["編號", "分店", "顧客留言", "星等", "店家回覆"]
ROWS = [
    ["a1", "站前", "湯頭很濃郁，服務人員也很親切", "5", "謝謝您的支持與鼓勵，歡迎再度光臨我們的小店"],
    ["a2", "站前", "等了快一個小時才上菜，不會再來", "1", "非常抱歉讓您久候，我們會加強人力與訓練"],
]


def texts(items: list[Row]) -> list[str]:
    assert all(isinstance(item, RawReview) for item in items)
    return [item.text for item in items if isinstance(item, RawReview)]


def comma_separated(*lines: list[str]) -> str:
    out = io.StringIO()
    csv.writer(out).writerows(lines)
    return out.getvalue()


def files(folder: Path) -> list[Path]:
    (folder / "in.csv").write_text(comma_separated(HEADER, *ROWS), encoding="utf-8")
    objects = [dict(zip(HEADER, row, strict=True)) for row in ROWS]
    (folder / "in.json").write_text(json.dumps(objects), encoding="utf-8")
    (folder / "in.jsonl").write_text("\n".join(map(json.dumps, objects)), encoding="utf-8")
    pq.write_table(pa.Table.from_pylist(objects), folder / "in.parquet")
    book = openpyxl.Workbook()
    for line in (HEADER, *ROWS):
        book.active.append(line)
    book.save(folder / "in.xlsx")
    return sorted(folder.glob("in.*"))


def test_the_text_column_is_known_by_its_content_in_every_format(tmp_path: Path) -> None:
    paths = files(tmp_path)
    assert len(paths) == 5
    for path in paths:
        understood = Understanding()
        items = list(read(path, understood=understood))
        assert texts(items) == [row[2] for row in ROWS], path
        assert understood.by_content
        assert understood.columns == {
            "text": "顧客留言", "id": "編號", "place": None, "rating": "星等", "source": None,
            "group": None, "date": None,
        }  # fmt: skip
    assert understood.encoding == ""


def test_a_name_that_is_known_goes_before_content(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("備註欄位,text\n這一欄的內容比較長所以不算,好吃\n", encoding="utf-8")
    understood = Understanding()
    assert texts(list(read(path, understood=understood))) == ["好吃"]
    assert (understood.by_content, understood.encoding) == (False, "UTF-8")


def test_an_index_without_a_name_as_pandas_writes_it_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(",說法\n0,湯頭很濃郁真的很好喝\n", encoding="utf-8")
    assert texts(list(read(path))) == ["湯頭很濃郁真的很好喝"]


@pytest.mark.parametrize(
    "content",
    [
        "甲,乙\n湯頭很濃郁服務也好,餐點好吃環境也乾淨\n",
        "1,湯頭很濃郁服務也好\n2,餐點好吃環境也乾淨\n",
        "湯頭很濃郁服務也好\n餐點好吃環境也乾淨\n",
        "店,菜\n站前,牛肉麵\n",
        "編號,店家回覆\n1,謝謝您的支持與鼓勵歡迎再度光臨\n",
    ],
    ids=["two alike", "no header", "one column without header", "short cells", "answers alone"],
)
def test_what_could_be_another_thing_is_left_to_the_user(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"no text column; columns found: .*; name it with --text-column"):
        list(read(path))


# ---- nested JSON


def test_values_inside_objects_are_named_by_their_path(tmp_path: Path) -> None:
    rows = [
        {"key": "a1", "meta": {"shop": "鼎香園", "stars": 4}, "body.zh": "湯頭很好", "user": {"name": "王先生"}},
        {"key": "a2", "meta": {}, "body.zh": "麵也好吃"},
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    columns = Columns(text="body.zh", id="key", rating="meta.stars")
    assert list(read(path, columns)) == [
        RawReview(1, "湯頭很好", "a1", None, "鼎香園", 4.0),
        RawReview(2, "麵也好吃", "a2"),
    ]
    with pytest.raises(
        InputError, match=r"no column 'meta'; columns found: key, meta\.shop, meta\.stars, body\.zh, user"
    ):
        list(read(path, Columns(text="meta")))


def test_paths_are_guessed_where_they_can_only_be_one_thing(tmp_path: Path) -> None:
    row = {"review": {"id": "r1", "text": "湯頭很好", "rating": 5}, "user": {"id": "u1", "name": "王先生"}}
    place = {"restaurant": {"name": "鼎香園", "rating": 4.3}}
    path = tmp_path / "a.json"
    path.write_text(json.dumps([row | place]), encoding="utf-8")
    assert list(read(path)) == [RawReview(1, "湯頭很好", "r1", None, "鼎香園", 5.0)]
    path.write_text(json.dumps([row]), encoding="utf-8")
    assert list(read(path)) == [RawReview(1, "湯頭很好", "r1", None, None, 5.0)], "the name of a user is no place"
