"""Dates of reviews: what a cell may say, and what becomes of it."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import pytest

from builder import sources
from builder.sources.dates import date_of
from builder.sources.rows import RawReview


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
        ("2024-3-123", "2024-03"),
    ],
)  # fmt: skip
def test_a_date_is_read_however_it_is_written_and_what_is_none_says_nothing(cell: object, expected: str | None) -> None:
    assert date_of(cell) == expected


def test_a_column_of_dates_is_known_by_its_name_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("評論內容,評論日期\n湯頭很好,2024/3/1\n服務很慢,上個月\n", encoding="utf-8")
    assert [(row.text, row.date) for row in sources.read(path) if isinstance(row, RawReview)] == [
        ("湯頭很好", "2024-03-01"),
        ("服務很慢", None),
    ]
