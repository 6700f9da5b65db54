"""JSON objects as reviews, whichever file they come from. Objects may lack keys, so columns are found in the first
thousand together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice

from builder.records import RejectedRow
from builder.sources.columns import Columns, Row, resolve, review
from builder.sources.opening import storable, written

_LOOK_AT = 1_000


@dataclass(frozen=True, slots=True)
class RawObject:
    """A JSON value and its row number."""

    row: int
    value: object


def reviews(items: Iterator[RawObject | RejectedRow], columns: Columns, where: str) -> Iterator[Row]:
    """One row out for each item in."""
    first = list(islice(items, _LOOK_AT))
    objects = [item.value for item in first if isinstance(item, RawObject) and isinstance(item.value, dict)]
    if not objects:  # nothing to find columns in, so nothing but rejections
        yield from (item if isinstance(item, RejectedRow) else _no_object(item) for item in chain(first, items))
        return
    names = list(dict.fromkeys(str(key) for value in objects for key in value))
    keys = [None if i is None else names[i] for i in resolve(names, columns, where).used]
    for item in chain(first, items):
        if isinstance(item, RejectedRow):
            yield item
        elif isinstance(item.value, dict):
            yield review(item.row, *(None if key is None else item.value.get(key) for key in keys))
        else:
            yield _no_object(item)


def _no_object(item: RawObject) -> RejectedRow:
    return RejectedRow(
        item.row,
        "json",
        f"row {item.row}: {type(item.value).__name__} where an object should be",
        storable(written(item.value)),
    )
