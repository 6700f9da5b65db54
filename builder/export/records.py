"""Our own row: lossless, one JSON object a review. Pure, both ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from builder.export.paper import aspect_text
from builder.records import Element, Polarity, Triplet


class ElementRow(TypedDict):
    text: str
    spans: list[list[int]]


class TripletRow(TypedDict):
    """`owner` is null where the aspect belongs to nothing named; `sources` say who proposed the triplet."""

    id: str
    aspect: ElementRow
    aspect_full: ElementRow
    owner: ElementRow | None
    opinion: ElementRow
    opinion_full: ElementRow
    polarity: Polarity
    valence: float
    sources: list[str]
    rules: list[str]


class ReviewRow(TypedDict):
    """A review of a release: its masked text, to which all offsets (code points, half-open) refer."""

    id: str
    text: str
    language: str
    rating: float | None
    annotation: str
    triplets: list[TripletRow]


def element_row(element: Element) -> ElementRow:
    return {"text": element.text, "spans": [list(span) for span in element.spans]}


def element(row: ElementRow) -> Element:
    return Element(row["text"], tuple((start, end) for start, end in row["spans"]))


def triplet_row(i: str, triplet: Triplet, sources: tuple[str, ...], rules: tuple[str, ...]) -> TripletRow:
    return {
        "id": i,
        "aspect": element_row(triplet.aspect),
        "aspect_full": element_row(triplet.aspect_full),
        "owner": element_row(triplet.owner) if triplet.owner else None,
        "opinion": element_row(triplet.opinion),
        "opinion_full": element_row(triplet.opinion_full),
        "polarity": triplet.polarity,
        "valence": triplet.valence,
        "sources": list(sources),
        "rules": list(rules),
    }


def triplet(row: TripletRow) -> Triplet:
    return Triplet(
        element(row["aspect"]), element(row["aspect_full"]), element(row["opinion"]), element(row["opinion_full"]), row["polarity"], row["valence"],
        owner=element(row["owner"]) if row["owner"] else None, rules=tuple(row["rules"]),
    )  # fmt: skip


def extracted(triplet: Triplet, bracketed: bool = False) -> Mapping[str, object]:
    """A triplet as `builder extract` writes it; `bracketed` writes an attribute as the paper does, 餐點[口感]."""
    return {
        "aspect": aspect_text(triplet) if bracketed else triplet.aspect.text,
        "aspect_full": triplet.aspect_full.text,
        "aspect_spans": [list(span) for span in triplet.aspect.spans],
        "opinion": triplet.opinion.text,
        "opinion_full": triplet.opinion_full.text,
        "opinion_spans": [list(span) for span in triplet.opinion.spans],
        "polarity": triplet.polarity,
        "valence": triplet.valence,
        "source": triplet.source,
        "rules": list(triplet.rules),
    }


def mismatch(text: str, row: TripletRow) -> str | None:
    """What is wrong with a row's spans against the text they point into, or None."""
    for name in ("aspect", "aspect_full", "owner", "opinion", "opinion_full"):
        part: ElementRow | None = row[name]
        if part is None:
            continue
        spans = part["spans"]
        if not spans or any(not 0 <= start < end <= len(text) for start, end in spans):
            return f"{name} {part['text']!r} has spans {spans} outside the text"
        surface = "".join(text[start:end] for start, end in spans)
        if surface != part["text"]:
            return f"{name} {part['text']!r} is {surface!r} in the text"
    return None
