"""What another set of rules changes in a review: triplets added, lost, and changed, with their sentence.

In: a review's triplets before and after. Out: `TripletChange`s. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from builder.core.edges import shared
from builder.core.records import Span, Triplet

Kind = Literal["added", "lost", "changed"]
_ENDS = re.compile(r"[。！？!?；;\n]")
_AROUND = 40
"""Characters that are quoted before and behind a triplet, at most."""


@dataclass(frozen=True, slots=True)
class TripletChange:
    """A triplet before and after; None where there is none."""

    before: Triplet | None
    after: Triplet | None

    @property
    def kind(self) -> Kind:
        """Whether it came, went, or is another."""
        if self.before is None:
            return "added"
        return "lost" if self.after is None else "changed"


@dataclass(frozen=True, slots=True)
class Quote:
    """A part of a text, with spans in it."""

    text: str
    aspect: tuple[Span, ...]
    opinion: tuple[Span, ...]


def compare_triplets(before: Sequence[Triplet], after: Sequence[Triplet]) -> Iterator[TripletChange]:
    """What differs, in the order of the text. A lost and an added triplet of one opinion are one that changed."""
    kept = {triplet.key for triplet in before} & {triplet.key for triplet in after}
    lost = [triplet for triplet in before if triplet.key not in kept]
    added = [triplet for triplet in after if triplet.key not in kept]
    for triplet in lost:
        same = next((other for other in added if _are_one(triplet, other)), None)
        if same is not None:
            added.remove(same)
        yield TripletChange(triplet, same)
    for triplet in added:
        yield TripletChange(None, triplet)


def _are_one(before: Triplet, after: Triplet) -> bool:
    same_aspect = before.aspect.spans == after.aspect.spans
    return before.opinion.spans == after.opinion.spans or (same_aspect and shared(before.opinion, after.opinion))


def find_sentence(text: str, start: int, end: int) -> Span:
    """The sentence around a place, without the mark that ends it."""
    begin = max((match.end() for match in _ENDS.finditer(text, 0, start)), default=0)
    return begin, match.start() if (match := _ENDS.search(text, end)) else len(text)


def quote_triplet(text: str, triplet: Triplet) -> Quote:
    """The sentence of a triplet; a long one is cut."""
    spans = (*triplet.aspect.spans, *triplet.opinion.spans)
    start, end = min(span[0] for span in spans), max(span[1] for span in spans)
    begin, until = find_sentence(text, start, end)
    first, last = max(begin, start - _AROUND), min(until + 1, len(text), end + _AROUND)

    def move(spans: tuple[Span, ...]) -> tuple[Span, ...]:
        return tuple((start - first, end - first) for start, end in spans)

    return Quote(text[first:last], move(triplet.aspect.spans), move(triplet.opinion.spans))
