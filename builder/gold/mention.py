"""Where something stands in a review, as people and other tools write it: `服務`, or `服務@12-14`, or `不鹹@3-4,6-7`
for one in pieces.

Offsets are code points. Label Studio counts UTF-16 units: `to_utf16` and `from_utf16` convert at that edge.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, pairwise

from builder.core.records import Element, Span

_PLACED = re.compile(r"(.*)@(\d{1,7}-\d{1,7}(?:,\d{1,7}-\d{1,7})*)", re.S)


class MentionError(ValueError):
    """It does not stand there. `what` and `fix` are for the person who wrote it."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.what, self.fix = what, fix


def surface(text: str, spans: Sequence[Span]) -> str:
    """The characters at some spans of a text, joined."""
    return "".join(text[start:end] for start, end in spans)


def shown(text: str, spans: Sequence[Span]) -> str:
    """`TEXT@start-end,…` of these spans."""
    return f"{surface(text, spans)}@{places(spans)}"


def places(spans: Sequence[Span]) -> str:
    """`start-end,…`."""
    return ",".join(f"{start}-{end}" for start, end in spans)


def locate(text: str, given: str) -> Element:
    """What `given` names in `text`; MentionError where it is not there, or stands there more than once without saying
    where.
    """
    placed = _PLACED.fullmatch(given)
    if placed and given not in text:
        spans = tuple((int(a), int(b)) for a, b in (part.split("-") for part in placed[2].split(",")))
        return _checked(text, placed[1], spans)
    starts = [match.start() for match in re.finditer(f"(?={re.escape(given)})", text)] if given else []
    if len(starts) == 1:
        return Element(given, ((starts[0], starts[0] + len(given)),))
    if not starts:
        raise MentionError(
            f"{given!r} does not stand in the review",
            "copy the words from the text; for words in pieces write 不鹹@3-4,6-7",
        )
    first = ", ".join(f"{at}-{at + len(given)}" for at in starts[:5])
    raise MentionError(
        f"{given!r} stands {len(starts)} times in the review",
        f"write which one: {given}@{first.split(',')[0]} (it is at {first})",
    )


def _checked(text: str, words: str, spans: tuple[Span, ...]) -> Element:
    ordered = all(start < end <= len(text) for start, end in spans) and all(a[1] <= b[0] for a, b in pairwise(spans))
    if not ordered or (words and surface(text, spans) != words):
        there = f", which is {surface(text, spans)!r}" if ordered else ""
        raise MentionError(
            f"{words!r} does not stand at {places(spans)}{there}",
            "correct the places: code points from 0, the end not included",
        )
    return Element(surface(text, spans), spans)


def to_utf16(text: str, offsets: Sequence[int]) -> list[int]:
    """Code-point offsets as UTF-16 ones."""
    units = _units(text)
    return [units[offset] for offset in offsets]


def from_utf16(text: str, offsets: Sequence[int]) -> list[int]:
    """UTF-16 offsets as code-point ones; ValueError for one outside of the text or inside a character."""
    units = _units(text)
    out = []
    for offset in offsets:
        at = bisect_left(units, offset)
        if at == len(units) or units[at] != offset:
            raise ValueError(f"{offset} is no UTF-16 offset of a character")
        out.append(at)
    return out


def _units(text: str) -> list[int]:
    """Units before each character, and before the end."""
    return [0, *accumulate(2 if ord(char) > 0xFFFF else 1 for char in text)]
