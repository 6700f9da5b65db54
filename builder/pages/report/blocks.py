"""The blocks of a report, whatever it is written as: sections with tables and examples.

They are values only, no markup. Numbers are spelt as people read them.

Texts of other people are made safe and visible, since reviews are hostile input. Characters that turn the line round,
hide or control something are shown as their code, ⟨U+202E⟩. Markdown's own marks are escaped; the template engine
escapes HTML's. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from builder.store.report import Marked

# ---- Numbers


def whole_number(value: object) -> int:
    """A count, which is a whole number."""
    assert isinstance(value, int), f"a count is {value!r}"
    return value


def percent(part: int, whole: int) -> float:
    """A share in percent; 0 of nothing."""
    return 100.0 * part / max(1, whole)


def spoken_seconds(seconds: float) -> str:
    """12 s, 3 min 05 s, 2 h 10 min."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


# ---- Texts of other people

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


# ---- Sections and tables

Cell = str | int | float | None
Look = Literal["plain", "bars", "polarity", "matrix", "signatures", "examples"]


@dataclass(frozen=True, slots=True)
class Table:
    """`name` is its file name and anchor; `note` says how it was counted; `missing` why it is empty and how to get it.

    `look`: `bars` draws the second column, `polarity` the columns POS, NEG, NEU, `matrix` shades its numbers. Floats
    are percent unless `decimals` says otherwise.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    missing: str = ""
    look: Look = "plain"
    decimals: int = 1


@dataclass(frozen=True, slots=True)
class MarkedExample:
    """A review with its triplets marked; `key` is the id as it is released."""

    key: str
    text: str
    triplets: tuple[Marked, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """`lead`: one or two sentences that say what to see. `part`: the part of the report that begins with it."""

    name: str
    title: str
    lead: str
    tables: tuple[Table, ...] = ()
    examples: tuple[MarkedExample, ...] = ()
    part: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """`tiles`: (value, what it is) of the head; `foot`: what made it."""

    title: str
    subtitle: str
    tiles: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]
    foot: str

    def tables(self) -> list[Table]:
        return [table for section in self.sections for table in section.tables]


def shown(cell: Cell, decimals: int = 1) -> str:
    """A cell as people read it: thousands apart, a dash for nothing."""
    if cell is None:
        return "–"
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:,.{decimals}f}" if isinstance(cell, float) else cell
