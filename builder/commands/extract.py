"""`builder extract`: triplets of any text."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option(
    "--input",
    "source",
    type=click.Path(path_type=Path),
    required=True,
    help='JSON lines of {"id", "text"}, or a gold file with texts; - reads standard input.',
)
@click.option(
    "--output",
    "target",
    type=click.Path(path_type=Path),
    required=True,
    help='JSON lines of {"id", "triplets"}, in the same order; - writes standard output.',
)
@click.option(
    "--source",
    "system",
    default="rules",
    show_default=True,
    help="rules, or a variant built in --workdir: E, or A to D (the last round; C1: a round).",
)
@click.option(
    "--workdir",
    type=click.Path(path_type=Path),
    help="Working directory with the trained models; not needed for rules.",
)
@click.option("--convention", type=click.Choice(["natural", "paper"]), default="natural", show_default=True)
@click.option("--workers", type=int, default=2, show_default=True)
def extract(source: Path, target: Path, system: str, workdir: Path | None, convention: str, workers: int) -> None:
    """Extract triplets from texts.

    One line out for each line in, in the same order.
    """
    from builder.usecases.extraction import extract_file

    counts = extract_file(source, target, system, workdir, convention, workers)
    click.echo(
        f"{target}: {counts.texts} texts, {counts.triplets} triplets, {counts.seconds:.1f} s", err=target == Path("-")
    )
