"""`context` and `context+label` (Kobayashi 2018): every word is replaced, with a probability, by what a bidirectional
LSTM language model puts there.

In: sentences with a label, or with marks. Out: candidates with some words outside of marks replaced by words of the
training sentences, drawn from the model's distribution given the words around; with `+label` given the label as well.
Words, also in Chinese. Kobayashi pre-trains on WikiText; here the language model learns from the sentences alone,
first without their labels.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from builder.augment.conditions import MODES, Conditions
from builder.augment.records import Sentence
from builder.augment.replacing import (
    ClozeModel,
    ClozeTraining,
    Masking,
    Replacing,
    Steps,
    Words,
    train_cloze,
    unit_inventory,
)
from builder.augment.training import LATER, Training, describe_training
from builder.core.limits import Limits, above_0, among, at_least, share_above_0

if TYPE_CHECKING:
    from builder.learning.task import Progress

PLAIN, NAME = "context", "context+label"


@dataclass(frozen=True, slots=True)
class ContextSettings(Training):
    """Every word may give way to what a language model expects in its place (Kobayashi 2018)."""

    labels: str = "auto"
    """What conditions a word: `auto` takes what the view has."""
    probability: float = field(default=0.2, metadata=LATER)
    """Probability that a word is replaced."""
    temperature: float = field(default=1.0, metadata=LATER)
    """Temperature of sampling."""
    pretrain_epochs: int = 10
    """Passes without labels, first."""
    epochs: int = 20
    width: int = 256

    def limits(self) -> Limits:
        return Training.limits(self) | {
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
    device: str = "auto",
) -> Replacing:
    """`context+label`, or `context` by that name, with the language model of these sentences: read from `folder` or
    trained and kept there.
    """
    from builder.augment.nets import filling
    from builder.learning.obtain import ModelShelf

    conditions = Conditions.of("none" if name == PLAIN else settings.labels, sentences)
    inventory = unit_inventory(sentences, True, settings.min_count)
    network = filling.lstm(inventory.size, len(conditions.names), settings.width, seed)
    model = ClozeModel(network, inventory, conditions)
    epochs = [(settings.pretrain_epochs, False), *([(settings.epochs, True)] if name == NAME else [])]
    phases = [(settings.schedule(number, sentences, 2e-3), labelled) for number, labelled in epochs]
    training = ClozeTraining(name, describe_training(settings), phases, Masking(1.0, hidden=False))
    digest = train_cloze(model, sentences, training, ModelShelf(folder, seed, progress, device))
    plan = partial(by_chance, settings.probability)
    return Replacing(name, settings, model, plan, digest, settings.temperature, progress=progress)


def by_chance(probability: float, words: Words, draw: random.Random) -> Steps:
    """Every word with the same probability, one at least; no word is masked, for the model reads only what stands
    around each.
    """
    chosen = [word for word in words if draw.random() < probability] or [draw.choice(words)]
    return ((tuple(at for word in chosen for at in word), ()),)
