"""Numbers of the database as people read them."""

from __future__ import annotations


def whole_number(value: object) -> int:
    """A count, which is a whole number."""
    assert isinstance(value, int), f"a count is {value!r}"
    return value


def percent(part: int, whole: int) -> float:
    """A share in percent; 0 of nothing."""
    return 100.0 * part / max(1, whole)


def spoken_seconds(seconds: float) -> str:
    """12 s, 3 min 05 s, 2 h 10 min."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
