"""`builder build`, `run`, `status`, `resume`: the pipeline."""

from __future__ import annotations

import typing
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from builder.cli.build_voice import Manner, Voice, counts_text, plain_counts, put_stages, voice_options
from builder.cli.options import DOMAINS, FORMAT, PATH, choice, option, preset_option, put_rows, set_option
from builder.core.settings import DEFAULT_WORKDIR, Config

if TYPE_CHECKING:
    from builder.pipeline.builds import Build
    from builder.pipeline.outcome import Preview

WORKDIR = option(
    "--workdir", type=PATH, default=DEFAULT_WORKDIR, help="Working directory: database, models, checkpoints."
)
OUT = option("--out", type=PATH, default=Path("releases"), help="Where releases go.")
SAME_OUT = option("--out", type=PATH, help="Where releases go from now on; as before if not given.")
CONFIG = option("--config", type=PATH, help="TOML file with settings; see `builder build --show-config`.")
PRESET = preset_option("--config and --set")
SET = set_option("self_train.iterations=1")
DOMAIN = option("--domain", metavar="NAME", help=f"What the reviews are about, restaurant if not given: {DOMAINS}.")
ENGINE = option(
    "--engine",
    type=choice("local", "dask"),
    help="Where workers run: on this machine, or in a dask cluster (extra `scale`).",
)
SCHEDULER = option(
    "--scheduler",
    metavar="tcp://HOST:PORT",
    help="The cluster's scheduler, for --engine dask; none: one of this machine.",
)
COLUMNS = {
    "text": "the review text",
    "id": "ids",
    "place": "the place's name (masked in releases)",
    "rating": "the rating",
    "date": "when a review was written",
    "source": "the source",
    "group": "the document or place whose reviews stay in one split",
}


def _column_options(command: click.decorators.FC) -> click.decorators.FC:
    for name, about in reversed(COLUMNS.items()):
        command = option(
            f"--{name}-column", help=f"Column with {about}{'' if name == 'group' else '; guessed if not given'}."
        )(command)
    return command


@click.command()
@click.argument("inputs", nargs=-1, type=PATH)
@PRESET
@CONFIG
@WORKDIR
@OUT
@_column_options
@option(
    "--keep-columns", metavar="NAME,…", help="Columns that pass through, such as date,branch; masked as the text is."
)
@option("--encoding", help="Encoding of the input, if it is not Unicode.")
@option("--sheet", help="Sheet of a workbook, by its name or its number from 1; the first if not given.")
@option("--name", help="Name of the dataset; that of the working directory or file if not given.")
@option("--licence", "--license", help="Licence of the release, as an SPDX name.")
@option(
    "--profile",
    type=choice("embedded", "rules", "encoder", "paper"),
    help="`embedded` models run anywhere (default), `rules` has none, `encoder` and `paper` fine-tune pretrained ones.",
)
@DOMAIN
@option("--workers", type=int, help="Worker processes; the result does not depend on them.")
@ENGINE
@SCHEDULER
@SET
@option("--force", is_flag=True, help="Replace what the working directory holds of another dataset.")
@option("--until", metavar="STAGE", help="Stop after this stage, such as seed; `builder resume` goes on.")
@option("--dry-run", is_flag=True, help="Report what was understood of the input, and stop.")
@voice_options
@option("--show-config", is_flag=True, help="Print every setting as TOML, with where it came from, and stop.")
def build(
    inputs: tuple[Path, ...], config: Path | None, workdir: Path, out: Path, until: str | None, dry_run: bool,
    manner: Manner, **options: object,
) -> None:  # fmt: skip
    """Turn review files into a released triplet dataset. Without INPUTS: the shipped sample.

    INPUTS are CSV, TSV, JSON lines, JSON, Parquet or XLSX files, or plain text
    with a review a line (.gz too).
    """
    from builder.pipeline import pipeline
    from builder.pipeline.builds import check_build

    force, show_config = options.pop("force"), options.pop("show_config")
    made = _build(inputs, config, workdir, out, options)
    if show_config:
        click.echo(made.resolved.toml(), nl=False)
        from builder.core.errors import printable

        for folder in made.folders.describe():
            click.echo(f"# {folder.role}: {printable(str(folder.path))} ({folder.digest})")
        return
    voice = Voice(manner, workdir, made.resolved.config)
    last = pipeline.known_stage(until or pipeline.STAGES[-1].name)

    def read_inputs() -> list[Preview]:
        from builder.pipeline.outcome import preview

        return [preview(path, made.resolved.config) for path in made.inputs]

    if dry_run:
        check_build(made)
    voice.preview(read_inputs, made, dry_run)
    if not dry_run:
        voice.ended(
            pipeline.run(
                made, last, report=voice.report, overwrite=bool(force), progress=voice.progress, ended=voice.stage_ended
            )
        )


