"""The records that flow between layers: frozen values, no behaviour beyond small derived properties.

Offsets are code points. `Span`s of a `Triplet` point into the text named by the producer: the engine and the taggers
work on the view (`text.View`), stages convert to the stored text before they write.

Why a triplet is what it is: what decided, as values. `steps` says the same in words, for people alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, overload

from builder.core import markup
from builder.core.markup import SpanMark

# ---- Why a triplet is what it is

Step = tuple[str, str]
"""A kind and a detail in words."""
NO_PATH = "none: two trees"
"""What is said of a path between two trees."""
_UNLISTED = "unlisted noun"


class ReadWord(NamedTuple):
    """A word as the lexicon has it. `category`: the class of an aspect, or the category of an opinion; None where no
    lexicon tells. `place`: file and line there; None of what a rule composed. `valence`: that of an opinion.
    """

    word: str
    category: str | None
    place: str | None = None
    valence: float | None = None

    @property
    def detail(self) -> str:
        """湯頭 food.soup (aspects/food_chinese.tsv:12); 鹹 taste.salty 3.5 (opinions/food_taste.tsv:12)."""
        parts = [self.word, self.category or _UNLISTED]
        parts += [f"{self.valence:g}"] if self.valence is not None else []
        parts += [f"({self.place})"] if self.place else []
        return " ".join(parts)


@dataclass(frozen=True, slots=True)
class Reasons:
    """What decided on a triplet, in the order of the decisions.

    A model's proposal that the rules read has `opinion` and `changes` alone. `changes` are what context, degree and
    negation did to its value. `candidates` are the best that were weighed, with their scores, and `margin` says by how
    much the aspect is ahead of the best other one; it is infinite where nothing was weighed. `path`: the steps in the
    dependency tree, None between two trees. `places`: among how many places of a model's words the nearest were taken.
    """

    opinion: ReadWord | None = None
    changes: tuple[Step, ...] = ()
    aspect: ReadWord | None = None
    negators: tuple[str, ...] = ()
    pairing: str = ""
    attributes: tuple[str, ...] = ()
    candidates: tuple[tuple[str, float], ...] = ()
    margin: float = math.inf
    path: tuple[str, ...] | None = None
    places: int = 0

    @property
    def steps(self) -> tuple[Step, ...]:
        """The decisions in words."""
        out = [("places", str(self.places))] if self.places else []
        out += [("aspect", self.aspect.detail)] if self.aspect else []
        out += [("opinion", self.opinion.detail)] if self.opinion else []
        out += [*self.changes, *(("negator", word) for word in self.negators)]
        if self.aspect is None:
            return tuple(out)
        out.append(("pairing", self.pairing))
        out += [("attribute", "、".join(self.attributes))] if self.attributes else []
        scores = ", ".join(f"{word} {score:.1f}" for word, score in self.candidates)
        out += [("candidates", scores)] if scores else []
        return (*out, ("path", NO_PATH if self.path is None else " ".join(self.path)))


# ---- What flows between layers

Polarity = Literal["POS", "NEG", "NEU"]
POLARITIES: tuple[Polarity, ...] = ("POS", "NEG", "NEU")
SPLITS = ("train", "valid", "test")
POLARITY_NAMES: Mapping[Polarity, str] = {"POS": "正面", "NEG": "負面", "NEU": "中性"}
"""How answers of the paper's models and its format call them."""
POLARITY_WORDS: Mapping[str, Polarity] = {
    "pos": "POS", "positive": "POS", "正面": "POS", "正向": "POS", "neg": "NEG", "negative": "NEG", "負面": "NEG",
    "负面": "NEG", "負向": "NEG", "neu": "NEU", "neutral": "NEU", "中性": "NEU", "中立": "NEU",
}  # fmt: skip
"""What people and files call them, in small letters."""
Verdict = Literal["YY", "YN", "NX"]
VERDICTS: tuple[Verdict, ...] = ("YY", "YN", "NX")
VALENCES: Mapping[Polarity, float] = {"POS": 8.0, "NEG": 3.0, "NEU": 5.0}
"""The valence of a triplet of which people gave the polarity alone."""

