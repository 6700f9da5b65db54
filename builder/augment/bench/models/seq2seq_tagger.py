"""Aspect term extraction as sequence to sequence (Ma et al. 2019): words in, one label a word out, decided from left
to right.

Encoder and decoder are GRUs. The decoder, at word t, reads the label it gave to word t - 1 and a context from
position-aware attention, and a gated unit weighs its state against the encoder's state of word t, the word that the
label belongs to.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from builder.augment.bench.models.classifier_items import ClassifierConfig
from builder.augment.bench.models.inputs import BEGIN, OUTSIDE, PieceBatch, Tables
from builder.augment.bench.models.taggers import TAGS, Vectors, mean, recurrent, tag_loss

_START = TAGS
LABEL_SIZE = 24


class Seq2SeqTagger(nn.Module):
    """[B, T] words to [B, T, 3] logits. While training the label before is the gold one, else the one just told."""

    def __init__(self, tables: Tables, classes: int, config: ClassifierConfig) -> None:
        super().__init__()
        self.vectors, wide = Vectors(tables, config), 2 * config.width
        self.encoder = nn.GRU(self.vectors.size, config.width, batch_first=True, bidirectional=True)
        self.labels = nn.Embedding(TAGS + 1, LABEL_SIZE)
        self.begin = nn.Linear(wide, wide)
        self.decoder = nn.GRUCell(LABEL_SIZE + wide, wide)
        self.query, self.key, self.score = nn.Linear(wide, wide), nn.Linear(wide, wide), nn.Linear(wide, 1, bias=False)
        self.gates = nn.Linear(2 * wide, 2 * wide)
        self.dropout, self.out = nn.Dropout(config.dropout), nn.Linear(wide, classes)

    def loss(self, batch: PieceBatch) -> Tensor:
        return tag_loss(self._decode(batch, batch.gold.clamp(min=OUTSIDE))[0], batch.gold)

    def tags(self, batch: PieceBatch) -> list[list[int]]:
        decoded = self._decode(batch, None)[1].tolist()
        return [row[:n] for row, n in zip(decoded, batch.mask.sum(1).tolist(), strict=True)]

    def pooled(self, batch: PieceBatch) -> Tensor:
        return mean(self._decode(batch, None)[2], batch.mask)

    def _decode(self, batch: PieceBatch, gold: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Logits [B, T, 3], labels [B, T] and gated states [B, T, D]; the labels before are `gold`, or the
        model's own.
        """
        hidden = recurrent(self.encoder, self.vectors(batch), batch.mask)
        keys, near = self.key(hidden), nearness(hidden.shape[1]).to(hidden.device)
        state = torch.tanh(self.begin(mean(hidden, batch.mask)))
        before = torch.full((len(hidden),), _START, device=hidden.device)
        logits, labels, states = [], [], []
        for t in range(hidden.shape[1]):
            context = self._attend(state, keys, hidden, near[t], batch.mask)
            state = self.decoder(torch.cat([self.labels(before), context], -1), state)
            gates = torch.sigmoid(self.gates(torch.cat([state, hidden[:, t]], -1)))
            own, word = gates.chunk(2, -1)
            mixed = own * state + word * hidden[:, t]
            logits.append(self._allowed(self.out(self.dropout(mixed)), before))
            labels.append(logits[-1].argmax(-1))
            states.append(mixed)
            before = labels[-1] if gold is None else gold[:, t]
        return torch.stack(logits, 1), torch.stack(labels, 1), torch.stack(states, 1)

    def _attend(self, state: Tensor, keys: Tensor, hidden: Tensor, near: Tensor, mask: Tensor) -> Tensor:
        score = self.score(torch.tanh(self.query(state)[:, None] + keys)).squeeze(-1) * near
        weight = functional.softmax(score.masked_fill(~mask, -1e4), -1)
        return torch.bmm(weight[:, None], hidden).squeeze(1)

    def _allowed(self, logits: Tensor, before: Tensor) -> Tensor:
        """An I stands behind a B or an I only."""
        barred = (before == OUTSIDE) | (before == _START)
        never = functional.one_hot(torch.full_like(before, BEGIN + 1), logits.shape[-1]) * barred[:, None]
        return logits - 1e4 * never


def nearness(words: int) -> Tensor:
    """[T, T]: how much a word at distance d counts, 1 / log2(2 + d)."""
    place = torch.arange(words)
    return math.log(2) / torch.log(2 + (place[:, None] - place[None]).abs().float())
