r"""GTS (Wu et al. 2020): JSON with one entry for each aspect, its place and its opinions' as `tok\B tok\I tok\O`.
Pure.

What a row says beside places and polarities stands in the same objects; `triplets` of an entry has an item for each of
its opinions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from builder.core.records import Polarity
from builder.release.export.records import (
    Labelled,
    Spans,
    TripletLabel,
    review_details,
    tokens,
    triplet_details,
)

SENTIMENTS: Mapping[Polarity, str] = {"POS": "positive", "NEG": "negative", "NEU": "neutral"}


def dump(reviews: Iterable[Labelled]) -> str:
    """A JSON array with an entry for each review."""
    return json.dumps([_entry(review) for review in reviews], ensure_ascii=False, indent=1) + "\n"


def _entry(review: Labelled) -> dict[str, object]:
    words = tokens(review.text)
    triples = [_triple(f"{review.id}-{n}", words, group) for n, group in enumerate(_grouped(review.labels))]
    return {"id": review.id, "sentence": " ".join(words)} | review_details(review) | {"triples": triples}


def _triple(uid: str, words: list[str], group: Sequence[TripletLabel]) -> dict[str, object]:
    triple: dict[str, object] = {
        "uid": uid,
        "target_tags": _tags(words, [group[0].aspect]),
        "opinion_tags": _tags(words, [label.opinion for label in group]),
        "sentiment": SENTIMENTS[group[0].polarity],
    }
    details = [triplet_details(label) for label in group]
    return triple | {"triplets": details} if any(details) else triple


def _grouped(labels: Iterable[TripletLabel]) -> list[list[TripletLabel]]:
    """A group for each aspect and polarity, and more where its opinions overlap, which tags cannot show."""
    groups: list[list[TripletLabel]] = []
    for label in labels:
        for group in groups:
            last = group[-1]
            if (last.aspect, last.polarity) == (label.aspect, label.polarity) and _follows(label, last):
                group.append(label)
                break
        else:
            groups.append([label])
    return groups


def _follows(label: TripletLabel, last: TripletLabel) -> bool:
    return last.opinion[0][1] <= label.opinion[0][0]


def _tags(words: list[str], elements: list[Spans]) -> str:
    tags = ["O"] * len(words)
    for ((start, end),) in elements:
        tags[start:end] = ["B"] + ["I"] * (end - start - 1)
    return " ".join(f"{word}\\{tag}" for word, tag in zip(words, tags, strict=True))
