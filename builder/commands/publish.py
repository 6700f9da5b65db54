"""`builder publish`: a release to a dataset repository on the Hugging Face hub."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click


@click.command()
@click.argument("release", type=click.Path(path_type=Path))
@click.option(
    "--repo", "repository", required=True, metavar="USER/NAME", help="Dataset repository; made if it is not there."
)
@click.option("--private", is_flag=True, help="Make a new repository private.")
@click.option(
    "--seconds", type=click.FloatRange(min=0, min_open=True), default=3600, show_default=True,
    help="Give up after this many seconds in all.",
)  # fmt: skip
@click.option("--yes", is_flag=True, help="Send; without it, only show what would be sent.")
def publish(release: Path, repository: str, private: bool, yes: bool, seconds: float) -> None:
    """Send a RELEASE to the Hugging Face hub.

    It goes in one commit, with a tag. Needs the extra `publish`.
    """
    from tabulate import tabulate

    from builder.errors import printable
    from builder.release import hub

    planned = hub.plan(release, repository)
    whole = f"{len(planned.files)} files, {sum(planned.files.values()):,} bytes"
    if not yes:
        click.echo(
            tabulate(
                [(path, f"{size:,}") for path, size in planned.files.items()],
                headers=["file", "bytes"],
                colalign=("left", "right"),
            )
        )
        click.echo(
            f"would send {whole} to {repository} as one commit {planned.title!r} with the tag {planned.tag}; --yes "
            "sends"
        )
        return
    try:
        done = hub.send_within(seconds, planned, private, report=lambda line: click.echo(line, err=True))
    except hub.HubTimeout as error:
        click.echo(f"builder: error: {printable(str(error))}", err=True)
        sys.stderr.flush()
        os._exit(2)  # an ordinary exit would wait for the requests that hang
    what = f"{done.sent} files sent, {done.removed} removed" if done.sent or done.removed else "nothing to send"
    click.echo(
        f"{done.url}: {what}, tag {planned.tag} {'set' if done.tagged else 'was there'}, commit {done.commit[:12]}"
    )