Span = tuple[int, int]
"""Half-open [start, end)."""


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Spans in order, those that touch or overlap made one."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def surface(text: str, spans: Iterable[Sequence[int]]) -> str:
    """The characters at some spans of a text, joined."""
    return "".join(text[start:end] for start, end in spans)


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

    @classmethod
    def at(cls, text: str, spans: Iterable[Span]) -> Element:
        """The element that stands at `spans` of `text`."""
        spans = tuple(spans)
        return cls(surface(text, spans), spans)

    @property
    def start(self) -> int:
        return self.spans[0][0]

    @property
    def end(self) -> int:
        return self.spans[-1][1]

    @property
    def surfaces(self) -> tuple[str, ...]:
        """The text of each span."""
        parts, at = [], 0
        for start, end in self.spans:
            parts.append(self.text[at : at + end - start])
            at += end - start
        return tuple(parts)

    @property
    def places(self) -> str:
        """The spans as people read them: 2:3+5:6."""
        return "+".join(f"{start}:{end}" for start, end in self.spans)

    def __repr__(self) -> str:
        return f"{self.text!r} {self.places}"


@dataclass(frozen=True, slots=True)
class Released:
    """What a release says of a triplet beside its parts: its id, who says it, the judge's verdict, the categories."""

    id: str | None
    sources: tuple[str, ...]
    verdict: Verdict | None = None
    aspect_category: str | None = None
    opinion_category: str | None = None


