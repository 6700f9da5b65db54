"""Bar charts of the overview: rows of a label, a bar in inline SVG that stretches with the page, and numbers. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from builder.core.records import POLARITIES
from builder.store.listing import NONE

Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a bar: its CSS class, where it begins and how long it is, in thousandths of the longest bar."""

    kind: str
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class Bar:
    """A row of a chart; `link` may be empty, `title` is what the pointer shows."""

    label: str
    link: str
    parts: tuple[Part, ...]
    number: str
    note: str
    title: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with what its bars mean; `legend` are CSS classes with their names. `doubt`: why its numbers are not to
    be trusted, in a sentence.
    """

    title: str
    about: str
    link: str
    legend: tuple[tuple[str, str], ...]
    bars: tuple[Bar, ...]
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class FilterBar:
    """A bar of a histogram that filters: a click on it sets the filter, or unsets it where it is `on`."""

    label: str
    link: str
    number: int
    width: float
    on: bool


@dataclass(frozen=True, slots=True)
class Histogram:
    """The bars of a filter, by what they count. `more` leads to those that are left out, if any are."""

    name: str
    bars: tuple[FilterBar, ...]
    more: str = ""


def histogram(
    name: str,
    rows: Sequence[tuple[str, int]],
    label: Callable[[str], str],
    link: Callable[[str], str],
    chosen: tuple[str, int],
    more: str = "",
) -> Histogram:
    """Bars of (value, number). `link` leads to the page with a value, or with "" to that without the filter; `chosen`
    is the value that is set, with its number: it has a bar even where it is none of the rows. What has no value
    (`NONE`) does not set the scale.
    """
    value = chosen[0]
    shown = [*([chosen] if value and value not in dict(rows) else []), *rows]
    longest = max((number for text, number in shown if text != NONE), default=0) or 1
    bars = [
        FilterBar(
            label(text),
            link("" if text == value else text),
            number,
            min(1000.0, round(1000 * number / longest, 1)),
            text == value,
        )
        for text, number in shown
    ]
    return Histogram(name, tuple(bars), more)


LEGEND = (("POS", "positive"), ("NEG", "negative"), ("NEU", "neutral"))


def by_polarity(
    rows: Sequence[Row], label: str, links: Mapping[str, str] | None = None, note: str = "", doubted: bool = False
) -> tuple[Bar, ...]:
    """Bars of POS, NEG and NEU. `label` is the column that names a row, `note` one that is shown as a percentage, with
    a question mark where it is `doubted`.
    """
    longest = max((sum(number(row[p]) for p in POLARITIES) for row in rows), default=1) or 1
    out = []
    for row in rows:
        name, values = str(row[label]), {str(p): number(row[p]) for p in POLARITIES}
        percent = "" if not note or row[note] is None else f"{row[note]}%{' ?' * doubted}"
        title = ", ".join(f"{values[kind]:,.0f} {word}" for kind, word in LEGEND)
        out.append(
            Bar(
                name,
                (links or {}).get(name, ""),
                stacked(values, longest),
                f"{sum(values.values()):,.0f}",
                percent,
                f"{name}: {title}",
            )
        )
    return tuple(out)


def stacked(values: Mapping[str, float], longest: float) -> tuple[Part, ...]:
    """Parts side by side, `longest` being the whole width."""
    out, at = [], 0.0
    for kind, value in values.items():
        width = round(1000 * value / longest, 1)
        out.append(Part(kind, round(at, 1), width))
        at += width
    return tuple(out)


def growth(rows: Sequence[Row]) -> tuple[Bar, ...]:
    """The training set of each variant and round: what it had and what the round added."""
    longest = max((number(row["triplets"]) for row in rows), default=1) or 1
    out = []
    for row in rows:
        whole, added = number(row["triplets"]), number(row["added"]) if number(row["round"]) else 0.0
        note = f"+{added:,.0f}" if added else ""
        title = f"{row['predicted']} predicted, {row['accepted_percent']}% accepted"
        parts = stacked({"kept": whole - added, "added": added}, longest)
        out.append(Bar(f"{row['variant']}, round {row['round']}", "", parts, f"{whole:,.0f}", note, title))
    return tuple(out)


def verdicts(rows: Sequence[Row], doubted: bool = False) -> tuple[Bar, ...]:
    """Verdicts on each model's findings; with a question mark behind the share where the judge is `doubted`."""
    longest = max((number(row["judged"]) for row in rows), default=1) or 1
    return tuple(
        Bar(
            str(row["model"]),
            "",
            stacked({kind: number(row[kind]) for kind in ("YY", "abstained", "YN", "NX")}, longest),
            f"{number(row['judged']):,.0f}",
            f"{row['rejected_percent']}%{' ?' * doubted}",
            f"{row['YY']} accepted, {row['abstained']} without a verdict, {row['YN']} with doubted polarity,"
            f" {row['NX']} with a doubted pair",
        )
        for row in rows
    )


def number(value: object) -> float:
    """A value of a query as a number; 0 for nothing."""
    return float(value) if isinstance(value, int | float) else 0.0
