"""`builder model …`: models that are converted and trained.

`nlp train|evaluate` is for the models of the embedded backend. `convert|pretrain` are for the base of
the profiles `encoder` and `paper`.
"""

from __future__ import annotations

from pathlib import Path

import click

from builder.core.wording import counted

# ---- builder model nlp

_PATH = click.Path(path_type=Path)


@click.group()
def nlp() -> None:
    """Train and evaluate the embedded backend.

    The backend finds words, their parts of speech and their dependencies.
    """


@nlp.command()
@click.argument("treebanks", nargs=-1, required=True, type=_PATH)
@click.option(
    "--v2", "others", multiple=True, type=_PATH, help="Treebank with UD v2 labels, converted to v1 (repeatable)."
)
@click.option(
    "--raw",
    multiple=True,
    type=_PATH,
    help="Text file, one text a line, for word vectors and for trees that a larger parser makes (repeatable).",
)
@click.option(
    "--out", type=_PATH, required=True, help="Directory for the models; use it with --set annotate.models=DIR."
)
@click.option("--seed", default=1, show_default=True, help="Another seed trains other weights.")
@click.option("--epochs", default=32, show_default=True, help="Epochs of each parser.")
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
@click.argument("treebank", type=_PATH)
@click.option("--backend", default="embedded", show_default=True, help="embedded, ckip or ckip-stanza.")
@click.option("--models", type=_PATH, help="Directory with models; those shipped if not given.")
@click.option(
    "--lexicon/--no-lexicon", default=False, show_default=True, help="Whether the lexicons steer segmentation."
)
def evaluate(treebank: Path, backend: str, models: Path | None, lexicon: bool) -> None:
    """Score a backend on a CoNLL-U TREEBANK."""
    from tabulate import tabulate

    from builder.language import nlp as backends
    from builder.language.lexicon.resources import load_lexicon
    from builder.language.nlp.train import evaluate as scored

    loaded = backends.load(backend, load_lexicon().words() if lexicon else {}, models)
    click.echo(tabulate(list(scored(loaded, treebank).items()), headers=["score", "percent"], floatfmt=".2f"))


# ---- builder model convert, pretrain

_BASE = click.option("--base", required=True, help="Hub name (google/mt5-base) or folder of the model to begin with.")
_OUT = click.option(
    "--out", type=_PATH, required=True, help="Folder of the new model; use it with --set paper.base=DIR."
)


@click.group()
def model() -> None:
    """Prepare base models."""


model.add_command(nlp)


@model.command()
@click.option(
    "--drcd",
    "files",
    multiple=True,
    required=True,
    type=_PATH,
    help="Questions in the SQuAD layout, such as DRCD (repeatable).",
)
@_BASE
@_OUT
@click.option("--seed", default=13, show_default=True, help="Another seed trains other weights.")
@click.option(
    "--epochs",
    default=3,
    show_default=True,
    help="Passes over the questions; the one with the best exact match is kept.",
)
@click.option("--batch-tokens", default=8192, show_default=True, help="Tokens of an optimiser step, padding included.")
@click.option("--rate", default=3e-4, show_default=True, help="The highest learning rate.")
@click.option("--threads", default=2, show_default=True, help="CPU threads.")
def pretrain(
    files: tuple[Path, ...], base: str, out: Path, seed: int, epochs: int, batch_tokens: int, rate: float, threads: int
) -> None:
    """Fine-tune a base on reading comprehension.

    Section 4.2 of Lu et al. (2024) does this first. A run that was stopped goes on.
    """
    from builder.core.progress import ModelBar
    from builder.models.paper.seq2seq_settings import Seq2SeqConfig
    from builder.models.paper.squad import pretrain as learn

    config = Seq2SeqConfig(epochs=epochs, max_output=64, batch_tokens=batch_tokens, rate=rate, threads=threads)
    shown = ModelBar("pretrain", " tokens")
    done = learn(base, files, out, config, seed, shown)
    shown.close()
    click.echo(
        f"{out}: trained on {counted(done.train, 'question')} ({done.unanswered:,} without answer left out, "
        f"{done.cut:,} cut), epoch {done.epoch}, exact match {100 * done.exact:.1f}% of {done.valid:,}"
    )


@model.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--out", type=_PATH, required=True, help="New folder for the model with safetensors.")
def convert(folder: Path, out: Path) -> None:
    """Copy a model whose weights are pickles.

    The weights of FOLDER become safetensors. They are read in a process of its own, without network.
    """
    from builder.learning.converting import convert as copy

    for file in copy(folder, out):
        click.echo(f"{out / file.target}: from {file.source}, sha256 {file.target_digest}")
