"""Numbers of the database as cells of a table."""

from __future__ import annotations


def whole_number(value: object) -> int:
    """A count, which is a whole number."""
    assert isinstance(value, int), f"a count is {value!r}"
    return value


def percent(part: int, whole: int) -> float:
    """A share in percent; 0 of nothing."""
    return 100.0 * part / max(1, whole)
