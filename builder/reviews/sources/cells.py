"""One row's cells as a review: `RawReview` for one that can be used, `RejectedRow` for one that cannot.

In: values of any type that a file may hold. Out: a review, or why it is none. When a review was written is read from a
cell of any type.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import islice
from typing import Literal

from builder.reviews.sources.opening import storable, written

# ---- Reviews and rejected rows


@dataclass(frozen=True, slots=True)
class RawReview:
    """One row as a reader gives it. `row` is the 1-based data row of the file (the header not counted).
    `date`: YYYY-MM-DD, or YYYY-MM. `kept`: the cells of `Columns.keep` as text, None where there is none. `unread`: by
    role, the cells that hold something, but no rating or no date.
    """

    row: int
    text: str
    id: str | None = None
    source: str | None = None
    place: str | None = None
    rating: float | None = None
    group: str | None = None
    date: str | None = None
    kept: tuple[str | None, ...] = ()
    unread: tuple[tuple[str, str], ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A row that cannot be used: `reason` is a short code, `detail` what a person needs to find it."""

    row: int
    reason: str
    detail: str
    raw: str = ""


Row = RawReview | RejectedRow


# ---- Cells

Order = Literal["month", "day"]
"""What comes first where the year comes last."""
_WRITTEN = re.compile(r"(?:民國\s*)?(\d{2,4})\s*[-/.年]\s*(\d{1,2})(?!\d)(?:\s*[-/.月]\s*(\d{1,2})(?!\d))?")
_YEAR_LAST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})(?!\d)")
_ENGLISH = re.compile(r"(?:(\d{1,2}) )?([A-Z][a-z]{2})[a-z]*\.? (?:(\d{1,2}),? )?(\d{4})\b")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_EPOCH = re.compile(r"\d{10}(?:\d{3})?(?:\.0*)?")
_YEARS = range(1990, 2100)
_FIRST_OF_REPUBLIC = 1911
_LOOK_AT = 1_000
"""Cells that are looked at for a date with its year last, before the column is taken to have none."""
_MOST = 1_000_000
"""Cells that are looked at for one that shows the order."""


def date_of(value: object, order: Order | None = None) -> str | None:
    """A date as text: 2024-03-01, "2024/3/1 12:30", "2024年3月", 民國113年3月1日, a time stamp in seconds or
    milliseconds, "Mar 1, 2024", and "3/1/2024" by the `order` of its column.
    """
    if isinstance(value, date):  # a datetime is one
        return _shown(value.year, value.month, value.day)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = unicodedata.normalize("NFKC", str(value)[:60]).strip()
    if _EPOCH.fullmatch(text):
        seconds = int(text.partition(".")[0]) / (1000 if len(text.partition(".")[0]) == 13 else 1)
        moment = datetime.fromtimestamp(seconds, UTC)
        return _shown(moment.year, moment.month, moment.day)
    if last := _YEAR_LAST.match(text):
        order = _order_of(last) or order
        month, day = (last[1], last[3]) if order == "month" else (last[3], last[1])
        return _shown(int(last[4]), int(month), int(day)) if order else None
    if (named := _ENGLISH.search(text)) and named[2] in _MONTHS:
        day = named[1] or named[3]
        return _shown(int(named[4]), _MONTHS.index(named[2]) + 1, int(day) if day else None)
    written = _WRITTEN.match(text)
    if written is None:
        return None
    year = int(written[1])
    if len(written[1]) < 4:
        if not text.startswith("民國"):
            return None
        year += _FIRST_OF_REPUBLIC
    return _shown(year, int(written[2]), int(written[3]) if written[3] else None)


def find_order(cells: Iterable[object]) -> Order | None:
    """The order of a column's dates: one whose day is beyond 12 shows it."""
    any_last = False
    for number, cell in enumerate(islice(cells, _MOST), 1):
        if isinstance(cell, str) and (last := _YEAR_LAST.match(cell[:60].strip())):
            any_last = True
            if order := _order_of(last):
                return order
        if number == _LOOK_AT and not any_last:
            return None
    return None


def _order_of(last: re.Match[str]) -> Order | None:
    return "day" if int(last[1]) > 12 >= int(last[3]) else "month" if int(last[3]) > 12 >= int(last[1]) else None


def _shown(year: int, month: int, day: int | None) -> str | None:
    try:
        whole = date(year, month, day or 1).isoformat()
    except ValueError:
        return None
    return None if year not in _YEARS else whole if day else whole[:7]


