"""Feature space shift (Yang and Li 2022, section 4.3 and appendix A): where sets lie in the features of a model trained
on the source.

All sets are placed in one plane by t-SNE. The shift is mild where a set's convex hull overlaps with the test set's
(equation 4), and where its skewness is small (equations 5 to 7).
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from builder.augment.bench import plots
from builder.augment.bench.grid import BenchPlan, Spread, config_of
from builder.augment.bench.labelled_texts import BenchRow, item
from builder.augment.bench.plan import write_files
from builder.core.errors import ConfigError, InputError
from builder.learning.task import Progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# ---- One shift

FEWEST = 5
PERPLEXITY = 30
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class ShiftPoint:
    """A set in the plane: its `overlap` with the test set (0 to 1), and its `skew` on the two axes."""

    name: str
    points: tuple[Point, ...]
    hull: tuple[Point, ...]
    overlap: float
    skew: tuple[float, float]

    @property
    def skewness(self) -> float:
        return abs(self.skew[0]) + abs(self.skew[1])


@dataclass(frozen=True, slots=True)
class Shift:
    """All sets in one plane; `seed` that of the t-SNE."""

    model: str
    test: ShiftPoint
    sets: tuple[ShiftPoint, ...]
    seed: int


def analyse(model: str, test: str, features: Mapping[str, NDArray[np.float32]], seed: int) -> Shift:
    """Place the sets. InputError for a set of fewer than five rows: it has no hull worth comparing."""
    for name, feature in features.items():
        if len(feature) < FEWEST:
            raise InputError(f"{len(feature)} rows are too few for a hull", where=name, fix=f"take {FEWEST} at least")
    planes = embed(features, seed)
    hulls = {name: hull(points) for name, points in planes.items()}
    sets = {
        name: ShiftPoint(
            name, points, corners(hulls[name]), overlap(hulls[name], hulls[test]), (skew(points, 0), skew(points, 1))
        )
        for name, points in planes.items()
    }
    return Shift(model, sets[test], tuple(kept_set for name, kept_set in sets.items() if name != test), seed)


def embed(features: Mapping[str, NDArray[np.float32]], seed: int) -> dict[str, tuple[Point, ...]]:
    """t-SNE of all sets at once, so that their places can be compared; it starts from the principal components."""
    import numpy as np
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    whole = np.concatenate(list(features.values())).astype(np.float64)
    if not np.isfinite(whole).all():
        raise InputError("the model's features are no numbers", where="--shift", fix="lower --rate")
    perplexity = min(PERPLEXITY, (len(whole) - 1) / 3)
    with threadpool_limits(1):  # the sum of several threads depends on their order
        placed = TSNE(2, perplexity=perplexity, init="pca", random_state=seed, n_jobs=1).fit_transform(whole)
    out, at = {}, 0
    for name, feature in features.items():
        out[name] = tuple((float(x), float(y)) for x, y in placed[at : at + len(feature)])
        at += len(feature)
    return out


def hull(points: Sequence[Point]) -> Any:
    """The convex hull as a shapely geometry."""
    from shapely import MultiPoint

    return MultiPoint(list(points)).convex_hull


def corners(shape: Any) -> tuple[Point, ...]:
    """The corners of a hull, the first not repeated; of a line or a point what there is."""
    corners = list(shape.exterior.coords)[:-1] if shape.geom_type == "Polygon" else list(shape.coords)
    return tuple((float(x), float(y)) for x, y in corners)


def overlap(first: Any, second: Any) -> float:
    """Equation 4: the area of the intersection over that of the union."""
    union = first.union(second).area
    return float(first.intersection(second).area / union) if union else 0.0


def skew(points: Sequence[Point], axis: int) -> float:
    """Equations 5 and 6: m3 / m2 ** 1.5 on an axis; 0 where all points are one."""
    values = [point[axis] for point in points]
    mean = sum(values) / len(values)
    second, third = (sum((value - mean) ** n for value in values) / len(values) for n in (2, 3))
    return float(third / second**1.5) if second > 0 else 0.0


# ---- Shifts of several sets

MOST_POINTS = 500


def measure_shift(plan: BenchPlan, report: Progress | None = None) -> list[Shift]:
    """Train each model on the source, once a seed; where the sets lie in its features, of each at most 500 rows."""
    if plan.asked.task == "aste":
        raise ConfigError("the shift is of classifiers' features", where="--shift", fix="take --task absc, tc or ate")
    from builder.augment.bench.learn import learn

    task = plan.asked.task
    sets = {"test": plan.test, "source": plan.train, **{name: made.rows for name, made in plan.augmented.items()}}
    shown = {name: [item(row, task) for row in _drawn(rows)] for name, rows in sets.items()}
    train, valid = ([item(row, task) for row in part] for part in (plan.train, plan.valid))
    due = [(model, plan.asked.seed + n) for model in plan.models for n in range(plan.asked.seeds)]
    out = []
    for n, (model, seed) in enumerate(due):
        assert model is not None
        if report:
            report(n, len(due), f"{model.shown}, seed {seed}")
        scratch = plan.asked.workdir / "training" / f"shift-{model.name}"
        config = config_of(plan, model)
        fitted = learn(model, task, train, valid, seed, scratch, plan.means, config)
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
    firsts = [shift for shift in shifts if shift.seed == plan.asked.seed]
    rows = [_row(shifts, first.model, place.name, len(place.points)) for first in firsts for place in first.sets]
    foot = [
        "overlap: of the convex hulls with the test set's in one t-SNE of all sets, 0 to 1, more is better; skewness: "
        "|x| + |y|, less is better",
        f"at most {MOST_POINTS} rows a set; features of a model trained on the source alone; mean ± deviation of "
        f"{plan.asked.seeds} "
        f"trainings, each with a t-SNE of its seed; the figure is of seed {plan.asked.seed}",
    ]
    table, markdown = (plots.tabulate_rows(HEADS, rows, markdown) for markdown in (False, True))
    figures = {f"shift-{first.model.partition('=')[0]}.svg": first for first in firsts}
    drawn = plots.shown([(f"Features of {first.model}", name) for name, first in figures.items()])
    document = {"command": command, "shift": _list_sets(shifts)}
    files = {
        "shift.md": "\n".join([f"# Feature space shift\n\n{markdown}\n", *(f"- {line}" for line in foot), "", drawn]),
        "shift.json": json.dumps(document, ensure_ascii=False, indent=1) + "\n",
        **{name: places(first) for name, first in figures.items()},
    }
    return "\n".join([table, "", *foot]), write_files(plan.asked.workdir, files)


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
            _cloud(axes, shift.test, plots.GREY)
            _cloud(axes, compared, plots.COLOURS[number % len(plots.COLOURS)])
            axes.set_title(
                f"{compared.name}\noverlap {compared.overlap:.2f}, skewness {compared.skewness:.2f}", loc="left"
            )
            axes.set_xticks([])
            axes.set_yticks([])
            axes.legend(loc="lower center", bbox_to_anchor=(0.5, -0.14), ncols=2, handletextpad=0.1, fontsize=9)

    return plots.draw_svg(draw, 3.6 * columns, 0.2 + 3.9 * rows)


def _cloud(axes: Any, point: ShiftPoint, colour: str) -> None:
    x, y = zip(*point.points, strict=True)
    axes.plot(x, y, ".", color=colour, markersize=4, alpha=0.6, label=point.name)
    edge = [*point.hull, point.hull[0]]
    axes.fill([a for a, _ in edge], [b for _, b in edge], color=colour, alpha=0.08)
    axes.plot([a for a, _ in edge], [b for _, b in edge], color=colour, linewidth=1.2)
