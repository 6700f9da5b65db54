"""Sentence classifiers over word embeddings: LSTM, RNN and CNN. For aspect polarity a word also says whether it
belongs to the aspect.

Shapes: B items, T words, D the width, C classes. `pooled` gives [B, features], `forward` [B, C].
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from builder.augment.bench.models.classifier_items import ClassifierConfig
from builder.augment.bench.models.inputs import PieceBatch
from builder.learning.encode import PAD, UNK


class WordEmbedding(nn.Module):
    """Words as vectors [B, T, vector_size]; in training some words are hidden, so that the vector of unknown ones is
    learnt. `words` is their number, or their vectors [words, size], which `freeze` in the config keeps as they came.
    """

    def __init__(self, words: int | Tensor, config: ClassifierConfig) -> None:
        super().__init__()
        self.hidden_share = config.unknown
        count, self.size = (words, config.vector_size) if isinstance(words, int) else words.shape
        self.table = nn.Embedding(count, self.size, padding_idx=PAD)
        if isinstance(words, int):
            nn.init.normal_(self.table.weight, std=0.1)
        else:
            self.table.weight = nn.Parameter(words.clone(), requires_grad=not config.freeze)
        self.aspect = nn.Embedding(2, self.size)
        nn.init.zeros_(self.aspect.weight)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, batch: PieceBatch) -> Tensor:
        ids = batch.ids
        if self.training and self.hidden_share:
            ids = torch.where((torch.rand(ids.shape).to(ids.device) < self.hidden_share) & batch.mask, UNK, ids)
        out: Tensor = self.dropout(self.table(ids) + self.aspect(batch.inside)) * batch.mask[..., None]
        return out


class _Classes(nn.Module, ABC):
    """What the three share: dropout, an affine layer to the classes, cross entropy."""

    def __init__(self, words: int | Tensor, features: int, classes: int, config: ClassifierConfig) -> None:
        super().__init__()
        self.embedded = WordEmbedding(words, config)
        self.dropout = nn.Dropout(config.dropout)
        self.out = nn.Linear(features, classes)

    @abstractmethod
    def pooled(self, batch: PieceBatch) -> Tensor:
        """[B, features]"""

    def forward(self, batch: PieceBatch) -> Tensor:
        logits: Tensor = self.out(self.dropout(self.pooled(batch)))
        return logits

    def loss(self, batch: PieceBatch) -> Tensor:
        return functional.cross_entropy(self(batch), batch.gold)


class Lstm(_Classes):
    """A bidirectional LSTM; the mean and the maximum of its states over the words are read. [B, 4 × width]."""

    def __init__(self, words: int | Tensor, classes: int, config: ClassifierConfig) -> None:
        super().__init__(words, 4 * config.width, classes, config)
        self.lstm = nn.LSTM(self.embedded.size, config.width, batch_first=True, bidirectional=True)

    def pooled(self, batch: PieceBatch) -> Tensor:
        states = recurrent(self.lstm, self.embedded(batch), batch.mask)
        best = states.masked_fill(~batch.mask[..., None], -1e4).amax(1)
        return torch.cat([states.sum(1) / batch.mask.sum(1, keepdim=True), best], -1)


class Rnn(_Classes):
    """A single layer LSTM in reading direction whose last output goes to the affine layer (Wu et al. 2019, section
    4.2). [B, width].
    """

    def __init__(self, words: int | Tensor, classes: int, config: ClassifierConfig) -> None:
        super().__init__(words, config.width, classes, config)
        self.lstm = nn.LSTM(self.embedded.size, config.width, batch_first=True)

    def pooled(self, batch: PieceBatch) -> Tensor:
        states = recurrent(self.lstm, self.embedded(batch), batch.mask)
        last = batch.mask.sum(1) - 1
        return states[torch.arange(len(last), device=last.device), last]


class Cnn(_Classes):
    """Filters of sizes 3, 4, 5, max-pooling over time, a two-layer network with ReLU (Wu et al. 2019, section 4.2).
    [B, width].
    """

    SIZES = (3, 4, 5)

    def __init__(self, words: int | Tensor, classes: int, config: ClassifierConfig) -> None:
        super().__init__(words, config.width, classes, config)
        self.filters = nn.ModuleList(
            nn.Conv1d(self.embedded.size, config.width, size, padding=size // 2) for size in self.SIZES
        )
        self.hidden = nn.Linear(len(self.SIZES) * config.width, config.width)

    def pooled(self, batch: PieceBatch) -> Tensor:
        x = self.embedded(batch).transpose(1, 2)
        best = [functional.relu(convolution(x)).amax(-1) for convolution in self.filters]
        return functional.relu(self.hidden(self.dropout(torch.cat(best, -1))))


def recurrent(layer: nn.LSTM | nn.GRU, x: Tensor, mask: Tensor) -> Tensor:
    """The states of a recurrent layer [B, T, D]; padding is not read and gives zeros."""
    packed = pack_padded_sequence(x, mask.sum(1).cpu(), batch_first=True, enforce_sorted=False)
    states, _ = pad_packed_sequence(layer(packed)[0], batch_first=True, total_length=x.shape[1])
    return states