_WORDS = ("ONE", "TWO", "THREE", "FOUR", "FIVE")
"""Ratings in Google's exports of a business."""
_STRUCTURE = re.compile(r"\s*(?:\[\s*)?\{\s*[\"']\w")
"""How an object or a list of objects begins that is written into a cell."""


def review(
    row: int,
    order: Order | None,
    text: object,
    id: object = None,
    place: object = None,
    rating: object = None,
    source: object = None,
    group: object = None,
    date: object = None,
    *kept: object,
) -> Row:
    """The cells of row `row` as a review. A missing text is "" and left to the stage, which rejects what is empty.
    `order` is that of the column's dates. `kept`: the cells of columns that pass through.
    """
    if isinstance(text, bool) or not isinstance(text, str | int | float | Decimal | None):
        return RejectedRow(
            row, "type", f"row {row}: the text is of type {type(text).__name__}, not a string", storable(written(text))
        )
    content = text if isinstance(text, str) else _label(text) or ""
    if _STRUCTURE.match(content):
        return RejectedRow(row, "type", f"row {row}: the text is an object or a list, not a string", storable(content))
    stars, day = rating_of(rating), date_of(date, order)
    read = (("rating", rating, stars), ("date", date, day))
    unread = tuple([(role, label) for role, cell, value in read if value is None and (label := _label(cell))])
    made = RawReview(
        row, content, _name(id), _name(source), _name(place), stars, _name(group), day, tuple(map(_label, kept)), unread
    )
    return unfit(row, (made.text, made.id, made.source, made.place, made.group, *made.kept)) or made


def unfit(row: int, cells: Iterable[str | None]) -> RejectedRow | None:
    """A rejection if a cell holds NUL or a lone surrogate (a JSON escape such as \\ud83d, invalid bytes in Parquet):
    no database takes them.
    """
    for cell in cells:
        if cell and "\0" in cell:
            return RejectedRow(
                row, "nul", f"row {row}: NUL character at character {cell.index(chr(0))} of a cell", storable(cell)
            )
        try:
            (cell or "").encode()
        except UnicodeEncodeError as error:
            return RejectedRow(
                row,
                "encoding",
                f"row {row}: invalid Unicode at character {error.start} of a cell",
                storable(cell or ""),
            )
    return None


def rating_of(value: object) -> float | None:
    """A rating as a number: 5, "5.0", "5 星", "4 out of 5", "四星", "★★★★☆"; None if it does not say."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        return None
    if not isinstance(value, str):
        return float(value) if _finite(value) and 0 <= value <= 100 else None
    text = unicodedata.normalize("NFKC", value[:60]).strip()
    if text in _WORDS:
        return float(_WORDS.index(text) + 1)
    numbers: list[str] = re.findall(r"(?<![-.,:/年])(?:[-.,:/年]*\d)+", text)
    if numbers:
        first = re.fullmatch(r"(\d{1,3}(?:[.,]\d{1,2}|\.\d+)?)(?:/\d{1,3})?", numbers[0])
        rating = float(first[1].replace(",", ".")) if first and len(numbers) <= 2 else None
        return rating if rating is not None and rating <= 100 else None
    if filled := re.search("[★⭐\U0001f31f]+", text.replace("\ufe0f", "")):
        return float(len(filled[0]))
    counted = re.fullmatch("([一二三四五])(?:顆|颗|個|个)?(?:星.{0,2}|分)", text)
    return float("一二三四五".index(counted[1]) + 1) if counted else None


def _finite(value: float | Decimal) -> bool:
    """Numbers may be signalling (Decimal) or larger than any float (int)."""
    try:
        return math.isfinite(value)
    except (OverflowError, ValueError):
        return False


def _name(value: object) -> str | None:
    """A cell as what names a review or a place: no truth value, list or object does."""
    return None if isinstance(value, bool | dict | list) else _label(value)


def _label(value: object) -> str | None:
    """A cell as text: 12 for 12.0, ISO times, lists and objects as JSON, bytes as digits; None for what is empty."""
    if value is None or isinstance(value, str):
        return (value or "").strip() or None
    if isinstance(value, bool | dict | list):
        return json.dumps(value, ensure_ascii=False, default=str)
    if isinstance(value, float):
        return (
            None if math.isnan(value) else str(int(value)) if value.is_integer() and abs(value) < 1e15 else str(value)
        )
    if isinstance(value, date):
        return value.isoformat()
    return value.hex() if isinstance(value, bytes) else str(value)
