"""The marked text of a review (`builder.markup`) as the templates take it: safe HTML, and the hits of a search
in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from builder import markup
from builder.markup import SpanMark, lanes
from builder.records import Span, StoredTriplet

__all__ = ["SpanMark", "hits", "lanes", "marked", "marks", "plain"]


def marks(stored: Sequence[StoredTriplet]) -> list[SpanMark]:
    """Aspect and opinion of each triplet, numbered in the given order."""
    return [mark for number, row in enumerate(stored) for mark in row.triplet.marks(number)]


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
