"""`builder build`, `run`, `status`, `resume`: the pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from builder.builds import Build
    from builder.pipeline import Done

WORKDIR = click.option(
    "--workdir",
    type=click.Path(path_type=Path),
    default=Path("workdir"),
    show_default=True,
    help="Working directory: database, models, checkpoints.",
)
OUT = click.option(
    "--out", type=click.Path(path_type=Path), default=Path("releases"), show_default=True, help="Where releases go."
)
CONFIG = click.option(
    "--config", type=click.Path(path_type=Path), help="TOML file with settings; see `builder build --show-config`."
)
SET = click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="KEY=VALUE",
    help="One setting, for example self_train.iterations=1 (repeatable).",
)
ENGINE = click.option(
    "--engine",
    type=click.Choice(["local", "dask"]),
    help="Who works: processes of this machine, or a dask cluster (extra: scale).",
)
SCHEDULER = click.option(
    "--scheduler",
    metavar="tcp://HOST:PORT",
    help="The cluster's scheduler, for --engine dask; none: one of this machine.",
)
COLUMNS = {
    "text": "the review text",
    "id": "ids",
    "place": "the place's name (masked in releases)",
    "rating": "the rating",
    "source": "the source",
    "group": "what shall stay in one split, such as document or place",
}


def _column_options(command: click.decorators.FC) -> click.decorators.FC:
    for name, about in reversed(COLUMNS.items()):
        command = click.option(
            f"--{name}-column", help=f"Column with {about}{'' if name == 'group' else '; guessed if not given'}."
        )(command)
    return command


@click.command()
@click.argument("inputs", nargs=-1, type=click.Path(path_type=Path))
@CONFIG
@WORKDIR
@OUT
@_column_options
@click.option("--encoding", help="Encoding of the input, if it is not Unicode.")
@click.option("--sheet", help="Sheet of a workbook, by its name or its number from 1; the first if not given.")
@click.option("--licence", help="Licence of the release, as an SPDX name.")
@click.option("--workers", type=int, help="Worker processes; the result does not depend on them.")
@ENGINE
@SCHEDULER
@SET
@click.option("--force", is_flag=True, help="Replace what the working directory holds of another dataset.")
@click.option("--show-config", is_flag=True, help="Print every setting as TOML, with where it came from, and stop.")
def build(
    inputs: tuple[Path, ...],
    config: Path | None,
    workdir: Path,
    out: Path,
    sets: tuple[str, ...],
    force: bool,
    show_config: bool,
    **options: object,
) -> None:
    """Turn review files into a released triplet dataset. Without INPUTS: the shipped sample.

    INPUTS are CSV, TSV, JSON lines, JSON, Parquet or XLSX files (.gz too).
    """
    from builder import pipeline

    made = _build(inputs, config, workdir, out, sets, options)
    if show_config:
        click.echo(made.resolved.toml(), nl=False)
        return
    licensed = bool(made.resolved.config.release.licence)
    _summary(
        pipeline.run(made, report=lambda line: click.echo(line, err=True), overwrite=force), made.workdir, licensed
    )


@click.command()
@click.argument("stage")
@WORKDIR
@click.option("--force", is_flag=True, help="Run the stage even if it is done.")
@ENGINE
@SCHEDULER
@SET
def run(
    stage: str, workdir: Path, force: bool, engine: str | None, scheduler: str | None, sets: tuple[str, ...]
) -> None:
    """Run the build of a working directory up to STAGE."""
    from builder import builds, pipeline

    made = builds.changed(builds.remembered(workdir), crew(engine, scheduler) | _settings(sets))
    _summary(
        pipeline.run(
            made, until=stage, force=(stage,) if force else (), report=lambda line: click.echo(line, err=True)
        ),
        workdir,
    )


@click.command()
@WORKDIR
def status(workdir: Path) -> None:
    """Show which stages are done, stale or due."""
    from builder import pipeline

    rows = [
        (s.name, state, f"{done.seconds:.1f}" if done else "", _counts(done.counts) if done else s.about)
        for s, state, done in pipeline.status(workdir)
    ]
    click.echo(_stage_table(rows, ["stage", "state", "seconds", "counts"]))


@click.command()
@WORKDIR
@click.option("--out", type=click.Path(path_type=Path), help="Where releases go; as before if not given.")
@ENGINE
@SCHEDULER
def resume(workdir: Path, out: Path | None, engine: str | None, scheduler: str | None) -> None:
    """Go on with a build that was stopped or killed."""
    from builder import builds, pipeline

    made = builds.changed(builds.remembered(workdir, out), crew(engine, scheduler))
    _summary(pipeline.run(made, report=lambda line: click.echo(line, err=True)), workdir)


def crew(engine: str | None, scheduler: str | None) -> dict[str, object]:
    """The settings for who works; --scheduler alone means dask, and --engine local needs no scheduler that was named
    before.
    """
    chosen: dict[str, object] = {"engine": engine or "dask"} if engine or scheduler else {}
    return chosen | ({"scheduler": scheduler or ""} if scheduler or engine == "local" else {})


def _build(
    inputs: tuple[Path, ...],
    config: Path | None,
    workdir: Path,
    out: Path,
    sets: tuple[str, ...],
    options: dict[str, object],
) -> Build:
    from builder.builds import new_build

    names = {
        "licence": "release.licence",
        "workers": "workers",
        "encoding": "input.encoding",
        "sheet": "input.sheet",
    } | {f"{name}_column": f"input.{name}_column" for name in COLUMNS}
    made_by = crew(str(options.pop("engine") or "") or None, str(options.pop("scheduler") or "") or None)
    given = {names[key]: value for key, value in options.items() if value is not None} | made_by | _settings(sets)
    return new_build(inputs, workdir, out, config, given)


def _settings(sets: tuple[str, ...]) -> dict[str, object]:
    """KEY=VALUE pairs with values as TOML writes them; a bare word is a string."""
    import tomllib

    from builder.errors import ConfigError

    out: dict[str, object] = {}
    for setting in sets:
        key, equals, value = setting.partition("=")
        if not equals:
            raise ConfigError(
                f"{setting!r} is no KEY=VALUE", where="--set", fix="for example --set self_train.iterations=1"
            )
        try:
            out[key.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            out[key.strip()] = value
    return out


def _summary(done: list[Done], workdir: Path, licensed: bool = True) -> None:
    """The table at the end: what went in, what came out, how long it took."""
    from tabulate import tabulate

    from builder.store import db, queries

    rows = [(stage.stage, f"{stage.seconds:.1f}" if stage.ran else "kept", _counts(stage.counts)) for stage in done]
    click.echo(_stage_table(rows, ["stage", "seconds", "counts"]))
    with db.reading(workdir) as connection:
        columns, table = queries.named(connection, "summary", {})
    click.echo("\n" + tabulate(table, headers=columns))
    if done[-1].stage == "release":
        click.echo(f"\nrelease: {done[-1].counts['path']}")
        if not licensed:
            click.echo(
                "no licence is stated, and the release says so; `builder release --licence CC-BY-4.0` makes one that "
                "has it"
            )


def _stage_table(rows: Sequence[Sequence[str]], headers: list[str]) -> str:
    """A row a stage. On a terminal the last column is wrapped to what is left of its width; a file or pipe gets a
    line a stage.
    """
    import shutil
    import sys

    from tabulate import tabulate

    width = None
    if sys.stdout.isatty():
        # tabulate gives a header two characters more than it has, and two stand between columns
        before = sum(
            2 + max(len(header) + 2, *map(len, cells)) for header, *cells in list(zip(headers, *rows, strict=True))[:-1]
        )
        width = max(20, shutil.get_terminal_size().columns - before)
    return str(
        tabulate(
            rows,
            headers=headers,
            maxcolwidths=[*[None] * (len(headers) - 1), width],
            disable_numparse=[len(headers) - 1],
        )
    )


def _counts(counts: object) -> str:
    from collections.abc import Mapping

    assert isinstance(counts, Mapping)
    return ", ".join(
        f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}" for name, value in counts.items()
    )
