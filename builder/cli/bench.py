"""`builder bench`: does augmented data train better models than the source alone?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from builder.cli.build import PRESET
from builder.cli.options import device_option, preset_settings, with_preset_options

_PATH = click.Path(path_type=Path)


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
@click.option(
    "--task",
    type=click.Choice(["ate", "aste", "absc", "tc"]),
    help="Aspect terms, triplets, aspect polarity, text classes.",
)
@click.option(
    "--train",
    required=True,
    type=_PATH,
    help="Source: a release (its train split) or a file; the kinds are listed if it cannot be read.",
)
@click.option(
    "--test",
    type=_PATH,
    help="Test set: a file, or a release (--split). It may share no text with --train.",
)
@click.option(
    "--folds",
    type=click.IntRange(2, 100),
    help="Instead of --test: so many parts of --train, each the test set in turn.",
)
@click.option("--valid", type=_PATH, help="For choosing the epoch; a tenth of the training texts if not given.")
@click.option(
    "--valid-count",
    type=click.IntRange(0),
    default=0,
    help="So many of the training texts instead of a tenth; not with --valid.",
)
@click.option("--split", default="test", show_default=True, help="Split of a release given as --test.")
@click.option(
    "--methods",
    default="none",
    show_default=True,
    callback=_names,
    help="Names of methods (`builder augment` lists them), augmented files, releases.",
)
@click.option(
    "--models",
    default="",
    callback=_names,
    help="lstm, cnn, rnn, encoder, bert, deberta, fastlcf; bilstm-crf, seq2seq, bert-ftc, de-cnn, bert-pt; tagger "
    "(aste). NAME=BASE loads an encoder; NAME:key=value changes its training, as in lstm:rate=1e-3.",
)
@click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting of the methods, as in `builder augment` (repeatable); of one of them alone: --methods "
    "NAME:key=value.",
)
@click.option(
    "--seeds",
    type=click.IntRange(1, 100),
    default=5,
    show_default=True,
    help="Trainings of each model on each set, from different seeds.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    help="The first seed; that of methods and t-SNE too.",
)
@click.option(
    "--share",
    type=click.FloatRange(0, 1, min_open=True),
    default=1.0,
    show_default=True,
    help="Share of the training texts that is used.",
)
@click.option(
    "--copies",
    default="",
    callback=_numbers,
    help="Augmented rows a source row, one or several numbers (1,2,4 gives curves). All of a file, 4 of a method, if "
    "not given.",
)
@click.option("--epochs", type=click.IntRange(0), default=0, help="Passes; the model's own number if not given.")
@click.option(
    "--vectors", type=_PATH, help="Word vectors in GloVe's format (lstm, cnn, rnn, bilstm-crf, seq2seq, de-cnn)."
)
@click.option(
    "--domain-vectors", type=_PATH, help="Domain word vectors (de-cnn); made of the domain's text if not given."
)
@click.option(
    "--domain",
    type=_PATH,
    help="Raw texts of the domain, one a line (de-cnn, bert-pt); the training texts are always taken.",
)
@device_option("Where models run")
@click.option("--comprehension", type=_PATH, help="Questions in the SQuAD layout (bert-pt).")
@click.option(
    "--shift",
    is_flag=True,
    help="Instead: where the sets lie in the features of a model trained on the source (t-SNE, hulls, skewness).",
)
@click.option(
    "--workdir",
    type=_PATH,
    default="bench",
    show_default=True,
    help="Where trainings, tables and figures are kept; the same command goes on there.",
)
@PRESET
@click.pass_context
def bench(context: click.Context, /, shift: bool, preset: str | None, **options: Any) -> None:
    """Measure what an augmentation is worth.

    Train on the source and on augmented sets, and compare: means, deviations, Wilcoxon rank-sum test, table, figures.

    Every training is kept; a run that was stopped goes on with the same command.
    """
    from contextlib import closing

    from builder.augment.bench import plan as planning
    from builder.augment.bench import shifts
    from builder.augment.bench.scores import check_extra
    from builder.core.progress import ModelBar
    from builder.store.db import lock

    check_extra(shift)
    options = with_preset_options(context, options, preset, "bench")
    if lacking := [name for name in ("task", "models") if not options[name]]:
        raise click.UsageError(f"Missing option '--{lacking[0]}'.")
    if shift and options["folds"]:
        raise click.UsageError("--shift reads one test set: give --test instead of --folds")
    options["folds"] = options["folds"] or 0
    if options["valid"] and context.get_parameter_source("valid_count") is not ParameterSource.COMMANDLINE:
        options["valid_count"] = 0  # what a preset holds out gives way to a file of one's own
    settings = {key: line.value for key, line in preset_settings(preset).items()}
    command, asked = "builder " + " ".join(sys.argv[1:]), planning.BenchRequest(**options, settings=settings)
    with lock(asked.workdir), closing(ModelBar("shift" if shift else "bench", " cells")) as shown:
        plans, notes = planning.prepare(asked)
        for note in notes:
            click.echo(note, err=True)
        if shift:
            table, files = shifts.write_shift(plans[0], shifts.measure_shift(plans[0], shown), command)
        else:
            table, files = planning.write(plans[0], planning.run_plans(plans, shown), command, asked.folds)
    click.echo(table)
    click.echo(f"{asked.workdir}: {', '.join(files)}")
