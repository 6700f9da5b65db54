"""`builder gain`: what labelled reviews would teach the rules."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option(
    "--gold",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Labelled reviews as JSON lines with id, text and triplets.",
)
@click.option("--splits", default=5, show_default=True, type=click.IntRange(1, 50), help="Random halves to measure on.")
@click.option(
    "--write",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for a rule that all labels have taught.",
)
def gain(gold: Path, splits: int, folder: Path | None) -> None:
    """Measure what labelled reviews teach the rules.

    Half of the reviews teach, the other half is scored; aspect or opinion may be longer or shorter. Labels move the
    weights by which rules choose an aspect.
    """
    from tabulate import tabulate

    from builder.lexicon.folders import SHIPPED
    from builder.usecases.gain import measure_gain, write_lessons

    number, rows = measure_gain(gold, SHIPPED, splits)
    table = [
        [row.labels, f"{row.before.f1:.1f}", f"{row.after.precision:.1f}", f"{row.after.recall:.1f}",
         f"{row.after.f1:.1f}", f"{row.after.f1 - row.before.f1:+.1f}", f"{row.better} of {splits}"]
        for row in rows
    ]  # fmt: skip
    headers = ["labels", "F1 before", "P", "R", "F1", "gain", "better in"]
    click.echo(tabulate(table, headers=headers, disable_numparse=True, colalign=("right",) * 7))
    click.echo(f"{number:,} labelled reviews, {splits} random halves")
    if folder is not None:
        click.echo(f"{write_lessons(gold, SHIPPED, folder)}: use it with `--set rules.dir='\"{folder}\"'`")
