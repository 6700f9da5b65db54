"""The records that flow between layers: frozen values, no behaviour beyond small derived properties.

Offsets are code points. `Span`s of a `Triplet` point into the text named by the producer: the engine and the taggers work on the
view (`text.View`), stages convert to the stored text before they write.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Polarity = Literal["POS", "NEG", "NEU"]
POLARITIES: tuple[Polarity, ...] = ("POS", "NEG", "NEU")
Verdict = Literal["YY", "YN", "NX"]
VERDICTS: tuple[Verdict, ...] = ("YY", "YN", "NX")

Span = tuple[int, int]
"""Half-open [start, end)."""


@dataclass(frozen=True, slots=True)
class RawReview:
    """One row as a reader gives it. `row` is the 1-based data row of the file (the header not counted)."""

    row: int
    text: str
    id: str | None = None
    source: str | None = None
    place: str | None = None
    rating: float | None = None


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A row that cannot be used: `reason` is a short code, `detail` what a person needs to find it."""

    row: int
    reason: str
    detail: str
    raw: str = ""


class Token(NamedTuple):
    """A word of an annotated text: [start, end), universal POS, head as token index (-1 is the root), UD v1 relation.

    A tuple because there are twenty a review: a frozen dataclass takes three times as long to make.
    """

    start: int
    end: int
    pos: str
    head: int
    rel: str


@dataclass(frozen=True, slots=True)
class Element:
    """Part of a triplet: its surface and where it stands. Spans are ordered, disjoint, and may be several (不…鹹)."""

    text: str
    spans: tuple[Span, ...]

    @property
    def start(self) -> int:
        return self.spans[0][0]

    @property
    def end(self) -> int:
        return self.spans[-1][1]


@dataclass(frozen=True, slots=True)
class Triplet:
    """(aspect, opinion, polarity) with its places in the text.

    `aspect` is the term, `aspect_full` the term with its modifiers; `opinion` the core word with its negator (不會鹹 from
    不會太鹹), `opinion_full` the contiguous phrase. `owner` is set where the aspect is an attribute of something named in the
    text: 餐點 for 餐點口感, written 餐點[口感] in the paper's format. `valence` runs from 1 to 10 (paper, section 3.2.4).
    `evidence` holds (kind, detail) in the order of the decisions: lexicon entries, dependency path, negator, rules.
    """

    aspect: Element
    aspect_full: Element
    opinion: Element
    opinion_full: Element
    polarity: Polarity
    valence: float
    owner: Element | None = None
    source: str = "rules"
    rules: tuple[str, ...] = ()
    confidence: float | None = None
    evidence: tuple[tuple[str, str], ...] = field(default=())

    @property
    def key(self) -> tuple[tuple[Span, ...], tuple[Span, ...], Polarity]:
        """What makes two proposals for a review the same triplet."""
        return self.aspect.spans, self.opinion.spans, self.polarity


def polarity_of(valence: float) -> Polarity:
    """Above 5 positive, below 5 negative, 5 neutral (paper, section 3.2.4)."""
    return "POS" if valence > 5 else "NEG" if valence < 5 else "NEU"


@dataclass(frozen=True, slots=True)
class Review:
    """A stored review. `duplicate_of` is the id of the review whose text it repeats; later stages skip duplicates."""

    id: int
    key: str
    text: str
    script: str
    split: str | None = None
    place: str | None = None
    rating: float | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class StoredTriplet:
    """A triplet as the database holds it: spans are offsets into the stored text of `review`."""

    id: int
    review: int
    triplet: Triplet


@dataclass(frozen=True, slots=True)
class Label:
    """What somebody says about a candidate. `label` None: abstains. `polarity`, `aspect`, `opinion`: what would be right, where it differs."""

    label: Verdict | None
    polarity: Polarity | None = None
    aspect: tuple[Span, ...] | None = None
    opinion: tuple[Span, ...] | None = None
    note: str = ""

    @property
    def answer(self) -> tuple[object, ...]:
        """What counts when two labels are compared: all but the note."""
        return self.label, self.polarity, self.aspect, self.opinion


@dataclass(frozen=True, slots=True)
class Candidate:
    """A triplet of a pool. `n`: its blinded place from 1; None where a person found it missing. `sources`: (who proposed it, confidence)."""

    n: int | None
    triplet: Triplet
    sources: tuple[tuple[str, float | None], ...] = ()
    id: int = 0


@dataclass(frozen=True, slots=True)
class PoolReview:
    """A review of a pool with its candidates in blinded order. `n`: its place from 1."""

    n: int
    key: str
    text: str
    candidates: tuple[Candidate, ...]
    rating: float | None = None
    stratum: str = ""
    id: int = 0


@dataclass(frozen=True, slots=True)
class Pool:
    """A frozen sample with the union of what all sources propose. `id` is the head of `digest`, the hash of texts and candidates."""

    id: str
    seed: int
    split: str
    digest: str
    config: Mapping[str, object]
    reviews: tuple[PoolReview, ...]

    @property
    def size(self) -> int:
        """Candidates that a source proposed."""
        return sum(1 for review in self.reviews for one in review.candidates if one.n is not None)
