"""The modules that tagger and discriminator share: a convolutional trunk, span vectors, and the pair scorer.

Shapes: B texts, T characters, D the width, N spans and P pairs of the whole batch, listed flat with the row of their
text. All work on pairs is on flat lists: no loop and no padding per review.

What tagger and judge stand on: how a text becomes arrays, and the trunk that makes vectors of its characters.

There are two: characters learnt from nothing (here), and a pretrained encoder (builder.models.encoder). The heads above
do not know which.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from builder.core.errors import ModelError
from builder.learning.encode import PAD, SPECIAL, Batch, Encoder, TextEncoder, Vocabulary
from builder.learning.task import NetworkConfig, TaggerConfig
from builder.models.markers import PairMarkers
from builder.models.text_reading import DILATIONS, DISTANCES

# ---- Layers


class ResidualConvolution(nn.Module):
    """x + gated convolution of the normalised x. [B, D, T] in and out; padding stays zero, so that it never reaches
    the text.
    """

    def __init__(self, width: int, dilation: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mix = nn.Conv1d(width, 2 * width, 3, padding=dilation, dilation=dilation)
        self.dropout = nn.Dropout1d(
            dropout
        )  # whole channels of a text: a draw per character cost a tenth of the training time

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        normal = self.norm(x.transpose(1, 2)).transpose(1, 2) * mask
        mixed: Tensor = self.dropout(functional.glu(self.mix(normal), dim=1))
        return x + mixed


class Trunk(nn.Module):
    """Characters in context: Batch -> [B, T, D]."""

    def __init__(self, vocabulary: Vocabulary, config: NetworkConfig, beside: int = 0) -> None:
        """`beside`: numbers of a character that come from elsewhere than the text."""
        super().__init__()
        self.bigrams = nn.Embedding(config.bigram_buckets, config.bigram_size)
        self.enter = nn.Linear(config.char_size + 2 * config.bigram_size + beside, config.width)
        self.layers = nn.ModuleList(
            ResidualConvolution(config.width, DILATIONS[i % len(DILATIONS)], config.dropout)
            for i in range(config.layers)
        )
        self.norm = nn.LayerNorm(config.width)
        self.dropout = nn.Dropout(config.dropout)
        self.chars = nn.Embedding(
            len(vocabulary), config.char_size, padding_idx=PAD
        )  # last: its size is drawn from the data

    def forward(self, batch: Batch) -> Tensor:
        return self.read(batch)

    def context(self, batch: Batch, layers: int = 0) -> TextContext:
        """The characters in context, with what the upper `layers` of a pretrained encoder say."""
        return TextContext.of(batch, self(batch))

    def read(self, batch: Batch, *beside: Tensor) -> Tensor:
        """The characters in context, with numbers from elsewhere `beside` them, each [B, T, ...]."""
        bigrams = self.bigrams(batch.bigrams)
        parts = [self.chars(batch.ids), bigrams[:, :-1], bigrams[:, 1:], *beside]
        entered = self.enter(self.dropout(torch.cat(parts, -1)))
        x, mask = entered.transpose(1, 2), batch.mask[:, None, :].to(entered.dtype)
        for layer in self.layers:
            x = layer(x, mask)
        out: Tensor = self.dropout(self.norm(x.transpose(1, 2))) * batch.mask[:, :, None]
        return out


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """N spans: the row of the text, and [start, end) in it. Each [N]."""

    row: Tensor
    start: Tensor
    end: Tensor

    def __len__(self) -> int:
        return len(self.row)

    def at(self, index: Tensor) -> Spans:
        return Spans(self.row[index], self.start[index], self.end[index])


@dataclass(frozen=True, slots=True, eq=False)
class TextContext:
    """What the trunk read, with its running sum [B, T + 1, D],
    from which the mean of any stretch is one subtraction. `states`: what markers look at, each [R, K, hidden size],
    the lowest before.
    """

    batch: Batch
    hidden: Tensor
    summed: Tensor
    states: tuple[Tensor, ...] = ()

    @classmethod
    def of(cls, batch: Batch, hidden: Tensor, states: tuple[Tensor, ...] = ()) -> TextContext:
        return cls(batch, hidden, functional.pad(hidden.cumsum(1), (0, 0, 1, 0)), states)

    def mean(self, row: Tensor, start: Tensor, end: Tensor) -> Tensor:
        """[N, D]; zero for an empty stretch."""
        total = self.summed[row, end] - self.summed[row, start]
        return total / (end - start).clamp(min=1)[:, None]


class SpanVector(nn.Module):
    """A vector per span from its first, last and mean character: [N, size]."""

    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        self.project = nn.Linear(3 * width, size)

    def forward(self, context: TextContext, spans: Spans) -> Tensor:
        first, last = context.hidden[spans.row, spans.start], context.hidden[spans.row, spans.end - 1]
        projected: Tensor = self.project(torch.cat([first, last, context.mean(spans.row, spans.start, spans.end)], -1))
        return projected


class PairScorer(nn.Module):
    """Aspect and opinion spans to logits: does the pair belong together [P], and its polarity [P, 3].

    `extra` numbers per pair come from the caller. Distance has a sign (82% of aspects stand before their opinion) and
    grows in steps; clause and sentence boundaries between the two are counted.
    """

    def __init__(self, width: int, size: int, extra: int, dropout: float, reach: int = 96, clauses: int = 4) -> None:
        """`reach`: twice the distance from which all are alike; `clauses`: as many between the two count, in each
        direction.
        """
        super().__init__()
        steps = [step for step in DISTANCES if step <= reach // 2]
        self.most_clauses = clauses
        self.aspect, self.opinion = SpanVector(width, size), SpanVector(width, size)
        self.between = nn.Linear(width, size)
        self.distance = nn.Embedding(2 * (len(steps) + 1), size)
        self.clauses = nn.Embedding(2 * clauses + 1, size)
        self.sentence = nn.Embedding(2, size)
        self.product = nn.Linear(size, size)
        self.extra = nn.Linear(max(1, extra), size)
        self.mix = nn.Linear(size, size)
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(size, 4)
        self.register_buffer("steps", torch.tensor(steps), persistent=False)

    def forward(
        self, context: TextContext, aspects: Spans, opinions: Spans, index: tuple[Tensor, Tensor], extra: Tensor
    ) -> tuple[Tensor, Tensor]:
        a, o = self.aspect(context, aspects)[index[0]], self.opinion(context, opinions)[index[1]]
        first, second = aspects.at(index[0]), opinions.at(index[1])
        hidden = a + o + self.product(a * o) + self._place(context, first, second) + self.extra(extra)
        hidden = self.dropout(functional.gelu(hidden))
        hidden = hidden + self.dropout(functional.gelu(self.mix(hidden)))
        out = self.out(hidden)
        return out[:, 0], out[:, 1:]

    def _place(self, context: TextContext, aspects: Spans, opinions: Spans) -> Tensor:
        """Where the opinion stands as seen from the aspect, and what lies between. [P, size]."""
        low, high = gap(aspects, opinions)
        before = (aspects.start < opinions.start).long()
        steps: Tensor = self.get_buffer("steps")
        step = torch.bucketize(high - low, steps, right=True)
        clause, sentence = context.batch.clause, context.batch.sentence
        clauses = (clause[opinions.row, opinions.start] - clause[aspects.row, aspects.start]).clamp(
            -self.most_clauses, self.most_clauses
        )
        apart = (sentence[opinions.row, opinions.start] != sentence[aspects.row, aspects.start]).long()
        placed: Tensor = self.distance(2 * step + before) + self.clauses(clauses + self.most_clauses)
        between: Tensor = self.between(context.mean(aspects.row, low, high))
        out: Tensor = placed + self.sentence(apart) + between
        return out


def gap(aspects: Spans, opinions: Spans) -> tuple[Tensor, Tensor]:
    """[low, high) between two spans, empty where they touch or overlap."""
    low = torch.minimum(aspects.end, opinions.end)
    return low, torch.maximum(low, torch.maximum(aspects.start, opinions.start))


def base_weights(trunk: Trunk, vocabulary: Vocabulary, seed: int) -> None:
    """Set the embedding of each character from (seed, character): the same base model M for every round (paper,
    section 3.3.1).

    The other parameters are drawn before, in an order that no vocabulary changes; these rows are drawn one by one, so
    that a character starts from the same vector whatever else the training texts hold.
    """
    weight = trunk.chars.weight
    with torch.no_grad():
        for row, code in ((1, 0), *((i + SPECIAL, code) for i, code in enumerate(vocabulary.codes))):
            drawn = np.random.default_rng([seed, code]).standard_normal(weight.shape[1])
            weight[row] = torch.from_numpy(drawn) * 0.5
        weight[PAD] = 0


# ---- Foundations


class Foundation(Protocol):
    """How texts are read, whatever is found in them."""

    @property
    def settings(self) -> Mapping[str, object]:
        """What a model's config.json and its digest say of it."""

    @property
    def mark(self) -> str:
        """What sets trainings on it apart from trainings on another one."""

    @property
    def device(self) -> torch.device:
        """Where networks on it run."""

    def make_encoder(self, config: NetworkConfig) -> TextEncoder:
        """What turns a text into arrays."""

    def make_trunk(self, config: NetworkConfig) -> Trunk:
        """A network that turns a Batch into vectors of characters [B, T, width]."""

    def make_markers(self, config: TaggerConfig) -> PairMarkers | None:
        """A network that looks at pairs again, where the config has one."""

    def begin(self, trunk: nn.Module, seed: int) -> None:
        """Give a new trunk the weights that training starts from."""

    def write_files(self, folder: Path) -> None:
        """What a saved model needs beside config.json and weights."""


