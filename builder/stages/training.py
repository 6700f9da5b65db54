"""Between the database and the model package: stored triplets as examples over views, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice
from typing import TypeVar

from builder.learning.task import Example
from builder.reader import review_view, to_view
from builder.records import Review, StoredTriplet
from builder.stages.context import Context
from builder.store import reviews

_PAGE = 1000
"""Reviews that are fetched at a time."""
Row = TypeVar("Row")


def examples(context: Context, stored: Iterable[StoredTriplet]) -> list[Example]:
    """Examples over views, one a review."""
    return [example for example, _ in streamed(context, stored)]


def streamed(context: Context, stored: Iterable[StoredTriplet]) -> Iterator[tuple[Example, list[int]]]:
    """An example over the view of each review, and the ids of its triplets; `stored` is in order of reviews."""
    grouped = ((review, list(listed)) for review, listed in groupby(stored, key=lambda one: one.review))
    while page := dict(islice(grouped, _PAGE)):
        for review in reviews.by_id(context.connection, list(page)):
            shown = review_view(review, context.lexicon.variants)
            kept = [(one.id, moved) for one in page[review.id] if (moved := to_view(one.triplet, shown)) is not None]
            yield Example(review.key, shown.text, tuple(triplet for _, triplet in kept)), [i for i, _ in kept]


def beside(
    listed: Iterable[Review], rows: Iterable[Row], review_of: Callable[[Row], int]
) -> Iterator[tuple[Review, list[Row]]]:
    """Each review with its rows; both are streams in order of reviews."""
    left = iter(rows)
    first = next(left, None)
    for review in listed:
        own = []
        while first is not None and review_of(first) <= review.id:
            if review_of(first) == review.id:
                own.append(first)
            first = next(left, None)
        yield review, own
