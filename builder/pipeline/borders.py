"""Where the longest forms of a triplet begin and end: habits in which people who label differ.

In: a triplet over a text, in either script, those of the same text, and what `release` says of borders. Out: the
triplet with other longest forms. Aspect and opinion stay, so it remains the same triplet.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from builder.core.records import Element, Triplet
from builder.core.settings import ReleaseSettings

_POINTERS = re.compile(
    "[這这那此該该本](?:一?[些個个台款家間间種种部支次張张隻只件組组份碗盤盘道杯場场項项套輛辆雙双條条])?的?"
)
_PARTICLES = frozenset("的了啊喔哦呢吧啦囉啰呀耶")
_LIGHT = frozenset("的了")
"""Particles that rules and reader take into an opinion."""


def move_borders(triplet: Triplet, text: str, wanted: ReleaseSettings, others: Iterable[Triplet] = ()) -> Triplet:
    """The triplet with its longest forms as a release wants them; they take in nothing of `others` in the text."""
    aspect, opinion = triplet.aspect_full, triplet.opinion_full
    first, start, end = aspect.start, opinion.start, opinion.end
    if wanted.modifiers == "drop":
        first = triplet.aspect.start
    elif wanted.modifiers == "unpointed" and (match := _POINTERS.match(text, first, triplet.aspect.start)):
        of_another = text[match.end() : triplet.aspect.start].endswith("的")  # 這家店的湯頭: the shop is pointed at
        first = first if of_another else match.end()
    if wanted.lead == "clause":
        start = _find_lead(text, start, aspect, [triplet, *others])
    if wanted.particles == "add":
        while end < len(text) and text[end] in _PARTICLES and not _is_in(aspect, end):
            end += 1
    elif wanted.particles == "drop":
        while end > triplet.opinion.end and text[end - 1] in _LIGHT:
            end -= 1
    if (first, start, end) == (aspect.start, opinion.start, opinion.end):
        return triplet
    return replace(
        triplet,
        aspect_full=_stretch(text, aspect, first, aspect.end),
        opinion_full=_stretch(text, opinion, start, end),
    )


def _find_lead(text: str, start: int, aspect: Element, triplets: Iterable[Triplet]) -> int:
    """Where what leads to an opinion begins: behind the mark, or the aspect or opinion of a triplet, before it."""
    elements = (own for one in triplets for own in (one.aspect, one.aspect_full, one.opinion, one.opinion_full))
    lowest = max((end for own in elements for _, end in own.spans if end <= start), default=0)
    first = start
    while first > lowest and text[first - 1].isalnum() and not _is_in(aspect, first - 1):
        first -= 1
    if 0 < first == lowest:
        while first < start and text[first] in _PARTICLES:  # they belong to what stands before
            first += 1
    return first


def _is_in(element: Element, at: int) -> bool:
    return any(start <= at < end for start, end in element.spans)


def _stretch(text: str, element: Element, start: int, end: int) -> Element:
    """The element from start to end; one in several parts stays."""
    return element if len(element.spans) > 1 else Element.at(text, [(start, end)])
