"""`context` and `context+label` (Kobayashi 2018): every word is replaced, with a probability, by what a bidirectional
LSTM language model puts there.

In: sentences with a label, or with marks. Out: candidates with some words outside of marks replaced by words of the
training sentences, drawn from the model's distribution given the words around; with `+label` given the label as well.
Words, also in Chinese. The language model learns from raw text first, as Kobayashi's does from WikiText, where a corpus
is named; else from the sentences alone, first without their labels.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from builder.augment.records import Sentence
from builder.augment.replacing import (
    ClozeModel,
    ClozeTraining,
    Masking,
    Replacing,
    Steps,
    Words,
    begin_on_corpus,
    train_cloze,
    unit_inventory,
)
from builder.augment.training import LATER, MODES, Conditions, OnCorpus, describe_training
from builder.core.limits import Limits, above_0, among, at_least, share_above_0

if TYPE_CHECKING:
    from builder.learning.task import Progress

PLAIN, NAME = "context", "context+label"
_RATE = 2e-3


@dataclass(frozen=True, slots=True)
class ContextSettings(OnCorpus):
    """Every word may give way to what a language model expects in its place (Kobayashi 2018)."""

    labels: str = "auto"
    """What conditions a word: `auto` takes what the view has."""
    probability: float = field(default=0.2, metadata=LATER)
    """Probability that a word is replaced."""
    temperature: float = field(default=1.0, metadata=LATER)
    """Temperature of sampling."""
    pretrain_epochs: int = 10
    epochs: int = 20
    width: int = 256

    def limits(self) -> Limits:
        return OnCorpus.limits(self) | {
            "labels": among(MODES, self.labels),
            "probability": share_above_0(self.probability),
            "temperature": above_0(self.temperature),
            "pretrain_epochs": at_least(1, self.pretrain_epochs),
        }


def load(
    settings: ContextSettings,
    sentences: Sequence[Sentence],
    folder: Path,
    seed: int = 0,
    progress: Progress | None = None,
    name: str = NAME,
    corpus: Sequence[Sentence] = (),
    device: str = "auto",
) -> Replacing:
    """`context+label`, or `context` by that name, with the language model of these sentences: read from `folder` or
    trained and kept there. `corpus` are the raw sentences that `settings.corpus` names.
    """
    from builder.augment.nets import cloze
    from builder.learning.obtain import ModelShelf

    conditions = Conditions.of("none" if name == PLAIN else settings.labels, sentences)
    shelf = ModelShelf(folder, seed, progress, device)
    inventory = unit_inventory(corpus or sentences, True, settings.min_count)
    model = ClozeModel(cloze.lstm(inventory.size, len(conditions.names), settings.width, seed), inventory, conditions)
    masking, base = Masking(1.0, hidden=False), "embedded"
    if corpus:
        first, plain = settings.begun(), cloze.lstm(inventory.size, 1, settings.width, seed)
        course = [(first.schedule(first.epochs, corpus, _RATE), False)]
        training = ClozeTraining(PLAIN, describe_training(first), course, masking)
        base = begin_on_corpus(model, plain, corpus, training, shelf)
    epochs = [(settings.epochs, True)] if name == NAME else []
    if settings.pretrain_epochs and not corpus:
        epochs.insert(0, (settings.pretrain_epochs, False))
    phases = [(settings.schedule(number, sentences, _RATE), labelled) for number, labelled in epochs]
    training = ClozeTraining(name, describe_training(settings), phases, masking, base)
    digest = train_cloze(model, sentences, training, shelf)
    plan = partial(by_chance, settings.probability)
    return Replacing(name, settings, model, plan, digest, settings.temperature, progress=progress)


def by_chance(probability: float, words: Words, draw: random.Random) -> Steps:
    """Every word with the same probability, one at least; no word is masked, for the model reads only what stands
    around each.
    """
    chosen = [word for word in words if draw.random() < probability] or [draw.choice(words)]
    return ((tuple(at for word in chosen for at in word), ()),)