@dataclass(frozen=True, slots=True)
class Triplet:
    """(aspect, opinion, polarity) with its places in the text.

    `aspect` is the term, `aspect_full` the term with its modifiers; `opinion` the core word with its negator (不會鹹
    from 不會太鹹), `opinion_full` the contiguous phrase. `owner` is set where the aspect is an attribute of something
    named in the text: 餐點 for 餐點口感, written 餐點[口感] in the paper's format. `valence` runs from 1 to 10 (paper,
    section 3.2.4). `reasons`: what decided on it; None where neither rules nor lexicons did. `released`: what a release
    says of it; None outside of one.
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
    reasons: Reasons | None = None
    released: Released | None = None

    @property
    def key(self) -> tuple[tuple[Span, ...], tuple[Span, ...], Polarity]:
        """What makes two proposals for a review the same triplet."""
        return self.aspect.spans, self.opinion.spans, self.polarity

    @property
    def rule(self) -> str | None:
        """The rule that decided which aspect the opinion describes; None where no rule did, but a model or a person."""
        return self.rules[0] if self.rules else None

    @property
    def path(self) -> tuple[str, ...]:
        """The steps from aspect to opinion in the dependency tree, `↑` upwards, `↓` downwards; empty without one."""
        return (self.reasons and self.reasons.path) or ()

    @property
    def evidence(self) -> tuple[Step, ...]:
        """The reasons as (kind, detail) in the order of the decisions: lexicon entries, negators, candidates, path."""
        return self.reasons.steps if self.reasons else ()

    @property
    def sources(self) -> tuple[str, ...]:
        """Who says it: `rules`, models, `discriminator`, `gold`; outside of a release `source` alone."""
        return self.released.sources if self.released else (self.source,)

    @property
    def verdict(self) -> Verdict | None:
        """The judge's verdict in a release; None where it abstains or there is none."""
        return self.released.verdict if self.released else None

    @property
    def aspect_category(self) -> str | None:
        """The class of the aspect in the lexicon, such as food.soup; None for a word that it does not hold."""
        if self.released:
            return self.released.aspect_category
        return self.reasons.aspect.category if self.reasons and self.reasons.aspect else None

    @property
    def opinion_category(self) -> str | None:
        """The category of the opinion in the lexicon, such as taste.salty; None for a word that it does not hold."""
        if self.released:
            return self.released.opinion_category
        return self.reasons.opinion.category if self.reasons and self.reasons.opinion else None

    @overload
    def mapped(
        self, move: Callable[[Element], Element], move_full: Callable[[Element], Element] | None = None
    ) -> Triplet: ...

    @overload
    def mapped(
        self, move: Callable[[Element], Element | None], move_full: Callable[[Element], Element | None] | None = None
    ) -> Triplet | None: ...

    def mapped(
        self, move: Callable[[Element], Element | None], move_full: Callable[[Element], Element | None] | None = None
    ) -> Triplet | None:
        """The triplet in another text or in other offsets: `move` takes each element there, `move_full` the full
        phrases.

        None where an element cannot be moved.
        """
        wide = move_full or move
        aspect, aspect_full = move(self.aspect), wide(self.aspect_full)
        opinion, opinion_full = move(self.opinion), wide(self.opinion_full)
        owner = move(self.owner) if self.owner else None
        if (
            aspect is None
            or aspect_full is None
            or opinion is None
            or opinion_full is None
            or (self.owner and owner is None)
        ):
            return None
        return Triplet(
            aspect, aspect_full, opinion, opinion_full, self.polarity, self.valence, owner, self.source, self.rules,
            self.confidence, self.reasons, self.released,
        )  # fmt: skip

    def shifted(self, by: int) -> Triplet:
        """The triplet with `by` added to all offsets."""

        def move(element: Element) -> Element:
            return Element(element.text, tuple((start + by, end + by) for start, end in element.spans))

        return self.mapped(move)

    def bare(self) -> Triplet:
        """The triplet without owner, source and reasons: what models learn."""
        return Triplet(self.aspect, self.aspect_full, self.opinion, self.opinion_full, self.polarity, self.valence)

    def marks(self, number: int = 0) -> tuple[SpanMark, SpanMark]:
        """Aspect and opinion as they are marked in the text, as parts of triplet `number` on the page."""
        parts = (("aspect", self.aspect), ("opinion", self.opinion))
        aspect, opinion = (SpanMark(number, role, self.polarity, part.spans) for role, part in parts)
        return aspect, opinion

    def _repr_html_(self) -> str:
        """The triplet in a notebook: its parts in the colours of `builder serve`, with their places and the rule."""
        return markup.boxed(self.html())

    def html(self) -> str:
        """One line of HTML: aspect, opinion, the whole phrase if longer, polarity, valence, places and rule."""
        aspect = markup.element("aspect", self.polarity, self.aspect.surfaces)
        opinion = markup.element("opinion", self.polarity, self.opinion.surfaces)
        whole = f" ({markup.plain(self.opinion_full.text)})" if self.opinion_full.text != self.opinion.text else ""
        places = f"{self.aspect.places} · {self.opinion.places}"
        by = self.rule or self.source
        return (
            f"{aspect} — {opinion}{whole} {markup.tag(self.polarity)} {self.valence:g} <small>{places} · "
            f"{markup.plain(by)}</small>"
        )

    def __str__(self) -> str:
        return f"{self.aspect.text} · {self.opinion.text} · {self.polarity}"

    def __repr__(self) -> str:
        """All but the reasons, with quoted texts and all spans: digests of training items are made of it."""
        parts = [repr(self.aspect), repr(self.opinion), f"{self.polarity} {self.valence!r}"]
        fulls = (("aspect_full", self.aspect, self.aspect_full), ("opinion_full", self.opinion, self.opinion_full))
        parts += [f"{name}={full!r}" for name, core, full in fulls if full != core]
        parts += [f"owner={self.owner!r}"] if self.owner else []
        parts += [f"source={self.source!r}"] if self.source != "rules" else []
        parts += [f"rules={self.rules!r}"] if self.rules else []
        parts += [f"confidence={self.confidence!r}"] if self.confidence is not None else []
        return f"Triplet({', '.join(parts)})"


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
    """What somebody says about a candidate. `label` None: abstains. `polarity`, `aspect`, `opinion`: what would be
    right, where it differs.
    """

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
    """A triplet of a pool. `n`: its blinded place from 1, None if a person added it. `sources`: (who, confidence)."""

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
    """A frozen sample with the union of what all sources propose. `id` is the head of `digest`, which covers both."""

    id: str
    seed: int
    split: str
    digest: str
    config: Mapping[str, object]
    reviews: tuple[PoolReview, ...]

    @property
    def size(self) -> int:
        """Candidates that a source proposed."""
        return sum(1 for review in self.reviews for candidate in review.candidates if candidate.n is not None)


def aspect_text(triplet: Triplet) -> str:
    """The aspect as the paper writes it: 餐點[口感] for an attribute with its owner."""
    if triplet.owner is None or not triplet.aspect.text.startswith(triplet.owner.text):
        return triplet.aspect.text
    attribute = triplet.aspect.text[len(triplet.owner.text) :].removeprefix("的").removeprefix("之").strip()
    return f"{triplet.owner.text}[{attribute}]" if attribute else triplet.aspect.text
