"""Cells of a bench: each is one training with its scores, and many of them make a mean and a test.

In: a `BenchPlan` with rows. Out: `Cell`s in the order of the plan, each kept as a file under the digest of all that
goes in, so that a killed run goes on.
"""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from math import comb
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

from builder.augment.bench.augmented import NONE, Augmented, of_sets
from builder.augment.bench.classifiers import Choice, ClassifierConfig, Means, check, classes, spans
from builder.augment.bench.labelled_texts import BenchRow, Task, digest, example, item
from builder.core.code import code_digest
from builder.core.errors import ConfigError, InputError, ModelError, install_command
from builder.core.files import Kept, key_of
from builder.core.records import Triplet
from builder.core.wording import counted
from builder.gold.metrics import Answer, micro
from builder.learning.task import Progress, TaggerConfig, sized

# ---- Scores in percent

MAIN = {"tc": "accuracy", "absc": "accuracy", "ate": "f1", "aste": "f1"}
"""The score that tests and curves are about."""
SHOWN = {"accuracy": "Acc", "macro_f1": "F1", "precision": "P", "recall": "R", "f1": "F1", "lenient_f1": "lenient F1"}


def collapsed(gold: Sequence[str], predicted: Sequence[str]) -> str:
    """A remark where a model gives every item one label though there are several."""
    return f"answers {predicted[0]!r} only" if len(set(predicted)) == 1 < len(set(gold)) else ""


def triplets(gold: Sequence[Sequence[Triplet]], predicted: Sequence[Sequence[Triplet]]) -> dict[str, float]:
    """Micro scores of builder.gold.metrics: exact with whole opinion phrases, and the lenient F1 with their cores."""
    exact = micro(_answers(gold, True), _answers(predicted, True), "exact", "triplet")
    lenient = micro(_answers(gold, False), _answers(predicted, False), "lenient", "triplet")
    return {"precision": exact.precision, "recall": exact.recall, "f1": exact.f1, "lenient_f1": lenient.f1}


def _answers(by_item: Sequence[Sequence[Triplet]], full: bool) -> dict[str, list[Answer]]:
    return {
        str(i): [
            (triplet.aspect.text, (triplet.opinion_full if full else triplet.opinion).text, triplet.polarity)
            for triplet in own
        ]
        for i, own in enumerate(by_item)
    }


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and standard deviation (of the sample; 0 for one value) of some values."""

    mean: float
    deviation: float
    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(fmean(values), stdev(values) if len(values) > 1 else 0.0, tuple(values))


def check_extra(shift: bool) -> None:
    """ConfigError now, not after hours of training, where a library of the extra is missing."""
    for name in ("sklearn", "shapely", "matplotlib") if shift else ("scipy", "matplotlib"):
        if importlib.util.find_spec(name) is None:
            raise ConfigError(f"`builder bench` needs {name}", fix=install_command("bench"))


def rank_sum(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Two-sided p of Wilcoxon's rank-sum test, exact where no values tie; None with fewer than two values."""
    if min(len(first), len(second)) < 2:
        return None
    from scipy.stats import mannwhitneyu

    if len({*first, *second}) == 1:
        return 1.0
    return float(mannwhitneyu(first, second, alternative="two-sided", method="auto").pvalue)


def least_p(seeds: int) -> float:
    """The smallest p value that a two-sided rank-sum test of n against n values can have: 2 / C(2n, n)."""
    return 2 / comb(2 * seeds, seeds)


# ---- Cells

