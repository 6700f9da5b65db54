"""Between the database and the model package: stored triplets as examples over views, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from builder.model.task import Example
from builder.records import Element, Review, StoredTriplet, Triplet
from builder.stages.annotate import review_view
from builder.stages.context import Context, to_stored
from builder.store import reviews
from builder.text import View, from_source


def examples(context: Context, stored: Iterable[StoredTriplet]) -> tuple[list[Example], list[list[int]]]:
    """Examples over views, one a review, and the triplet ids of each in the same order."""
    made: list[Example] = []
    ids: list[list[int]] = []
    for review, listed in _by_review(context, stored):
        shown = review_view(review, context.lexicon.variants)
        kept = [(one.id, moved) for one in listed if (moved := to_view(one.triplet, shown)) is not None]
        made.append(Example(review.key, shown.text, tuple(triplet for _, triplet in kept)))
        ids.append([i for i, _ in kept])
    return made, ids


def stored_predictions(context: Context, listed: list[Review], predicted: Iterable[tuple[Triplet, ...]]) -> list[tuple[int, Triplet]]:
    """Predictions over views as (review id, triplet in stored offsets)."""
    out = []
    for review, triplets in zip(listed, predicted, strict=True):
        shown = review_view(review, context.lexicon.variants)
        out += [(review.id, to_stored(triplet, shown, review.text)) for triplet in triplets]
    return out


def view_texts(context: Context, listed: list[Review]) -> list[str]:
    return [review_view(review, context.lexicon.variants).text for review in listed]


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


def _by_review(context: Context, stored: Iterable[StoredTriplet]) -> Iterator[tuple[Review, list[StoredTriplet]]]:
    grouped: Mapping[int, list[StoredTriplet]] = {review: list(listed) for review, listed in groupby(stored, key=lambda one: one.review)}
    for review in reviews.by_id(context.connection, list(grouped)):
        yield review, grouped[review.id]
