"""Networks that say what may stand at a place of a sentence, given the rest of it and labels of its tokens.

Three of a kind, `logits(blanks)` [N, V] for the N places of a batch: `EmbeddedCloze`, a Transformer encoder;
`HubCloze`, a BERT whose segment embeddings became label embeddings (Wu et al. 2019, section 3.2); `LstmCloze`, the
bidirectional LSTM language model of Kobayashi (2018), which reads up to a place from either side.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from builder.augment.nets.transformer import EncoderLayer, begun, padded
from builder.core.errors import ModelError
from builder.learning.devices import device_of, place


@dataclass(frozen=True, slots=True)
class Blank:
    """A sentence with masks: token ids, a label each, the places asked for, and what was due there."""

    ids: tuple[int, ...]
    labels: tuple[int, ...]
    places: tuple[int, ...]
    due: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Blanks:
    """A batch: ids, labels, seen [B, T]; row and column of each place [N]."""

    ids: Tensor
    labels: Tensor
    seen: Tensor
    row: Tensor
    column: Tensor


def collate(items: Sequence[Blank], pad: int, around: tuple[Sequence[int], Sequence[int]] = ((), ())) -> Blanks:
    """`around`: special tokens before and behind, with the labels of the tokens beside them."""
    head, tail = map(list, around)
    rows = [[*head, *item.ids, *tail] for item in items]
    labels = [[*item.labels[:1] * len(head), *item.labels, *item.labels[-1:] * len(tail)] for item in items]
    ids = padded(rows, pad)
    seen = torch.arange(ids.shape[1])[None] < torch.tensor([len(row) for row in rows])[:, None]
    row = [n for n, item in enumerate(items) for _ in item.places]
    column = [at + len(head) for item in items for at in item.places]
    return Blanks(
        ids, padded(labels), seen, torch.tensor(row, dtype=torch.long), torch.tensor(column, dtype=torch.long)
    )


class Cloze(nn.Module, ABC):
    """What the three have in common. `around` and `pad` say how sentences become batches; `longest` how many tokens
    one may have; `label_weights` is the name of the label embeddings among the weights.
    """

    around: tuple[Sequence[int], Sequence[int]] = ((), ())
    pad = 0
    longest = 512
    label_weights = "labels.weight"

    @abstractmethod
    def logits(self, batch: Blanks) -> Tensor:
        """[N, V] for the N places of a batch."""

    def log_probabilities(self, items: Sequence[Blank]) -> Tensor:
        """Log-probabilities [N, V] of all places of the items, in order."""
        return torch.log_softmax(self.logits(self._batch(items)).float(), -1)

    def loss(self, items: Sequence[Blank]) -> Tensor:
        """The mean over all places of -log p(due)."""
        logits = self.logits(self._batch(items))
        due = torch.tensor([i for item in items for i in item.due], device=logits.device)
        return functional.cross_entropy(logits.float(), due)

    def _batch(self, items: Sequence[Blank]) -> Blanks:
        return place(collate(items, self.pad, self.around), device_of(self))


class EmbeddedCloze(Cloze):
    """A Transformer encoder whose input sums token, position and label embeddings; the output is tied to the tokens.
    Labels begin at nothing.
    """

    def __init__(self, size: int, labels: int, width: int, heads: int, layers: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.positions, self.labels = nn.Embedding(self.longest, width), nn.Embedding(labels, width)
        self.layers = nn.ModuleList(EncoderLayer(width, heads, dropout) for _ in range(layers))
        self.norm, self.turn, self.dropout = nn.LayerNorm(width), nn.Linear(width, width), nn.Dropout(dropout)
        self.bias = nn.Parameter(torch.zeros(size))
        self.tokens = nn.Embedding(size, width)
        begun(self)
        nn.init.zeros_(self.labels.weight)

    def states(self, embedded: Tensor, labels: Tensor, seen: Tensor) -> Tensor:
        x = self.dropout(embedded + self.labels(labels) + self.positions.weight[: labels.shape[1]])
        for layer in self.layers:
            x = layer(x, seen[:, None, None, :])
        out: Tensor = self.norm(x)
        return out

    def logits(self, batch: Blanks) -> Tensor:
        states = self.states(self.tokens(batch.ids), batch.labels, batch.seen)[batch.row, batch.column]
        return functional.linear(functional.gelu(self.turn(states)), self.tokens.weight, self.bias)


class HubCloze(Cloze):
    """A masked language model of transformers. Its segment embeddings are replaced by one embedding a label, each
    beginning as that of segment A.
    """

    def __init__(
        self, network: Any, labels: int, around: tuple[Sequence[int], Sequence[int]], pad: int, source: str
    ) -> None:
        super().__init__()
        embeddings: Any = getattr(network.base_model, "embeddings", None)
        old = getattr(embeddings, "token_type_embeddings", None)
        if old is None:
            raise ModelError(
                f"a {network.config.model_type!r} model has no segment embeddings that labels could replace",
                where=source,
                fix="use a BERT",
            )
        new = nn.Embedding(labels, old.weight.shape[1])
        with torch.no_grad():
            new.weight.copy_(old.weight[:1].expand(labels, -1))
        embeddings.token_type_embeddings = new
        network.config.type_vocab_size = labels
        self.network, self.around, self.pad = network, around, pad
        self.longest = int(getattr(network.config, "max_position_embeddings", 512)) - 4
        self.label_weights = f"network.{network.base_model_prefix}.embeddings.token_type_embeddings.weight"

    def logits(self, batch: Blanks) -> Tensor:
        output = self.network(input_ids=batch.ids, attention_mask=batch.seen.long(), token_type_ids=batch.labels)
        out: Tensor = output.logits[batch.row, batch.column]
        return out


class LstmCloze(Cloze):
    """A forward and a backward LSTM; at a place, the state before it, the state behind it and the label's embedding
    give the word's distribution.
    """

    def __init__(self, size: int, labels: int, width: int, dropout: float = 0.2) -> None:
        super().__init__()
        self.forwards, self.backwards = (nn.LSTM(width, width, batch_first=True) for _ in range(2))
        self.labels = nn.Embedding(labels, width)
        self.mix, self.dropout = nn.Linear(3 * width, width), nn.Dropout(dropout)
        self.bias = nn.Parameter(torch.zeros(size))
        self.tokens = nn.Embedding(size, width)
        begun(self)
        nn.init.zeros_(self.labels.weight)

    def logits(self, batch: Blanks) -> Tensor:
        x = self.dropout(self.tokens(batch.ids))
        lengths = batch.seen.sum(1)
        ahead = functional.pad(self.forwards(x)[0], (0, 0, 1, 0))  # [:, t]: what stands before t
        turned = self._turned(x, lengths)
        behind = functional.pad(self.backwards(turned)[0], (0, 0, 1, 0))
        at = lengths[batch.row] - 1 - batch.column  # the place, counted from the end
        both = [
            ahead[batch.row, batch.column],
            behind[batch.row, at],
            self.labels(batch.labels[batch.row, batch.column]),
        ]
        mixed = torch.tanh(self.mix(self.dropout(torch.cat(both, -1))))
        return functional.linear(mixed, self.tokens.weight, self.bias)

    @staticmethod
    def _turned(x: Tensor, lengths: Tensor) -> Tensor:
        """Every row's tokens in reverse, padding still behind."""
        at = (lengths[:, None] - 1 - torch.arange(x.shape[1], device=x.device)[None]) % x.shape[1]
        return x.gather(1, at[:, :, None].expand_as(x))
