"""Networks that say what may stand at a place of a sentence, given the rest of it and labels of its tokens:
`EmbeddedCloze`, a Transformer encoder; `HubCloze`, a BERT whose segment embeddings became label embeddings (Wu et al.
2019, section 3.2); `LstmCloze`, the bidirectional LSTM language model of Kobayashi (2018).

Filling blanks: a word's tokens are predicted one after the other, each seeing those before; words at once. Sampling
adds Gumbel noise drawn for the item and the place: a choice is a maximum with a margin (see `beam`) and depends on the
item alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from builder.augment.nets.bases import HubInventory
from builder.augment.nets.bases import load as load_hub
from builder.augment.nets.beam import banned, in_batches, rounded, settled
from builder.augment.nets.transformer import EncoderLayer, begun, padded, turned_round
from builder.core.errors import ModelError
from builder.learning.checkpoint import tensor_digest
from builder.learning.devices import device_of, place
from builder.learning.hub import MASKED
from builder.learning.loop import scope
from builder.learning.obtain import Measure, Phase, TrainingRun, train_phases
from builder.learning.pieces import Inventory
from builder.learning.task import Progress

# ---- The network


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
    """What the three share: tokens `around` a sentence, `longest` ones, and where its label embeddings are."""

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
    """A Transformer encoder over token, position and label embeddings, its output tied to the tokens."""

    def __init__(self, size: int, labels: int, width: int, heads: int, layers: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.positions, self.labels = nn.Embedding(self.longest, width), nn.Embedding(labels, width)
        self.layers = nn.ModuleList(EncoderLayer(width, heads, dropout) for _ in range(layers))
        self.norm, self.turn, self.dropout = nn.LayerNorm(width), nn.Linear(width, width), nn.Dropout(dropout)
        self.bias = nn.Parameter(torch.zeros(size))
        self.tokens = nn.Embedding(size, width)
        begun(self)
        nn.init.zeros_(self.labels.weight)

    def _states(self, batch: Blanks) -> Tensor:
        """States [B, T, D] of tokens, where there are some, under their labels."""
        places = torch.arange(batch.ids.shape[1], device=batch.ids.device).clamp(max=self.longest - 1)
        x = self.dropout(self.tokens(batch.ids) + self.labels(batch.labels) + self.positions(places))
        for layer in self.layers:
            x = layer(x, batch.seen[:, None, None, :])
        out: Tensor = self.norm(x)
        return out

    def logits(self, batch: Blanks) -> Tensor:
        states = self._states(batch)[batch.row, batch.column]
        return functional.linear(functional.gelu(self.turn(states)), self.tokens.weight, self.bias)


class HubCloze(Cloze):
    """A masked language model of transformers, with an embedding a label in place of those of segments."""

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
    """The states of two LSTMs, before a place and behind it, and its label's embedding give the word there."""

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
        behind = functional.pad(self.backwards(turned_round(x, lengths))[0], (0, 0, 1, 0))
        at = lengths[batch.row] - 1 - batch.column  # the place, counted from the end
        both = [
            ahead[batch.row, batch.column],
            behind[batch.row, at],
            self.labels(batch.labels[batch.row, batch.column]),
        ]
        mixed = torch.tanh(self.mix(self.dropout(torch.cat(both, -1))))
        return functional.linear(mixed, self.tokens.weight, self.bias)


# ---- Filling masks

Choice = tuple[dict[int, int], float]
"""The new token of every place, and the sum of their log-probabilities."""


@dataclass(frozen=True, slots=True)
class Fill:
    """`steps`: (places predicted now, places masked meanwhile); `other`: places that need a new token."""

    ids: tuple[int, ...]
    labels: tuple[int, ...]
    steps: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    other: frozenset[int]
    seed: int
    temperature: float = 1.0


def embedded(size: int, labels: int, width: int, layers: int, seed: int) -> Cloze:
    """An untrained embedded Transformer; the same seed gives the same weights."""
    with scope(1, seed):
        return EmbeddedCloze(size, labels, width, 4, layers)


def take_over(network: Cloze, plain: Cloze) -> None:
    """Give `network` the weights of one with a single label; every label begins as that one."""
    weights, own = plain.state_dict(), network.state_dict()
    by_label = network.label_weights
    weights[by_label] = weights[by_label].expand_as(own[by_label])
    network.load_state_dict(weights)


