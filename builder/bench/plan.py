"""From what a user asks for to a plan with rows, and from its cells to files: tables, figures, a page.

In: paths and names. Out: a `BenchPlan` that holds no text of the test set on the training side; `bench.*` and figures
in the working directory.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from builder.bench import plots, tables
from builder.bench.augmented import NONE, Augmented, Sources, by_method, is_method, of_file, parsed, toml
from builder.bench.cells import BenchPlan, Cell, check_plan, config_of
from builder.bench.models.fitting import fit
from builder.bench.models.task import Choice, Means, chosen
from builder.bench.reading import load
from builder.bench.rows import BenchRow, Data, Task, held_out, item, language, refuse_shared, share
from builder.bench.scores import Spread
from builder.bench.shift import Shift, analyse
from builder.errors import ConfigError, InputError
from builder.files import write_atomically
from builder.learning.task import Progress

VALID_SHARE = 0.1
"""Of the training texts, for choosing the epoch, where no validation set is given (Wu et al. 2019, section 4.1)."""
COPIES = 4
"""Of a method, where no number is asked for (Li et al. 2020, section 4.2.1)."""
MOST_POINTS = 500


@dataclass(frozen=True, slots=True)
class BenchRequest:
    """The options of the command. `copies` empty: all that a file holds, four of a method."""

    task: Task
    train: Path
    test: Path
    methods: tuple[str, ...]
    models: tuple[str, ...]
    workdir: Path
    valid: Path | None = None
    split: str = "test"
    share: float = 1.0
    copies: tuple[int, ...] = ()
    seeds: int = 5
    seed: int = 1
    epochs: int = 0
    vectors: Path | None = None
    domain_vectors: Path | None = None
    domain: Path | None = None
    comprehension: Path | None = None
    sets: tuple[str, ...] = ()


def prepare(asked: BenchRequest) -> tuple[BenchPlan, list[str]]:
    """The plan, and what a user should be told of its making. Every check that needs no training is made here."""
    names = [name for name in dict.fromkeys(asked.methods) if name != NONE]
    made_by = {name: is_method(name) for name in names}
    for name in (name for name in names if made_by[name]):
        parsed(name, {}, asked.seed)
    train, test = load(asked.train, asked.task), load(asked.test, asked.task, asked.split)
    refuse_shared(train.rows, test.rows, str(asked.train))
    tongue = language(train.rows)
    models = _models(asked, tongue)
    rows = share(train.rows, asked.share, "share") if asked.share < 1 else list(train.rows)
    kept, valid = _validation(asked, rows)
    if asked.valid is not None:
        refuse_shared(valid, test.rows, str(asked.valid))
    notes = [
        _told("train", train, f"{len(kept):,} trained on, {len(valid):,} to choose the epoch"),
        _told("test", test, ""),
    ]
    augmented = {}
    for name in names:
        shown = Path(name).name if not made_by[name] else name
        if shown in augmented:
            raise ConfigError(f"two augmented sets are called {shown!r}", where="--methods", fix="rename one")
        augmented[shown] = _augmented(asked, name, made_by[name], Sources(tuple(kept), tuple(valid), test.rows))
        refuse_shared(augmented[shown].rows, test.rows, name)
        notes.append(_made(shown, augmented[shown]))
    domain = _domain(asked.domain)
    refuse_shared([BenchRow(f"line {n}", text) for n, text in enumerate(domain, start=1)], test.rows, str(asked.domain))
    means = Means("", asked.vectors, asked.domain_vectors, domain, asked.comprehension)
    copies = asked.copies or (0,)
    plan = BenchPlan(
        asked.task,
        tuple(kept),
        tuple(valid),
        test.rows,
        augmented,
        copies,
        models,
        asked.seeds,
        means,
        asked.workdir,
        asked.epochs,
        asked.seed,
    )
    check_plan(plan)
    return plan, notes


def _models(asked: BenchRequest, tongue: str) -> tuple[Choice | None, ...]:
    if asked.task == "aste":
        if strange := [name for name in asked.models if name != "tagger"]:
            raise ConfigError(f"no model {strange[0]!r} for aste", where="--models", fix="for aste there is: tagger")
        return (None,)
    return tuple(chosen(name, asked.task, tongue) for name in dict.fromkeys(asked.models))


def _validation(asked: BenchRequest, rows: Sequence[BenchRow]) -> tuple[list[BenchRow], list[BenchRow]]:
    """(trained on, for choosing the epoch): a tenth of the texts, drawn by their hash, or the file given; texts of
    the latter are not trained on.
    """
    if asked.valid is not None:
        valid = list(load(asked.valid, asked.task, "valid").rows)
        keys = {row.key for row in valid}
        return [row for row in rows if row.key not in keys], valid
    valid = held_out(rows, VALID_SHARE, "valid")
    keys = {row.key for row in valid}
    return [row for row in rows if row.key not in keys], valid


def _augmented(asked: BenchRequest, name: str, method: bool, sources: Sources) -> Augmented:
    if method:
        sets = {key.strip(): toml(value) for key, _, value in (one.partition("=") for one in asked.sets)}
        return by_method(name, sources, sets, max(asked.copies, default=COPIES), asked.seed, asked.workdir)
    data = load(Path(name), asked.task)
    made = of_file(Path(name), data, sources.train, sources.valid)
    if asked.share < 1 and not made.named:
        raise ConfigError(
            f"the rows of {name} do not name their source", where="--share", fix='give JSON lines with "source"'
        )
    return made


def _domain(path: Path | None) -> tuple[str, ...]:
    """Raw texts of the domain, one a line."""
    if path is None:
        return ()
    try:
        return tuple(line.strip() for line in path.read_text(encoding="utf-8").split("\n") if line.strip())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", where=str(path), fix="one text a line, UTF-8") from error


def _told(what: str, data: Data, more: str) -> str:
    left = ", ".join(f"{reason} {n:,}" for reason, n in data.skipped)
    return (
        f"{what}: {len(data.rows):,} rows of {data.name}"
        + (f"; {more}" if more else "")
        + (f"; left out: {left}" if left else "")
    )


def _made(name: str, made: Augmented) -> str:
    left = ", ".join(f"{reason} {n:,}" for reason, n in made.rejected if n)
    return f"{name}: {len(made.rows):,} augmented rows" + (f"; left out: {left}" if left else "")


def write(plan: BenchPlan, cells: Sequence[Cell], command: str) -> tuple[str, list[str]]:
    """All files of a bench; the table for the terminal, and the names of the files."""
    listed = tables.lines(cells, plan.task)
    foot = tables.footer(listed, plan.seeds, plan.task)
    title = f"Augmentation bench: {plan.task}"
    lead = f"{len(plan.train):,} source rows, {len(plan.test):,} test rows, {len(plan.valid):,} to choose the epoch"
    about: dict[str, object] = {
        "command": command,
        "task": plan.task,
        "train": len(plan.train),
        "test": len(plan.test),
        "valid": len(plan.valid),
    }
    figures = [("means", "Mean, standard deviation and each seed", plots.means(listed, plan.task))]
    if (curve := plots.curves(listed, plan.task)) is not None:
        figures.append(("copies", "Over the number of augmented copies; dashed: the source alone", curve))
    rows = [(tables.row(one, markdown=False), one.best) for one in listed]
    files = {
        "bench.md": f"# {title}\n\n{lead}\n\n{tables.text(listed, [f'- {line}' for line in foot], markdown=True)}",
        "bench.csv": tables.as_csv(listed),
        "bench.json": tables.as_json(listed, cells, about),
        "bench.html": plots.page(
            title, lead, plots.table(tables.heads(listed), rows), foot, [(caption, svg) for _, caption, svg in figures]
        ),
        **{f"bench-{name}.svg": svg for name, _, svg in figures},
    }
    return tables.text(listed, foot), _kept(plan.workdir, files)


def _kept(workdir: Path, files: dict[str, str]) -> list[str]:
    for name, content in files.items():
        write_atomically(workdir / name, content.encode("utf-8", "surrogatepass"))
    return list(files)


def shift(plan: BenchPlan, told: Progress | None = None) -> list[Shift]:
    """Each model trained on the source alone, once a seed, then test, source and augmented sets in its features; at
    most 500 rows a set, by hash.
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
        if told:
            told(n, len(due), f"{model.shown}, seed {seed}")
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
    import json

    from tabulate import tabulate

    firsts = [one for one in shifts if one.seed == plan.first_seed]
    rows = []
    for one in firsts:
        for place in one.sets:
            same = [
                other
                for shift in shifts
                if shift.model == one.model
                for other in shift.sets
                if other.name == place.name
            ]
            measured = [
                [other.overlap for other in same], *([abs(other.skew[axis]) for other in same] for axis in (0, 1)),
                [other.skewness for other in same],
            ]  # fmt: skip
            spreads = [Spread.of(values) for values in measured]
            rows.append(
                [
                    one.model,
                    place.name,
                    f"{len(place.points):,}",
                    *(f"{spread.mean:.3f} ± {spread.deviation:.3f}" for spread in spreads),
                ]
            )
    foot = [
        "overlap: of the convex hulls with the test set's in one t-SNE of all sets, 0 to 1, more is better; skewness: |x| + |y|, less is better",
        f"at most {MOST_POINTS} rows a set; features of a model trained on the source alone; mean ± deviation of {plan.seeds} "
        f"trainings, each with a t-SNE of its seed; the figure is of seed {plan.first_seed}",
    ]
    table = tabulate(rows, headers=HEADS, disable_numparse=True, colalign=["left", "left", *["right"] * 5])
    markdown = tabulate(
        rows, headers=HEADS, tablefmt="github", disable_numparse=True, colalign=["left", "left", *["right"] * 5]
    )
    figures = [(f"Features of {first.model}", plots.places(first)) for first in firsts]
    told = {
        "command": command,
        "shift": [
            {
                "model": one.model,
                "seed": one.seed,
                "set": place.name,
                "rows": len(place.points),
                "overlap": place.overlap,
                "skew": place.skew,
                "skewness": place.skewness,
            }
            for one in shifts
            for place in (one.test, *one.sets)
        ],
    }
    files = {
        "shift.md": f"# Feature space shift\n\n{markdown}\n\n" + "\n".join(f"- {line}" for line in foot) + "\n",
        "shift.json": json.dumps(told, ensure_ascii=False, indent=1) + "\n",
        "shift.html": plots.page(
            "Feature space shift", "", plots.table(HEADS, [(row, False) for row in rows]), foot, figures
        ),
        **{f"shift-{first.model.partition('=')[0]}.svg": svg for first, (_, svg) in zip(firsts, figures, strict=True)},
    }
    return "\n".join([table, "", *foot]), _kept(plan.workdir, files)
