"""`builder augment`: more text for a release or a file, labels still true."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from builder.cli.build import ENGINE, PRESET, SCHEDULER, WORKDIR
from builder.cli.options import preset_settings, with_preset_options
from builder.core.wording import counted

if TYPE_CHECKING:
    from builder.augment.settings import AugmentSettings


@click.command()
@click.argument("method", required=False)
@click.option("--release", type=click.Path(path_type=Path), help="Directory of the release that is augmented.")
@click.option(
    "--view",
    type=click.Choice(["triplets", "ate", "aspect", "sentence"]),
    default="triplets",
    show_default=True,
    help="What the labels are.",
)
@click.option(
    "--keep",
    type=click.Choice(["aspect", "aspect+opinion"]),
    help="What no method may touch; as the view needs if not given.",
)
@click.option("--layer", default="", help="Name of the layer in the child release; the method's if not given.")
@click.option("--version", default="", help="The child's version; the next free one if not given.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Where child releases go; `augmented` beside the release if not given.",
)
@click.option(
    "--judge", type=click.Path(path_type=Path), help="Working directory whose models are asked which triplets survived."
)
@click.option(
    "--input", "source", type=click.Path(path_type=Path), help="A file of labelled sentences instead of a release."
)
@click.option("--format", "form", help="The file's format: bio, atepc, apc or tsv.")
@click.option(
    "--output", "target", type=click.Path(path_type=Path), help="The file that is written, in the same format."
)
@click.option(
    "--held-out",
    type=click.Path(path_type=Path),
    multiple=True,
    help="File whose sentences may not be made or used (repeatable).",
)
@click.option(
    "--language", type=click.Choice(["zh", "en"]), help="The file's language; seen from its letters if not given."
)
@click.option(
    "--strict", is_flag=True, help="Refuse a file with a faulty line; else the line is named, counted and left out."
)
@click.option("--with-source", is_flag=True, help="Write the file's own sentences before the new ones.")
@click.option(
    "--copies", type=click.IntRange(1, 64), default=4, show_default=True, help="Kept rows a sentence, at most."
)
@click.option("--candidates", type=click.IntRange(1, 256), help="Proposals a sentence; as many as copies if not given.")
@click.option("--seed", type=int, default=13, show_default=True, help="Another seed chooses and writes other rows.")
@click.option(
    "--limit", type=click.IntRange(0), default=0, help="So many sentences, drawn by the seed; all if not given."
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Worker processes; the result does not depend on them.",
)
@ENGINE
@SCHEDULER
@WORKDIR
@PRESET
@click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="KEY=VALUE",
    help="One setting of the method, for example synonym.rate=0.3 (repeatable).",
)
@click.option("--show-config", is_flag=True, help="Print the method's settings, with where each came from, and stop.")
@click.pass_context
def augment(
    context: click.Context, /, method: str | None, release: Path | None, source: Path | None, sets: tuple[str, ...],
    preset: str | None, show_config: bool, **options: Any,
) -> None:  # fmt: skip
    """Augment a release, or a file, by METHOD.

    A release gets a child release with a layer of new rows. Without METHOD, the methods are listed.
    """
    from builder.augment.catalog import METHODS, check
    from builder.augment.settings import describe_origins, make_settings
    from builder.cli.build import _settings, crew

    if method is None:
        click.echo("\n".join(f"{name:16}{about}" for name, (about, _) in METHODS.items()))
        return
    check(method)
    given = _settings(sets)
    options = with_preset_options(context, options, preset, "augment")
    known = preset_settings(preset)
    settings = make_settings({key: line.value for key, line in known.items()} | given)
    if show_config:
        origins = {key: line.origin for key, line in known.items()} | dict.fromkeys(given, "option")
        click.echo("\n".join(describe_origins(settings, method, origins)))
        return
    if (release is None) == (source is None):
        raise click.UsageError(
            "name either a release (--release releases/v0.1.0) or a file (--input FILE --format bio --output FILE)"
        )
    _require_base(settings, method)
    chosen = {key: options[key] for key in ("copies", "seed", "limit", "workers", "workdir")}
    chosen |= {"engine": "local", "scheduler": ""} | crew(options["engine"], options["scheduler"])
    chosen |= {
        "method": method,
        "candidates": options["candidates"] or options["copies"],
        "settings": settings,
    }
    if release is not None:
        _release(release, chosen, options)
    elif source is not None:
        _file(source, chosen, options)


def _require_base(settings: AugmentSettings, method: str) -> None:
    """Refuse a base that is not there before anything is read; a method without its extra says so itself."""
    from builder.augment.settings import relevant_settings

    for key, base in relevant_settings(settings, method).items():
        if key.endswith(".base") and base not in ("", "embedded") and find_spec("transformers"):
            from builder.learning.hub import require_base

            require_base(str(base), key)


def _release(release: Path, chosen: dict[str, Any], options: Mapping[str, Any]) -> None:
    from builder.augment.release_plan import AugmentPlan
    from builder.augment.run_release import augment_release

    keep: Any = options["keep"] or ("aspect+opinion" if options["view"] == "triplets" else "aspect")
    out = options["out"] or release.resolve().parent / "augmented"
    more = {key: options[key] for key in ("view", "layer", "version", "judge")}
    made = augment_release(AugmentPlan(release=release, out=out, keep=keep, **more, **chosen), _tell)
    _show_measures(made.measures, made.reasons)
    click.echo(
        f"{made.path}: {counted(made.rows, 'row')} in the layer {made.layer}{', made before' if made.before else ''}"
    )


def _file(source: Path, chosen: dict[str, Any], options: Mapping[str, Any]) -> None:
    from builder.augment.run_file import FilePlan, augment_file

    if options["form"] is None or options["target"] is None:
        raise click.UsageError("a file needs its format and where to write: --format bio --output FILE")
    more = {key: options[key] for key in ("form", "target", "held_out", "language", "with_source", "strict")}
    made = augment_file(FilePlan(source=source, **more, **chosen), _tell)
    _show_measures(made.measures, made.reasons)
    click.echo(f"{made.path}: {counted(made.rows, 'sentence')}")


def _tell(line: str) -> None:
    click.echo(line, err=True)


def _show_measures(measures: Mapping[str, object], reasons: Mapping[str, int]) -> None:
    from builder.release.card import flattened

    for name, value in flattened(measures):
        click.echo(f"{name}: {value}")
    click.echo("rejected: " + (", ".join(f"{reason} {number:,}" for reason, number in reasons.items()) or "nothing"))
