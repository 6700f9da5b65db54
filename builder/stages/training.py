"""Between the database and the model package: stored triplets as examples over views, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice
from typing import TypeVar

from builder.learning.task import Example
from builder.records import Element, Review, StoredTriplet, Triplet
from builder.stages.annotate import review_view
from builder.stages.context import Context
from builder.store import reviews
from builder.text import View, from_source

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


def beside(listed: Iterable[Review], rows: Iterable[Row], review_of: Callable[[Row], int]) -> Iterator[tuple[Review, list[Row]]]:
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


def to_view(triplet: Triplet, shown: View) -> Triplet | None:
    """A stored triplet in offsets of the view; None if the view does not show one of its parts."""

    def moved(element: Element) -> Element | None:
        spans = from_source(shown, element.spans)
        return None if spans is None else Element("".join(shown.text[start:end] for start, end in spans), spans)

    parts = [moved(one) for one in (triplet.aspect, triplet.aspect_full, triplet.opinion, triplet.opinion_full)]
    if any(part is None for part in parts):
        return None
    aspect, aspect_full, opinion, opinion_full = (part for part in parts if part is not None)
    return Triplet(aspect, aspect_full, opinion, opinion_full, triplet.polarity, triplet.valence)
