"""`builder extract` and `builder score`: triplets of any text, and how good they are."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option("--input", "source", type=click.Path(path_type=Path), required=True, help='JSON lines of {"id", "text"}.')
@click.option(
    "--output", "target", type=click.Path(path_type=Path), required=True, help='JSON lines of {"id", "triplets"}, in the same order.'
)
@click.option("--source", "system", default="rules", show_default=True, help="rules, or a variant (A, B, C, D) trained in --workdir.")
@click.option("--workdir", type=click.Path(path_type=Path), help="Working directory with the trained models; not needed for rules.")
@click.option("--convention", type=click.Choice(["natural", "paper"]), default="natural", show_default=True)
@click.option("--workers", type=int, default=2, show_default=True)
def extract(source: Path, target: Path, system: str, workdir: Path | None, convention: str, workers: int) -> None:
    """Extract triplets from texts, one line out for each line in."""
    from builder.extraction import extract_file

    counts = extract_file(source, target, system, workdir, convention, workers)
    click.echo(f"{target}: {counts.texts} texts, {counts.triplets} triplets, {counts.seconds:.1f} s")


@click.command()
@click.option(
    "--gold", type=click.Path(path_type=Path), required=True, help="Gold file: ours, dimABSA's polarity files, or the paper's format."
)
@click.option("--pred", type=click.Path(path_type=Path), required=True, help="Predictions, in any of the same formats.")
@click.option("--metric", type=click.Choice(["all", "exact", "lenient", "paper"]), default="all", show_default=True)
@click.option(
    "--opinion",
    type=click.Choice(["both", "opinion", "opinion_full"]),
    default="both",
    show_default=True,
    help="Which opinion of our own rows to score.",
)
def score(gold: Path, pred: Path, metric: str, opinion: str) -> None:
    """Score predictions against gold: micro P, R, F1 (exact, lenient) and the paper's example-based metric."""
    from tabulate import tabulate

    from builder import metrics
    from builder.export.answers import read

    due = read(gold)
    rows = []
    for key in ("opinion", "opinion_full") if opinion == "both" else (opinion,):
        told = read(pred, key)
        for part in ("triplet", "pair", "aspect", "opinion"):
            for match in ("exact", "lenient"):
                if metric in ("all", match) and (match == "exact" or part in ("triplet", "pair")):
                    rows.append((key, match, part, metrics.micro(due.answers, told.answers, match, part)))
        if metric in ("all", "paper"):
            rows.append((key, "paper", "triplet", metrics.paper(due.answers, told.answers)))
        if metric in ("all", "lenient"):
            click.echo(f"{key}: polarity right in {metrics.polarity_accuracy(due.answers, told.answers):.1f}% of matched pairs", err=True)
    shown = [
        (key, match, part, *(f"{value:.1f}" for value in (s.precision, s.recall, s.f1)), s.right, s.predicted, s.gold, s.signature)
        for key, match, part, s in rows
    ]
    click.echo(
        tabulate(shown, headers=["of", "match", "part", "P", "R", "F1", "right", "predicted", "gold", "signature"], disable_numparse=True)
    )
    missing = len(due.answers.keys() - read(pred).answers.keys())
    click.echo(
        f"gold: {len(due.answers)} reviews, {due.null} NULL triplets left out"
        + (f"; {missing} reviews have no prediction" if missing else "")
    )
