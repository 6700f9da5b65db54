"""`builder export`: a release in other people's formats."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("release", type=click.Path(path_type=Path), required=False)
@click.option("--format", "name", help="The format; without one, they are listed.")
@click.option("--output", "to", type=click.Path(path_type=Path), help="Directory for the files; NAME-VERSION-FORMAT here if not given.")
@click.option("--split", "splits", multiple=True, help="train, valid or test (repeatable); all if none is named.")
@click.option(
    "--opinion",
    type=click.Choice(["opinion", "opinion_full"]),
    default="opinion",
    show_default=True,
    help="The core with its negator, which may be interrupted, or the whole phrase, which never is.",
)
def export(release: Path | None, name: str | None, to: Path | None, splits: tuple[str, ...], opinion: str) -> None:
    """Write a RELEASE in another format. What it cannot hold goes to FILE.skipped.jsonl with the reason."""
    from typing import cast

    from builder.export.formats import FORMATS, OTHERS
    from builder.export.labels import Opinion
    from builder.release.reading import opened
    from builder.usecases.exporting import export_release

    if name is None:
        for known, about in [*((key, form.about) for key, form in FORMATS.items()), *((key, told) for key, (told, _) in OTHERS.items())]:
            click.echo(f"{known:14}{about}")
        return
    if release is None:
        raise click.UsageError("name the directory of a release, such as releases/v0.1.0")
    told = opened(release).manifest
    target = to or Path(f"{told['name']}-{told['version']}-{name}")
    done = export_release(release, name, target, splits, cast("Opinion", opinion))
    for one in done:
        click.echo(f"{one.path}: {one.reviews:,} reviews, {one.labels:,} labels" + (f", {one.skipped:,} skipped" if one.skipped else ""))
    click.echo(f"{target}: {sum(one.labels for one in done):,} labels written, {sum(one.skipped for one in done):,} skipped")
