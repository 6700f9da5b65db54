"""Aspect taggers over word vectors: BiLSTM-CRF and DE-CNN.

Shapes: B items, T words, D a width, 3 tags (O, B, I). `tags` gives the tags of each item, `pooled` [B, D] the mean of
what the tag layer reads.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from builder.augment.bench.models.classifier_items import ClassifierConfig
from builder.augment.bench.models.inputs import IGNORED, INSIDE, OUTSIDE, PieceBatch
from builder.augment.bench.models.sentences import recurrent
from builder.augment.bench.models.vectors import Tables
from builder.learning.encode import UNK

TAGS = 3
_NEVER = -1e4


class Vectors(nn.Module):
    """General and domain vectors side by side, [B, T, general + domain]. `freeze` in the config keeps the tables as
    they came.
    """

    def __init__(self, tables: Tables, config: ClassifierConfig) -> None:
        super().__init__()
        self.hidden_share = config.unknown
        self.tables = nn.ModuleList(_table(table, frozen=known and config.freeze) for table, known in tables.weights)
        self.dropout = nn.Dropout(config.dropout)
        self.size = sum(table.shape[1] for table, _ in tables.weights)

    def forward(self, batch: PieceBatch) -> Tensor:
        ids = batch.ids
        if self.training and self.hidden_share:
            ids = torch.where((torch.rand(ids.shape).to(ids.device) < self.hidden_share) & batch.mask, UNK, ids)
        out: Tensor = self.dropout(torch.cat([table(ids) for table in self.tables], -1))
        return out


def _table(vectors: Tensor, frozen: bool) -> nn.Embedding:
    out = nn.Embedding(vectors.shape[0], vectors.shape[1], padding_idx=0)
    out.weight = nn.Parameter(vectors.clone(), requires_grad=not frozen)
    return out


class TagCrf(nn.Module):
    """A linear chain over the tags (Lafferty et al. 2001); an I never stands first nor behind an O."""

    def __init__(self) -> None:
        super().__init__()
        self.move = nn.Parameter(torch.zeros(TAGS, TAGS))
        self.start, self.end = nn.Parameter(torch.zeros(TAGS)), nn.Parameter(torch.zeros(TAGS))
        barred, first = torch.zeros(TAGS, TAGS), torch.zeros(TAGS)
        barred[OUTSIDE, INSIDE] = first[INSIDE] = _NEVER
        self.register_buffer("barred", barred, persistent=False)
        self.register_buffer("first", first, persistent=False)

    def loss(self, scores: Tensor, gold: Tensor, mask: Tensor) -> Tensor:
        """The mean negative log-likelihood of the gold tags; scores [B, T, 3], gold [B, T], mask [B, T]."""
        return (self._total(scores, mask) - self._path(scores, gold.clamp(min=0), mask)).mean()

    def _moves(self) -> Tensor:
        return self.move + self.get_buffer("barred")

    def _total(self, scores: Tensor, mask: Tensor) -> Tensor:
        at = self.start + self.get_buffer("first") + scores[:, 0]
        for t in range(1, scores.shape[1]):
            step = torch.logsumexp(at[:, :, None] + self._moves()[None], 1) + scores[:, t]
            at = torch.where(mask[:, t, None], step, at)
        return torch.logsumexp(at + self.end, -1)

    def _path(self, scores: Tensor, gold: Tensor, mask: Tensor) -> Tensor:
        rows, last = torch.arange(len(gold), device=gold.device), mask.sum(1) - 1
        own = scores.gather(2, gold[..., None]).squeeze(-1) * mask
        moves = self._moves()[gold[:, :-1], gold[:, 1:]] * mask[:, 1:]
        ends = (self.start + self.get_buffer("first"))[gold[:, 0]] + self.end[gold[rows, last]]
        return own.sum(1) + moves.sum(1) + ends

    def best(self, scores: Tensor, mask: Tensor) -> list[list[int]]:
        """Viterbi: the most probable tags of each item."""
        at, back = self.start + self.get_buffer("first") + scores[:, 0], []
        keep = torch.arange(TAGS, device=scores.device).expand(len(scores), TAGS)
        for t in range(1, scores.shape[1]):
            value, index = (at[:, :, None] + self._moves()[None]).max(1)
            at = torch.where(mask[:, t, None], value + scores[:, t], at)
            back.append(torch.where(mask[:, t, None], index, keep))
        tag = (at + self.end).argmax(-1)
        out = [tag]
        for index in reversed(back):
            tag = index.gather(1, tag[:, None]).squeeze(1)
            out.append(tag)
        whole = torch.stack(out[::-1], 1)
        return [row[:n] for row, n in zip(whole.tolist(), mask.sum(1).tolist(), strict=True)]


class BiLstmCrf(nn.Module):
    """A bidirectional LSTM under a CRF (Li et al. 2020, section 4.2.2)."""

    def __init__(self, tables: Tables, classes: int, config: ClassifierConfig) -> None:
        super().__init__()
        self.vectors = Vectors(tables, config)
        self.lstm = nn.LSTM(self.vectors.size, config.width, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(config.dropout)
        self.out, self.crf = nn.Linear(2 * config.width, classes), TagCrf()

    def states(self, batch: PieceBatch) -> Tensor:
        return recurrent(self.lstm, self.vectors(batch), batch.mask)

    def loss(self, batch: PieceBatch) -> Tensor:
        return self.crf.loss(self.out(self.dropout(self.states(batch))), batch.gold, batch.mask)

    def tags(self, batch: PieceBatch) -> list[list[int]]:
        return self.crf.best(self.out(self.states(batch)), batch.mask)

    def pooled(self, batch: PieceBatch) -> Tensor:
        return mean(self.states(batch), batch.mask)


class DeCnn(nn.Module):
    """DE-CNN (Xu et al. 2018): general and domain vectors, one layer of filters of sizes 5 and 3, three of size 5, a
    tag per word.
    """

    def __init__(self, tables: Tables, classes: int, config: ClassifierConfig) -> None:
        super().__init__()
        self.vectors = Vectors(tables, config)
        wide = 2 * config.width
        self.enter = nn.ModuleList(
            nn.Conv1d(self.vectors.size, config.width, size, padding=size // 2) for size in (5, 3)
        )
        self.layers = nn.ModuleList(nn.Conv1d(wide, wide, 5, padding=2) for _ in range(3))
        self.dropout, self.out = nn.Dropout(config.dropout), nn.Linear(wide, classes)

    def states(self, batch: PieceBatch) -> Tensor:
        mask = batch.mask[:, None]
        x = self.vectors(batch).transpose(1, 2) * mask
        x = functional.relu(torch.cat([layer(x) for layer in self.enter], 1)) * mask
        for layer in self.layers:
            x = functional.relu(layer(self.dropout(x))) * mask
        return x.transpose(1, 2)

    def loss(self, batch: PieceBatch) -> Tensor:
        return tag_loss(self.out(self.states(batch)), batch.gold)

    def tags(self, batch: PieceBatch) -> list[list[int]]:
        return most_probable(self.out(self.states(batch)), batch.words)

    def pooled(self, batch: PieceBatch) -> Tensor:
        return mean(self.states(batch), batch.mask)


def tag_loss(logits: Tensor, gold: Tensor) -> Tensor:
    """Cross entropy over the words there are."""
    return functional.cross_entropy(logits.transpose(1, 2), gold, ignore_index=IGNORED)


def most_probable(logits: Tensor, mask: Tensor) -> list[list[int]]:
    """The best tag of every word alone."""
    return [row[:n] for row, n in zip(logits.argmax(-1).tolist(), mask.sum(1).tolist(), strict=True)]


def mean(states: Tensor, mask: Tensor) -> Tensor:
    """[B, D]: the mean over the words there are."""
    return (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)
