"""`builder versions release` and `builder verify`: making a version, and checking one."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from builder.cli.build import SAME_OUT, WORKDIR


@click.command()
@WORKDIR
@SAME_OUT
@click.option(
    "--bump",
    type=click.Choice(["auto", "patch", "minor", "major"]),
    help="Which part of the version to raise; auto follows from the changes.",
)
@click.option("--version", "number", help="The version itself, MAJOR.MINOR.PATCH.")
@click.option("--licence", "--license", help="Licence of the release, as an SPDX name.")
@click.option("--because", "reason", help="Why this release may lose much of the last one; goes into CHANGES.md.")
def release(
    workdir: Path, out: Path | None, bump: str | None, number: str | None, licence: str | None, reason: str | None
) -> None:
    """Release what a build made.

    Its version follows from what changed since the last release.
    """
    from dataclasses import replace

    from builder.core.config import flat, resolve
    from builder.core.errors import ConfigError
    from builder.pipeline import builds, pipeline

    made = builds.remembered(workdir, out)
    given = {"release.bump": bump, "release.version": number, "release.licence": licence, "release.drop_reason": reason}
    kept = {
        key: tuple(value) if isinstance(value, list) else value for key, value in flat(made.resolved.config).items()
    }
    made = replace(
        made, resolved=resolve(options=kept | {key: value for key, value in given.items() if value is not None})
    )
    if not made.resolved.config.release.licence:
        raise ConfigError(
            "no licence is stated", fix="say under which one others may use the data: --licence CC-BY-4.0"
        )
    done = pipeline.run(made, report=lambda line: click.echo(line, err=True))[-1]
    counts = ", ".join(f"{name} {done.counts[name]:,}" for name in ("train", "valid", "test"))
    click.echo(f"{done.counts['path']}: {'released' if done.ran else 'released before'}, triplets: {counts}")


@click.command()
@click.argument("release", type=click.Path(path_type=Path))
def verify(release: Path) -> None:
    """Check a RELEASE directory.

    Checksums, counts, schema, spans, splits, leaks, polarities, personal data.
    """
    from builder.core.errors import printable
    from builder.core.wording import counted
    from builder.release.verify import verify as check

    faults = check(release)
    for fault in faults:
        click.echo(printable(fault))
    click.echo(f"{release}: {counted(len(faults), 'fault')}" if faults else f"{release}: sound")
    if faults:
        sys.exit(1)
