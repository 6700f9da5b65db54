"""`builder domain new|accept|check`: words for another domain."""

from __future__ import annotations

from pathlib import Path

import click

_PATH = click.Path(path_type=Path)
_REVIEWS = click.option(
    "--reviews", "files", type=_PATH, multiple=True, required=True, help="File of reviews (repeatable)."
)


@click.group()
def domain() -> None:
    """Make and check the words of another domain."""


@domain.command()
@click.argument("name")
@_REVIEWS
@click.option("--out", type=_PATH, help="Folder of the pack; NAME in this folder if not given.")
@click.option("--support", default=3, show_default=True, help="A word stands in at least so many reviews.")
def new(name: str, files: tuple[Path, ...], out: Path | None, support: int) -> None:
    """Make a domain pack NAME from raw reviews.

    It proposes aspects and opinions in NAME/candidates.csv, the most valuable first. Write yes or no into its column
    answer, give the classes in the column meaning your own names, and run `builder domain accept NAME`.
    """
    from builder.lexicon.domain_sheet import CONFIDENT, SHEET
    from builder.usecases.domain_packs import make_pack

    made = make_pack(name, files, out or Path(name), support)
    click.echo(f"{made.folder / SHEET}: {made.proposals:,} proposals from {made.reviews:,} reviews")
    click.echo(
        f"{made.folder}: {made.aspects:,} aspects and {made.opinions:,} opinions of confidence {CONFIDENT:g} or more "
        "are in force; answer the rest in the sheet"
    )


@domain.command()
@click.argument("folder", type=_PATH)
def accept(folder: Path) -> None:
    """Take the answers of a sheet into a pack.

    FOLDER is that of the pack."""
    from builder.usecases.domain_packs import take_answers

    made = take_answers(folder)
    click.echo(f"{folder}: {made.aspects:,} aspects and {made.opinions:,} opinions of {made.proposals:,} proposals")


@domain.command()
@click.argument("name")
@_REVIEWS
@click.option("--draw", default=50, show_default=True, help="How many triplets are shown.")
@click.option("--seed", default=13, show_default=True, help="Seed of the draw.")
def check(name: str, files: tuple[Path, ...], draw: int, seed: int) -> None:
    """Show what the domain NAME finds in reviews.

    NAME is a domain that builder brings or the folder of a pack. Shown are the yield, triplets drawn at random, and
    frequent words that no lexicon holds.
    """
    from builder.usecases.domain_packs import check_domain

    report = check_domain(name, files, draw, seed)
    triplets = sum(report.polarities.values())
    share = 100 * report.with_triplets / max(1, report.reviews)
    click.echo(
        f"{report.reviews:,} reviews, {report.with_triplets:,} with triplets ({share:.0f}%); {triplets:,} triplets: "
        + ", ".join(f"{name} {number:,}" for name, number in sorted(report.polarities.items()))
    )
    for triplet, snippet in report.drawn:
        click.echo(f"{triplet.aspect.text}\t{triplet.opinion_full.text}\t{triplet.polarity}\t{snippet}")
    click.echo("unknown words: " + ", ".join(f"{word} {number:,}" for word, number in report.unknown))
