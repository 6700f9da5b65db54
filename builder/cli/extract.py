"""`builder extract` and `builder export`: triplets of any text, or of a release in other people's formats."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

import click

from builder.cli.options import DOMAINS, PATH, choice, device_option, json_option, option, shows_colour, styled_output
from builder.core.wording import counted

if TYPE_CHECKING:
    from builder.core.settings import Convention
    from builder.release.export.extract_output import Writer
    from builder.release.export.formats import Exported
    from builder.reviews.sources.texts import Text

# ---- builder extract


@click.command()
@click.argument("given", metavar="[TEXT]...", nargs=-1)
@option("--input", "source", type=PATH, help="File of texts; - reads standard input.")
@option("--output", "target", type=PATH, help="File to write; - writes JSON lines to standard output.")
@option(
    "--format",
    "shape",
    type=choice("jsonl", "csv", "table"),
    help="How to write it: by the ending of --output; a table without it.",
)
@json_option(value="jsonl")
@option("--text-column", help="Column with the text; guessed if not given.")
@option("--id-column", help="Column with ids; guessed if not given, else the number of the row.")
@option("--encoding", help="Encoding of the file, if it is not Unicode.")
@option("--sheet", help="Sheet of a workbook, by its name or its number from 1; the first if not given.")
@option(
    "--source",
    "system",
    default="rules",
    help="rules; E, the rules with the shipped model; a variant A to D of --workdir, or its round (C1); or "
    "./FOLDER of a published model.",
)
@option("--workdir", type=PATH, help="Working directory with the trained models; not needed for rules and E.")
@option(
    "--convention", type=choice("natural", "paper", "described"), help="That of --workdir if not given, else natural."
)
@option("--domain", metavar="NAME", help=f"What the texts are about, that of --workdir if not given: {DOMAINS}.")
@option(
    "--aspects",
    type=PATH,
    help="File of aspects, one a line, that a model of the profile paper is asked about; the rules' if not given.",
)
@device_option("Where models run; auto is the build's device, or a GPU if there is one")
@option(
    "--workers", type=click.IntRange(min=1), default=2, help="Worker processes; the result does not depend on them."
)
def extract(
    given: tuple[str, ...],
    source: Path | None,
    target: Path | None,
    shape: str | None,
    system: str,
    workdir: Path | None,
    convention: str | None,
    workers: int,
    **options: str | Path | None,
) -> None:
    """Extract triplets from texts.

    TEXT is a text, or a file in any format that `build` reads, or - for standard input, one text a line. Answers come
    in the same order, one for each text.
    """
    from builder.pipeline.extraction import build_settings, extract_texts, open_system, read_aspects
    from builder.release.export.extract_output import writer

    if system == "rules":  # threads that wait for small products cost more than all of a sentence's; read by OpenBLAS
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    convention, aspects = convention or build_settings(workdir, system).rules.convention, options.pop("aspects")
    domain, device = cast("str | None", options.pop("domain")), cast("str", options.pop("device"))
    texts = _given_texts(given, source, cast("dict[str, str | None]", options))
    to_screen = target is None or (target == Path("-") and sys.stdout.isatty())
    shape = shape or _shape_of(target)
    colour = to_screen and shows_colour(sys.stdout)
    write: Writer = writer(shape, convention != "natural", colour)
    place: Path | TextIO = (
        (styled_output() if colour and shape == "table" else sys.stdout) if to_screen else cast(Path, target)
    )
    typed = "-" in (*given, str(source)) and sys.stdin.isatty()
    if typed:
        click.echo("Type a review and press Enter; Ctrl-D ends.", err=True)
    named = read_aspects(Path(aspects)) if aspects else None
    chosen = open_system(workdir, system, cast("Convention", convention), named, domain, device)
    counts = extract_texts(texts, place, chosen, write, workers, at_once=typed)
    if not (given and given != ("-",) and source is None and target is None):
        name = "" if target is None or to_screen else f"{target}: "
        about = f"{counted(counts.texts, 'text')}, {counted(counts.triplets, 'triplet')}, {counts.seconds:.1f} s"
        click.echo(name + about, err=to_screen or target == Path("-"))


def _shape_of(target: Path | None) -> str:
    """How answers are written to a file of such an ending; a usage error for an ending of another kind of file."""
    if target is None:
        return "table"
    if target == Path("-"):
        return "jsonl"
    shapes = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".txt": "table", "": "jsonl"}
    if target.suffix.lower() not in shapes:
        raise click.UsageError(f"--output {target.name}: end it in .jsonl or .csv, or say how with --format")
    return shapes[target.suffix.lower()]


def _given_texts(given: tuple[str, ...], source: Path | None, reading: dict[str, str | None]) -> Iterable[Text]:
    """The texts of the command line, or of the one file or stream that it names."""
    from builder.core.config import filled
    from builder.core.settings import Input
    from builder.reviews.sources.texts import ENDINGS, texts

    files = [word for word in given if word == "-" or word.lower().endswith(ENDINGS)]
    if len(files) + (source is not None) > 1 or ((files or source) and len(given) > len(files)):
        raise click.UsageError("give either texts or one file")
    if files or source is not None:
        names = {name: reading[name] or "" for name in ("text_column", "id_column", "encoding", "sheet")}
        return texts(source or Path(files[0]), filled(Input, names))
    if not given:
        raise click.UsageError("give a text, a file, or - for standard input")
    if any(reading.values()):
        raise click.UsageError("columns, encoding and sheet are those of a file, and no file is given")
    return [(None, text) for text in given]


# ---- builder export


@click.command()
@click.argument("release", type=PATH, required=False)
@option("--format", "name", help="The format; without one, they are listed.")
@option("--output", "to", type=PATH, help="Directory for the files; NAME-VERSION-FORMAT here if not given.")
@option("--split", "splits", multiple=True, help="train, valid or test (repeatable); all if none is named.")
@option(
    "--opinion",
    type=choice("opinion", "opinion_full"),
    default="opinion",
    help="The core with its negator, or the whole phrase.",
)
@option("--without-empty", is_flag=True, help="Leave out reviews without a triplet, which many readers of ASTE refuse.")
def export(
    release: Path | None, name: str | None, to: Path | None, splits: tuple[str, ...], opinion: str,
    without_empty: bool,
) -> None:  # fmt: skip
    """Write a RELEASE in another format.

    A review is written with all its triplets or not at all. An opinion that a format cannot hold, because it is
    interrupted, is written in full; a review that does not fit even so goes to FILE.skipped.jsonl with the reason.
    """
    from typing import cast

    from builder.release.export.formats import FORMATS, export_release
    from builder.release.export.native_rows import Opinion
    from builder.release.shelf import opened

    if name is None:
        for known, form in FORMATS.items():
            click.echo(f"{known:14}{form.about}")
        return
    if release is None:
        raise click.UsageError("name the directory of a release, such as releases/v0.1.0")
    manifest = opened(release).manifest
    target = to or Path(f"{manifest['name']}-{manifest['version']}-{name}")
    written = export_release(release, name, target, splits, cast("Opinion", opinion), without_empty)
    for split in written:
        click.echo(
            f"{target / split.file}: {counted(split.reviews, 'review')}, {counted(split.labels, 'label')}"
            f"{_exceptions([split])}"
        )
    click.echo(f"{target}: {counted(sum(split.labels for split in written), 'label')}{_exceptions(written)}")


def _exceptions(written: Sequence[Exported]) -> str:
    """What was not written as it stands in the release."""
    in_full, lost, empty = (sum(getattr(split, name) for split in written) for name in ("in_full", "lost", "empty"))
    skipped = sum(len(split.skipped) for split in written)
    full = f", {in_full:,} with the full opinion" if in_full else ""
    left_out = [f"{counted(skipped, 'review')} with {counted(lost, 'label')}"] if skipped else []
    left_out += [f"{counted(empty, 'review')} without a triplet"] if empty else []
    return full + (f"; left out: {', '.join(left_out)}" if left_out else "")
