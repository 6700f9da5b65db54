"""Our own row: lossless, one JSON object a review. Pure, both ways. `completed` reads rows of older releases as rows
of today.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict, cast

from builder.core.records import Element, Polarity, Triplet
from builder.release.export.paper import aspect_text


class ElementRow(TypedDict):
    """The text of an element and its places: the texts at the spans, joined, are `text`."""

    text: str
    spans: list[list[int]]


class TripletRow(TypedDict):
    """`owner` is null where the aspect belongs to nothing named; `sources` say who says the triplet, `rules`
    which pairing rule made it.

    `aspect_category` and `opinion_category` are those of the lexicon, null for words that it does not hold.
    `confidence` (0 to 1, calibrated) and `verdict` (YY, YN, NX) are the discriminator's, null where it does not say.
    """

    id: str
    aspect: ElementRow
    aspect_full: ElementRow
    aspect_category: str | None
    owner: ElementRow | None
    opinion: ElementRow
    opinion_full: ElementRow
    opinion_category: str | None
    polarity: Polarity
    valence: float
    confidence: float | None
    verdict: str | None
    sources: list[str]
    rules: list[str]


class ReviewRow(TypedDict):
    """A review of a release: its masked text, to which all offsets (code points, half-open) refer.

    `rating` and `source` are the input's. `unverified_negative`: nothing was found in it, and nobody has checked that
    nothing is there.
    """

    id: str
    text: str
    language: str
    rating: float | None
    source: str | None
    annotation: str
    unverified_negative: bool
    triplets: list[TripletRow]


@dataclass(frozen=True, slots=True)
class Judged:
    """What is known of a triplet beside its places: see `TripletRow`."""

    confidence: float | None = None
    verdict: str | None = None
    aspect_category: str | None = None
    opinion_category: str | None = None


def element_row(element: Element) -> ElementRow:
    """An element as it stands in a row."""
    return {"text": element.text, "spans": [list(span) for span in element.spans]}


def element(row: ElementRow) -> Element:
    """The element of a row."""
    return Element(row["text"], tuple((start, end) for start, end in row["spans"]))


def triplet_row(
    i: str, triplet: Triplet, sources: tuple[str, ...], rules: tuple[str, ...], judged: Judged | None = None
) -> TripletRow:
    """A triplet as it stands in a row, under the id `i`."""
    judged = judged or Judged()
    return {
        "id": i,
        "aspect": element_row(triplet.aspect),
        "aspect_full": element_row(triplet.aspect_full),
        "aspect_category": judged.aspect_category,
        "owner": element_row(triplet.owner) if triplet.owner else None,
        "opinion": element_row(triplet.opinion),
        "opinion_full": element_row(triplet.opinion_full),
        "opinion_category": judged.opinion_category,
        "polarity": triplet.polarity,
        "valence": triplet.valence,
        "confidence": judged.confidence,
        "verdict": judged.verdict,
        "sources": list(sources),
        "rules": list(rules),
    }


def completed(row: Mapping[str, Any]) -> ReviewRow:
    """A row of a release of any age with all keys of today; what older ones did not say is null. A row of today comes
    back as it is.
    """
    if "unverified_negative" in row:
        return cast(ReviewRow, row)
    new = {"source": None, "unverified_negative": False} | dict(row)
    triplets = [_ordered(TripletRow, _UNSAID | dict(triplet)) for triplet in row["triplets"]]
    return cast(ReviewRow, _ordered(ReviewRow, new | {"triplets": triplets}))


_UNSAID = {"aspect_category": None, "opinion_category": None, "confidence": None, "verdict": None}


def _ordered(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values in the order of a row's keys; others follow."""
    first = [name for name in kind.__annotations__ if name in values]
    return {name: values[name] for name in (*first, *(name for name in values if name not in first))}


def triplet(row: TripletRow) -> Triplet:
    """The triplet of a row of a release, without what judges say of it. Offsets are code points of the row's text."""
    return Triplet(
        element(row["aspect"]),
        element(row["aspect_full"]),
        element(row["opinion"]),
        element(row["opinion_full"]),
        row["polarity"],
        row["valence"],
        owner=element(row["owner"]) if row["owner"] else None,
        rules=tuple(row["rules"]),
    )


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
