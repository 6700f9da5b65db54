"""`builder versions diff`: what changed between two releases, and what that makes of the version."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from builder.core.wording import counted


@click.command()
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "shape",
    type=click.Choice(["markdown", "json"]),
    default="markdown",
    show_default=True,
    help="How to print it.",
)
@click.option(
    "--samples",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    help="At most so many samples of each change.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["any", "minor", "major", "never"]),
    default="any",
    show_default=True,
    help="Exit with 1 if there is any change of the data, or one that asks for such a version.",
)
def diff(before: Path, after: Path, shape: str, samples: int, fail_on: str) -> None:
    """Compare the releases BEFORE and AFTER.

    Counts reviews and triplets that were added, removed, edited or moved, or that changed their polarity. Names the
    settings, signatures and versions that differ.

    Exits with 0 if the data is the same (or the change is below --fail-on), else with 1.
    """
    import json

    from builder.release.diff import LEVELS, as_json, between, markdown

    difference = between(before, after, samples)
    click.echo(
        json.dumps(as_json(difference), ensure_ascii=False, indent=1)
        if shape == "json"
        else markdown(difference).rstrip("\n")
    )
    changed = sum(difference.counts.values())
    made = f", made otherwise in {counted(len(difference.made), 'point')}" if difference.made else ""
    click.echo(f"{before} to {after}: {counted(changed, 'change')}, {difference.level}{made}", err=True)
    if (fail_on == "any" and changed) or (
        fail_on in LEVELS and LEVELS.index(difference.level) >= LEVELS.index(fail_on)
    ):
        sys.exit(1)
