"""From what a user asks for to a plan with rows, and from its cells to files: tables, figures.

In: paths and names. Out: a `BenchPlan` that holds no text of the test set on the training side; `bench.*` and figures
in the working directory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from builder.augment.bench import plots
from builder.augment.bench.augmented import NONE, Augmented, Sources, by_method, is_method, of_file, parsed
from builder.augment.bench.classifiers import Choice, Means, chosen
from builder.augment.bench.grid import BenchPlan, BenchRequest, Cell, check_plan, mean_cell, run
from builder.augment.bench.labelled_texts import BenchRow, Data, folded, held_out, language, load, refuse_shared, share
from builder.core.config import toml_value
from builder.core.errors import ConfigError
from builder.core.files import read_text, write_atomically
from builder.core.wording import counted
from builder.learning.task import Progress

COPIES = 4
"""Of a method, where no number is asked for (Li et al. 2020, section 4.2.1)."""


def prepare(asked: BenchRequest) -> tuple[list[BenchPlan], list[str]]:
    """The plan, or one for each fold, and notes on its making. All is checked here that needs no training."""
    if asked.valid is not None and asked.valid_count:
        raise ConfigError(
            f"{asked.valid_count} training texts are to be held out, and a file of others is given",
            where="--valid-count", fix="leave --valid or --valid-count out",
        )  # fmt: skip
    if asked.generated_sets and max(asked.copies, default=0) > asked.generated_sets:
        raise ConfigError(
            f"{max(asked.copies)} copies out of {asked.generated_sets} sets", where="--generated-sets",
            fix="take as many sets as copies at least",
        )  # fmt: skip
    train = load(asked.train, asked.task)
    if not asked.folds:
        if asked.test is None:
            raise ConfigError(
                "no test set", where="--test", fix="name one, or take parts of --train in turn: --folds 10"
            )
        plan, notes = _planned(asked, train, load(asked.test, asked.task, asked.split))
        return [plan], notes
    if asked.test is not None or asked.valid is not None:
        raise ConfigError(
            "each fold is the test set in turn", where="--folds", fix="leave --test and --valid out, or --folds"
        )
    parts = folded(train.rows, asked.folds)
    if len(parts) < 2 or not all(parts):
        texts = len({row.key for row in train.rows})
        raise ConfigError(f"{asked.folds} folds of {texts} texts", where="--folds", fix="take 2 at least, and fewer")
    plans, notes = [], [describe_rows("train", train, f"{asked.folds} folds, each the test set once")]
    for n, part in enumerate(parts, start=1):
        others = tuple(row for other in parts if other is not part for row in other)
        name = f"fold {n} of {asked.folds}"
        plan, made = _planned(asked, replace(train, rows=others, skipped=()), Data(name, part, ()))
        plans.append(plan)
        notes += [f"{name}: {note}" for note in made]
    return plans, notes


def _planned(asked: BenchRequest, train: Data, test: Data) -> tuple[BenchPlan, list[str]]:
    names = [name for name in dict.fromkeys(asked.methods) if name != NONE]
    made_by = {name: is_method(name) for name in names}
    for name in (name for name in names if made_by[name]):
        parsed(name, {}, asked.seed)
    refuse_shared(train.rows, test.rows, str(asked.train))
    tongue = language(train.rows)
    models = _models(asked, tongue)
    rows = share(train.rows, asked.share, "share") if asked.share < 1 else list(train.rows)
    kept, valid = _validation(asked, rows)
    if asked.valid is not None:
        refuse_shared(valid, test.rows, str(asked.valid))
    notes = [
        describe_rows("train", train, f"{len(kept):,} trained on, {len(valid):,} to choose the epoch"),
        describe_rows("test", test, ""),
    ]
    augmented = {}
    for name in names:
        shown = Path(name).name if not made_by[name] else name
        if shown in augmented:
            raise ConfigError(f"two augmented sets are called {shown!r}", where="--methods", fix="rename one")
        augmented[shown] = _augmented(asked, name, made_by[name], Sources(tuple(kept), tuple(valid), test.rows))
        refuse_shared(augmented[shown].rows, test.rows, name)
        notes.append(_made(shown, len(augmented[shown].rows), dict(augmented[shown].rejected)))
    domain = _domain(asked.domain)
    refuse_shared([BenchRow(f"line {n}", text) for n, text in enumerate(domain, start=1)], test.rows, str(asked.domain))
    means = Means("", asked.vectors, asked.domain_vectors, domain, asked.comprehension, asked.device)
    plan = BenchPlan(asked, tuple(kept), tuple(valid), test.rows, augmented, models, means)
    check_plan(plan)
    return plan, notes


def _models(asked: BenchRequest, tongue: str) -> tuple[Choice | None, ...]:
    if asked.task == "aste":
        if strange := [name for name in asked.models if name != "tagger"]:
            raise ConfigError(f"no model {strange[0]!r} for aste", where="--models", fix="for aste there is: tagger")
        return (None,)
    return tuple(chosen(name, asked.task, tongue) for name in dict.fromkeys(asked.models))


def _validation(asked: BenchRequest, rows: Sequence[BenchRow]) -> tuple[list[BenchRow], list[BenchRow]]:
    """(trained on, for choosing the epoch): a share of the texts, drawn by their hash, or the file given."""
    if asked.valid is not None:
        valid = list(load(asked.valid, asked.task, "valid").rows)
        keys = {row.key for row in valid}
        return [row for row in rows if row.key not in keys], valid
    texts = len({row.key for row in rows})
    if asked.valid_count >= texts:
        raise ConfigError(
            f"{asked.valid_count} texts are to be held out of {texts}, which leaves none to train on",
            where="--valid-count", fix=f"hold out {texts - 1} at most, or leave the option out for a tenth",
        )  # fmt: skip
    valid = held_out(rows, asked.valid_share, "valid", asked.valid_count)
    keys = {row.key for row in valid}
    return [row for row in rows if row.key not in keys], valid


def _augmented(asked: BenchRequest, name: str, method: bool, sources: Sources) -> Augmented:
    if method:
        sets = {key.strip(): toml_value(value) for key, _, value in (option.partition("=") for option in asked.sets)}
        copies = max(asked.generated_sets, *asked.copies) if asked.copies else asked.generated_sets or COPIES
        return by_method(name, sources, {**asked.settings, **sets}, copies, asked.seed, asked.workdir)
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
    return tuple(filter(None, map(str.strip, read_text(path, "one text a line, UTF-8").split("\n"))))


def describe_rows(what: str, data: Data, more: str) -> str:
    """How many rows were read from where, and how many were left out, by reason."""
    left = ", ".join(f"{reason} {n:,}" for reason, n in data.skipped)
    return (
        f"{what}: {counted(len(data.rows), 'row')} of {data.name}"
        + (f"; {more}" if more else "")
        + (f"; left out: {left}" if left else "")
    )


def count_made(plans: Sequence[BenchPlan]) -> dict[str, tuple[int, Counter[str]]]:
    """By method: augmented rows of all folds, and candidates that are not used, by reason."""
    return {
        name: (
            sum(len(plan.augmented[name].rows) for plan in plans),
            sum((Counter(dict(plan.augmented[name].rejected)) for plan in plans), Counter[str]()),
        )
        for name in plans[0].augmented
    }


def _made(name: str, rows: int, reasons: Mapping[str, int]) -> str:
    left = ", ".join(f"{reason} {n:,}" for reason, n in sorted(reasons.items()) if n)
    return f"{name}: {counted(rows, 'augmented row')}" + (f"; left out: {left}" if left else "")


def run_plans(plans: Sequence[BenchPlan], report: Progress | None = None) -> list[Cell]:
    """The cells of a plan; of several folds, the means of what each scored, seed by seed."""
    by_fold = [run(plan, report) for plan in plans]
    return by_fold[0] if len(plans) == 1 else [mean_cell(cells) for cells in zip(*by_fold, strict=True)]


def write(plans: Sequence[BenchPlan], cells: Sequence[Cell], command: str) -> tuple[str, list[str]]:
    """All files of a bench; the table for the terminal, and the names of the files."""
    plan, folds, made = plans[0], len(plans) if len(plans) > 1 else 0, count_made(plans)
    task = plan.asked.task
    lines = plots.lines(cells, task)
    foot = [*plots.footer(lines, plan.asked.seeds, task), *(_made(name, *counts) for name, counts in made.items())]
    title = f"Augmentation bench: {task}"
    lead = (
        f"{counted(len(plan.train), 'source row')}, {counted(len(plan.test), 'test row')}, "
        f"{len(plan.valid):,} to choose the epoch"
    )
    if folds:
        lead = f"Means over {folds} folds; of the first: {lead}"
    about: dict[str, object] = {
        **({"folds": folds} if folds else {}),
        "command": command,
        "task": task,
        "train": len(plan.train),
        "test": len(plan.test),
        "valid": len(plan.valid),
        "augmented": {name: {"rows": rows, "rejected": reasons} for name, (rows, reasons) in made.items()},
    }
    figures = [("means", "Mean, standard deviation and each seed", plots.means(lines, task))]
    if (curve := plots.curves(lines, task)) is not None:
        figures.append(("copies", "Over the number of augmented copies; dashed: the source alone", curve))
    drawn = plots.shown([(caption, f"bench-{name}.svg") for name, caption, _ in figures])
    files = {
        "bench.md": "\n".join(
            [f"# {title}\n\n{lead}\n", plots.text(lines, [f"- {line}" for line in foot], markdown=True), drawn]
        ),
        "bench.json": plots.as_json(lines, cells, about),
        **{f"bench-{name}.svg": svg for name, _, svg in figures},
    }
    return plots.text(lines, foot), write_files(plan.asked.workdir, files)


def write_files(workdir: Path, files: dict[str, str]) -> list[str]:
    """Write the files of a bench, each whole or not at all; their names."""
    for name, content in files.items():
        write_atomically(workdir / name, content.encode("utf-8", "surrogatepass"))
    return list(files)
