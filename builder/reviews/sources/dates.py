"""When a review was written, from a cell of any type.

In: text, a number or a date. Out: YYYY-MM-DD, or YYYY-MM; None where it does not say, as "3 months ago" does not, nor
01/03/2026 where no other date of its column shows which is the month.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from datetime import UTC, date, datetime
from itertools import islice
from typing import Literal

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
