"""When a review was written, from a cell of any type.

In: text, a number or a date. Out: YYYY-MM-DD, or YYYY-MM; None where it does not say, as "3 months ago" does not.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, date, datetime

_WRITTEN = re.compile(r"(?:民國\s*)?(\d{2,4})\s*[-/.年]\s*(\d{1,2})(?!\d)(?:\s*[-/.月]\s*(\d{1,2})(?!\d))?")
_EPOCH = re.compile(r"\d{10}(?:\d{3})?(?:\.0*)?")
_YEARS = range(1990, 2100)
_FIRST_OF_REPUBLIC = 1911


def date_of(value: object) -> str | None:
    """A date as text: 2024-03-01, "2024/3/1 12:30", "2024年3月", 民國113年3月1日, a time stamp in seconds or
    milliseconds.
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
    written = _WRITTEN.match(text)
    if written is None:
        return None
    year = int(written[1])
    if len(written[1]) < 4:
        if not text.startswith("民國"):
            return None
        year += _FIRST_OF_REPUBLIC
    return _shown(year, int(written[2]), int(written[3]) if written[3] else None)


def _shown(year: int, month: int, day: int | None) -> str | None:
    try:
        whole = date(year, month, day or 1).isoformat()
    except ValueError:
        return None
    return None if year not in _YEARS else whole if day else whole[:7]
