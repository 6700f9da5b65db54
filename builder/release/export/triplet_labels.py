"""What other people's formats can see of a review: its text and (aspect, opinion, polarity) with their places. And
how they cut it up.

Most of them want tokens between spaces. Ours are single code points, as is usual for Chinese, so that token n is
character n; a space or line break becomes a visible stand-in, which the readers turn back. A text that holds a
stand-in itself, or a space that has none, is refused.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from builder.core.records import POLARITIES, Polarity, Span
from builder.release.export.records import ElementRow, ReviewRow, TripletRow

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
    number. `row` is the review in full; it takes no part in comparisons.
    """

    id: str
    text: str
    labels: tuple[TripletLabel, ...]
    row: ReviewRow | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A review that a format cannot hold whole, with its `labels`: how many. `label` is the first that is at fault;
    None: the text is.
    """

    id: str
    label: TripletLabel | None
    reason: str
    labels: int


def labelled(row: ReviewRow, opinion: Opinion = "opinion") -> Labelled:
    """A row of ours; `opinion` chooses the core with its negator, which may be interrupted, or the full phrase, which
    never is.
    """
    labels = {label(triplet, opinion) for triplet in row["triplets"]}
    return Labelled(row["id"], row["text"], tuple(sorted(labels)), row)


def label(triplet: TripletRow, opinion: Opinion) -> TripletLabel:
    """A triplet of ours with one of its opinions."""
    return TripletLabel(_spans(triplet["aspect"]), _spans(triplet[opinion]), triplet["polarity"], triplet)


REVIEW_DETAILS = ("language", "rating", "source", "annotation", "unverified_negative")
TRIPLET_DETAILS = ("id", "valence", "confidence", "verdict", "aspect_category", "opinion_category", "sources", "rules")
"""What a row says beside its texts, places and polarities: formats of JSON carry it under the names of our rows."""


def review_details(review: Labelled) -> dict[str, Any]:
    """What the row of a review says of it; nothing where it was made without a row."""
    row = review.row
    return {key: row.get(key) for key in REVIEW_DETAILS} if row is not None else {}


def triplet_details(label: TripletLabel) -> dict[str, Any]:
    """What the row of a triplet says of it; nothing where it was made without a row."""
    row = label.row
    return {key: row.get(key) for key in TRIPLET_DETAILS} if row is not None else {}


def _spans(element: ElementRow) -> Spans:
    return tuple((start, end) for start, end in element["spans"])


def surface(text: str, spans: Spans) -> str:
    """The words at the spans, joined."""
    return "".join(text[start:end] for start, end in spans)


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


# ---- lists of triplets as Python writes them


def parse_triplets(literal: str) -> Any:
    """The Python value of a list such as `[([16, 17], [15], 'POS')]`. A list of nothing but triplets is read as JSON,
    which takes a tenth of the time.

    Raises:
        ValueError, SyntaxError, TypeError, MemoryError, RecursionError: it is none.
    """
    if _TRIPLETS.fullmatch(literal):
        with suppress(ValueError):  # [1,, 2]
            return json.loads(literal.translate(_AS_JSON))
    return ast.literal_eval(literal)


_PLACES = r"(?:\[[\d, ]*\]|\(\d+, ?\d+\))"
_TRIPLETS = re.compile(rf"\[(?:\({_PLACES}, ?{_PLACES}, ?(?:'\w+'|\"\w+\")\)(?:, ?(?=\()|(?=\])))*\]")
_AS_JSON = str.maketrans("()'", '[]"')

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


def span_of(positions: Sequence[int]) -> Spans:
    """The span of positions without a gap; ValueError if there is one."""
    if not positions or list(positions) != list(range(positions[0], positions[-1] + 1)):
        raise ValueError(f"positions {positions} are no span")
    return ((positions[0], positions[-1] + 1),)