TAGGER = "tagger"
"""The model of the task aste: the project's own (builder.models.tagger)."""
CODE = ("builder.augment.bench.learn", "builder.augment.bench.grid", "builder.augment.bench.labelled_texts")
"""What a score depends on: an edit of these makes other cells."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One training; `copies` 0 is the source alone, `scores` are in percent, `note` is the remark of `collapsed`."""

    method: str
    copies: int
    model: str
    seed: int
    rows: int
    scores: dict[str, float]
    seconds: float
    digest: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class BenchRequest:
    """The options of the command, as its help says; `settings` are a preset's, which `sets` go before."""

    task: Task
    train: Path
    test: Path | None
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
    settings: Mapping[str, object] = field(default_factory=dict)
    folds: int = 0
    valid_share: float = 0.1
    valid_count: int = 0
    generated_sets: int = 0
    without_source: bool = False
    device: str = "auto"


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """What is compared. `train` is without the rows that choose the epoch, `augmented` by method as written."""

    asked: BenchRequest
    train: tuple[BenchRow, ...]
    valid: tuple[BenchRow, ...]
    test: tuple[BenchRow, ...]
    augmented: dict[str, Augmented]
    models: tuple[Choice | None, ...]
    means: Means


def check_plan(plan: BenchPlan) -> None:
    """What can be known before anything is trained. Raises what the training would."""
    if not plan.test:
        raise InputError("no test row", where="--test")
    if plan.asked.task == "aste":
        if not any(row.triplets for row in plan.train):
            raise ModelError(
                f"no triplet in {counted(len(plan.train), 'training row')}",
                where="--train",
                fix="train on rows with triplets",
            )
    else:
        check(plan.asked.task, [item(row, plan.asked.task) for row in plan.train], "--train")
    if plan.asked.task in ("tc", "absc"):
        strange = sorted({row.label for row in plan.test} - {row.label for row in plan.train})
        if strange:
            unknown = ", ".join(map(repr, strange[:5]))
            raise InputError(
                f"test labels that no training row has: {unknown}",
                where="--test",
                fix="use the same labels on both sides",
            )
    for name, made in plan.augmented.items():
        if not made.named and plan.asked.copies:
            raise ConfigError(
                f"the rows of {name} do not name their source, so copies cannot be counted",
                where="--copies",
                fix='leave --copies out, or give JSON lines with "source"',
            )


class Due(NamedTuple):
    """A cell to work out. Copies 0 of a method means all it has; a training for each of `choices` of sets."""

    method: str
    copies: int
    choices: tuple[tuple[int, ...], ...]
    model: Choice | None
    seed: int


def settings(plan: BenchPlan) -> Iterator[Due]:
    """Every cell."""
    for model in plan.models:
        for method, copies in ((NONE, 0), *((name, n) for name in plan.augmented for n in plan.asked.copies or (0,))):
            of = plan.asked.generated_sets
            sets = tuple(combinations(range(of), copies)) if of else (tuple(range(copies)),)
            yield from (Due(method, copies, sets, model, plan.asked.seed + n) for n in range(plan.asked.seeds))


def run(plan: BenchPlan, report: Progress | None = None) -> list[Cell]:
    """All cells, seed by seed, so that a stopped run compares all methods. ModelError names the cell that fails."""
    check_plan(plan)
    due = list(settings(plan))
    out: dict[int, Cell] = {}
    common = digest(plan.valid), digest(plan.test)
    for place, (method, copies, choices, model, seed) in sorted(enumerate(due), key=lambda cell: cell[1].seed):
        name = model.shown if model else TAGGER
        if report:
            report(len(out), len(due), f"{name}, {method}{f' x{copies}' if copies else ''}, seed {seed}")
        by_choice = []
        for sets in choices:
            rows = training_rows(plan, method, sets)
            by_choice.append(_cell(plan, Cell(method, copies, name, seed, len(rows), {}, 0, ""), rows, common, model))
        out[place] = by_choice[0] if len(choices) == 1 else mean_cell(by_choice)
    if report:
        report(len(due), len(due), "done")
    return [out[place] for place in range(len(due))]


def mean_cell(cells: Sequence[Cell]) -> Cell:
    """The cell of a cross-validation, or of several choices of sets: the means of the scores, the time in all."""
    first, count = cells[0], len(cells)
    scores = {name: sum(cell.scores[name] for cell in cells) / count for name in first.scores}
    digest = key_of([cell.digest for cell in cells])
    note = next((f"in one of {count}: {cell.note}" for cell in cells if cell.note), "")
    rows = round(sum(cell.rows for cell in cells) / count)
    return replace(
        first, rows=rows, scores=scores, seconds=sum(cell.seconds for cell in cells), digest=digest, note=note
    )


