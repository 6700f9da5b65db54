"""The loaders of the methods that train a model: their own sections of `Settings`, the given sentences, and a place for the weights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from builder.augment import cbert, context, gpt2, masked_seq2seq, style_transfer
from builder.augment.records import Method
from builder.augment.settings import Settings
from builder.model.task import Progress
from builder.resources import load_lexicon


def load_masked_seq2seq(settings: Settings) -> Method:
    with _place(settings, masked_seq2seq.NAME) as (folder, progress):
        return masked_seq2seq.load(
            replace(settings.masked_seq2seq, keep=_keep(settings)), settings.given.sentences, folder, settings.seed, progress
        )


def load_cbert(settings: Settings) -> Method:
    with _place(settings, cbert.NAME) as (folder, progress):
        return cbert.load(settings.cbert, settings.given.sentences, folder, settings.seed, progress)


def load_bert(settings: Settings) -> Method:
    with _place(settings, cbert.PLAIN) as (folder, progress):
        return cbert.load(settings.bert, settings.given.sentences, folder, settings.seed, progress, cbert.PLAIN)


def load_context_label(settings: Settings) -> Method:
    with _place(settings, context.NAME) as (folder, progress):
        return context.load(settings.context_label, settings.given.sentences, folder, settings.seed, progress)


def load_context(settings: Settings) -> Method:
    with _place(settings, context.PLAIN) as (folder, progress):
        return context.load(settings.context, settings.given.sentences, folder, settings.seed, progress, context.PLAIN)


def load_gpt2(settings: Settings) -> Method:
    with _place(settings, gpt2.NAME) as (folder, progress):
        return gpt2.load(replace(settings.gpt2, keep=_keep(settings)), settings.given.sentences, folder, settings.seed, progress)


def load_style_transfer(settings: Settings) -> Method:
    valences = {word: one.valence for word, one in load_lexicon().opinions.items()}
    with _place(settings, style_transfer.NAME) as (folder, progress):
        return style_transfer.load(settings.style_transfer, settings.given.sentences, folder, settings.seed, progress, valences)


def _keep(settings: Settings) -> str:
    """All that is marked: what the view lets a method touch, it does not mark."""
    return "aspect+opinion" if any(mark.kind == "opinion" for one in settings.given.sentences for mark in one.marks) else "aspect"


@contextmanager
def _place(settings: Settings, name: str) -> Iterator[tuple[Path, Progress]]:
    """Where the method's models are kept, beside those of other sentences and settings; nowhere for long if no place is given."""
    from builder.model.boost.classes import bar

    with TemporaryDirectory(prefix="builder-augment-") as nowhere, bar(name) as progress:
        yield (settings.given.models or Path(nowhere)) / name.replace("+", "-"), progress
