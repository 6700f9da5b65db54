"""`builder serve`: web pages over a working directory or a release."""

from __future__ import annotations

from pathlib import Path

import click

from builder.commands.build import WORKDIR


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
def serve(workdir: Path, release: Path | None, host: str, port: int) -> None:
    """Look into a build in the browser.

    Reviews, triplets and how they came about; nothing can be changed there. Needs the extra `inspect`.
    """
    from builder.serve import app

    if host not in ("127.0.0.1", "localhost", "::1"):
        click.echo(f"anyone who reaches {host} can read all of it", err=True)
    app.serve(workdir, release, host, port, report=lambda line: click.echo(line, err=True))