def training_rows(plan: BenchPlan, method: str, sets: Collection[int]) -> tuple[BenchRow, ...]:
    """The source, and behind it the augmented rows of some sets, or of all."""
    if method == NONE:
        return plan.train
    new = plan.augmented[method].rows
    return (*(() if plan.asked.without_source else plan.train), *(of_sets(new, sets) if sets else new))


def _cell(
    plan: BenchPlan, cell: Cell, rows: tuple[BenchRow, ...], common: tuple[str, str], model: Choice | None
) -> Cell:
    config = config_of(plan, model)
    inputs = plan.asked.task, cell.model, model.base if model else "", cell.seed, digest(rows), common, config
    key = key_of(code_digest(*CODE), *inputs, means_digest(plan.means))

    def make() -> dict[str, Any]:
        return asdict(_worked_out(plan, replace(cell, digest=key), rows, model, config))

    return replace(Cell(**Kept(plan.asked.workdir / "cells").get(key, make)), method=cell.method, copies=cell.copies)


def _worked_out(plan: BenchPlan, cell: Cell, rows: tuple[BenchRow, ...], model: Choice | None, config: Any) -> Cell:
    """The cell with its scores. ModelError names the cell whose training fails."""
    started, scratch = time.monotonic(), plan.asked.workdir / "training" / cell.digest
    try:
        scores, note = _trained(plan, rows, model, config, cell.seed, scratch)
    except ModelError as error:
        where = f"{cell.model} on {cell.method}, seed {cell.seed}" + (f": {error.where}" if error.where else "")
        fix = error.fix.replace("lower `rate`", "lower --rate")
        raise ModelError(
            error.what, where=where, fix=fix or "what is done is kept; the same command goes on"
        ) from error
    shutil.rmtree(scratch, ignore_errors=True)
    return replace(cell, scores=scores, note=note, seconds=round(time.monotonic() - started, 1))


def config_of(plan: BenchPlan, model: Choice | None) -> Any:
    """The settings of a cell, with as many passes as asked for; a tagger's grow with the text of the source."""
    if model is None:
        config: Any = sized(TaggerConfig(threads=1), sum(len(row.text) for row in plan.train))
    else:
        config = model.config
    changed: dict[str, Any] = {"epochs": plan.asked.epochs} if plan.asked.epochs else {}
    return replace(config, **changed)


def means_digest(means: Means) -> str:
    """Vectors and questions by their content."""
    total = hashlib.sha256(repr(means.domain).encode("utf-8", "surrogatepass"))
    for path in (means.vectors, means.domain_vectors, means.comprehension):
        total.update(path.read_bytes() if path else b"-")
    return total.hexdigest()[:16]


def _trained(
    plan: BenchPlan, rows: Sequence[BenchRow], model: Choice | None, config: Any, seed: int, scratch: Path
) -> tuple[dict[str, float], str]:
    if plan.asked.task == "aste" or model is None:
        return _tagged(plan, rows, config, seed, scratch), ""
    from builder.augment.bench.learn import learn

    assert isinstance(config, ClassifierConfig)
    task = plan.asked.task
    train, valid, test = ([item(row, task) for row in part] for part in (rows, plan.valid, plan.test))
    fitted = learn(model, task, train, valid, seed, scratch, plan.means, config)
    predictions = fitted.predict(test)
    if task == "ate":
        return spans([item.spans for item in test], [item.spans for item in predictions]), ""
    gold, predicted = [item.label for item in test], [item.label for item in predictions]
    return classes(gold, predicted), collapsed(gold, predicted)


def _tagged(
    plan: BenchPlan, rows: Sequence[BenchRow], config: TaggerConfig, seed: int, scratch: Path
) -> dict[str, float]:
    from builder.models.tagger import train_tagger

    train, valid, test = ([example(row) for row in part] for part in (rows, plan.valid, plan.test))
    tagger = train_tagger(train, valid, config, seed, scratch)
    return triplets([row.triplets for row in test], tagger.predict([row.text for row in test]))