@click.command()
@click.argument("stage")
@WORKDIR
@SAME_OUT
@option("--force", is_flag=True, help="Run the stage even if it is done.")
@ENGINE
@SCHEDULER
@SET
@voice_options
def run(
    stage: str, workdir: Path, out: Path | None, force: bool, engine: str | None, scheduler: str | None,
    sets: tuple[str, ...], manner: Manner,
) -> None:  # fmt: skip
    """Run the build of a working directory up to STAGE."""
    from builder.pipeline import builds, pipeline

    made = builds.changed(builds.remembered(workdir, out), crew(engine, scheduler) | _settings(sets))
    last = pipeline.known_stage(stage)
    voice = Voice(manner, workdir, made.resolved.config)
    forced = (stage,) if force else ()
    voice.ended(pipeline.run(made, last, forced, report=voice.report, progress=voice.progress, ended=voice.stage_ended))


@click.command()
@WORKDIR
@option("--verbose", is_flag=True, help="Show all that the stages counted.")
@FORMAT
def status(workdir: Path, verbose: bool, shape: str | None) -> None:
    """Show which stages are done, stale or due."""
    from builder.pipeline import pipeline

    describe = counts_text if verbose else plain_counts
    rows = [
        (s.name, state, f"{done.seconds:.1f}" if done else "", describe(done.counts) if done else s.about)
        for s, state, done in pipeline.status(workdir)
    ]
    headers = ["stage", "state", "seconds", "counts"]
    if shape is None:
        put_stages(rows, headers)
    else:
        put_rows(headers, rows, shape)


@click.command()
@WORKDIR
@SAME_OUT
@ENGINE
@SCHEDULER
@voice_options
def resume(workdir: Path, out: Path | None, engine: str | None, scheduler: str | None, manner: Manner) -> None:
    """Go on with a build that was stopped or killed."""
    from builder.pipeline import builds, pipeline

    made = builds.changed(builds.remembered(workdir, out), crew(engine, scheduler))
    voice = Voice(manner, workdir, made.resolved.config)
    voice.ended(pipeline.run(made, report=voice.report, progress=voice.progress, ended=voice.stage_ended))


def crew(engine: str | None, scheduler: str | None) -> dict[str, object]:
    """The settings for who works; --scheduler alone means dask, and --engine local needs no scheduler that was named
    before.
    """
    chosen: dict[str, object] = {"engine": engine or "dask"} if engine or scheduler else {}
    return chosen | ({"scheduler": scheduler or ""} if scheduler or engine == "local" else {})


def _build(
    inputs: tuple[Path, ...], config: Path | None, workdir: Path, out: Path, options: dict[str, object]
) -> Build:
    from builder.pipeline.builds import new_build

    names = {
        "name": "release.name",
        "licence": "release.licence",
        "profile": "profile",
        "domain": "domain",
        "workers": "workers",
        "encoding": "input.encoding",
        "sheet": "input.sheet",
    } | {f"{name}_column": f"input.{name}_column" for name in COLUMNS}
    sets = tuple(map(str, typing.cast(Iterable[object], options.pop("sets"))))
    columns = str(options.pop("keep_columns") or "")
    preset = str(options.pop("preset") or "")
    made_by = crew(str(options.pop("engine") or "") or None, str(options.pop("scheduler") or "") or None)
    given = {names[key]: value for key, value in options.items() if value is not None} | made_by
    if columns:
        given["input.keep_columns"] = [column.strip() for column in columns.split(",")]
    return new_build(inputs, workdir, out, config, given | _settings(sets), preset)


def _settings(sets: tuple[str, ...]) -> dict[str, object]:
    """KEY=VALUE pairs with values as TOML writes them; words need no quotation marks, nor brackets where there may be
    several.
    """
    from builder.core.config import flat, toml_value
    from builder.core.errors import ConfigError

    out: dict[str, object] = {}
    defaults = flat(Config())
    for setting in sets:
        key, equals, text = setting.partition("=")
        if not equals:
            raise ConfigError(
                f"{setting!r} is no KEY=VALUE", where="--set", fix="for example --set self_train.iterations=1"
            )
        key, value = key.strip(), toml_value(text)
        if isinstance(defaults.get(key), str) and not isinstance(value, str):
            value = text.strip()
        elif isinstance(defaults.get(key), list) and isinstance(value, str):
            value = [word.strip() for word in value.split(",")]
        out[key] = value
    return out
