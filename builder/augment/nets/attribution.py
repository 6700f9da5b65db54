"""Which words make a sentence's label, by the attention of a small classifier. And how likely some words are in a
place, by a cloze network.

In: token ids and classes. Out: a classifier, and a number a word. Every sentence is read alone, so that its numbers
depend on it alone. Wu et al. (2019, section 5) take attention as Xu et al. (2018) do: the weight of a word in the sum
that is classified.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from builder.augment.nets.cloze import Blank, Cloze, collate
from builder.augment.nets.transformer import begun
from builder.learning.devices import device_of, place
from builder.learning.loop import scope
from builder.learning.obtain import Measure, Phase, Schedule, TrainingRun, train_phase


@dataclass(frozen=True, slots=True)
class Classed:
    """A sentence as token ids, and its class."""

    ids: tuple[int, ...]
    label: int


class Classifier(nn.Module):
    """A softmax over an LSTM's states weighs the words, and their sum by these weights is classified (Xu et al. 2018).

    The words are summed, not the states: a later state knows earlier words, and its weight would not say which counts.
    """

    longest = 512

    def __init__(self, size: int, classes: int, width: int) -> None:
        super().__init__()
        self.tokens, self.dropout = nn.Embedding(size, width), nn.Dropout(0.3)
        begun(self)
        self.reading = nn.LSTM(width, width, batch_first=True)
        self.turn, self.heed = nn.Linear(width, width), nn.Linear(width, 1, bias=False)
        self.out = nn.Linear(width, classes)

    def attention(self, embedded: Tensor, seen: Tensor) -> Tensor:
        """The weight of each word [B, T]; padding has none."""
        states, _ = self.reading(embedded)
        scores = self.heed(torch.tanh(self.turn(states)))[..., 0]
        weights: Tensor = scores.masked_fill(~seen, -1e9).softmax(-1)
        return weights

    def forward(self, ids: Tensor, seen: Tensor) -> Tensor:
        words = self.dropout(self.tokens(ids))
        out: Tensor = self.out((words * self.attention(words, seen)[:, :, None]).sum(1))
        return out

    def loss(self, items: Sequence[Classed]) -> Tensor:
        batch = place(collate([Blank(item.ids, (0,) * len(item.ids), ()) for item in items], 0), device_of(self))
        logits = self(batch.ids, batch.seen).float()
        return functional.cross_entropy(logits, torch.tensor([item.label for item in items], device=logits.device))

    def weights(self, ids: Sequence[int], words: Sequence[Sequence[int]]) -> list[float]:
        """The attention that each word gets, over the positions of its tokens."""
        batch = place(collate([Blank(tuple(ids), (), ())], 0), device_of(self))
        with torch.inference_mode():
            weights = self.attention(self.tokens(batch.ids), batch.seen)[0].tolist()
        return [sum(weights[at] for at in word) for word in words]


def classifier(size: int, classes: int, width: int, seed: int) -> Classifier:
    """An untrained classifier; the same seed gives the same weights."""
    with scope(1, seed):
        return Classifier(size, classes, width)


def train(
    network: Classifier, items: Sequence[Classed], held: Sequence[Classed], schedule: Schedule, run: TrainingRun
) -> dict[str, float]:
    """Train until the loss on `held` no longer falls. Returns the share of `held` that is classed rightly as well."""
    whole = list(items) * max(1, -(-schedule.least // len(items)))
    measure: Measure[Classed] = Measure(network.loss, lambda item: len(item.ids), lambda item: 1)
    done = train_phase(network, Phase(lambda epoch: whole, held, schedule), measure, run)
    with torch.inference_mode():
        right = sum(int(_classify(network, item.ids).argmax()) == item.label for item in held)
    return {"score": done.score, "epochs": float(len(done.scores)), "accuracy": right / len(held)}


def _classify(network: Classifier, ids: Sequence[int]) -> Tensor:
    given = torch.tensor([list(ids)], device=device_of(network))
    out: Tensor = network(given, torch.ones_like(given, dtype=torch.bool))[0]
    return out


def fitting(
    network: Cloze, ids: Sequence[int], labels: Sequence[int], at: tuple[int, int], mask: int, lengths: Sequence[int]
) -> dict[int, Tensor]:
    """By length, the log-probabilities [length, V] of tokens in place of ids[at]; all masked at once, with the label
    of the first.
    """
    start, end = at
    blanks = [
        Blank(
            (*ids[:start], *[mask] * length, *ids[end:]),
            (*labels[:start], *[labels[start]] * length, *labels[end:]),
            tuple(range(start, start + length)),
        )
        for length in lengths
    ]
    with torch.inference_mode():
        scores = network.log_probabilities(blanks).cpu()
    return dict(zip(lengths, torch.split(scores, list(lengths)), strict=True))
