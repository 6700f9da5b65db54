"""`builder setup …`: what is done before a build.

`init` writes a settings file, `config` says what a setting means, `doctor` whether the installation is sound. `plan`
predicts time, memory and disk of a build that has not begun.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from builder.cli.build import PRESET
from builder.cli.options import complete_presets, complete_settings, device_option
from builder.cli.printing import json_option, shows_colour, styled_output
from builder.core.settings import DEFAULT_WORKDIR
from builder.core.wording import counted

if TYPE_CHECKING:
    from builder.pipeline.model_costs import ModelPlan
    from builder.pipeline.planning import BuildPlan, SampleMeasure

# ---- Settings and installation


@click.command()
@click.argument("path", type=click.Path(path_type=Path), default=Path("settings.toml"), required=False)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def init(path: Path, force: bool) -> None:
    """Write a settings file to begin with.

    PATH is settings.toml if not given. Every setting stands in it with its default and a sentence, commented out.
    """
    from builder.core.errors import OutputError
    from builder.core.files import write_atomically
    from builder.pipeline.settings_file import commented_settings

    if path.exists() and not force:
        raise OutputError("is there already", where=str(path), fix="name another file, or write over it with --force")
    write_atomically(path, commented_settings(str(path)).encode())
    click.echo(f"{path} is written. Change what you need, then: builder build reviews.csv --config {path}")


@click.command()
@click.argument("key", required=False, shell_complete=complete_settings)
@click.option("--config", "file", type=click.Path(path_type=Path), help="Also say what this settings file sets.")
@click.option("--workdir", type=click.Path(path_type=Path), help="Also say what the build in this directory used.")
@click.option(
    "--preset",
    metavar="NAME",
    shell_complete=complete_presets,
    help="Also say what this preset sets; without KEY: all of it, with the paper's sections.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON; only without KEY.")
def config(key: str | None, file: Path | None, workdir: Path | None, preset: str | None, as_json: bool) -> None:
    """Explain a setting.

    KEY is one such as release.licence, or a section such as release. Without KEY all are listed.
    """
    from operator import attrgetter

    from builder.augment.settings import AugmentSettings
    from builder.core.config import resolve
    from builder.core.presets import preset_commands
    from builder.pipeline import builds
    from builder.pipeline.settings_file import all_settings, explained, explained_by_preset, preset_rows

    if key is None:
        from tabulate import tabulate

        from builder.cli.printing import put_rows

        widths = [None, 24, 70] if sys.stdout.isatty() else None
        rows = list(preset_rows(preset) if preset else all_settings())
        headers = ["command", "key", "value", "from"] if preset else ["key", "default", "meaning"]
        if as_json:
            put_rows(headers, rows, "json", limit=len(rows))
            return
        click.echo(tabulate(rows, headers=headers, maxcolwidths=None if preset else widths, disable_numparse=True))
        return
    if as_json:
        raise click.UsageError("--json prints the list of settings: leave out KEY")
    others: dict[str, type] = {"builder augment METHOD": AugmentSettings}
    if preset and not file and not workdir:
        click.echo("\n".join(explained_by_preset(key, preset, others)))
        return
    by_preset = preset if preset and "build" in preset_commands(preset) else ""
    resolved = builds.remembered(workdir).resolved if workdir else resolve(file, preset=by_preset) if file else None
    value = attrgetter(key)(resolved.config) if resolved and key in resolved.origin else None
    origin = (str(workdir) if workdir else resolved.origin.get(key, "")) if resolved else ""
    click.echo("\n".join(explained(key, value, origin, others)))


@click.command()
@click.option(
    "--workdir",
    type=click.Path(path_type=Path),
    default=DEFAULT_WORKDIR,
    show_default=True,
    help="Where you would build.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object for each finding.")
def doctor(workdir: Path, as_json: bool) -> None:
    """Check the installation of builder.

    Packages, models, lexicons, extras, GPU, disk, fonts. Ends with code 1 if builder cannot work like this.
    """
    import json
    from dataclasses import asdict

    from builder.pipeline.diagnosis import diagnose

    colour = shows_colour(sys.stdout)
    out = styled_output() if colour else sys.stdout
    marks = {"ok": ("ok", "green"), "missing": ("-", "yellow"), "broken": ("BROKEN", "red")}
    broken = 0
    for finding in diagnose(workdir):
        broken += finding.state == "broken"
        if as_json:
            click.echo(json.dumps(asdict(finding), ensure_ascii=False))
            continue
        mark, tint = marks[finding.state]
        shown = click.style(f"{mark:<6}", fg=tint) if colour else f"{mark:<6}"
        fix = f"; {finding.fix}" if finding.fix else ""
        out.write(f"{shown}  {finding.subject:<14}  {finding.detail}{fix}\n")
        out.flush()
    if not as_json:
        click.echo(
            f"\n{counted(broken, 'problem')}" if broken else "\nbuilder can work here; what is marked - is optional."
        )
    sys.exit(1 if broken else 0)


# ---- builder setup plan


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
@click.option("--profile", type=click.Choice(["encoder", "paper"]), help="Plan the models of this profile instead.")
@click.option("--base", default="", help="Their pretrained model: a hub name or a folder; needs --profile.")
@device_option("Where they would run")
@click.option(
    "--gpu",
    default="",
    metavar="NAME",
    help="Plan for a GPU that is not here, by its data sheet: h200, h100, a100, l40s, l4, rtx4090, rtx3090, v100, t4, "
    "or TFLOPS,GB/S,GB.",
)
@PRESET
@click.option("--seconds", default=60.0, show_default=True, help="Seconds in which the base is tried on the device.")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="A setting of the build (repeatable).")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="How to print it.",
)
@json_option("form")
def plan(
    count: int, workers: int, workdir: Path | None, form: str, profile: str | None, base: str, device: str, **trial: Any
) -> None:  # fmt: skip
    """Predict time, memory and disk of a build.

    The prediction follows from what this machine measured in a build, or in a trial with the sample. With --profile it
    is about the models of that profile: the base is tried on the device, with random weights, or reckoned by --gpu."""
    import json

    from builder.pipeline.planning import predict

    if profile is not None and workdir is not None:
        raise click.UsageError("--workdir goes by what a build took, --profile by a trial: give one of them")
    if profile is not None:
        models = _plan_models(count, profile, base, device, trial)
        if form == "json":
            click.echo(json.dumps(models.as_json(), indent=1))
        else:
            _show_models(models, trial["gpu"])
        return
    if unused := [name for name, value in (trial | {"base": base}).items() if value and name != "seconds"]:
        raise click.UsageError(f"--{unused[0].removesuffix('s')} is for the models of a profile: give --profile, too")

    made = predict(_measured(workdir), count, workers)
    if form == "json":
        click.echo(json.dumps(made.as_json(), indent=1))
    else:
        _show(made)


def _measured(workdir: Path | None) -> SampleMeasure:
    import tempfile

    from builder.core.config import resolve
    from builder.language.lexicon.resources import sample_dir
    from builder.pipeline import builds, pipeline
    from builder.pipeline.dataset import Build
    from builder.pipeline.planning import measure

    if workdir is not None:
        config = builds.remembered(workdir).resolved.config
        learnt = f" (profile {config.profile}, device {config.device})" if config.profile != "rules" else ""
        return measure(workdir, config, f"{workdir}{learnt}")
    click.echo("measuring on the shipped sample, some seconds", err=True)
    with tempfile.TemporaryDirectory() as folder:
        build = Build(Path(folder), Path(folder), (sample_dir() / "reviews.csv",), resolve(options={"workers": 1}))
        pipeline.run(build, until="seed")
        return measure(Path(folder), build.resolved.config, "the shipped sample")


def _show(made: BuildPlan) -> None:
    from tabulate import tabulate

    rows = [(stage.stage, _clock(stage.seconds), _bytes(stage.memory), stage.by) for stage in made.stages]
    rows.append(("all", _clock(made.seconds), _bytes(made.memory), f"each worker {_bytes(made.worker_memory)}"))
    click.echo(f"{counted(made.reviews, 'review')}, {counted(made.workers, 'worker')}\n")
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


def _plan_models(count: int, profile: str, base: str, device: str, trial: dict[str, Any]) -> ModelPlan:
    from builder.cli.build import _settings
    from builder.core.config import resolve
    from builder.models import gpu_speed
    from builder.models.probing import probe_base
    from builder.models.serving import require_class
    from builder.pipeline.model_costs import answer_share, measure_sample, plan_models, rows_written

    if not base:
        raise click.UsageError("--profile needs --base: a hub name or a folder")
    options = {"profile": profile, f"{profile}.base": base, "device": device}
    config = resolve(options=options | _settings(trial["sets"]), preset=str(trial["preset"] or "")).config
    gpu = gpu_speed.read_gpu(trial["gpu"]) if trial["gpu"] else None
    require_class(base, profile)
    size = measure_sample(base)
    if gpu is None:
        precision = config.encoder.precision if profile == "encoder" else config.paper.precision
        speed = probe_base(base, device, precision, trial["seconds"])
    else:
        step = config.encoder.batch_chars if profile == "encoder" else config.paper.batch_tokens
        steps = gpu_speed.Steps(step, answer_share(size), rows_written(config, size))
        speed = gpu_speed.estimate_speed(base, gpu, steps)
    return plan_models(config, count, size, speed)


def _show_models(made: ModelPlan, gpu: str) -> None:
    from tabulate import tabulate

    from builder.models.base_findings import describe_count

    rows = [
        (
            cost.tokens.stage,
            _clock(3600 * cost.hours),
            _bytes(cost.memory),
            _bytes(cost.disk),
            *map(_millions, (cost.tokens.trained, cost.tokens.read, cost.tokens.written)),
        )
        for cost in made.stages
    ]
    rows.append(("all", _clock(3600 * made.hours), _bytes(made.memory), _bytes(made.disk), "", "", ""))
    speed = made.speed
    on_device = f"{describe_count(speed.parameters)} on {speed.device}"
    click.echo(f"{counted(made.reviews, 'review')}, profile {made.profile}, {on_device}\n")
    headers = ["stage", "time", "memory", "disk", "trained, million tokens", "read", "written"]
    click.echo(tabulate(rows, headers=headers, disable_numparse=True))
    verdict = "it fits" if speed.fits else "it does not fit"
    room = f" of the {_bytes(speed.device_memory)} of {speed.device}: {verdict}" if speed.device_memory else ""
    writing = f", writing {speed.writing:,.0f}" if speed.writing else ""
    click.echo(
        f"\nmemory: {_bytes(speed.training_memory)} in training{room}; weights {_bytes(speed.weights)}\n"
        f"disk: {_bytes(made.scratch)} more while a model is trained, for checkpoints\n"
        f"speed, tokens/s: training {speed.training:,.0f} ({speed.flops / 1e12:,.2f} TFLOP/s), "
        f"reading {speed.reading:,.0f}{writing}\n{_assumptions(made, gpu)}"
    )


def _assumptions(made: ModelPlan, gpu: str) -> str:
    """What the numbers of a plan of models rest on."""
    from builder.models.gpu_speed import BANDWIDTH_SHARE, COMPUTE_SHARE, STEP_SECONDS

    by = f"measured on {made.speed.device} with random weights"
    if gpu:
        by = f"assumed: {COMPUTE_SHARE:.0%} of the peak of {gpu} in training and reading" + (
            f"; writing by {BANDWIDTH_SHARE:.0%} of its bandwidth and {1000 * STEP_SECONDS:.0f} ms a step"
            if made.speed.writing
            else ""
        )
    return (
        f"{by}\nassumed: reviews as in the sample, {made.size.tokens:.0f} tokens and {made.size.triplets:.1f} triplets "
        "each; one GPU\nleft out: padding, loading, and the stages without models (`builder setup plan` without "
        "--profile)"
    )


def _millions(tokens: float) -> str:
    return f"{tokens / 1e6:,.2f}"
