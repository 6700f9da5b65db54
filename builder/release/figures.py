"""How good the silver labels are by gold reviews, and names for systems and metrics that need no key. Pure.

Each figure says by whose labels it was measured. Agreement of a model with the rules is no quality, and is never shown
as such.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

_METRICS = {
    "exact": "exact match",
    "lenient": "near match (one part may hold the other)",
    "paper": "example-based, as in Lu et al. 2024",
}
_PARTS = {"P": "precision", "R": "recall", "F1": "F1"}


@dataclass(frozen=True, slots=True)
class QualityFigure:
    """A figure that gold stands behind. `figure`: precision, recall or F1 and how it counts; `of` what
    it was measured; `by` whose labels, of how many reviews; percent with the ends of its 95% interval.
    """

    figure: str
    of: str
    by: str
    value: float
    low: float | None = None
    high: float | None = None


def of_manifest(rows: Iterable[Mapping[str, Any]]) -> list[QualityFigure]:
    """The figures that a manifest holds."""
    return [QualityFigure(**row) for row in rows]


def as_rows(figures: Iterable[QualityFigure]) -> list[dict[str, Any]]:
    """For the manifest."""
    return [asdict(figure) for figure in figures]


def markdown(figures: Sequence[QualityFigure]) -> str:
    """A table."""
    head = "| figure | percent | 95% interval | of | judged by |\n|---|---|---|---|---|\n"
    return head + "\n".join(
        f"| {figure.figure} | {figure.value:.1f} | {interval(figure.low, figure.high)} | {figure.of} | {figure.by} |"
        for figure in figures
    )


def sentence(figures: Sequence[QualityFigure]) -> str:
    """The same in a line."""
    return (
        "; ".join(
            f"{figure.figure} of {figure.of}: {figure.value:.1f}% ({interval(figure.low, figure.high)}), by {figure.by}"
            for figure in figures
        )
        + "."
    )


def interval(low: float | None, high: float | None) -> str:
    """A confidence interval in words; empty without one."""
    return "" if low is None else f"{low:.1f} to {high:.1f}"


def system_name(code: str) -> str:
    """A system of the build in words: rules, E0 (variant and round)."""
    if match := re.fullmatch(r"([A-E])(\d+)", code):
        if match[1] == "E":
            return f"rules and the shipped model together ({code})"
        return f"tagger of variant {match[1]}, round {match[2]} ({code})"
    return {"rules": "the rules alone", "silver": "a language model (silver)"}.get(code, code)


def metric_name(code: str) -> str:
    """`exact P` as precision, exact match."""
    kind, _, part = code.partition(" ")
    return f"{_PARTS[part]}, {_METRICS[kind]}" if part in _PARTS and kind in _METRICS else code
