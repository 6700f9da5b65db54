"""`builder model nlp train|evaluate`: the models of the embedded backend."""

from __future__ import annotations

from pathlib import Path

import click

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
@click.option("--backend", default="embedded", show_default=True, help="embedded, ckip, ckip-stanza or hub.")
@click.option("--models", type=_PATH, help="Directory with models; those shipped if not given.")
@click.option(
    "--lexicon/--no-lexicon", default=False, show_default=True, help="Whether the lexicons steer segmentation."
)
def evaluate(treebank: Path, backend: str, models: Path | None, lexicon: bool) -> None:
    """Score a backend on a CoNLL-U TREEBANK."""
    from tabulate import tabulate

    from builder.language import nlp as backends
    from builder.language.lexicon.resources import load_lexicon
    from builder.language.nlp.treebank_scores import evaluate as scored

    loaded = backends.load(backend, load_lexicon().words() if lexicon else {}, models)
    click.echo(tabulate(list(scored(loaded, treebank).items()), headers=["score", "percent"], floatfmt=".2f"))