@dataclass(frozen=True, slots=True, eq=False)
class CharacterFoundation:
    """The characters of the training texts, read by a small convolutional network on the CPU."""

    vocabulary: Vocabulary

    @classmethod
    def of(cls, texts: Iterable[str], min_count: int) -> Self:
        """The characters that occur `min_count` times in the texts."""
        return cls(Vocabulary.of(texts, min_count))

    @property
    def settings(self) -> Mapping[str, object]:
        return {"vocabulary": list(self.vocabulary.codes)}

    @property
    def mark(self) -> str:
        return ""  # the vocabulary follows from the training texts

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    def make_encoder(self, config: NetworkConfig) -> TextEncoder:
        return Encoder(self.vocabulary, config.bigram_buckets)

    def make_trunk(self, config: NetworkConfig) -> Trunk:
        return Trunk(self.vocabulary, config)

    def make_markers(self, config: TaggerConfig) -> None:
        if config.marker_layers:
            raise ModelError("markers look at a plain BERT", where="marker_layers", fix="train the model again")

    def begin(self, trunk: nn.Module, seed: int) -> None:
        assert isinstance(trunk, Trunk), type(trunk)
        base_weights(trunk, self.vocabulary, seed)

    def write_files(self, folder: Path) -> None:
        """None: config.json holds the vocabulary."""
