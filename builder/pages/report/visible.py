"""Texts of other people made safe and visible: reviews are hostile input. Pure.

Characters that turn the line round, hide or control something are shown as their code, ⟨U+202E⟩; Markdown's own marks
are escaped. HTML's are escaped by the template engine.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from builder.store.report import Marked

_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
_KEPT = "\u200d\ufe0f"
"""The joiner and the selector of emoji."""
_MARKS = re.compile(r"[\\`*\[\]|~]|^#|(?<!\w)_|_(?!\w)")


def visible(text: str) -> str:
    """The text on one line, with what cannot be seen shown as its code."""
    return "".join(_shown(char) for char in text)


def markdown(text: str) -> str:
    """`visible`, with Markdown's and HTML's marks, links and mentions taken literally."""
    text = _MARKS.sub(r"\\\g<0>", visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))
    return re.sub(
        r"(?i)(https?|ftp)://|www\.|@",
        lambda match: match[0].replace(":", "&#58;").replace(".", "&#46;").replace("@", "&#64;"),
        text,
    )


def prose(text: str) -> Iterator[tuple[str, bool]]:
    """Our own sentences: (text, whether it stood between backticks)."""
    for i, part in enumerate(visible(text).split("`")):
        if part:
            yield part, i % 2 == 1


def pieces(text: str, triplets: tuple[Marked, ...]) -> Iterator[tuple[str, bool, str]]:
    """(text, in an aspect, polarity of the opinion it is in or "") from start to end; of two opinions that overlap
    the later one shows.
    """
    aspect, opinion = [False] * len(text), [""] * len(text)
    for triplet in triplets:
        for start, end in triplet.aspect_spans:
            aspect[start:end] = [True] * (end - start)
        for start, end in triplet.opinion_spans:
            opinion[start:end] = [triplet.polarity] * (end - start)
    at = 0
    for i in range(1, len(text) + 1):
        if i == len(text) or (aspect[i], opinion[i]) != (aspect[at], opinion[at]):
            yield visible(text[at:i]), aspect[at], opinion[at]
            at = i


def _shown(char: str) -> str:
    if char in "\n\t\r":
        return "⏎" if char == "\n" else " "
    return f"⟨U+{ord(char):04X}⟩" if char not in _KEPT and unicodedata.category(char) in _HIDDEN else char
