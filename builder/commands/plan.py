"""`builder plan`: time, memory and disk of a build that is not begun yet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from builder.usecases.planning import BuildPlan, SampleMeasure


@click.command()
@click.option(
    "--reviews", "count", type=click.IntRange(1), required=True, help="How many reviews the build would have."
)
@click.option(
    "--workers", type=click.IntRange(1), default=2, show_default=True, help="Worker processes, here or in a cluster."
)
@click.option(
    "--workdir",
    type=click.Path(path_type=Path),
    help="A finished build to learn from; without it the sample is measured, up to seed.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="How to print it.",
)
def plan(count: int, workers: int, workdir: Path | None, form: str) -> None:
    """Predict time, memory and disk of a build.

    The prediction follows from what this machine measured in a build, or in a trial with the sample."""
    import json

    from builder.usecases.planning import predict

    made = predict(_measured(workdir), count, workers)
    if form == "json":
        click.echo(json.dumps(made.as_json(), indent=1))
    else:
        _show(made)


def _measured(workdir: Path | None) -> SampleMeasure:
    import tempfile

    from builder import builds, pipeline
    from builder.config import resolve
    from builder.lexicon.resources import sample_dir
    from builder.usecases.measuring import measure

    if workdir is not None:
        return measure(workdir, builds.remembered(workdir).resolved.config, str(workdir))
    click.echo("measuring on the shipped sample, some seconds", err=True)
    with tempfile.TemporaryDirectory() as folder:
        build = builds.Build(
            Path(folder), Path(folder), (sample_dir() / "reviews.csv",), resolve(options={"workers": 1})
        )
        pipeline.run(build, until="seed")
        return measure(Path(folder), build.resolved.config, "the shipped sample")


def _show(made: BuildPlan) -> None:
    from tabulate import tabulate

    rows = [(stage.stage, _clock(stage.seconds), _bytes(stage.memory), stage.by) for stage in made.stages]
    rows.append(("all", _clock(made.seconds), _bytes(made.memory), f"each worker {_bytes(made.worker_memory)}"))
    click.echo(f"{made.reviews:,} reviews, {made.workers} workers\n")
    click.echo(tabulate(rows, headers=["stage", "time", "memory", "by"], disable_numparse=True))
    disk = ", ".join(f"{kind} {_bytes(size)}" for kind, size in made.disk.items())
    click.echo(f"\ndisk: {_bytes(sum(made.disk.values()))} ({disk})\n" + "\n".join(made.notes))


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{seconds:.1f} s"


def _bytes(size: float) -> str:
    return (
        f"{size / 1e12:.1f} TB" if size >= 1e12 else f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
    )
