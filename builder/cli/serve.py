"""`builder serve`: web pages over a working directory or a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from builder.cli.build import WORKDIR

if TYPE_CHECKING:
    from builder.api import Extractor


@click.command()
@WORKDIR
@click.option(
    "--release", type=click.Path(path_type=Path), help="Show this release directory instead of a working directory."
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; others than loopback let others read along.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8001, show_default=True, help="Port; 0 takes any free one."
)
@click.option(
    "--compare",
    type=click.Path(path_type=Path),
    help="An earlier release: a page shows which triplets were added, lost or changed since.",
)
@click.option("--open", "opened", is_flag=True, help="Open the browser.")
def serve(workdir: Path, release: Path | None, host: str, port: int, compare: Path | None, opened: bool) -> None:
    """Look into a build in the browser.

    Reviews, triplets and how they came about; nothing can be changed there. Needs the extra `inspect`.
    """
    from builder.pages.serve import app

    def extractor() -> Extractor:
        from builder.api import Extractor

        return Extractor() if release is not None else Extractor.from_workdir(workdir, source="rules")

    if host not in ("127.0.0.1", "localhost", "::1"):
        click.echo(f"anyone who reaches {host} can read all of it", err=True)
    shown = app.Shown(workdir, release, compare, extractor)
    app.serve(shown, host, port, lambda line: click.echo(line, err=True), opened)
