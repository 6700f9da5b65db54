"""What methods, constraints and measures speak of: a labelled sentence, and a candidate as edits of it.

A candidate is not a text but what changed, as half-open code point ranges of its source: labels are then re-derived
by arithmetic (`moved`), never by searching, and every row of a child release can say what was done to it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal, Protocol, TypeVar

from builder.core.records import Element, Polarity, Span

T = TypeVar("T")
Kind = Literal["aspect", "opinion"]


@dataclass(frozen=True, slots=True)
class Mark:
    """A labelled span. `polarity` is None where the task has none, as in aspect term extraction."""

    start: int
    end: int
    kind: Kind = "aspect"
    polarity: Polarity | None = None


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with its words in order, marks that a method keeps (in order, apart), and its class, if any."""

    id: str
    text: str
    words: tuple[Span, ...]
    marks: tuple[Mark, ...] = ()
    label: str | None = None
    language: Literal["zh", "en"] = "zh"


@dataclass(frozen=True, slots=True)
class Edit:
    """`text` in place of `source.text[start:end]`; start == end inserts."""

    start: int
    end: int
    text: str

    @property
    def growth(self) -> int:
        """By how much it moves what stands behind it."""
        return len(self.text) - (self.end - self.start)


@dataclass(frozen=True, slots=True)
class Changed:
    """What a method made of a mark on purpose, [start, end) in the source: its new words, polarity and valence (1 to
    10), which every triplet of that mark takes.
    """

    start: int
    end: int
    text: str
    polarity: Polarity
    valence: float


@dataclass(frozen=True, slots=True)
class Rewrite:
    """`edits` in order and apart; the method's `score`, the sentence's new `label`, and marks `changed` on purpose."""

    source: str
    edits: tuple[Edit, ...]
    score: float | None = None
    label: str | None = None
    changed: tuple[Changed, ...] = ()


def rewrite_of(row: Mapping[str, Any]) -> Rewrite:
    """A candidate from what `asdict` and JSON made of it."""
    edits, changed = tuple(Edit(**edit) for edit in row["edits"]), tuple(Changed(**each) for each in row["changed"])
    return Rewrite(**{**row, "edits": edits, "changed": changed})


class Method(Protocol):
    """A transformation. It knows nothing of constraints: what it proposes is judged elsewhere."""

    @property
    def name(self) -> str:
        """As on the command line."""

    @property
    def signature(self) -> str:
        """What its output depends on: method, settings, model digests."""

    def propose(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Rewrite, ...]]:
        """Up to `copies` candidates of each sentence, in order, which depend on `seed` and it alone."""


def seeded(seed: int, method: str, item: str) -> Random:
    """The chance of one item: no other item, no order and no number of workers changes it."""
    return Random(
        int.from_bytes(hashlib.sha256(f"{seed}\0{method}\0{item}".encode("utf-8", "surrogatepass")).digest()[:8], "big")
    )


def applied(text: str, edits: Sequence[Edit]) -> str:
    """The text after the edits."""
    out, at = [], 0
    for edit in edits:
        out += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*out, text[at:]])


def replaced(span: Span, edits: Sequence[Edit]) -> Span | None:
    """The place of the words that an edit of just this range wrote; as `moved` where there is no such edit."""
    new = next((edit.text for edit in edits if (edit.start, edit.end) == span), None)
    if new is None:
        return moved(span, edits)
    start = span[0] + _shift(span[0], edits)
    return start, start + len(new)


def written(edits: Sequence[Edit]) -> list[Span]:
    """Where the words of the edits stand in the text after them; nothing for an edit that only removes."""
    out, shift = [], 0
    for edit in edits:
        start = edit.start + shift
        if edit.text:
            out.append((start, start + len(edit.text)))
        shift += edit.growth
    return out


def stretched(span: Span, edits: Sequence[Edit]) -> Span | None:
    """As `moved`, but edits inside the span go with it; None where one crosses an end, or nothing is left."""
    inner = [edit for edit in edits if edit.start < span[1] and span[0] < edit.end]
    if any(edit.start < span[0] or span[1] < edit.end for edit in inner):
        return None
    shift = _shift(span[0], edits)
    start, end = span[0] + shift, span[1] + shift + sum(edit.growth for edit in inner)
    return (start, end) if start < end else None


def carried(element: Element, text: str, edits: Sequence[Edit], stretch: bool = False) -> Element | None:
    """An element after the edits, None where a span does not survive; `stretch`: edits inside go with it."""
    places = [(stretched if stretch else moved)(span, edits) for span in element.spans]
    spans = tuple(place for place in places if place is not None)
    return Element.at(text, spans) if len(spans) == len(places) else None


def moved(span: Span, edits: Sequence[Edit]) -> Span | None:
    """Where a span of the source stands after the edits, or None where one of them touches its inside."""
    if any(edit.start < span[1] and span[0] < edit.end for edit in edits):
        return None
    shift = _shift(span[0], edits)
    return span[0] + shift, span[1] + shift


def _shift(place: int, edits: Sequence[Edit]) -> int:
    """By how much the edits before a place move it."""
    return sum(edit.growth for edit in edits if edit.end <= place)


# ---- Choosing words and collecting candidates

TRIES = 4
"""Draws per wanted candidate before a sentence is held to have no more to give."""


def free(sentence: Sentence) -> list[int]:
    """The words, by index, that hold a letter or digit and share no character with a mark: the ones that may change."""
    return [
        i
        for i, (start, end) in enumerate(sentence.words)
        if any(map(str.isalnum, sentence.text[start:end]))
        and not any(mark.start < end and start < mark.end for mark in sentence.marks)
    ]


def some(random: Random, values: Sequence[T], number: int) -> Sequence[T]:
    """As Random.sample; of one or two, as nearly always, in a third of the time."""
    if number == 1:
        return (random.choice(values),)
    if number == 2:
        first, second = random.randrange(len(values)), random.randrange(len(values) - 1)
        return values[first], values[second + (second >= first)]
    return random.sample(values, number)


def amount(rate: float, words: int) -> int:
    """How many words a rate asks for: one at least (Wei and Zou 2019, n = max(1, alpha l))."""
    return max(1, int(rate * words))


def replacing(sentence: Sentence, chosen: Sequence[tuple[int, str]]) -> tuple[Edit, ...]:
    """Words, by index, and what stands in their place, as edits in order."""
    return tuple(Edit(*sentence.words[i], text) for i, text in sorted(chosen))


def distinct(
    sentence: Sentence, make: Callable[[int], tuple[Edit, ...]], copies: int, tries: int = TRIES
) -> tuple[Rewrite, ...]:
    """Up to `copies` candidates with different edits, of `tries` as many; `make` takes the number of the try."""
    seen: dict[tuple[Edit, ...], None] = {}
    for number in range(tries * copies):
        if edits := make(number):
            seen[edits] = None
            if len(seen) == copies:
                break
    return tuple(Rewrite(sentence.id, edits) for edits in seen)
