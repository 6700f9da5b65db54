"""`builder gain`: what labelled reviews would teach the rules."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option(
    "--gold",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Labelled reviews as JSON lines with id, text and triplets.",
)
@click.option(
    "--workdir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="In place of --gold: the working directory whose pool is labelled.",
)
@click.option("--pool", help="The pool of --workdir; the newest if not given.")
@click.option("--domain", default="restaurant", show_default=True, help="A domain, or the folder of a pack.")
@click.option("--splits", default=5, show_default=True, type=click.IntRange(1, 50), help="Random halves to measure on.")
@click.option(
    "--write",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for a rule that all labels have taught.",
)
def gain(
    gold: Path | None, workdir: Path | None, pool: str | None, domain: str, splits: int, folder: Path | None
) -> None:
    """Measure what labelled reviews teach the rules.

    Half of the reviews teach, the other half is scored; aspect or opinion may be longer or shorter. Labels move the
    weights by which rules choose an aspect, and teach aspects that the lexicon lacks.
    """
    from tabulate import tabulate

    from builder.errors import ConfigError
    from builder.lexicon.folders import Folders
    from builder.usecases.gain import measure_gain, read_pool, read_rows, write_lessons

    labels = gold or workdir
    if labels is None or (gold and workdir):
        raise ConfigError("labels come from one place", fix="give --gold FILE or --workdir FOLDER")
    rows_given = read_rows(gold) if gold else read_pool(labels, pool)
    number, rows = measure_gain(rows_given, labels, Folders(domain=domain), splits)
    table = [
        [row.labels, f"{row.before.f1:.1f}", f"{row.after.precision:.1f}", f"{row.after.recall:.1f}",
         f"{row.after.f1:.1f}", f"{row.after.f1 - row.before.f1:+.1f}", f"{row.better} of {splits}"]
        for row in rows
    ]  # fmt: skip
    headers = ["labels", "F1 before", "P", "R", "F1", "gain", "better in"]
    click.echo(tabulate(table, headers=headers, disable_numparse=True, colalign=("right",) * 7))
    click.echo(f"{number:,} labelled reviews, {splits} random halves")
    if folder is not None:
        path, aspects = write_lessons(rows_given, labels, Folders(domain=domain), folder)
        words = f" and `--set lexicons.dir='\"{folder / 'lexicons'}\"'` ({aspects:,} aspects)" if aspects else ""
        click.echo(f"{path}: use it with `--set rules.dir='\"{folder}\"'`{words}")
