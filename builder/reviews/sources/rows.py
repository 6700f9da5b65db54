"""The rows of a review file: `RawReview` for one that can be used, `RejectedRow` for one that cannot."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RawReview:
    """One row as a reader gives it. `row` is the 1-based data row of the file (the header not counted).
    `date`: YYYY-MM-DD, or YYYY-MM.
    """

    row: int
    text: str
    id: str | None = None
    source: str | None = None
    place: str | None = None
    rating: float | None = None
    group: str | None = None
    date: str | None = None


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A row that cannot be used: `reason` is a short code, `detail` what a person needs to find it."""

    row: int
    reason: str
    detail: str
    raw: str = ""


Row = RawReview | RejectedRow
