"""`builder augment` makes more text for a release or a file, with labels that still hold; `builder bench` asks whether
it trains better models than the source alone.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from builder.cli.build import ENGINE, SCHEDULER, WORKDIR
from builder.cli.options import (
    PATH,
    choice,
    device_option,
    option,
    preset_option,
    set_option,
    with_preset_options,
)
from builder.core.config import PresetValue, preset_commands, read_preset
from builder.core.wording import counted

if TYPE_CHECKING:
    from builder.augment.catalogue import AugmentSettings

# ---- builder augment


@click.command()
@click.argument("method", required=False)
@option("--release", type=PATH, help="Directory of the release that is augmented.")
@option("--view", type=choice("triplets", "ate", "aspect", "sentence"), default="triplets", help="What the labels are.")
@option("--keep", type=choice("aspect", "aspect+opinion"), help="What no method may touch; by the view if not given.")
@option("--layer", default="", help="Name of the layer in the child release; the method's if not given.")
@option("--version", default="", help="The child's version; the next free one if not given.")
@option("--out", type=PATH, help="Where child releases go; `augmented` beside the release if not given.")
@option("--judge", type=PATH, help="Working directory whose models are asked which triplets survived.")
@option("--input", "source", type=PATH, help="A file of labelled sentences instead of a release.")
@option("--format", "form", help="The file's format: bio, atepc, apc or tsv.")
@option("--output", "target", type=PATH, help="The file that is written, in the same format.")
@option("--held-out", type=PATH, multiple=True, help="File whose sentences may not be made or used (repeatable).")
@option("--language", type=choice("zh", "en"), help="The file's language; seen from its letters if not given.")
@option("--strict", is_flag=True, help="Refuse a file with a faulty line, which else is named and left out.")
@option("--with-source", is_flag=True, help="Write the file's own sentences before the new ones.")
@option("--copies", type=click.IntRange(1, 64), default=4, help="Kept rows a sentence, at most.")
@option("--candidates", type=click.IntRange(1, 256), help="Proposals a sentence; as many as copies if not given.")
@option("--seed", type=int, default=13, help="Another seed chooses and writes other rows.")
@option("--limit", type=click.IntRange(0), default=0, help="So many sentences, drawn by the seed; all if not given.")
@option("--workers", type=click.IntRange(1), default=1, help="Worker processes; the result does not depend on them.")
@ENGINE
@SCHEDULER
@WORKDIR
@preset_option("other options")
@set_option("synonym.rate=0.3")
@option("--show-config", is_flag=True, help="Print the method's settings, with where each came from, and stop.")
@click.pass_context
def augment(
    context: click.Context, /, method: str | None, release: Path | None, source: Path | None, sets: tuple[str, ...],
    preset: str | None, show_config: bool, **options: Any,
) -> None:  # fmt: skip
    """Augment a release, or a file, by METHOD.

    A release gets a child release with a layer of new rows. Without METHOD, the methods are listed.
    """
    from builder.augment.catalogue import METHODS, check_method, describe_origins, make_settings
    from builder.cli.build import _settings, crew

    if method is None:
        click.echo("\n".join(f"{name:16}{about}" for name, (about, _) in METHODS.items()))
        return
    check_method(method)
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
    chosen |= {"method": method, "candidates": options["candidates"] or options["copies"], "settings": settings}
    if release is not None:
        _release(release, chosen, options)
    elif source is not None:
        _file(source, chosen, options)


def preset_settings(preset: str | None) -> dict[str, PresetValue]:
    """The settings of augmentation that a preset holds, by key."""
    from builder.augment.catalogue import SHARED

    if not preset or "augment" not in preset_commands(preset):
        return {}
    return {key: line for key, line in read_preset(preset, "augment").items() if "." in key or key in SHARED}


def _require_base(settings: AugmentSettings, method: str) -> None:
    """Refuse a base that is not there, or that transformers is missing for, before anything is read. The embedded
    model of `gpt2` is one of transformers, too.
    """
    from builder.augment.catalogue import relevant_settings

    values = relevant_settings(settings, method)
    values |= relevant_settings(settings, str(values.get(f"{method}.backend", method)))  # of a filter
    for key, base in values.items():
        named = (key.endswith(".base") or key == "fluency") and base not in ("", "embedded")
        if named or key == "gpt2.base":
            from builder.learning.hub import require_base, require_transformers

            require_transformers("augment")
            if named:
                require_base(str(base), key)


def _release(release: Path, chosen: dict[str, Any], options: Mapping[str, Any]) -> None:
    from builder.augment.child_release import ReleaseOptions
    from builder.augment.outputs import augment_release

    keep: Any = options["keep"] or ("aspect+opinion" if options["view"] == "triplets" else "aspect")
    out = options["out"] or release.resolve().parent / "augmented"
    more = {key: options[key] for key in ("view", "layer", "version", "judge")}
    made = augment_release(ReleaseOptions(release=release, out=out, keep=keep, **more, **chosen), _tell)
    _show_measures(made.measures, made.reasons)
    click.echo(
        f"{made.path}: {counted(made.rows, 'row')} in the layer {made.layer}{', made before' if made.before else ''}"
    )


def _file(source: Path, chosen: dict[str, Any], options: Mapping[str, Any]) -> None:
    from builder.augment.outputs import FileOptions, augment_file

    if options["form"] is None or options["target"] is None:
        raise click.UsageError("a file needs its format and where to write: --format bio --output FILE")
    more = {key: options[key] for key in ("form", "target", "held_out", "language", "with_source", "strict")}
    made = augment_file(FileOptions(source=source, **more, **chosen), _tell)
    _show_measures(made.measures, made.reasons)
    click.echo(f"{made.path}: {counted(made.rows, 'sentence')}")


def _tell(line: str) -> None:
    click.echo(line, err=True)


def _show_measures(measures: Mapping[str, object], reasons: Mapping[str, int]) -> None:
    from builder.release.card import flattened

    for name, value in flattened(measures):
        click.echo(f"{name}: {value}")
    click.echo("rejected: " + (", ".join(f"{reason} {number:,}" for reason, number in reasons.items()) or "nothing"))


# ---- builder bench


def _names(context: click.Context, option: click.Parameter, value: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in value.split(",") if name.strip())


def _numbers(context: click.Context, option: click.Parameter, value: str) -> tuple[int, ...]:
    try:
        numbers = tuple(dict.fromkeys(int(name) for name in value.split(",") if name.strip()))
    except ValueError as error:
        raise click.BadParameter("numbers with commas between them, such as 1,2,4") from error
    if any(number < 1 for number in numbers):
        raise click.BadParameter("a number of copies is 1 or more")
    return numbers


@click.command()
@option(
    "--task", type=choice("ate", "aste", "absc", "tc"), help="Aspect terms, triplets, aspect polarity, text classes."
)
@option(
    "--train",
    required=True,
    type=PATH,
    help="Source: a release (its train split) or a file; the kinds are listed if it cannot be read.",
)
@option("--test", type=PATH, help="Test set: a file, or a release (--split). It may share no text with --train.")
@option(
    "--folds",
    type=click.IntRange(2, 100),
    help="Instead of --test: so many parts of --train, each the test set in turn.",
)
@option("--valid", type=PATH, help="For choosing the epoch; a share of the training texts if not given.")
@option(
    "--valid-share",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.1,
    help="Share of the training texts that chooses the epoch; with 0 the last epoch counts.",
)
@option(
    "--valid-count",
    type=click.IntRange(0),
    default=0,
    help="So many of the training texts instead of a share; not with --valid.",
)
@option("--split", default="test", help="Split of a release given as --test.")
@option(
    "--methods",
    default="none",
    callback=_names,
    help="Methods (NAME:key=value sets one), augmented files, releases; `builder augment` lists methods.",
)
@option(
    "--models",
    default="",
    callback=_names,
    help="lstm, cnn, rnn, bert, deberta, fastlcf; bilstm-crf, seq2seq, bert-ftc, de-cnn, bert-pt; tagger (aste). "
    "NAME=BASE loads an encoder; NAME:key=value changes its training, as in lstm:rate=1e-3.",
)
@set_option("synonym.rate=0.3", of="the methods")
@option("--seeds", type=click.IntRange(1, 100), default=5, help="Trainings of each model on each set, a seed each.")
@option("--seed", type=click.IntRange(0), default=1, help="The first seed; that of methods and t-SNE too.")
@option(
    "--share", type=click.FloatRange(0, 1, min_open=True), default=1.0, help="Share of the training texts that is used."
)
@option(
    "--copies",
    default="",
    callback=_numbers,
    help="Augmented rows a source row; 1,2,4 gives curves. All of a file, 4 of a method, if not given.",
)
@option(
    "--generated-sets",
    type=click.IntRange(0),
    default=0,
    help="Make so many sets, train on each choice of so many copies of them, and average; 0: the first copies.",
)
@option("--without-source", is_flag=True, help="Train on augmented rows alone.")
@option("--epochs", type=click.IntRange(0), default=0, help="Passes; the model's own number if not given.")
@option("--vectors", type=PATH, help="Word vectors in GloVe's format (lstm, cnn, rnn, bilstm-crf, seq2seq, de-cnn).")
@option("--domain-vectors", type=PATH, help="Domain word vectors (de-cnn); made of the domain's text if not given.")
@option("--domain", type=PATH, help="Raw texts of the domain, one a line, beside those of training (de-cnn, bert-pt).")
@device_option("Where models run")
@option("--comprehension", type=PATH, help="Questions in the SQuAD layout (bert-pt).")
@option(
    "--shift",
    is_flag=True,
    help="Instead: where the sets lie in the features of a model trained on the source (t-SNE, hulls, skewness).",
)
@option(
    "--workdir",
    type=PATH,
    default="bench",
    help="Where trainings, tables and figures are kept; the same command goes on there.",
)
@preset_option("other options")
@click.pass_context
def bench(context: click.Context, /, shift: bool, preset: str | None, **options: Any) -> None:
    """Measure what an augmentation is worth.

    Train on the source and on augmented sets, and compare: means, deviations, Wilcoxon rank-sum test, table, figures.

    Every training is kept; a run that was stopped goes on with the same command.
    """
    from contextlib import closing

    from builder.augment.bench import plan as planning
    from builder.augment.bench import shift as shifts
    from builder.augment.bench.grid import BenchRequest, check_extra
    from builder.core.progress import ModelBar
    from builder.store.db import lock

    check_extra(shift)
    options = with_preset_options(context, options, preset, "bench")
    if lacking := [name for name in ("task", "models") if not options[name]]:
        raise click.UsageError(f"Missing option '--{lacking[0]}'.")
    if options["test"] and context.get_parameter_source("folds") is not ParameterSource.COMMANDLINE:
        options["folds"] = None  # the folds of a preset are for sets without a test split
    if shift and options["folds"]:
        raise click.UsageError("--shift reads one test set: give --test instead of --folds")
    options["folds"] = options["folds"] or 0
    if options["valid"] and context.get_parameter_source("valid_count") is not ParameterSource.COMMANDLINE:
        options["valid_count"] = 0  # what a preset holds out gives way to a file of one's own
    settings = {key: line.value for key, line in preset_settings(preset).items()}
    command, asked = "builder " + " ".join(sys.argv[1:]), BenchRequest(**options, settings=settings)
    with lock(asked.workdir), closing(ModelBar("shift" if shift else "bench", " cells")) as shown:
        plans, notes = planning.prepare(asked)
        for note in notes:
            click.echo(note, err=True)
        if shift:
            table, files = shifts.write_shift(plans[0], shifts.measure_shift(plans[0], shown), command)
        else:
            table, files = planning.write(plans, planning.run_plans(plans, shown), command)
    click.echo(table)
    click.echo(f"{asked.workdir}: {', '.join(files)}")
