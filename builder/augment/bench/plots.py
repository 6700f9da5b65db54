"""What a bench shows: its table, and figures as SVG by matplotlib.

The table of a bench, like Table 2 of Yang and Li 2022: methods, models, scores with deviations, the gain on the
source and its p value. Pure. `builder.augment.bench.grid.check_extra` says before whether matplotlib is there.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from builder.augment.bench.augmented import NONE
from builder.augment.bench.grid import MAIN, SHOWN, Cell, Spread, least_p, rank_sum

# ---- Tables

LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class TableLine:
    """A method with a model: `gain` in points of the main score on the source alone, `p` of the rank-sum test."""

    method: str
    copies: int
    model: str
    rows: int
    spreads: dict[str, Spread]
    gain: float | None
    p: float | None
    notes: tuple[str, ...]
    best: bool


def lines(cells: Sequence[Cell], task: str) -> list[TableLine]:
    """Cells of one method, copies and model together; `best` is the highest mean of the main score of a model."""
    groups: dict[tuple[str, int, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.method, cell.copies, cell.model), []).append(cell)
    main = MAIN[task]
    means = {key: Spread.of([cell.scores[main] for cell in group]) for key, group in groups.items()}
    top = {model: max(s.mean for (_, _, m), s in means.items() if m == model) for _, _, model in groups}
    out = []
    for (method, copies, model), group in groups.items():
        own, base = means[method, copies, model], means[NONE, 0, model]
        spreads = {name: Spread.of([cell.scores[name] for cell in group]) for name in group[0].scores}
        notes = tuple(f"seed {cell.seed} {cell.note}" for cell in group if cell.note)
        compared = method != NONE
        gain = own.mean - base.mean if compared else None
        p = rank_sum(own.values, base.values) if compared else None
        out.append(TableLine(method, copies, model, group[0].rows, spreads, gain, p, notes, own.mean == top[model]))
    return out


def shown_name(line: TableLine) -> str:
    """The method with its number of copies, where one was asked for."""
    return f"{line.method} ×{line.copies}" if line.copies else line.method


def heads(rows: Sequence[TableLine]) -> list[str]:
    """The headings of a table."""
    return ["method", "model", "rows", *(SHOWN[name] for name in rows[0].spreads), "gain", "p"]


def row(line: TableLine, markdown: bool) -> list[str]:
    """A line as words; in Markdown the best method of a model is bold. `*`: p below 0.05."""
    scores = [f"{spread.mean:.2f} ± {spread.deviation:.2f}" for spread in line.spreads.values()]
    if markdown and line.best:
        scores = [f"**{score}**" for score in scores]
    gain = "–" if line.gain is None else f"{line.gain:+.2f}"
    p = "–" if line.p is None else f"{line.p:.3f}{'*' if line.p < LEVEL else ''}"
    return [shown_name(line), line.model, f"{line.rows:,}", *scores, gain, p]


def text(rows: Sequence[TableLine], foot: Sequence[str], markdown: bool = False) -> str:
    """The table as lines of text."""
    table = tabulate_rows(heads(rows), [row(line, markdown) for line in rows], markdown)
    return "\n".join([table, "", *foot]) + "\n"


def tabulate_rows(heads: Sequence[str], rows: Sequence[Sequence[str]], markdown: bool) -> str:
    """Two columns of names, and columns of numbers."""
    from tabulate import tabulate

    aligned, shape = ["left", "left", *["right"] * (len(heads) - 2)], "github" if markdown else "simple"
    return str(tabulate(rows, headers=heads, tablefmt=shape, disable_numparse=True, colalign=aligned))


def footer(rows: Sequence[TableLine], seeds: int, task: str) -> list[str]:
    """How to read the table, and what a reader must know before believing it."""
    main = SHOWN[MAIN[task]]
    out = [
        f"{seeds} seed{'s' * (seeds > 1)}; mean ± standard deviation, percent; gain: {main}, points on the source "
        "alone; p: Wilcoxon rank-sum, two-sided"
    ]
    if seeds > 1 and least_p(seeds) > LEVEL:
        out.append(
            f"with {seeds} seeds p cannot be below {least_p(seeds):.3f}: no difference can be significant at {LEVEL}"
        )
    if seeds == 1:
        out.append("with 1 seed there is neither deviation nor test")
    out += [f"note: {line.model} on {shown_name(line)}: {', '.join(line.notes)}" for line in rows if line.notes]
    return out


def as_json(rows: Sequence[TableLine], cells: Sequence[Cell], about: dict[str, object]) -> str:
    """The bench as JSON."""
    document = {"about": about, "lines": [asdict(line) for line in rows], "cells": [asdict(cell) for cell in cells]}
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


# ---- Plots

COLOURS = ("#3b6fb6", "#d1732b", "#3f8f5b", "#a3457f", "#7a6a2c", "#5b5bb0", "#8c4a3a", "#2f8c94")
_MARKERS = "osD^vPX*"
_INK, _FAINT, GREY = "#222222", "#d8d8d8", "#8a8a8a"
_STYLE: Any = {
    "svg.hashsalt": "builder", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 11, "text.color": _INK,
    "axes.edgecolor": GREY, "axes.labelcolor": _INK, "axes.titlesize": 11, "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True, "grid.color": _FAINT, "grid.linewidth": 0.6,
    "xtick.color": _INK, "ytick.color": _INK, "xtick.major.size": 0, "ytick.major.size": 0, "legend.frameon": False,
}  # fmt: skip


def means(lines: Sequence[TableLine], task: str) -> str:
    """The main score of every method with every model: mean, deviation, and each seed as a small dot."""
    models, names = _distinct(line.model for line in lines), _distinct(shown_name(line) for line in lines)
    methods = _distinct(line.method for line in lines if line.method != NONE)
    copies = sorted({line.copies for line in lines})
    of = {shown_name(line): line for line in lines}

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        step = 0.8 / max(1, len(names))
        for number, name in enumerate(names):
            shown = [(models.index(line.model), line.spreads[MAIN[task]]) for line in lines if shown_name(line) == name]
            x = [at + step * (number - (len(names) - 1) / 2) for at, _ in shown]
            colour = GREY if name == NONE else COLOURS[methods.index(of[name].method) % len(COLOURS)]
            marker = _MARKERS[copies.index(of[name].copies) % len(_MARKERS)]
            y, error = [spread.mean for _, spread in shown], [spread.deviation for _, spread in shown]
            axes.errorbar(x, y, error, fmt=marker, color=colour, capsize=3, markersize=7, linewidth=1.6, label=name)
            for at, (_, spread) in zip(x, shown, strict=True):
                axes.plot(
                    [at + step / 4] * len(spread.values), spread.values, ".", color=colour, alpha=0.5, markersize=5
                )
        axes.set_xticks(range(len(models)), models)
        axes.set_xlim(-0.6, len(models) - 0.4)
        axes.set_ylabel(f"{SHOWN[MAIN[task]]} (%)")
        axes.grid(axis="x", visible=False)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), title="method")

    return draw_svg(draw, 4.2 + 1.1 * len(models) + 0.12 * len(names) * len(models), 3.6)


def curves(lines: Sequence[TableLine], task: str) -> str | None:
    """The main score over the copies, a panel a model (Figures 3 to 5); None with one number of copies."""
    models = _distinct(line.model for line in lines)
    names = _distinct(line.method for line in lines if line.copies)
    if len({line.copies for line in lines if line.copies}) < 2:
        return None

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, len(models), sharey=True, squeeze=False)[0]
        for axes, model in zip(panels, models, strict=True):
            base = next(line for line in lines if line.model == model and line.method == NONE)
            axes.axhline(base.spreads[MAIN[task]].mean, color=GREY, linewidth=1, linestyle=(0, (4, 3)))
            for number, name in enumerate(names):
                shown = [
                    base,
                    *sorted((o for o in lines if (o.model, o.method) == (model, name)), key=lambda line: line.copies),
                ]
                spreads = [line.spreads[MAIN[task]] for line in shown]
                x, y = [line.copies for line in shown], [spread.mean for spread in spreads]
                error = [spread.deviation for spread in spreads]
                colour, marker = COLOURS[number % len(COLOURS)], _MARKERS[number % len(_MARKERS)]
                axes.errorbar(x, y, error, fmt=f"-{marker}", color=colour, capsize=3, label=name)
            axes.set_title(model)
            axes.set_xticks(sorted({line.copies for line in lines}))
            axes.set_xlabel("copies a source row")
        panels[0].set_ylabel(f"{SHOWN[MAIN[task]]} (%)")
        panels[-1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), title="method")

    return draw_svg(draw, 2.2 + 3.0 * len(models), 3.4)


def shown(figures: Sequence[tuple[str, str]]) -> str:
    """Figures in Markdown; (caption, file)."""
    return "\n".join(f"![{caption}]({file})" for caption, file in figures) + "\n"


def draw_svg(draw: Any, width: float, height: float) -> str:
    """A figure as SVG, drawn by `draw`: the same numbers give the same bytes."""
    import matplotlib
    import matplotlib.figure

    with matplotlib.rc_context(_STYLE):
        figure = matplotlib.figure.Figure(figsize=(width, height), layout="constrained")
        draw(figure)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def _distinct(names: Any) -> list[str]:
    return list(dict.fromkeys(names))
