"""SemEval-2022 task 10, structured sentiment: JSON with texts and `start:end` character offsets, which may be
several. Pure, both ways.

What a row says beside places and polarities stands in the same objects, under the names of our rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from builder.core.files import parse_json
from builder.core.records import Polarity
from builder.release.export.records import (
    Labelled,
    Spans,
    TripletLabel,
    checked,
    review_details,
    triplet_details,
)

NAMES: Mapping[Polarity, str] = {"POS": "Positive", "NEG": "Negative", "NEU": "Neutral"}
_POLARITIES = {name: polarity for polarity, name in NAMES.items()}


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


def read(content: str) -> list[Labelled]:
    """ValueError if a text does not stand at its offsets. Opinions without a target or expression are no triplets of
    ours and are left out.
    """
    reviews = []
    for entry in parse_json(content):
        labels = [
            TripletLabel(
                _spans(entry["text"], opinion["Target"]),
                _spans(entry["text"], opinion["Polar_expression"]),
                _POLARITIES[opinion["Polarity"]],
            )
            for opinion in entry["opinions"]
            if opinion["Target"][1] and opinion["Polar_expression"][1]
        ]
        reviews.append(checked(Labelled(str(entry["sent_id"]), entry["text"], tuple(labels))))
    return reviews


def _spans(text: str, element: list[list[str]]) -> Spans:
    spans: list[tuple[int, int]] = []
    for words, place in zip(*element, strict=True):
        start, end = (int(i) for i in place.split(":"))
        if text[start:end] != words:
            raise ValueError(f"{words!r} does not stand at {place}")
        spans.append((start, end))
    return tuple(spans)
