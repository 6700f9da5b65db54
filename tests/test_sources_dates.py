"""Dates of reviews: what a cell may say, and what becomes of it."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import pytest

from builder.reviews import sources
from builder.reviews.sources.cells import Order, RawReview, date_of, find_order


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("2024-03-01", "2024-03-01"), ("2024/3/1 12:30", "2024-03-01"), ("2024.3.1", "2024-03-01"),
        ("2024年3月1日", "2024-03-01"), ("2024年3月", "2024-03"), ("民國113年3月1日", "2024-03-01"),
        ("2024-03-01T23:10:00.000Z", "2024-03-01"), ("２０２４／３／１", "2024-03-01"), ("1709251200", "2024-03-01"),
        (1709251200, "2024-03-01"), (1709251200000, "2024-03-01"), (1709251200.0, "2024-03-01"),
        (date(2024, 3, 1), "2024-03-01"), (datetime(2024, 3, 1, 8), "2024-03-01"), (datetime.max, None),
        ("3 個月前", None), ("2024", None), ("2024-13-01", None), ("2024-02-30", None), ("113年3月", None), ("", None),
        (None, None), (True, None), (5, None), (float("nan"), None), ([2024, 3, 1], None), ("9" * 400, None),
        ("2024-3-123", "2024-03"), ("Mar 1, 2024", "2024-03-01"), ("1 March 2024", "2024-03-01"),
        ("March 2024", "2024-03"), ("Fri Mar 01 2024 10:00:00 GMT+0800", "2024-03-01"), ("Foo 1, 2024", None),
        ("03/25/2024 10:00", "2024-03-25"), ("25.3.2024", "2024-03-25"), ("03/01/2024", None), ("13/13/2024", None),
    ],
)  # fmt: skip
def test_a_date_is_read_however_it_is_written_and_what_is_none_says_nothing(cell: object, expected: str | None) -> None:
    assert date_of(cell) == expected


@pytest.mark.parametrize("name", ["評論日期", "消費日期", "用餐时间"])
def test_a_column_of_dates_is_known_by_its_name_and_kept(name: str, tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(f"評論內容,{name}\n湯頭很好,2024/3/1\n服務很慢,上個月\n", encoding="utf-8")
    assert [(row.text, row.date) for row in sources.read(path) if isinstance(row, RawReview)] == [
        ("湯頭很好", "2024-03-01"),
        ("服務很慢", None),
    ]


@pytest.mark.parametrize(
    ("cells", "order"),
    [
        (["01/03/2026", None, "01/25/2026"], "month"), (["03-01-2026", 5, "25-01-2026 10:00"], "day"),
        (["01/03/2026"] * 2_000 + ["13/03/2026"], "day"), (["01/03/2026", "02/04/2026"], None),
        (["2026-01-03"] * 1_001 + ["01/25/2026"], None), ([], None),
    ],
)  # fmt: skip
def test_the_order_of_dates_is_what_one_of_them_shows(cells: list[object], order: Order | None) -> None:
    assert find_order(cells) == order


@pytest.mark.parametrize(("last", "first"), [("01/25/2026", "2026-01-03"), ("25/01/2026", "2026-03-01"), ("", None)])
@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_a_date_with_its_year_last_is_read_as_the_others_of_its_column_show(
    tmp_path: Path, ending: str, last: str, first: str | None
) -> None:
    """The one that shows it stands behind the rows that are looked at to know the columns."""
    days = ["01/03/2026"] * 1_200 + [last]
    lines = [f"湯頭很好,{day}" if ending == ".csv" else f'{{"text": "湯頭很好", "date": "{day}"}}' for day in days]
    path = tmp_path / f"r{ending}"
    path.write_text("\n".join(["text,date"] * (ending == ".csv") + lines), encoding="utf-8")
    assert next(row.date for row in sources.read(path) if isinstance(row, RawReview)) == first
