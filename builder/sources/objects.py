"""JSON objects as reviews, whichever file they come from. Objects may lack keys, so columns are found in the first
thousand together. An object inside an object is named by its path: meta.shop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice

from builder.errors import InputError
from builder.sources.columns import GUESSES, Columns, Row, resolve, review
from builder.sources.opening import Source, storable, written
from builder.sources.rows import RejectedRow

_LOOK_AT = 1_000
_DEEPEST = 5
"""Levels of objects inside objects that are looked into."""
_DOTS = 32
"""Dots in the key of an object that holds others, at most; a key may be a million of them."""


@dataclass(frozen=True, slots=True)
class RawObject:
    """A JSON value and its row number."""

    row: int
    value: object


def reviews(items: Iterator[RawObject | RejectedRow], columns: Columns, source: Source) -> Iterator[Row]:
    """One row out for each item in."""
    first = list(islice(items, _LOOK_AT))
    objects = [item.value for item in first if isinstance(item, RawObject) and isinstance(item.value, dict)]
    if not objects:  # nothing to find columns in, so nothing but rejections
        yield from (item if isinstance(item, RejectedRow) else _no_object(item) for item in chain(first, items))
        return
    names = list(dict.fromkeys(path for value in objects for path in _paths(value)))

    def sample() -> Iterator[list[object]]:
        return ([_at(value, name) for name in names] for value in objects)

    try:
        picks = resolve(names, columns, source, sample)
    except InputError:
        texts = [key for key in dict.fromkeys(key for value in objects for key in value) if key in GUESSES["text"]]
        if columns.text is not None or not texts:
            raise
        names += texts  # each text is an object, so each row is rejected as such
        picks = resolve(names, columns, source, sample)
    keys = [None if i is None else names[i] for i in picks.used]
    for item in chain(first, items):
        if isinstance(item, RejectedRow):
            yield item
        elif isinstance(item.value, dict):
            yield review(item.row, *(None if key is None else _at(item.value, key) for key in keys))
        else:
            yield _no_object(item)


def _paths(value: Mapping[str, object], depth: int = 1) -> Iterator[str]:
    """The names of an object's values."""
    for key, held in value.items():
        if isinstance(held, dict) and depth < _DEEPEST:
            yield from (f"{key}.{path}" for path in _paths(held, depth + 1))
        else:
            yield str(key)


def _at(value: Mapping[str, object], path: str) -> object:
    """The value under a name or path; a key that has a dot itself goes first."""
    if path in value or "." not in path:
        return value.get(path)
    parts = path.split(".")
    for cut in range(min(len(parts) - 1, _DOTS), 0, -1):
        held = value.get(".".join(parts[:cut]))
        if isinstance(held, dict) and (inner := _at(held, ".".join(parts[cut:]))) is not None:
            return inner
    return None


def _no_object(item: RawObject) -> RejectedRow:
    return RejectedRow(
        item.row,
        "json",
        f"row {item.row}: {type(item.value).__name__} where an object should be",
        storable(written(item.value)),
    )
