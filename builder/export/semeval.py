"""SemEval-2022 task 10, structured sentiment: JSON with texts and `start:end` character offsets, which may be
several. Pure, both ways.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from builder.export.labels import Label, Labelled, Spans, checked
from builder.records import Polarity

NAMES: Mapping[Polarity, str] = {"POS": "Positive", "NEG": "Negative", "NEU": "Neutral"}
_POLARITIES = {name: polarity for polarity, name in NAMES.items()}


def dump(reviews: Iterable[Labelled]) -> str:
    return json.dumps([_entry(one) for one in reviews], ensure_ascii=False, indent=1) + "\n"


def _entry(review: Labelled) -> dict[str, object]:
    def element(spans: Spans) -> list[list[str]]:
        return [[review.text[start:end] for start, end in spans], [f"{start}:{end}" for start, end in spans]]

    opinions = [
        {"Source": [[], []], "Target": element(one.aspect), "Polar_expression": element(one.opinion), "Polarity": NAMES[one.polarity], "Intensity": "Average"}
        for one in review.labels
    ]  # fmt: skip
    return {"sent_id": review.id, "text": review.text, "opinions": opinions}


def read(content: str) -> list[Labelled]:
    """ValueError if a text does not stand at its offsets. Opinions without a target or expression are no triplets of
    ours and are left out.
    """
    found = []
    for entry in json.loads(content):
        told = entry["opinions"]
        labels = [
            Label(
                _spans(entry["text"], one["Target"]),
                _spans(entry["text"], one["Polar_expression"]),
                _POLARITIES[one["Polarity"]],
            )
            for one in told
            if one["Target"][1] and one["Polar_expression"][1]
        ]
        found.append(checked(Labelled(str(entry["sent_id"]), entry["text"], tuple(labels))))
    return found


def _spans(text: str, element: list[list[str]]) -> Spans:
    spans: list[tuple[int, int]] = []
    for said, place in zip(*element, strict=True):
        start, end = (int(i) for i in place.split(":"))
        if text[start:end] != said:
            raise ValueError(f"{said!r} does not stand at {place}")
        spans.append((start, end))
    return tuple(spans)
