"""Figures as SVG by matplotlib, to stand inside a page: same figure, same bytes; colours are the page's own (light,
dark, print).

matplotlib is drawn with sentinel colours, which become CSS variables; text stays text, so that it is read, searched
and set in the page's font. The extra `report` brings matplotlib.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

from builder.core.errors import ConfigError, install_command
from builder.pages.report.blocks import ReportFigure

_SERIES = ("#010101", "#020202", "#030303", "#040404", "#050505")
_INK, _QUIET, _FAINT = "#060606", "#070707", "#080808"
_VARIABLES = dict(
    zip((*_SERIES, _INK, _QUIET, _FAINT), ("s1", "s2", "s3", "s4", "s5", "ink", "quiet", "faint"), strict=True)
)
_MARKERS, _DASHES = "osD^v", ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (6, 2, 1, 2)), (0, (1, 1)))
_STYLE = {
    "svg.hashsalt": "builder", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 12, "text.color": _INK,
    "axes.edgecolor": _FAINT, "axes.labelcolor": _QUIET, "axes.spines.top": False, "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True, "grid.color": _FAINT, "grid.linewidth": 0.6, "xtick.color": _QUIET, "ytick.color": _QUIET,
    "xtick.major.size": 0, "ytick.major.size": 0, "figure.facecolor": "none", "axes.facecolor": "none",
    "savefig.facecolor": "none",
}  # fmt: skip


def svg(figure: ReportFigure) -> str:
    """The figure as an <svg> element without declaration, metadata or fixed size."""
    matplotlib, canvas = _matplotlib()
    with matplotlib.rc_context(_STYLE):
        drawn = canvas.Figure(figsize=(6.4, _height(figure)), layout="constrained")
        axes = drawn.add_subplot()
        _draw(figure)(figure, axes)
        axes.set_xlabel(figure.x)
        axes.set_ylabel(figure.y)
        out = io.StringIO()
        drawn.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return _tidy(out.getvalue(), figure.name)


def _matplotlib() -> tuple[ModuleType, ModuleType]:
    try:
        import matplotlib
        import matplotlib.figure
    except ImportError as error:
        raise ConfigError(
            "the HTML report needs matplotlib", fix=f"{install_command('app')}, or use --markdown or --data"
        ) from error
    return matplotlib, matplotlib.figure


def _height(figure: ReportFigure) -> float:
    return 0.9 + 0.36 * len(figure.bars) if figure.bars else 3.3


def _draw(figure: ReportFigure) -> Callable[[ReportFigure, object], None]:
    return _lines if figure.lines else _intervals if figure.bars else _histogram


def _lines(figure: ReportFigure, axes: Any) -> None:
    """A line a variant, told apart by colour, dash and marker, each named at its end."""
    ends = []
    for number, line in enumerate(figure.lines):
        x, y = zip(*line.points, strict=True)
        colour = _SERIES[number % len(_SERIES)]
        axes.plot(
            x, y, color=colour, linestyle=_DASHES[number % 5], marker=_MARKERS[number % 5], linewidth=2, markersize=6
        )
        ends.append((y[-1], x[-1], line.name, colour))
    for at, (_, x, name, colour) in zip(_apart([end[0] for end in sorted(ends)]), sorted(ends), strict=True):
        axes.annotate(
            name, (x, at), xytext=(10, 0), textcoords="offset points", va="center", color=colour, annotation_clip=False
        )
    axes.set_xticks(sorted({x for line in figure.lines for x, _ in line.points}))
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="x", visible=False)
    axes.margins(x=0.04, y=0.1)


def _apart(values: list[float]) -> list[float]:
    """Heights of labels, moved up where they would stand on each other."""
    gap = 0.07 * (max(values) - min(values) or 1.0)
    out: list[float] = []
    for value in values:
        out.append(max(value, out[-1] + gap) if out else value)
    return out


def _intervals(figure: ReportFigure, axes: Any) -> None:
    """A dot and its interval a row, first row on top; the value beside it."""
    rows = list(enumerate(reversed(figure.bars)))
    for y, bar in rows:
        axes.plot([bar.low, bar.high], [y, y], color=_SERIES[0], linewidth=2.5, alpha=0.45, solid_capstyle="round")
        axes.plot([bar.value], [y], color=_SERIES[0], marker="o", markersize=7)
        axes.annotate(
            f"{bar.value:.1f}", (bar.high, y), xytext=(8, 0), textcoords="offset points", va="center", color=_INK
        )
    axes.set_yticks([y for y, _ in rows], [bar.name for _, bar in rows])
    axes.set_ylim(-0.7, len(rows) - 0.3)
    axes.grid(axis="y", visible=False)
    axes.margins(x=0.12)


def _histogram(figure: ReportFigure, axes: Any) -> None:
    x, y = zip(*figure.histogram, strict=True)
    axes.bar(x, y, color=_SERIES[0], width=0.8)
    axes.set_xticks(x)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="x", visible=False)


def _tidy(text: str, name: str) -> str:
    """Only the element; sizes to the page; ids of its own, for several figures share one page; sentinels as
    variables.
    """
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*(<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->)", "", text, flags=re.S)
    text = re.sub(
        r'<svg [^>]*?viewBox="([^"]+)"[^>]*>', r'<svg viewBox="\1" role="img" aria-hidden="true">', text, count=1
    )
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'(xlink:)?href="#', f'href="#{name}-', text)
    text = re.sub(r"url\(#", f"url(#{name}-", text)
    text = re.sub(r"font: [^;\"]*?(\d+(?:\.\d+)?px)[^;\"]*", r"font-size: \1", text)
    for sentinel, variable in _VARIABLES.items():
        text = text.replace(sentinel, f"var(--{variable})")
    return text.strip()
