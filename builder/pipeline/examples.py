"""Stored triplets of the database as the examples that models read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import TypeVar

from builder.core.records import Review, StoredTriplet
from builder.engine.reader import review_view, to_view
from builder.learning.packed import PackedExamples
from builder.learning.task import Example
from builder.pipeline.context import Context
from builder.store import reviews

_PAGE = 1000
"""Reviews that are fetched at a time."""
ReviewRow = TypeVar("ReviewRow")


def list_examples(context: Context, stored: Iterable[StoredTriplet]) -> list[Example]:
    """The examples of stored triplets, one for each review; offsets are those of the normalised view."""
    return [example for example, _ in stream_examples(context, stored)]


def pack_examples(context: Context, stored: Iterable[StoredTriplet]) -> Sequence[Example]:
    """The same, for a training: in a fraction of the memory."""
    return PackedExamples(example for example, _ in stream_examples(context, stored))


def stream_examples(context: Context, stored: Iterable[StoredTriplet]) -> Iterator[tuple[Example, list[int]]]:
    """The example of each review with the ids of its triplets; `stored` is in order of reviews."""
    grouped = ((review, list(own)) for review, own in groupby(stored, key=lambda triplet: triplet.review))
    while page := dict(islice(grouped, _PAGE)):
        for review in reviews.by_id(context.connection, list(page)):
            shown = review_view(review, context.lexicon.variants)
            kept = [
                (triplet.id, moved)
                for triplet in page[review.id]
                if (moved := to_view(triplet.triplet, shown)) is not None
            ]
            yield Example(review.key, shown.text, tuple(triplet for _, triplet in kept)), [i for i, _ in kept]


def join_rows(
    ordered_reviews: Iterable[Review], rows: Iterable[ReviewRow], review_of: Callable[[ReviewRow], int]
) -> Iterator[tuple[Review, list[ReviewRow]]]:
    """Each review with its rows; both are streams in order of reviews."""
    left = iter(rows)
    first = next(left, None)
    for review in ordered_reviews:
        own = []
        while first is not None and review_of(first) <= review.id:
            if review_of(first) == review.id:
                own.append(first)
            first = next(left, None)
        yield review, own
