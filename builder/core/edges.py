"""Where an element may begin and end: not on punctuation, spaces or emoji. In: an element over its text. Out: the
element trimmed, or what is wrong.

Inside a name marks may join letters (7-11, M&M's, C/P值); any other mark parts two phrases and is no part of a name.
"""

from __future__ import annotations

from collections.abc import Sequence

from builder.core.records import Element, Span, Triplet

_JOINING = frozenset("&+-–'’.·・•/%×_#*")
"""Marks that join two parts of a name where a letter or digit stands on either side."""


def trimmed(text: str, element: Element) -> Element | None:
    """The element without marks, spaces and emoji at the edges of its spans; None if nothing is left."""
    spans = [span for start, end in element.spans if (span := _within(text, start, end)) is not None]
    if tuple(spans) == element.spans:
        return element
    return Element.at(text, spans) if spans else None


def _within(text: str, start: int, end: int) -> Span | None:
    while start < end and not _names(text[start]):
        start += 1
    while start < end and not _names(text[end - 1]):
        end -= 1
    return (start, end) if start < end else None


def _names(char: str) -> bool:
    """Letters, digits and the marks of masks and names in Latin letters (A+, 50%) may stand at an edge."""
    return char.isalnum() or char in "%+"


def edge_fault(text: str, spans: Sequence[Sequence[int]]) -> str | None:
    """What mark, space or emoji an aspect has at an edge, or inside where it joins no letters; None if none."""
    for start, end in spans:
        part = text[start:end]
        if not (_names(part[0]) and _names(part[-1])):
            return f"{part!r} begins or ends with a mark"
        for i, char in enumerate(part):
            if not (char.isalnum() or (char in _JOINING or _ascii_space(part, i)) or char in "%+"):
                return f"{part!r} has {char!r} inside"
    return None


def _ascii_space(part: str, i: int) -> bool:
    """A space between words in Latin letters (Crème brûlée); between Han characters it is a comma."""
    return part[i] == " " and 0 < i < len(part) - 1 and not _is_wide(part[i - 1]) and not _is_wide(part[i + 1])


def _is_wide(char: str) -> bool:
    return ord(char) > 0x2E7F


def shared(first: Element, second: Element) -> bool:
    """Whether two elements share a character."""
    return any(a < d and c < b for a, b in first.spans for c, d in second.spans)


def tidied(text: str, triplet: Triplet) -> Triplet | None:
    """The triplet with trimmed elements; None where nothing is left of one, or aspect and opinion overlap."""
    aspect, aspect_full = trimmed(text, triplet.aspect), trimmed(text, triplet.aspect_full)
    opinion, opinion_full = trimmed(text, triplet.opinion), trimmed(text, triplet.opinion_full)
    if aspect is None or aspect_full is None or opinion is None or opinion_full is None:
        return None
    if shared(aspect, opinion) or any(edge_fault(text, element.spans) for element in (aspect, aspect_full)):
        return None
    owner = trimmed(text, triplet.owner) if triplet.owner else None
    if (aspect, aspect_full, opinion, opinion_full, owner) == (*_elements(triplet), triplet.owner):
        return triplet
    return Triplet(
        aspect, aspect_full, opinion, opinion_full, triplet.polarity, triplet.valence, owner,
        triplet.source, triplet.rules, triplet.confidence, triplet.reasons,
    )  # fmt: skip


def _elements(triplet: Triplet) -> tuple[Element, Element, Element, Element]:
    return triplet.aspect, triplet.aspect_full, triplet.opinion, triplet.opinion_full


def overlap(a: Element, b: Element) -> bool:
    """Whether two elements share a character of the stretch from first to last."""
    return a.start < b.end and b.start < a.end


def clashes(triplet: Triplet, other: Triplet) -> bool:
    """Whether two triplets speak of the same place: aspects overlap and opinions overlap."""
    return overlap(triplet.aspect_full, other.aspect_full) and overlap(triplet.opinion_full, other.opinion_full)
