"""`builder versions publish`: a release to a dataset repository on the Hugging Face hub, or a model to a model
repository.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from builder.cli.build_voice import DEFAULT_WORKDIR
from builder.core.wording import counted

if TYPE_CHECKING:
    from builder.release.hub import UploadPlan


@click.command()
@click.argument("release", type=click.Path(path_type=Path), required=False)
@click.option(
    "--model", metavar="NAME", help="Instead of a release: a model of --workdir, such as C3 (or C: its last)."
)
@click.option(
    "--workdir",
    type=click.Path(path_type=Path),
    default=DEFAULT_WORKDIR,
    show_default=True,
    help="Working directory that trained --model.",
)
@click.option(
    "--repo", "repository", required=True, metavar="USER/NAME", help="Repository on the hub; made if it is not there."
)
@click.option("--private", is_flag=True, help="Make a new repository private.")
@click.option(
    "--seconds", type=click.FloatRange(min=0, min_open=True), default=3600, show_default=True,
    help="Give up after this many seconds in all.",
)  # fmt: skip
@click.option("--yes", is_flag=True, help="Send; without it, only show what would be sent.")
def publish(
    release: Path | None, model: str | None, workdir: Path, repository: str, private: bool, yes: bool, seconds: float
) -> None:
    """Send a release or a model to the hub.

    RELEASE is a directory; --model sends a trained model with its tokenizer and a card. It goes in one commit, with a
    tag. Needs the extra `publish`.
    """
    from builder.core.errors import printable
    from builder.release import hub

    if (release is None) == (model is None):
        raise click.UsageError("name either the directory of a release, or a model: --model C3 --workdir DIR")
    if model is None and release is not None:
        planned = hub.plan(release, repository)
    else:
        from builder.pipeline.model_folder import make_model_folder

        hub.check_repository(repository)
        made = make_model_folder(workdir, str(model))
        planned = hub.plan_model(made.path, repository, made.tag)
        click.echo(f"{made.path}: the folder of the model", err=True)
    if not yes:
        _show(planned)
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


def _show(planned: UploadPlan) -> None:
    """What would be sent, without a question to the hub."""
    from tabulate import tabulate

    click.echo(
        tabulate(
            [(path, f"{size:,}") for path, size in planned.files.items()],
            headers=["file", "bytes"],
            colalign=("left", "right"),
        )
    )
    whole = f"{counted(len(planned.files), 'file')}, {sum(planned.files.values()):,} bytes"
    click.echo(
        f"would send {whole} to {planned.repository} as one commit {planned.title!r} with the tag {planned.tag}; "
        "--yes sends"
    )
