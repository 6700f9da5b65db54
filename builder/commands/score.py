"""`builder score`: how good predictions are against gold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from builder.export.answers import File, Read
    from builder.metrics.scores import Mode
    from builder.metrics.systems import Asked, Measured

Rows = list[tuple[str, "Measured"]]
"""(opinion or opinion_full, a metric of it)"""
_FILE = click.Path(path_type=Path)


@click.command()
@click.option(
    "--gold",
    type=_FILE,
    required=True,
    help="Gold: ours or a release, the paper's format, dimABSA's files, ASTE-Data-V2, Span-ASTE, PyABSA.",
)
@click.option("--pred", type=_FILE, required=True, help="Predictions, in any of the same formats.")
@click.option("--against", type=_FILE, help="Predictions of another system: the difference, its interval, and a paired test.")
@click.option("--metric", type=click.Choice(["all", "exact", "lenient", "paper"]), default="all", show_default=True)
@click.option(
    "--opinion",
    type=click.Choice(["both", "opinion", "opinion_full"]),
    default="both",
    show_default=True,
    help="Which opinion of our own rows to score.",
)
@click.option(
    "--mode",
    type=click.Choice(["open", "given-aspects"]),
    default="open",
    show_default=True,
    help="given-aspects: the system was told the gold aspects; what it says about others is left out.",
)
@click.option(
    "--samples", type=click.IntRange(0, 100_000), default=1000, show_default=True, help="Bootstrap samples for the 95% intervals; 0: none."
)
@click.option("--seed", type=click.IntRange(0), default=13, show_default=True, help="Seed of the samples.")
@click.option("--format", "shape", type=click.Choice(["table", "markdown", "csv", "json"]), default="table", show_default=True)
def score(
    gold: Path, pred: Path, against: Path | None, metric: Asked, opinion: str, mode: Mode, samples: int, seed: int, shape: str
) -> None:  # fmt: skip
    """Score predictions against gold: micro P, R, F1 (exact, lenient) and the paper's example-based metric.

    Scores are percent, with 95% bootstrap intervals over the reviews.
    """
    from builder.export import answers
    from builder.metrics.systems import Settings, measure, metrics

    files = {name: answers.load(path) for name, path in (("gold", gold), ("pred", pred), ("against", against)) if path is not None}
    rows: Rows = []
    for key in ("opinion", "opinion_full") if opinion == "both" else (opinion,):
        read = {name: file.read(key) for name, file in files.items()}
        other = read["against"].answers if against else None
        chosen = metrics(metric, mode)
        rows += [(key, one) for one in measure(read["gold"].answers, read["pred"].answers, chosen, Settings(mode, samples, seed), other)]
    for note in _notes(files, mode):
        click.echo(note, err=True)
    due, told = read["gold"], read["pred"]
    click.echo(_SHAPES[shape](rows, due, told))


def _notes(files: Mapping[str, File], mode: str) -> list[str]:
    """What a user should know before believing the numbers."""
    read = {name: file.read() for name, file in files.items()}
    out = []
    for name in ("pred", "against"):
        if name in read and not read[name].answers.keys() & read["gold"].answers.keys():
            out.append(f"note: --{name} and --gold have no id in common: are these the same reviews?")
        if name in read and read[name].given and mode == "open":
            out.append(f"note: the questions of --{name} name the aspects: where a model was asked so, score it with --mode given-aspects")
    return out


def _table(rows: Rows, due: Read, told: Read, shape: str = "simple") -> str:
    from tabulate import tabulate

    from builder.metrics.systems import together

    headers = ["of", "match", "part", "P", "R", "F1", "right", "predicted", "gold", "A", "95% interval"]
    paired = any(one.against for _, one in rows)
    shown = [[*_cells(key, one), *(_paired(one) if paired else [])] for key, one in rows]
    headers += ["difference", "95% interval", "p"] if paired else []
    lines = [
        tabulate(shown, headers=headers, tablefmt=shape, disable_numparse=True, colalign=["left"] * 3 + ["right"] * (len(headers) - 3))
    ]
    signatures = together([one.signature for _, one in rows])
    lines += ["", "signatures", *(f"- `{one}`" if shape == "github" else f"  {one}" for one in signatures), "", _footer(rows, due, told)]
    return "\n".join(lines)


def _cells(key: str, one: Measured) -> list[str]:
    """The row of a metric; the interval is that of F1, of polarity that of the accuracy."""
    values = [f"{one.values[name].value:.1f}" if name in one.values else "-" for name in ("precision", "recall", "f1")]
    counts = [f"{count}" for count in one.counts] if one.counts else ["-"] * 3
    accuracy = f"{one.values['accuracy'].value:.1f}" if "accuracy" in one.values else "-"
    last = list(one.values.values())[-1]
    interval = "-" if last.low is None else f"{last.low:.1f} to {last.high:.1f}"
    return [key, one.metric.match, one.metric.part, *values, *counts, *["-"] * (3 - len(counts)), accuracy, interval]


def _paired(one: Measured) -> list[str]:
    assert one.against is not None
    return [f"{one.against.value:+.1f}", f"{one.against.low:+.1f} to {one.against.high:+.1f}", f"{one.against.p:.3f}"]


def _footer(rows: Rows, due: Read, told: Read) -> str:
    missing, other = len(due.answers.keys() - told.answers.keys()), len(told.answers.keys() - due.answers.keys())
    parts = [f"gold: {len(due.answers)} reviews, {due.null} NULL triplets left out"]
    parts += [f"{missing} reviews have no prediction"] if missing else []
    parts += [f"{other} predicted reviews are not in gold"] if other else []
    line = "; ".join(parts)
    low = next((one.ceiling for _, one in rows if one.ceiling < 100), None)
    if low is None:
        return line
    empty = sum(not answers for answers in due.answers.values())
    return f"{line}\nceiling of the paper metric: {low:.1f}, for {empty} of {len(due.answers)} gold reviews are empty and count 0"


def _json(rows: Rows, due: Read, told: Read) -> str:
    import json

    listed = []
    for key, one in rows:
        values = {name: {"value": e.value, "low": e.low, "high": e.high} for name, e in one.values.items()}
        counts = dict(zip(("right", "predicted", "gold") if len(one.counts) == 3 else ("right", "matched"), one.counts, strict=False))
        against = (
            {"difference": one.against.value, "low": one.against.low, "high": one.against.high, "p": one.against.p} if one.against else None
        )
        head: dict[str, object] = {"of": key, "match": one.metric.match, "part": one.metric.part}
        listed.append(head | values | counts | {"ceiling": one.ceiling, "against": against, "signature": one.signature})
    reviews = {"gold": len(due.answers), "null_triplets": due.null, "without_prediction": len(due.answers.keys() - told.answers.keys())}
    return json.dumps({"reviews": reviews, "scores": listed}, ensure_ascii=False, indent=1)


def _csv(rows: Rows, due: Read, told: Read) -> str:
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["of", "match", "part", "precision", "recall", "f1", "accuracy", "low", "high", "difference", "p", "signature"])
    for key, one in rows:
        values = [f"{one.values[name].value:.4f}" if name in one.values else "" for name in ("precision", "recall", "f1", "accuracy")]
        last = list(one.values.values())[-1]
        interval = ["", ""] if last.low is None else [f"{last.low:.4f}", f"{last.high:.4f}"]
        paired = [f"{one.against.value:.4f}", f"{one.against.p:.4f}"] if one.against else ["", ""]
        writer.writerow([key, one.metric.match, one.metric.part, *values, *interval, *paired, one.signature])
    return out.getvalue().rstrip("\n")


_SHAPES: Mapping[str, Callable[[Rows, Read, Read], str]] = {
    "table": _table,
    "markdown": lambda rows, due, told: _table(rows, due, told, "github"),
    "csv": _csv,
    "json": _json,
}
