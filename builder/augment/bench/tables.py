"""The table of a bench, like Table 2 of Yang and Li 2022: methods, models, scores with deviations, the gain on the
source and its p value. Pure.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from builder.augment.bench.augmented import NONE
from builder.augment.bench.cells import MAIN, SHOWN, Cell, Spread, least_p, rank_sum

LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class TableLine:
    """A method with a model. `gain`: of the task's main score on the source alone (points); `p`: of the rank-sum
    test, None where there is none.
    """

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


def shown(line: TableLine) -> str:
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
    return [shown(line), line.model, f"{line.rows:,}", *scores, gain, p]


def text(rows: Sequence[TableLine], foot: Sequence[str], markdown: bool = False) -> str:
    """The table as lines of text."""
    from tabulate import tabulate

    shape = "github" if markdown else "simple"
    right = ["left", "left", *["right"] * (len(heads(rows)) - 2)]
    table = tabulate(
        [row(line, markdown) for line in rows],
        headers=heads(rows),
        tablefmt=shape,
        disable_numparse=True,
        colalign=right,
    )
    return "\n".join([table, "", *foot]) + "\n"


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
    out += [f"note: {line.model} on {shown(line)}: {', '.join(line.notes)}" for line in rows if line.notes]
    return out


def as_csv(rows: Sequence[TableLine]) -> str:
    """The table as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = list(rows[0].spreads)
    writer.writerow(
        [
            "method",
            "copies",
            "model",
            "rows",
            *(f"{n}_{part}" for n in names for part in ("mean", "deviation")),
            "gain",
            "p",
        ]
    )
    for line in rows:
        numbers = [
            f"{value:.4f}" for name in names for value in (line.spreads[name].mean, line.spreads[name].deviation)
        ]
        last = ["" if value is None else f"{value:.4f}" for value in (line.gain, line.p)]
        writer.writerow([line.method, line.copies, line.model, line.rows, *numbers, *last])
    return out.getvalue()


def as_json(rows: Sequence[TableLine], cells: Sequence[Cell], about: dict[str, object]) -> str:
    """The bench as JSON."""
    document = {"about": about, "lines": [asdict(line) for line in rows], "cells": [asdict(cell) for cell in cells]}
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"
