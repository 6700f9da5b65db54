"""From items to a trained model, for every row of the table: reader, network, the one training loop, prediction and
features.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from builder.augment.bench.classifiers import (
    ATE_CLASSES,
    Choice,
    ClassifierConfig,
    ClassifierItem,
    Means,
    Task,
    check,
    classes,
    spans,
    words_of,
)
from builder.augment.bench.encoders import load, post_train
from builder.augment.bench.inputs import PieceBatch, Reader, WordReader, collate, spans_of, tables, tags, written
from builder.core.files import key_of
from builder.learning.checkpoint import Checkpoints
from builder.learning.devices import choose, device_of, half_precision, in_parts, place
from builder.learning.encode import batches
from builder.learning.loop import fit, scope
from builder.learning.task import seed_of

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, eq=False)
class TrainedClassifier:
    """A trained model: `network` has `pooled` and either `forward` (labels) or `tags`."""

    network: nn.Module
    reader: Reader
    task: Task
    labels: tuple[str, ...]
    config: ClassifierConfig

    def predict(self, items: Sequence[ClassifierItem]) -> list[ClassifierItem]:
        """The items as the model labels them; what they hold as gold is not read."""
        if self.task != "ate":
            best = self.chances(items).argmax(1).tolist()
            return [replace(item, label=self.labels[i]) for item, i in zip(items, best, strict=True)]
        out = list(items)
        for chosen, rows in self._batches(items, lambda chosen, batch: self.network.tags(batch)):  # type: ignore[operator]
            for i, row in zip(chosen, rows, strict=True):
                out[i] = replace(items[i], spans=spans_of(self.reader.shown(items[i]), row))
        return out

    def chances(self, items: Sequence[ClassifierItem]) -> Tensor:
        """[items, labels]: how likely each label is."""
        out = torch.empty(len(items), len(self.labels))
        for chosen, rows in self._batches(items, lambda chosen, batch: self.network(batch).softmax(-1).cpu()):
            out[chosen] = rows
        return out

    def features(self, items: Sequence[ClassifierItem]) -> NDArray[np.float32]:
        """[items, width]: what the last layer before the answer reads (of a tagger: its mean over the words)."""
        out: dict[int, NDArray[np.float32]] = {}
        for chosen, rows in self._batches(items, self._pool):
            out |= dict(zip(chosen, rows, strict=True))
        return np.stack([out[i] for i in range(len(items))]) if items else np.zeros((0, 0), np.float32)

    def _pool(self, chosen: list[int], batch: PieceBatch) -> NDArray[np.float32]:
        out: NDArray[np.float32] = self.network.pooled(batch).float().cpu().numpy()  # type: ignore[operator]
        return out

    def _batches(
        self, items: Sequence[ClassifierItem], work: Callable[[list[int], PieceBatch], Answer]
    ) -> Iterator[tuple[list[int], Answer]]:
        """What `work` makes of batches of the items, with their numbers."""
        rows = [self.reader.read(item, _gold(self.task, self.labels, self.reader, None)) for item in items]
        self.network.eval()
        device = device_of(self.network)

        def answer(chosen: list[int]) -> Answer:
            return work(chosen, place(collate([rows[i] for i in chosen], self.reader.pad), device))

        with scope(self.config.threads, device=device), torch.inference_mode():
            yield from in_parts(batches([len(row) for row in rows], self.config.batch_chars), answer)


def learn(
    choice: Choice,
    task: Task,
    train: Sequence[ClassifierItem],
    valid: Sequence[ClassifierItem],
    seed: int,
    checkpoints: Path,
    means: Means | None = None,
    config: ClassifierConfig | None = None,
) -> TrainedClassifier:
    """Train a model; the epoch that is best on `valid` wins, without it the last. ModelError for unfit items."""
    check(task, train)
    means, config = replace(means or Means(), base=choice.base), config or choice.config
    labels = ATE_CLASSES if task == "ate" else tuple(sorted({item.label for item in train}))
    unique = key_of(choice.name, choice.base, task, seed, config, means, torch.__version__, list(train), list(valid))
    with scope(config.threads, seed_of(seed, "network")):
        reader, begin = _beginning(choice, train, means, config, seed)
    device = choose(means.device)
    if isinstance(begin, nn.Module):
        begin.to(device)
    if choice.name == "bert-pt":
        domain = (*means.domain, *(item.text for item in train))
        post_train(begin, domain, means.comprehension, config, seed, Checkpoints(checkpoints / "post", unique))
    with scope(config.threads, seed_of(seed, "head")):
        module, _, name = choice.kind.network.partition(":")
        network = getattr(importlib.import_module(f"builder.augment.bench.{module}"), name)(begin, len(labels), config)
    network.to(device)
    model = TrainedClassifier(network, reader, task, labels, config)
    rows = [reader.read(item, _gold(task, labels, reader, item)) for item in train]

    def loss(chosen: list[int]) -> Tensor:
        with half_precision("auto", device):
            value: Tensor = network.loss(place(collate([rows[i] for i in chosen], reader.pad), device))
        return value

    def evaluate() -> float:
        return quality(task, valid, model.predict(valid)) if valid else 0.0

    fit(network, [len(row) for row in rows], loss, evaluate, config, seed, Checkpoints(checkpoints / "fit", unique))
    return model


def _beginning(
    choice: Choice, train: Sequence[ClassifierItem], means: Means, config: ClassifierConfig, seed: int
) -> tuple[Reader, Any]:
    """The reader, and what the network is built on: a number of words, tables of vectors, or an encoder."""
    kind = choice.kind
    if kind.reads == "pieces":
        encoder = load(choice.base, config.longest, with_head=choice.name == "bert-pt" or config.language > 0)
        return encoder.reader, encoder
    words = WordReader.of(map(written, train), config.min_count, config.longest)
    if kind.reads == "words" and means.vectors is None:
        return words, len(words)
    both, files = choice.name == "de-cnn", (means.vectors, means.domain_vectors)
    texts = [*train, *(ClassifierItem(text, words_of(text)) for text in means.domain)] if both else []
    numbers, number = words.vocabulary.numbers, seed_of(seed, "vectors")
    return words, tables(numbers, files, list(map(written, texts)), config.vector_size, number, both)


def _gold(task: Task, labels: Sequence[str], reader: Reader, item: ClassifierItem | None) -> tuple[int, ...] | int:
    """A class, or a tag per word that is read; 0 where nothing is asked."""
    if task == "ate":
        return tags(reader.shown(item), item.spans) if item else ()
    return labels.index(item.label) if item else 0


def quality(task: Task, items: Sequence[ClassifierItem], answers: Sequence[ClassifierItem]) -> float:
    """What chooses the epoch: accuracy, or exact span F1, from 0 to 1."""
    if task == "ate":
        return spans([item.spans for item in items], [answer.spans for answer in answers])["f1"] / 100
    return classes([item.label for item in items], [answer.label for answer in answers])["accuracy"] / 100
