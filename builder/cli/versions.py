"""`builder versions …` and `builder verify`: releases made, checked, compared and published.

`release` makes a version and `verify` checks one. `diff` says what changed between two releases, and what that makes of
the version. `publish` puts a release into a dataset repository on the Hugging Face hub, or a model into a model
repository.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from builder.cli.build import SAME_OUT, WORKDIR
from builder.cli.options import AS_JSON, PATH, choice, json_option, option, put_table
from builder.core.settings import DEFAULT_WORKDIR
from builder.core.wording import counted

if TYPE_CHECKING:
    from builder.release.hub_upload import UploadPlan

# ---- builder versions release and builder verify


@click.command()
@WORKDIR
@SAME_OUT
@option("--version", "number", help="The version itself, MAJOR.MINOR.PATCH.")
@option("--licence", "--license", help="Licence of the release, as an SPDX name.")
@option("--because", "reason", help="Why this release may lose much of the last one; goes into CHANGES.md.")
def release(workdir: Path, out: Path | None, number: str | None, licence: str | None, reason: str | None) -> None:
    """Release what a build made.

    Its version follows from what changed since the last release.
    """
    from builder.core.errors import ConfigError
    from builder.pipeline import builds, pipeline
    from builder.pipeline.stages.release import UNCHANGED

    made = builds.remembered(workdir, out)
    given = {"release.version": number, "release.licence": licence, "release.drop_reason": reason}
    made = builds.changed(made, {key: value for key, value in given.items() if value is not None})
    if not made.resolved.config.release.licence:
        raise ConfigError(
            "no licence is stated", fix="say under which one others may use the data: --licence CC-BY-4.0"
        )
    done = pipeline.run(made, report=lambda line: click.echo(line, err=True))[-1]
    counts = ", ".join(f"{name} {done.counts[name]:,}" for name in ("train", "valid", "test"))
    state = f"unchanged, v{done.counts['version']} kept" if UNCHANGED in done.counts or not done.ran else "released"
    click.echo(f"{done.counts['path']}: {state}, triplets: {counts}")


@click.command()
@click.argument("release", type=PATH)
@AS_JSON
def verify(release: Path, as_json: bool) -> None:
    """Check a RELEASE directory.

    Checksums, counts, schema, spans, splits, leaks, polarities, personal data.
    """
    import json

    from builder.core.errors import printable
    from builder.release.verify import verify as check

    faults = check(release)
    if as_json:
        click.echo(json.dumps({"release": str(release), "sound": not faults, "faults": faults}, ensure_ascii=False))
    else:
        for fault in faults:
            click.echo(printable(fault))
        click.echo(f"{release}: {counted(len(faults), 'fault')}" if faults else f"{release}: sound")
    if faults:
        sys.exit(1)


# ---- builder versions diff


@click.command()
@click.argument("before", type=PATH)
@click.argument("after", type=PATH)
@option("--format", "shape", type=choice("markdown", "json"), default="markdown", help="How to print it.")
@json_option()
@option("--samples", type=click.IntRange(min=0), default=5, help="At most so many samples of each change.")
@option(
    "--fail-on",
    type=choice("any", "minor", "major", "never"),
    default="any",
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
    made = f"; differences in what made them: {len(difference.made)}" if difference.made else ""
    click.echo(f"{before} to {after}: {counted(changed, 'change')}, {difference.level}{made}", err=True)
    if (fail_on == "any" and changed) or (
        fail_on in LEVELS and LEVELS.index(difference.level) >= LEVELS.index(fail_on)
    ):
        sys.exit(1)


# ---- builder versions publish


@click.command()
@click.argument("release", type=PATH, required=False)
@option("--model", metavar="NAME", help="Instead of a release: a model of --workdir, such as C3 (or C: its last).")
@option("--workdir", type=PATH, default=DEFAULT_WORKDIR, help="Working directory that trained --model.")
@option(
    "--repo", "repository", required=True, metavar="USER/NAME", help="Repository on the hub; made if it is not there."
)
@option("--private", is_flag=True, help="Make a new repository private.")
@option("--seconds", type=click.FloatRange(min=0, min_open=True), default=3600, help="Give up after so many seconds.")
@option("--yes", is_flag=True, help="Send; without it, only show what would be sent.")
def publish(
    release: Path | None, model: str | None, workdir: Path, repository: str, private: bool, yes: bool, seconds: float
) -> None:
    """Send a release or a model to the hub.

    RELEASE is a directory; --model sends a trained model with its tokenizer and a card. It goes in one commit, with a
    tag. Needs the extra `publish`.
    """
    from builder.core.errors import printable
    from builder.release import hub_upload

    if (release is None) == (model is None):
        raise click.UsageError("name either the directory of a release, or a model: --model C3 --workdir DIR")
    if model is None and release is not None:
        planned = hub_upload.plan(release, repository)
    else:
        from builder.pipeline.model_folders import make_model_folder

        hub_upload.check_repository(repository)
        made = make_model_folder(workdir, str(model))
        planned = hub_upload.plan_model(made.path, repository, made.tag)
        click.echo(f"{made.path}: the folder of the model", err=True)
    if not yes:
        _show(planned)
        return
    try:
        done = hub_upload.send_within(seconds, planned, private, report=lambda line: click.echo(line, err=True))
    except hub_upload.HubTimeout as error:
        click.echo(f"builder: error: {printable(str(error))}", err=True)
        sys.stderr.flush()
        os._exit(2)  # an ordinary exit would wait for the requests that hang
    what = f"{done.sent} files sent, {done.removed} removed" if done.sent or done.removed else "nothing to send"
    click.echo(
        f"{done.url}: {what}, tag {planned.tag} {'set' if done.tagged else 'was there'}, commit {done.commit[:12]}"
    )


def _show(planned: UploadPlan) -> None:
    """What would be sent, without a question to the hub."""
    rows = [(path, f"{size:,}") for path, size in planned.files.items()]
    put_table(rows, ["file", "bytes"], colalign=("left", "right"))
    whole = f"{counted(len(planned.files), 'file')}, {sum(planned.files.values()):,} bytes"
    click.echo(
        f"would send {whole} to {planned.repository} as one commit {planned.title!r} with the tag {planned.tag}; "
        "--yes sends"
    )