def lstm(size: int, labels: int, width: int, seed: int) -> Cloze:
    """An untrained LSTM language model; the same seed gives the same weights."""
    with scope(1, seed):
        return LstmCloze(size, labels, width)


def based(source: str, labels: int, seed: int, new_head: bool = False) -> tuple[Cloze, HubInventory, str]:
    """Any BERT of a hub or folder, its tokens, and the digest of its weights; `new_head`: its head may be missing."""
    network, inventory = load_hub(source, MASKED, new_head)
    digest = tensor_digest(dict(network.named_parameters()))
    tokenizer = inventory.tokenizer
    around = tuple([i] if i is not None else [] for i in (tokenizer.cls_token_id, tokenizer.sep_token_id))
    with scope(1, seed):
        return HubCloze(network, labels, (around[0], around[1]), inventory.pad, source), inventory, digest


def train(network: Cloze, phases: Sequence[Phase[Blank]], run: TrainingRun) -> dict[str, float]:
    """Train in phases; a place that is asked for counts as one. Returns scores and epochs."""
    measure: Measure[Blank] = Measure(network.loss, lambda item: len(item.ids), lambda item: len(item.places))
    return train_phases(network, phases, measure, run)


def fill(
    network: Cloze, items: Sequence[Fill], inventory: Inventory, threads: int = 1, progress: Progress | None = None
) -> Iterator[tuple[int, Choice]]:
    """(index, choice) of every item, in batches of like length."""
    never, glued = banned(inventory.size, (*inventory.never, *inventory.marks)), _glued(inventory)
    cuts = in_batches(sorted(range(len(items)), key=lambda i: (len(items[i].ids), i)))
    network.eval()

    def work(chosen: list[Fill]) -> list[tuple[Choice, float]]:
        return _filled(network, chosen, inventory.mask, never, glued)

    with scope(threads), torch.inference_mode():
        yield from settled(items, cuts, work, progress)


def _filled(
    network: Cloze, items: Sequence[Fill], mask: int, never: Tensor, glued: Tensor | None
) -> list[tuple[Choice, float]]:
    ids = [list(item.ids) for item in items]
    totals, margins = [0.0] * len(items), [float("inf")] * len(items)
    for number in range(max(len(item.steps) for item in items)):
        blanks, owners = [], []
        for n, item in enumerate(items):
            if number < len(item.steps):
                places, hidden = item.steps[number]
                shown = tuple(mask if at in hidden else i for at, i in enumerate(ids[n]))
                blanks.append(Blank(shown, item.labels, places))
                owners += [(n, at) for at in places]
        scores = network.log_probabilities(blanks).cpu()
        for row, (n, at) in zip(scores, owners, strict=True):
            chosen, margin = _chosen(row, items[n], at, never, glued)
            ids[n][at] = chosen
            totals[n] += float(row[chosen])
            margins[n] = min(margins[n], margin)
    out = []
    for n, item in enumerate(items):
        score, edge = rounded(totals[n])
        new = {at: ids[n][at] for places, _ in item.steps for at in places}
        out.append(((new, score), min(margins[n], edge)))
    return out


def _chosen(log_p: Tensor, item: Fill, at: int, never: Tensor, glued: Tensor | None) -> tuple[int, float]:
    """The token at a place and by how much it won."""
    scores = log_p + never
    if glued is not None:
        scores = torch.where(glued == glued[item.ids[at]], scores, float("-inf"))
    if item.temperature:
        uniform = np.random.Generator(np.random.PCG64([item.seed, at])).random(len(log_p))
        noise = -np.log(-np.log(np.clip(uniform, 1e-12, 1 - 1e-12)))  # Gumbel: the maximum is a draw from the softmax
        scores = scores / item.temperature + torch.from_numpy(noise).float()
    if at in item.other:
        scores[item.ids[at]] = float("-inf")
    best = scores.topk(2)
    margin = float(best.values[0] - best.values[1])
    return int(best.indices[0]), margin if margin == margin else 0.0


def _glued(inventory: Inventory) -> Tensor | None:
    """Which tokens go on with the word before: a place keeps its kind, so that words stay words."""
    flags = getattr(inventory, "glued", None)
    return None if flags is None else torch.tensor(flags)
