"""One row's cells as a `RawReview`. In: values of any type that a file may hold. Out: a review, or why it is none."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal

from builder.reviews.sources.dates import Order, date_of
from builder.reviews.sources.opening import storable, written
from builder.reviews.sources.rows import RawReview, RejectedRow, Row

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
) -> Row:
    """The cells of row `row` as a review. A missing text is "" and left to the stage, which rejects what is empty.
    `order` is that of the column's dates.
    """
    if isinstance(text, bool) or not isinstance(text, str | int | float | Decimal | None):
        return RejectedRow(
            row, "type", f"row {row}: the text is of type {type(text).__name__}, not a string", storable(written(text))
        )
    content = text if isinstance(text, str) else _label(text) or ""
    if _STRUCTURE.match(content):
        return RejectedRow(row, "type", f"row {row}: the text is an object or a list, not a string", storable(content))
    made = RawReview(
        row, content, _label(id), _label(source), _label(place), rating_of(rating), _label(group), date_of(date, order)
    )
    return unfit(row, (made.text, made.id, made.source, made.place, made.group)) or made


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


def _label(value: object) -> str | None:
    """An id, place or source as text: 12 for 12.0, None for what is empty or no single value."""
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    if isinstance(value, float):
        return (
            None if math.isnan(value) else str(int(value)) if value.is_integer() and abs(value) < 1e15 else str(value)
        )
    return str(value)
