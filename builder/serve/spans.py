"""A review's text as HTML with its triplets marked: parts may overlap and lie apart. Pure; everything that comes from data is escaped.

Each stretch of text between two borders of spans becomes nested <span>s, one for each element that covers it, so that every element
draws its own line below (lanes keep them apart) and the pointer meets all triplets of the place at once.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from builder.records import Polarity, Span, StoredTriplet

LANES = 6
_HIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Characters that would reorder or hide what a reader sees: shown by their number instead."""


@dataclass(frozen=True, slots=True)
class Mark:
    """An element of triplet number `triplet` on the page."""

    triplet: int
    role: str
    polarity: Polarity
    spans: tuple[Span, ...]

    def covers(self, start: int, end: int) -> bool:
        return any(a <= start and end <= b for a, b in self.spans)


def marks(stored: Sequence[StoredTriplet]) -> list[Mark]:
    """Aspect and opinion of each triplet, numbered in the given order."""
    return [
        Mark(n, role, one.triplet.polarity, element.spans)
        for n, one in enumerate(stored)
        for role, element in (("aspect", one.triplet.aspect), ("opinion", one.triplet.opinion))
    ]


def marked(text: str, shown: Sequence[Mark]) -> Markup:
    """`text` with `shown` marked. Elements whose spans are no part of the text are ignored."""
    borders = sorted({0, len(text), *(edge for one in shown for span in one.spans for edge in span if 0 <= edge <= len(text))})
    lane = lanes(shown)
    focused: set[tuple[int, str]] = set()
    out = Markup()
    for start, end in itertools.pairwise(borders):
        part = plain(text[start:end])
        for one in [one for one in shown if one.covers(start, end)]:
            # The first part of an opinion takes the keyboard's focus: one stop a triplet.
            first = (one.triplet, one.role) not in focused
            focused.add((one.triplet, one.role))
            stop = Markup(' tabindex="0" aria-describedby="t{}"').format(one.triplet) if first and one.role == "opinion" else ""
            part = Markup('<span class="m {} {} l{}" data-t="{}"{}>{}</span>').format(
                one.role, one.polarity, lane[one], one.triplet, stop, part
            )
        out += part
    return out


def lanes(shown: Sequence[Mark]) -> dict[Mark, int]:
    """The lane of each mark: the lowest that no mark over the same characters has; the last one where all are taken."""
    out: dict[Mark, int] = {}
    for one in sorted(shown, key=lambda one: (one.spans[0][0], -one.spans[-1][1])):
        taken = {out[other] for other in out if other.spans[0][0] < one.spans[-1][1] and one.spans[0][0] < other.spans[-1][1]}
        out[one] = next((lane for lane in range(LANES) if lane not in taken), LANES - 1)
    return out


def plain(text: str) -> Markup:
    """Escaped text whose control and direction characters are named instead of obeyed."""
    out, at = Markup(), 0
    for match in _HIDDEN.finditer(text):
        out += escape(text[at : match.start()]) + Markup('<span class="hidden-char">U+{:04X}</span>').format(ord(match[0]))
        at = match.end()
    return out + escape(text[at:])


def hits(text: str, found: Sequence[Span]) -> Markup:
    """Text with the spans of a search marked."""
    out, at = Markup(), 0
    for start, end in found:
        out += plain(text[at:start]) + Markup("<mark>{}</mark>").format(plain(text[start:end]))
        at = end
    return out + plain(text[at:])
