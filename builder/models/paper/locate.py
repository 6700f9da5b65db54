"""Where a term that a model wrote stands in the review. Pure.

A tokenizer with NFKC writes ： as : and ％ as %, so review and term are compared folded, character by character, each
folded character knowing the place it came from. A term may skip characters, as negation does (不會鹹 from 不會太鹹;
paper, section 3.2.4), at most `MAX_GAP` at a time. The places that are found are code-point spans of the review itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from builder.core.records import Element, Span

MAX_GAP = 8
"""The most characters that a term skips at one place; 不是非常特別的好吃 → 不好吃 skips 7."""
_SENTENCE_END = re.compile("[。！？!?…\n]")


@cache
def _fold(char: str) -> str:
    return " " if char.isspace() else unicodedata.normalize("NFKC", char)


def fold(text: str) -> str:
    """What a model can be expected to write for `text`: NFKC of each character, whitespace as one kind of space. Not
    of the whole string, whose characters must keep their places.
    """
    return "".join(map(_fold, text))


@dataclass(frozen=True, slots=True)
class Folded:
    """`chars[i]` came from code point `index[i]` of the text."""

    chars: str
    index: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> Folded:
        folded = [(c, i) for i, char in enumerate(text) for c in fold(char)]
        return cls("".join(c for c, _ in folded), tuple(i for _, i in folded))

    def spans(self, at: tuple[int, ...]) -> tuple[Span, ...]:
        """Folded positions, in order, as merged spans of the text."""
        out: list[Span] = []
        for i in (self.index[j] for j in at):
            if out and i <= out[-1][1]:
                out[-1] = out[-1][0], max(out[-1][1], i + 1)
            else:
                out.append((i, i + 1))
        return tuple(out)


def places(folded: Folded, term: str) -> list[tuple[Span, ...]]:
    """Every place of `term`: where it stands in one piece if it does anywhere, else its closest place from each first
    character.
    """
    wanted = fold(term.strip())
    if not wanted:
        return []
    whole = [tuple(range(at, at + len(wanted))) for at in _all(folded.chars, wanted)]
    indices = whole or [
        at for first in _all(folded.chars, wanted[0]) if (at := _scattered(folded.chars, wanted, first)) is not None
    ]
    return list(dict.fromkeys(folded.spans(at) for at in indices))


def _all(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def _scattered(text: str, term: str, first: int) -> tuple[int, ...] | None:
    """The positions of `term` as a subsequence from `first` on that ends soonest, every skip at most MAX_GAP; None if
    there are none.
    """
    reached: dict[int, tuple[int, ...]] = {first: (first,)}
    for char in term[1:]:
        after: dict[int, tuple[int, ...]] = {}
        for at, path in reached.items():
            for j in range(at + 1, min(len(text), at + MAX_GAP + 2)):
                if text[j] == char and (j not in after or path[-1] > after[j][-2]):
                    after[j] = (*path, j)
        reached = after
    return reached[min(reached)] if reached else None


def nearest(text: str, aspect: str, opinion: str) -> tuple[tuple[Element, Element], int] | None:
    """The aspect and the opinion where they stand closest together, and among how many pairs of places that was
    chosen; None if either is nowhere. Places in one sentence go before others, an aspect before its opinion before
    the other order (82% of the released data).
    """
    folded = Folded.of(text)
    pairs = [(a, o) for a in places(folded, aspect) for o in places(folded, opinion)]
    if not pairs:
        return None
    a, o = min(pairs, key=lambda pair: _strain(text, *pair))
    return (_element(text, a), _element(text, o)), len(pairs)


def _strain(text: str, aspect: tuple[Span, ...], opinion: tuple[Span, ...]) -> tuple[bool, bool, int, int, int, int]:
    start, end, first, last = aspect[0][0], aspect[-1][1], opinion[0][0], opinion[-1][1]
    between = text[end:first] if end <= first else text[last:start]
    overlap = not (end <= first or last <= start)
    return overlap, bool(_SENTENCE_END.search(between)), len(between), int(last <= start), start, first


def envelope(text: str, element: Element) -> Element:
    """The contiguous stretch from the first to the last character of an element."""
    return _element(text, ((element.start, element.end),))


def _element(text: str, spans: tuple[Span, ...]) -> Element:
    return Element("".join(text[start:end] for start, end in spans), spans)
