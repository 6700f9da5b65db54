"""`context` and `context+label` (Kobayashi 2018): every word is replaced, with a probability, by what a bidirectional LSTM language model puts there.

In: sentences with a label, or with marks. Out: candidates with some words outside of marks replaced by words of the training sentences, drawn from the
model's distribution given the words around; with `+label` given the label as well. Words, also in Chinese. Kobayashi pre-trains on WikiText; here the
language model learns from the sentences alone, first without their labels.
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
from builder.augment.replacing import Replacing, Steps, Words, batch_tokens, learned, unit_inventory
from builder.augment.told import FREE, LATER, taught, told
from builder.errors import ConfigError

if TYPE_CHECKING:
    from builder.model.task import Progress

PLAIN, NAME = "context", "context+label"


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """`probability` that a word is replaced, at `temperature`. Epochs end when the validation loss no longer falls; the first without labels."""

    labels: str = "auto"
    probability: float = field(default=0.2, metadata=LATER)
    temperature: float = field(default=1.0, metadata=LATER)
    pretrain_epochs: int = 10
    epochs: int = 20
    patience: int = 3
    least: int = 2000
    rate: float = 2e-3
    batch_tokens: int = 0
    width: int = 256
    min_count: int = 2
    batch: int = field(default=64, metadata=FREE)
    threads: int = field(default=2, metadata=FREE)

    def __post_init__(self) -> None:
        if self.labels not in MODES:
            raise ConfigError(f"unknown labels {self.labels!r}", where=NAME, fix=f"known: {', '.join(MODES)}")
        if not (0 < self.probability <= 1 and self.temperature > 0):
            raise ConfigError("probability is a share above 0, temperature is above 0", where=NAME)
        if min(self.pretrain_epochs, self.epochs, self.least, self.width, self.batch, self.threads, self.min_count) < 1:
            raise ConfigError("epochs, sentences, tokens, width and threads are at least 1", where=NAME)


def load(
    settings: ContextSettings,
    sentences: Sequence[Sentence],
    folder: Path,
    seed: int = 0,
    progress: Progress | None = None,
    name: str = NAME,
) -> Replacing:
    """`context+label`, or `context` by that name, with the language model of these sentences: read from `folder` or trained and kept there."""
    from builder.model.augment import filling
    from builder.model.augment.keeping import Schedule

    conditions = Conditions.of("none" if name == PLAIN else settings.labels, sentences)
    inventory = unit_inventory(sentences, True, settings.min_count)
    network = filling.lstm(inventory.size, len(conditions.names), settings.width, seed)

    size = batch_tokens(settings.batch_tokens, sentences, settings.least)

    def schedule(epochs: int) -> Schedule:
        return Schedule(epochs, settings.least, settings.patience, size, settings.rate, threads=settings.threads)

    schedules = [(schedule(settings.pretrain_epochs), False), *([(schedule(settings.epochs), True)] if name == NAME else [])]
    digest = learned(
        name, taught(settings), sentences, network, inventory, conditions, schedules, 1.0, False, "embedded", folder, seed, progress
    )
    plan, heat = partial(by_chance, settings.probability), settings.temperature
    return Replacing(
        name, told(settings), network, inventory, conditions, plan, digest, heat, True, settings.batch, settings.threads, progress
    )


def by_chance(probability: float, words: Words, draw: random.Random) -> Steps:
    """Every word with the same probability, one at least; no word is masked, for the model reads only what stands around each."""
    chosen = [word for word in words if draw.random() < probability] or [draw.choice(words)]
    return ((tuple(at for word in chosen for at in word), ()),)
