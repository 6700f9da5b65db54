"""Our own row: lossless, one JSON object a review. Pure, both ways. `completed` reads rows of older releases as rows
of today.

What other people's formats can see of a review: its text and (aspect, opinion, polarity) with their places. And
how they cut it up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NotRequired, TypedDict, cast

from builder.core.records import POLARITIES, Element, Polarity, Released, Span, Triplet, Verdict, aspect_text, surface


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
    nothing is there. `columns` are those of the input that pass through, masked; a release without any has no such key.
    """

    id: str
    text: str
    language: str
    rating: float | None
    source: str | None
    annotation: str
    unverified_negative: bool
    triplets: list[TripletRow]
    columns: NotRequired[dict[str, str | None]]


def element_row(element: Element) -> ElementRow:
    """An element as it stands in a row."""
    return {"text": element.text, "spans": [list(span) for span in element.spans]}


def element(row: ElementRow) -> Element:
    return Element(row["text"], tuple((start, end) for start, end in row["spans"]))


def triplet_row(
    triplet: Triplet, released: Released, rules: Sequence[str] = (), confidence: float | None = None
) -> TripletRow:
    """A triplet as it stands in a row, with what the release says of it."""
    return {
        "id": released.id or "",
        "aspect": element_row(triplet.aspect),
        "aspect_full": element_row(triplet.aspect_full),
        "aspect_category": released.aspect_category,
        "owner": element_row(triplet.owner) if triplet.owner else None,
        "opinion": element_row(triplet.opinion),
        "opinion_full": element_row(triplet.opinion_full),
        "opinion_category": released.opinion_category,
        "polarity": triplet.polarity,
        "valence": triplet.valence,
        "confidence": confidence,
        "verdict": released.verdict,
        "sources": list(released.sources),
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


def answers_of(row: ReviewRow) -> list[tuple[str, str, str]]:
    """(aspect, opinion, polarity) of each triplet, as scores compare them."""
    return [(triplet["aspect"]["text"], triplet["opinion"]["text"], triplet["polarity"]) for triplet in row["triplets"]]


def judged_triplet(row: TripletRow) -> Triplet:
    """The triplet of a row of a release with all that the row says of it."""
    sources = tuple(row["sources"])
    released = Released(
        row["id"], sources, cast("Verdict | None", row["verdict"]), row["aspect_category"], row["opinion_category"]
    )
    source = ", ".join(sources) or "unknown"
    return replace(triplet(row), source=source, confidence=row["confidence"], released=released)


def extracted(triplet: Triplet, bracketed: bool = False) -> dict[str, object]:
    """A triplet as one flat row: that of `builder extract`, of gold files, of Python and of tables. `bracketed` writes
    an attribute as the paper does, 餐點[口感].
    """
    owner = triplet.owner
    return {
        "aspect": aspect_text(triplet) if bracketed else triplet.aspect.text,
        "aspect_full": triplet.aspect_full.text,
        "aspect_spans": element_row(triplet.aspect)["spans"],
        "opinion": triplet.opinion.text,
        "opinion_full": triplet.opinion_full.text,
        "opinion_spans": element_row(triplet.opinion)["spans"],
        "polarity": triplet.polarity,
        "valence": triplet.valence,
        "source": triplet.source,
        "rules": list(triplet.rules),
        "aspect_full_spans": element_row(triplet.aspect_full)["spans"],
        "aspect_category": triplet.aspect_category,
        "owner": owner.text if owner else None,
        "owner_spans": element_row(owner)["spans"] if owner else None,
        "opinion_full_spans": element_row(triplet.opinion_full)["spans"],
        "opinion_category": triplet.opinion_category,
        "confidence": triplet.confidence,
        "verdict": triplet.verdict,
        "sources": list(triplet.sources),
        "triplet_id": triplet.released.id if triplet.released else None,
    }


def read_extracted(row: Mapping[str, Any], text: str) -> Triplet:
    """The triplet of a flat row, without the reasons for it. Rows of older versions lack the spans of whole phrases,
    which are then those of their cores.

    ValueError, KeyError or TypeError where the row is none, or its spans do not show its words in `text`.
    """

    def read_element(name: str) -> Element:
        spans = tuple((int(start), int(end)) for start, end in row[f"{name}_spans"])
        if fault := _misplaced(text, name, row[name], list(spans)):
            raise ValueError(fault)
        return Element(row[name], spans)

    aspect, opinion = read_element("aspect"), read_element("opinion")
    aspect_full = read_element("aspect_full") if "aspect_full_spans" in row else aspect
    opinion_full = read_element("opinion_full") if "opinion_full_spans" in row else opinion
    if row["polarity"] not in POLARITIES:
        raise ValueError(f"unknown polarity {row['polarity']!r}")
    details = [row.get(name) for name in ("triplet_id", "verdict", "aspect_category", "opinion_category")]
    source = row.get("source", "rules")
    released = Released(details[0], tuple(row.get("sources", (source,))), *details[1:]) if any(details) else None
    return Triplet(
        aspect, aspect_full, opinion, opinion_full, row["polarity"], float(row["valence"]),
        read_element("owner") if row.get("owner") else None, source, tuple(row.get("rules", ())),
        row.get("confidence"), released=released,
    )  # fmt: skip


def mismatch(text: str, row: TripletRow) -> str | None:
    """What is wrong with a row's spans against the text they point into, or None."""
    for name in ("aspect", "aspect_full", "owner", "opinion", "opinion_full"):
        part: ElementRow | None = row[name]
        if part is not None and (fault := _misplaced(text, name, part["text"], part["spans"])):
            return fault
    return None


def _misplaced(text: str, name: str, words: str, spans: Sequence[Sequence[int]]) -> str | None:
    if not spans or any(not 0 <= start < end <= len(text) for start, end in spans):
        return f"{name} {words!r} has spans {spans} outside the text"
    shown = surface(text, spans)
    return f"{name} {words!r} is {shown!r} in the text" if shown != words else None


Opinion = Literal["opinion", "opinion_full"]
Spans = tuple[Span, ...]


@dataclass(frozen=True, slots=True, order=True)
class TripletLabel:
    """Half-open code-point spans of an aspect and its opinion. `row` is the triplet in full, for formats that have
    room for more; it takes no part in comparisons.
    """

    aspect: Spans
    opinion: Spans
    polarity: Polarity
    row: TripletRow | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A review with its labels in the order of their places, none of them twice. Formats without ids give each its
    number. `row` is the review in full, `number` its place in the split from 1; they take no part in comparisons.
    """

    id: str
    text: str
    labels: tuple[TripletLabel, ...]
    row: ReviewRow | None = field(default=None, compare=False, repr=False)
    number: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A review that a format cannot hold whole, with its `labels`: how many. `label` is the first that is at fault;
    None: the text is.
    """

    id: str
    label: TripletLabel | None
    reason: str
    labels: int = 0


def labelled(row: ReviewRow, opinion: Opinion = "opinion", number: int = 0) -> Labelled:
    """A row of ours; `opinion` chooses the core with its negator, which may be interrupted, or the full phrase, which
    never is.
    """
    labels = {label(triplet, opinion) for triplet in row["triplets"]}
    return Labelled(row["id"], row["text"], tuple(sorted(labels)), row, number)


def row_of(review: Labelled) -> ReviewRow:
    """The row that a review was made from."""
    assert review.row is not None, f"{review.id} was not made from a row"
    return review.row


def label(triplet: TripletRow, opinion: Opinion) -> TripletLabel:
    """A triplet of ours with one of its opinions."""
    aspect, judged = element(triplet["aspect"]), element(triplet[opinion])
    return TripletLabel(aspect.spans, judged.spans, triplet["polarity"], triplet)


REVIEW_DETAILS = ("language", "rating", "source", "annotation", "unverified_negative")
TRIPLET_DETAILS = ("id", "valence", "confidence", "verdict", "aspect_category", "opinion_category", "sources", "rules")
"""What a row says beside its texts, places and polarities: formats of JSON carry it under the names of our rows."""


def review_details(review: Labelled) -> dict[str, Any]:
    """What the row of a review says of it; nothing where it was made without a row."""
    row = review.row
    if row is None:
        return {}
    kept = {"columns": row["columns"]} if "columns" in row else {}
    return {**{key: row.get(key) for key in REVIEW_DETAILS}, **kept}


def triplet_details(label: TripletLabel) -> dict[str, Any]:
    """What the row of a triplet says of it; nothing where it was made without a row."""
    row = label.row
    return {key: row.get(key) for key in TRIPLET_DETAILS} if row is not None else {}


def checked(review: Labelled) -> Labelled:
    """A review that a reader made: ValueError if a span lies outside its text or a polarity is unknown. Labels
    sorted, none twice.
    """
    for label in review.labels:
        if label.polarity not in POLARITIES:
            raise ValueError(f"unknown polarity {label.polarity!r}")
        for spans in (label.aspect, label.opinion):
            if not spans or not all(0 <= start < end <= len(review.text) for start, end in spans):
                raise ValueError(f"spans {spans} outside the text")
    return replace(review, labels=tuple(sorted(set(review.labels))))


# ---- tokens: one code point each

STAND_INS: Mapping[str, str] = {
    " ": "\u2581", "\n": "\u2424", "\r": "\u240d", "\t": "\u2409", "\u3000": "\u2b1a", "\u00a0": "\u237d",
}  # fmt: skip
"""White space, which separates tokens, and the characters that stand for it."""


def tokens(text: str, stand_ins: Mapping[str, str] = STAND_INS) -> list[str]:
    """One token for each code point."""
    return [stand_ins.get(char, char) for char in text]


def text_of(words: Sequence[str], stand_ins: Mapping[str, str] = STAND_INS) -> str:
    """The text of tokens, the stand-ins turned back; ValueError if a token is empty."""
    if not all(words):
        raise ValueError("an empty token")
    back = {shown: char for char, shown in stand_ins.items()}
    return "".join(back.get(word, word) for word in words)


def untokenisable(text: str, stand_ins: Mapping[str, str] = STAND_INS) -> str | None:
    """Why a text cannot be cut into tokens and put together again, or None."""
    if not text:
        return "the text is empty"
    for char in text:
        if char in stand_ins.values():
            return f"the text holds {char!r}, which stands for white space"
        if (char.isspace() or char in "\x1c\x1d\x1e\x1f\x85") and char not in stand_ins:
            return f"the text holds the white space U+{ord(char):04X}"
        if 0xD800 <= ord(char) < 0xE000:
            return f"the text holds the lone surrogate U+{ord(char):04X}"
    return None


def continuous(label: TripletLabel) -> str | None:
    """Why a format of continuous spans cannot hold a label, or None."""
    for what, spans in (("aspect", label.aspect), ("opinion", label.opinion)):
        if len(spans) != 1:
            return f"the {what} is interrupted"
    return None


def indices(spans: Spans) -> list[int]:
    """Every position that spans cover."""
    return [i for start, end in spans for i in range(start, end)]
