"""`builder setup …` and `builder model …`: what is done before a build.

`init` writes a settings file, `config` says what a setting means, `doctor` whether the installation is sound. `nlp
train|evaluate` is for the models of the embedded backend, `pretrain` for the base of the profile `paper`.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import click

from builder.cli.options import PATH, option, put_rows, put_table, shows_colour, styled_output
from builder.core.settings import DEFAULT_WORKDIR
from builder.core.wording import counted


@click.command()
@click.argument("path", type=PATH, default=Path("settings.toml"), required=False)
@option("--force", is_flag=True, help="Write over a file that is there.")
def init(path: Path, force: bool) -> None:
    """Write a settings file to begin with.

    PATH is settings.toml if not given. Every setting stands in it with its default and a sentence, commented out.
    """
    from builder.core.errors import OutputError
    from builder.core.files import write_atomically
    from builder.pipeline.installation import commented_settings

    if path.exists() and not force:
        raise OutputError("is there already", where=str(path), fix="name another file, or write over it with --force")
    write_atomically(path, commented_settings(str(path)).encode())
    click.echo(f"{path} is written. Change what you need, then: builder build reviews.csv --config {path}")


@click.command()
@click.argument("key", required=False)
@option("--preset", metavar="NAME", help="List what this preset sets, with the paper's sections; without KEY.")
@option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def config(key: str | None, preset: str | None, as_json: bool) -> None:
    """Explain a setting.

    KEY is one such as release.licence, or a section such as release. Without KEY all are listed. `builder build
    --show-config` says what is set, and where.
    """
    from builder.core.files import written_value
    from builder.pipeline.installation import explain, list_settings, preset_rows

    if key is not None and preset:
        raise click.UsageError("--preset lists settings: leave out KEY")
    others: dict[str, type] = {}
    if find_spec("builder.augment"):
        from builder.augment.catalogue import AugmentSettings

        others["builder augment METHOD"] = AugmentSettings
    if key and not as_json and not preset:
        click.echo("\n".join(explain(key, others)))
        return
    headers = ["command", "key", *(["value", "from"] if preset else ["default", "values", "meaning"])]
    explained = (
        (command, fact.key, written_value(fact.default), fact.values, fact.sentence)
        for command, fact in ([] if preset else list_settings(key or "", others))
    )
    rows: list[tuple[str, ...]] = list(preset_rows(preset) if preset else explained)
    if as_json:
        put_rows(headers, rows, "json", limit=len(rows))
        return
    if preset:
        put_table(rows, headers, disable_numparse=True)
        return
    widths = [None, 24, 24, 60] if sys.stdout.isatty() else None
    put_table([row[1:] for row in rows], headers[1:], maxcolwidths=widths, disable_numparse=True)


@click.command()
@option("--workdir", type=PATH, default=DEFAULT_WORKDIR, help="Where you would build.")
@option("--json", "as_json", is_flag=True, help="Print a JSON object for each finding.")
def doctor(workdir: Path, as_json: bool) -> None:
    """Check the installation of builder.

    Packages, models, lexicons, extras, GPU, disk, fonts. Ends with code 1 if builder cannot work like this.
    """
    import json
    from dataclasses import asdict

    from builder.pipeline.installation import diagnose

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


# ---- builder model nlp


@click.group()
def nlp() -> None:
    """Train and evaluate the embedded backend.

    The backend finds words, their parts of speech and their dependencies.
    """


@nlp.command()
@click.argument("treebanks", nargs=-1, required=True, type=PATH)
@option("--v2", "others", multiple=True, type=PATH, help="Treebank with UD v2 labels, converted to v1 (repeatable).")
@option(
    "--raw",
    multiple=True,
    type=PATH,
    help="Text file, one text a line, for word vectors and for trees that a larger parser makes (repeatable).",
)
@option("--out", type=PATH, required=True, help="Directory for the models; use it with --set annotate.models=DIR.")
@option("--seed", default=1, help="Another seed trains other weights.")
@option("--epochs", default=32, help="Epochs of each parser.")
def train(
    treebanks: tuple[Path, ...], others: tuple[Path, ...], raw: tuple[Path, ...], out: Path, seed: int, epochs: int
) -> None:
    """Train on CoNLL-U TREEBANKS with UD v1 labels."""
    from builder.language.lexicon.resources import load_lexicon
    from builder.language.nlp.train import TrainingFiles
    from builder.language.nlp.train import train as train_models

    files = TrainingFiles(treebanks, others, raw, load_lexicon().words())
    click.echo(train_models(files, out, seed, epochs=epochs, say=lambda line: click.echo(line, err=True)))


@nlp.command()
@click.argument("treebank", type=PATH)
@option("--backend", default="embedded", help="embedded, ckip or ckip-stanza.")
@option("--models", type=PATH, help="Directory with models; those shipped if not given.")
@option("--lexicon/--no-lexicon", default=False, show_default=True, help="Whether the lexicons steer segmentation.")
def evaluate(treebank: Path, backend: str, models: Path | None, lexicon: bool) -> None:
    """Score a backend on a CoNLL-U TREEBANK."""
    from builder.language import nlp as backends
    from builder.language.lexicon.resources import load_lexicon
    from builder.language.nlp.train import evaluate as scored

    loaded = backends.load(backend, load_lexicon().words() if lexicon else {}, models)
    put_table(list(scored(loaded, treebank).items()), ["score", "percent"], floatfmt=".2f")


# ---- builder model pretrain

_BASE = option("--base", required=True, help="Hub name (google/mt5-base) or folder of the model to begin with.")
_OUT = option("--out", type=PATH, required=True, help="Folder of the new model; use it with --set paper.base=DIR.")


@click.group()
def model() -> None:
    """Prepare base models."""


model.add_command(nlp)


@model.command()
@option(
    "--drcd",
    "files",
    multiple=True,
    required=True,
    type=PATH,
    help="Questions in the SQuAD layout, such as DRCD (repeatable).",
)
@_BASE
@_OUT
@option("--seed", default=13, help="Another seed trains other weights.")
@option("--epochs", default=3, help="Passes over the questions; the one with the best exact match is kept.")
@option("--batch-tokens", default=8192, help="Tokens of an optimiser step, padding included.")
@option("--rate", default=3e-4, help="The highest learning rate.")
@option("--threads", default=2, help="CPU threads.")
def pretrain(
    files: tuple[Path, ...], base: str, out: Path, seed: int, epochs: int, batch_tokens: int, rate: float, threads: int
) -> None:
    """Fine-tune a base on reading comprehension.

    Section 4.2 of Lu et al. (2024) does this first. A run that was stopped goes on.
    """
    from builder.core.progress import ModelBar
    from builder.models.paper.seq2seq import Seq2SeqConfig
    from builder.models.paper.squad import pretrain as learn

    config = Seq2SeqConfig(epochs=epochs, max_output=64, batch_tokens=batch_tokens, rate=rate, threads=threads)
    shown = ModelBar("pretrain", " tokens")
    done = learn(base, files, out, config, seed, shown)
    shown.close()
    click.echo(
        f"{out}: trained on {counted(done.train, 'question')} ({done.unanswered:,} without answer left out, "
        f"{done.cut:,} cut), epoch {done.epoch}, exact match {100 * done.exact:.1f}% of {done.valid:,}"
    )
