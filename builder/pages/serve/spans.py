"""The marked text of a review (`builder.core.markup`) as the templates take it: safe HTML, and the hits of a search
in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from markupsafe import Markup

from builder.core import markup
from builder.core.markup import SpanMark, lanes
from builder.core.records import Span, StoredTriplet

__all__ = ["SpanMark", "hits", "lanes", "marked", "marks", "plain", "shade"]


def marks(stored: Sequence[StoredTriplet], shades: Mapping[int, str] = MappingProxyType({})) -> list[SpanMark]:
    """Aspect and opinion of each triplet, numbered in the given order. `shades`: a class by the triplet's id."""
    return [
        replace(mark, shade=shades.get(row.id, ""))
        for number, row in enumerate(stored)
        for mark in row.triplet.marks(number)
    ]


def shade(confidence: float | None) -> str:
    """The class of a confidence: s0 (below 0.5), s5, s6 … s9; "" where there is none."""
    if confidence is None:
        return ""
    return "s0" if confidence < 0.5 else f"s{min(9, int(10 * confidence + 1e-9))}"


def marked(text: str, shown: Sequence[SpanMark]) -> Markup:
    """`text` with `shown` marked; one keyboard stop a triplet."""
    return Markup(markup.marked(text, shown, stops=True))


def plain(text: str) -> Markup:
    """Escaped text whose control and direction characters are named instead of obeyed."""
    return Markup(markup.plain(text))


def hits(text: str, places: Sequence[Span]) -> Markup:
    """Text with the spans of a search marked."""
    parts, at = [], 0
    for start, end in places:
        parts += [markup.plain(text[at:start]), f"<mark>{markup.plain(text[start:end])}</mark>"]
        at = end
    return Markup("".join([*parts, markup.plain(text[at:])]))
