"""Figures of the bench as SVG by matplotlib, and the page that holds them: same numbers, same bytes. The extra
`bench` brings matplotlib.
"""

from __future__ import annotations

import html
import io
from collections.abc import Sequence
from typing import Any

from builder.augment.bench.augmented import NONE
from builder.augment.bench.cells import MAIN, SHOWN
from builder.augment.bench.shift import Shift, ShiftPoint
from builder.augment.bench.tables import TableLine
from builder.augment.bench.tables import shown as shown_name
from builder.core.errors import ConfigError, install_command

COLOURS = ("#3b6fb6", "#d1732b", "#3f8f5b", "#a3457f", "#7a6a2c", "#5b5bb0", "#8c4a3a", "#2f8c94")
_MARKERS = "osD^vPX*"
_INK, _FAINT, _GREY = "#222222", "#d8d8d8", "#8a8a8a"
_STYLE: Any = {
    "svg.hashsalt": "builder", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 11, "text.color": _INK,
    "axes.edgecolor": _GREY, "axes.labelcolor": _INK, "axes.titlesize": 11, "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True, "grid.color": _FAINT, "grid.linewidth": 0.6,
    "xtick.color": _INK, "ytick.color": _INK, "xtick.major.size": 0, "ytick.major.size": 0, "legend.frameon": False,
}  # fmt: skip


def means(lines: Sequence[TableLine], task: str) -> str:
    """The main score of every method with every model: mean, deviation, and each seed as a small dot."""
    models, names = _distinct(line.model for line in lines), _distinct(shown_name(line) for line in lines)
    methods, copies = (
        _distinct(line.method for line in lines if line.method != NONE),
        sorted({line.copies for line in lines}),
    )
    of = {shown_name(line): line for line in lines}

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        step = 0.8 / max(1, len(names))
        for number, name in enumerate(names):
            shown = [(models.index(line.model), line.spreads[MAIN[task]]) for line in lines if shown_name(line) == name]
            x = [at + step * (number - (len(names) - 1) / 2) for at, _ in shown]
            colour = _GREY if name == NONE else COLOURS[methods.index(of[name].method) % len(COLOURS)]
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

    return _svg(draw, 4.2 + 1.1 * len(models) + 0.12 * len(names) * len(models), 3.6)


def curves(lines: Sequence[TableLine], task: str) -> str | None:
    """The main score over the number of copies, a panel a model, 0 being the source alone (Figures 3 to 5). None with
    one number of copies.
    """
    models = _distinct(line.model for line in lines)
    names = _distinct(line.method for line in lines if line.copies)
    if len({line.copies for line in lines if line.copies}) < 2:
        return None

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, len(models), sharey=True, squeeze=False)[0]
        for axes, model in zip(panels, models, strict=True):
            base = next(line for line in lines if line.model == model and line.method == NONE)
            axes.axhline(base.spreads[MAIN[task]].mean, color=_GREY, linewidth=1, linestyle=(0, (4, 3)))
            for number, name in enumerate(names):
                shown = [
                    base,
                    *sorted((o for o in lines if (o.model, o.method) == (model, name)), key=lambda line: line.copies),
                ]
                spreads = [line.spreads[MAIN[task]] for line in shown]
                x, y = [line.copies for line in shown], [spread.mean for spread in spreads]
                error = [spread.deviation for spread in spreads]
                axes.errorbar(
                    x,
                    y,
                    error,
                    fmt=f"-{_MARKERS[number % len(_MARKERS)]}",
                    color=COLOURS[number % len(COLOURS)],
                    capsize=3,
                    label=name,
                )
            axes.set_title(model)
            axes.set_xticks(sorted({line.copies for line in lines}))
            axes.set_xlabel("copies a source row")
        panels[0].set_ylabel(f"{SHOWN[MAIN[task]]} (%)")
        panels[-1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), title="method")

    return _svg(draw, 2.2 + 3.0 * len(models), 3.4)


def places(shift: Shift) -> str:
    """The test set and each other set in the plane of the t-SNE, with their hulls (Figure 2)."""
    sets = [compared for compared in shift.sets if compared.name != shift.test.name]
    columns = min(3, len(sets))
    rows = -(-len(sets) // columns)

    def draw(figure: Any) -> None:
        panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
        for panel in panels[len(sets) :]:
            panel.set_visible(False)
        for number, (axes, compared) in enumerate(zip(panels, sets, strict=False)):
            _cloud(axes, shift.test, _GREY)
            _cloud(axes, compared, COLOURS[number % len(COLOURS)])
            axes.set_title(
                f"{compared.name}\noverlap {compared.overlap:.2f}, skewness {compared.skewness:.2f}", loc="left"
            )
            axes.set_xticks([])
            axes.set_yticks([])
            axes.legend(loc="lower center", bbox_to_anchor=(0.5, -0.14), ncols=2, handletextpad=0.1, fontsize=9)

    return _svg(draw, 3.6 * columns, 0.2 + 3.9 * rows)


def _cloud(axes: Any, point: ShiftPoint, colour: str) -> None:
    x, y = zip(*point.points, strict=True)
    axes.plot(x, y, ".", color=colour, markersize=4, alpha=0.6, label=point.name)
    edge = [*point.hull, point.hull[0]]
    axes.fill([a for a, _ in edge], [b for _, b in edge], color=colour, alpha=0.08)
    axes.plot([a for a, _ in edge], [b for _, b in edge], color=colour, linewidth=1.2)


def page(title: str, lead: str, table: str, foot: Sequence[str], figures: Sequence[tuple[str, str]]) -> str:
    """One HTML page without scripts or network: the table, how to read it, the figures."""
    drawn = "".join(
        f"<figure>{svg}<figcaption>{html.escape(caption)}</figcaption></figure>" for caption, svg in figures
    )
    notes = "".join(f"<p>{html.escape(line)}</p>" for line in foot)
    style = (
        "body{font:15px/1.5 system-ui,sans-serif;color:#222;background:#fff;max-width:64rem;margin:2rem "
        "auto;padding:0 1rem}"
        "table{border-collapse:collapse;margin:1rem 0}td,th{padding:.25rem .7rem;border-bottom:1px solid "
        "#ddd;text-align:right}"
        "td:first-child,th:first-child,td:nth-child(2),th:nth-child(2){text-align:left}figure{margin:2rem "
        "0;overflow-x:auto}"
        "svg{max-width:100%;height:auto}figcaption,p{color:#555}.best{font-weight:600}"
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width"><title>{html.escape(title)}'
        f"</title><style>{style}</style><h1>{html.escape(title)}</h1><p>{html.escape(lead)}</p>"
        f"{table}{notes}{drawn}</html>\n"
    )


def table(heads: Sequence[str], rows: Sequence[tuple[Sequence[str], bool]]) -> str:
    """An HTML table; (cells, whether the line is the best)."""
    head = "".join(f"<th>{html.escape(head)}</th>" for head in heads)
    body = "".join(
        f"<tr{' class=best' if best else ''}>{''.join(f'<td>{html.escape(cell)}</td>' for cell in cells)}</tr>"
        for cells, best in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _svg(draw: Any, width: float, height: float) -> str:
    try:
        import matplotlib
        import matplotlib.figure
    except ModuleNotFoundError as error:
        raise ConfigError(f"the figures need {error.name}", fix=install_command("bench")) from error
    with matplotlib.rc_context(_STYLE):
        figure = matplotlib.figure.Figure(figsize=(width, height), layout="constrained")
        draw(figure)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def _distinct(names: Any) -> list[str]:
    return list(dict.fromkeys(names))
