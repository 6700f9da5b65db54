"""`builder export`: a release in other people's formats."""

from __future__ import annotations

from pathlib import Path

import click

from builder.core.wording import counted


@click.command()
@click.argument("release", type=click.Path(path_type=Path), required=False)
@click.option("--format", "name", help="The format; without one, they are listed.")
@click.option(
    "--output",
    "to",
    type=click.Path(path_type=Path),
    help="Directory for the files; NAME-VERSION-FORMAT here if not given.",
)
@click.option("--split", "splits", multiple=True, help="train, valid or test (repeatable); all if none is named.")
@click.option(
    "--opinion",
    type=click.Choice(["opinion", "opinion_full"]),
    default="opinion",
    show_default=True,
    help="The core with its negator, or the whole phrase, which is never interrupted.",
)
@click.option(
    "--without-empty",
    is_flag=True,
    help="Leave out reviews without a triplet, which many readers of ASTE data refuse.",
)
@click.option(
    "--workdir",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Of the build: bio-words takes its words, in place of segmenting anew.",
)
def export(
    release: Path | None, name: str | None, to: Path | None, splits: tuple[str, ...], opinion: str,
    without_empty: bool, workdir: Path | None,
) -> None:  # fmt: skip
    """Write a RELEASE in another format.

    A review is written with all its triplets or not at all. An opinion that a format cannot hold, because it is
    interrupted, is written in full; a review that does not fit even so goes to FILE.skipped.jsonl with the reason.
    """
    from typing import cast

    from builder.release.export.formats import FORMATS, OTHERS
    from builder.release.export.records import Opinion
    from builder.release.exporting import export_release
    from builder.release.reading import opened

    if name is None:
        for known, about in [
            *((key, form.about) for key, form in FORMATS.items()),
            *((key, about) for key, (about, _) in OTHERS.items()),
        ]:
            click.echo(f"{known:14}{about}")
        return
    if release is None:
        raise click.UsageError("name the directory of a release, such as releases/v0.1.0")
    manifest = opened(release).manifest
    target = to or Path(f"{manifest['name']}-{manifest['version']}-{name}")
    written = export_release(release, name, target, splits, cast("Opinion", opinion), workdir, without_empty)
    for split in written:
        click.echo(
            f"{split.path}: {counted(split.reviews, 'review')}, {split.labels:,} "
            f"labels{_exceptions(split.in_full, split.skipped, split.lost, split.empty)}"
        )
    totals = [sum(getattr(split, name) for split in written) for name in ("in_full", "skipped", "lost", "empty")]
    click.echo(f"{target}: {counted(sum(split.labels for split in written), 'label')}{_exceptions(*totals)}")


def _exceptions(in_full: int, skipped: int, lost: int, empty: int) -> str:
    """What was not written as it stands in the release."""
    full = f", {in_full:,} with the full opinion" if in_full else ""
    left_out = [f"{counted(skipped, 'review')} with {counted(lost, 'label')}"] if skipped else []
    left_out += [f"{counted(empty, 'review')} without a triplet"] if empty else []
    return full + (f"; left out: {', '.join(left_out)}" if left_out else "")
