"""The shift of feature spaces: models trained on the source alone, their features of all sets, and the files of it.

In: a `BenchPlan`. Out: a `Shift` for each model and seed; `shift.*` with a table and a figure in the working directory.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import replace

from builder.augment.bench import plots
from builder.augment.bench.cells import BenchPlan, Spread, config_of
from builder.augment.bench.models.predictors import fit
from builder.augment.bench.plan import write_files
from builder.augment.bench.reading import BenchRow, item
from builder.augment.bench.shift import Shift, analyse
from builder.core.errors import ConfigError
from builder.learning.task import Progress

MOST_POINTS = 500


def measure_shift(plan: BenchPlan, report: Progress | None = None) -> list[Shift]:
    """Train each model on the source alone, once a seed; the shift of test, source and augmented sets in its features.

    Of each set at most 500 rows are read, chosen by hash.
    """
    if plan.task == "aste":
        raise ConfigError("the shift is of classifiers' features", where="--shift", fix="take --task absc, tc or ate")
    task = plan.task
    sets = {"test": plan.test, "source": plan.train, **{name: made.rows for name, made in plan.augmented.items()}}
    shown = {name: [item(row, task) for row in _drawn(rows)] for name, rows in sets.items()}
    train, valid = ([item(row, task) for row in part] for part in (plan.train, plan.valid))
    due = [(model, plan.first_seed + n) for model in plan.models for n in range(plan.seeds)]
    out = []
    for n, (model, seed) in enumerate(due):
        assert model is not None
        if report:
            report(n, len(due), f"{model.shown}, seed {seed}")
        scratch = plan.workdir / "training" / f"shift-{model.name}"
        config = config_of(plan, plan.train, model)
        fitted = fit(model, task, train, valid, seed, scratch, replace(plan.means, base=model.base), config)
        shutil.rmtree(scratch, ignore_errors=True)
        out.append(analyse(model.shown, "test", {name: fitted.features(items) for name, items in shown.items()}, seed))
    return out


def _drawn(rows: Sequence[BenchRow]) -> list[BenchRow]:
    order = sorted(
        rows, key=lambda row: hashlib.sha256(f"{row.id}\0{row.text}".encode("utf-8", "surrogatepass")).digest()
    )
    return order[:MOST_POINTS]


HEADS = ("model", "set", "rows", "overlap", "|skew x|", "|skew y|", "skewness")


def write_shift(plan: BenchPlan, shifts: Sequence[Shift], command: str) -> tuple[str, list[str]]:
    """Figure (of the first seed) and numbers of the shift; the table for the terminal, and the names of the files."""
    from tabulate import tabulate

    firsts = [shift for shift in shifts if shift.seed == plan.first_seed]
    rows = [_row(shifts, first.model, place.name, len(place.points)) for first in firsts for place in first.sets]
    foot = [
        "overlap: of the convex hulls with the test set's in one t-SNE of all sets, 0 to 1, more is better; skewness: "
        "|x| + |y|, less is better",
        f"at most {MOST_POINTS} rows a set; features of a model trained on the source alone; mean ± deviation of "
        f"{plan.seeds} "
        f"trainings, each with a t-SNE of its seed; the figure is of seed {plan.first_seed}",
    ]
    table = tabulate(rows, headers=HEADS, disable_numparse=True, colalign=["left", "left", *["right"] * 5])
    markdown = tabulate(
        rows, headers=HEADS, tablefmt="github", disable_numparse=True, colalign=["left", "left", *["right"] * 5]
    )
    figures = [(f"Features of {first.model}", plots.places(first)) for first in firsts]
    document = {"command": command, "shift": _list_sets(shifts)}
    files = {
        "shift.md": f"# Feature space shift\n\n{markdown}\n\n" + "\n".join(f"- {line}" for line in foot) + "\n",
        "shift.json": json.dumps(document, ensure_ascii=False, indent=1) + "\n",
        "shift.html": plots.page(
            "Feature space shift", "", plots.table(HEADS, [(row, False) for row in rows]), foot, figures
        ),
        **{f"shift-{first.model.partition('=')[0]}.svg": svg for first, (_, svg) in zip(firsts, figures, strict=True)},
    }
    return "\n".join([table, "", *foot]), write_files(plan.workdir, files)


def _row(shifts: Sequence[Shift], model: str, name: str, points: int) -> list[str]:
    """A model and a set: overlap and skewness over the seeds."""
    same = [place for shift in shifts if shift.model == model for place in shift.sets if place.name == name]
    measured = [
        [place.overlap for place in same], *([abs(place.skew[axis]) for place in same] for axis in (0, 1)),
        [place.skewness for place in same],
    ]  # fmt: skip
    spreads = [Spread.of(values) for values in measured]
    return [model, name, f"{points:,}", *(f"{spread.mean:.3f} ± {spread.deviation:.3f}" for spread in spreads)]


def _list_sets(shifts: Sequence[Shift]) -> list[dict[str, object]]:
    return [
        {
            "model": shift.model,
            "seed": shift.seed,
            "set": place.name,
            "rows": len(place.points),
            "overlap": place.overlap,
            "skew": place.skew,
            "skewness": place.skewness,
        }
        for shift in shifts
        for place in (shift.test, *shift.sets)
    ]
