"""SemEval-2022 task 10, structured sentiment: JSON with texts and `start:end` character offsets, which may be
several. Pure.

What a row says beside places and polarities stands in the same objects, under the names of our rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from builder.core.records import Polarity
from builder.release.export.records import (
    Labelled,
    Spans,
    review_details,
    triplet_details,
)

NAMES: Mapping[Polarity, str] = {"POS": "Positive", "NEG": "Negative", "NEU": "Neutral"}


def dump(reviews: Iterable[Labelled]) -> str:
    """A JSON array with an entry for each review."""
    return json.dumps([_entry(review) for review in reviews], ensure_ascii=False, indent=1) + "\n"


def _entry(review: Labelled) -> dict[str, object]:
    def element(spans: Spans) -> list[list[str]]:
        return [[review.text[start:end] for start, end in spans], [f"{start}:{end}" for start, end in spans]]

    opinions = [
        {
            "Source": [[], []],
            "Target": element(label.aspect),
            "Polar_expression": element(label.opinion),
            "Polarity": NAMES[label.polarity],
            "Intensity": "Average",
        }
        | triplet_details(label)
        for label in review.labels
    ]
    return {"sent_id": review.id, "text": review.text} | review_details(review) | {"opinions": opinions}
