"""What a report is made of, whatever it is written as: sections with tables, figures and examples. Values only, no
markup.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from builder.store.report import Marked

Cell = str | int | float | None
Look = Literal["plain", "bars", "polarity", "matrix", "signatures", "examples"]


@dataclass(frozen=True, slots=True)
class Table:
    """`name` is its file name and anchor; `note` says how it was counted; `missing` why it is empty and how to get it.

    `look`: `bars` draws the second column, `polarity` the columns POS, NEG, NEU, `matrix` shades its numbers. `text`:
    columns of words from texts (shown as such). Floats are percent unless `decimals` says otherwise.
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
class ChartLine:
    """A line of a figure: (x, y) points, one a round."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class ChartBar:
    """A value with its interval, of a named system."""

    name: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class ReportFigure:
    """Lines over rounds (Figure 7), values with intervals, or a histogram of (x, y); `about` is read where the
    picture is not seen.
    """

    name: str
    title: str
    about: str
    x: str
    y: str
    lines: tuple[ChartLine, ...] = ()
    bars: tuple[ChartBar, ...] = ()
    histogram: tuple[tuple[int, int], ...] = ()


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
    figures: tuple[ReportFigure, ...] = ()
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
        """The tables of all sections, in order."""
        return [table for section in self.sections for table in section.tables]


def shown(cell: Cell, decimals: int = 1) -> str:
    """A cell as people read it: thousands apart, a dash for nothing."""
    if cell is None:
        return "–"
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:,.{decimals}f}" if isinstance(cell, float) else cell
