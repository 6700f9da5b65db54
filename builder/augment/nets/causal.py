"""Causal language models that write on: an embedded Transformer decoder, or any of a hub (GPT-2 and its like).

In: prefixes with what follows them, or prefixes alone. Out: a network trained on log p(S | C_X) (Li et al. 2020,
appendix A, equation 8), or the beams that a prefix goes on with. Prefixes are written on in batches of one length, so
that nothing is padded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from builder.augment.nets.beam import Beams, SearchRows, SearchRules, SearchSize, search, settled
from builder.augment.nets.hub import CAUSAL, HubInventory, inventory
from builder.augment.nets.hub import load as load_hub
from builder.augment.nets.seq2seq import IGNORED
from builder.augment.nets.transformer import DecoderLayer, begun, padded
from builder.learning.checkpoint import tensor_digest
from builder.learning.devices import choose, device_of
from builder.learning.encode import batches
from builder.learning.loop import scope
from builder.learning.obtain import Measure, Phase, Schedule, TrainingRun, train_phase
from builder.learning.task import Progress, seed_of

_ROOM = 4096
"""Tokens of a batch that is only read."""


@dataclass(frozen=True, slots=True)
class Continuation:
    """C_X, and S with its end mark."""

    prefix: tuple[int, ...]
    follows: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.prefix) + len(self.follows)


@dataclass(frozen=True, slots=True)
class Opening:
    """A prefix to write on: `least` to `most` tokens before the end mark."""

    prefix: tuple[int, ...]
    least: int
    most: int


class EmbeddedCausal(nn.Module):
    """A Transformer decoder without an encoder; the output is tied to the tokens."""

    longest = 512

    def __init__(self, size: int, width: int, heads: int, layers: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.positions = nn.Embedding(self.longest, width)
        self.layers = nn.ModuleList(DecoderLayer(width, heads, dropout, crossed=False) for _ in range(layers))
        self.norm, self.dropout = nn.LayerNorm(width), nn.Dropout(dropout)
        self.bias = nn.Parameter(torch.zeros(size))
        self.tokens = nn.Embedding(size, width)
        begun(self)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits [B, S, V] of what follows each token; padding stands behind and is not seen by what is before."""
        x = self.dropout(self.tokens(ids) + self.positions.weight[: ids.shape[1]])
        for layer in self.layers:
            x = layer(x, None, None)
        return functional.linear(self.norm(x), self.tokens.weight, self.bias)

    def read(self, ids: Tensor, state: list[Any]) -> Tensor:
        """Log-probabilities [N, V] of what follows the last of `ids` [N, S], behind what `state` remembers."""
        done = 0 if not state else state[0][0].shape[2]
        x = self.tokens(ids) + self.positions.weight[done : done + ids.shape[1]]
        mask = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool, device=ids.device).tril() if not state else None
        past = state[:] or [None] * len(self.layers)
        for i, layer in enumerate(self.layers):
            x, past[i] = layer.step(x, past[i], None, None, mask)  # type: ignore[operator]
        state[:] = past
        return torch.log_softmax(functional.linear(self.norm(x[:, -1]), self.tokens.weight, self.bias).float(), -1)

    def select(self, rows: Tensor, state: list[Any]) -> None:
        state[:] = [(keys[rows], values[rows]) for keys, values in state]


class HubCausal(nn.Module):
    """A causal language model of transformers behind the same words."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network
        self.longest = int(getattr(network.config, "max_position_embeddings", 512))

    def forward(self, ids: Tensor) -> Tensor:
        out: Tensor = self.network(input_ids=ids, use_cache=False).logits
        return out

    def read(self, ids: Tensor, state: list[Any]) -> Tensor:
        output = self.network(input_ids=ids, past_key_values=state[0] if state else None, use_cache=True)
        state[:] = [output.past_key_values]
        return torch.log_softmax(output.logits[:, -1].float(), -1)

    def select(self, rows: Tensor, state: list[Any]) -> None:
        state[0].batch_select_indices(rows)


Causal = EmbeddedCausal | HubCausal


def embedded(size: int, width: int, layers: int, seed: int) -> EmbeddedCausal:
    """An untrained embedded decoder; the same seed gives the same weights."""
    with scope(1, seed):
        return EmbeddedCausal(size, width, 4, layers)


def based(source: str, marks: Sequence[str], seed: int) -> tuple[HubCausal, HubInventory, str]:
    """Any causal language model of a hub or folder, with `marks` among its tokens, and the digest of its weights
    before that.
    """
    network, known = load_hub(source, CAUSAL)
    digest = tensor_digest(dict(network.named_parameters()))
    tokenizer = known.tokenizer
    tokenizer.add_tokens(list(marks), special_tokens=True)
    with scope(1, seed):
        network.resize_token_embeddings(max(len(tokenizer), known.size), mean_resizing=False)
    return HubCausal(network), inventory(network, tokenizer, source, masks=False), digest


def loss(network: Causal, items: Sequence[Continuation]) -> Tensor:
    """Equation 8 as a mean over the tokens of S."""
    device = device_of(network)
    ids = padded([[*item.prefix, *item.follows] for item in items]).to(device)
    due = padded([[*[IGNORED] * (len(item.prefix) - 1), *item.follows, IGNORED] for item in items], IGNORED).to(device)
    return functional.cross_entropy(network(ids).flatten(0, 1).float(), due.flatten(), ignore_index=IGNORED)


def train(
    network: Causal, items: Sequence[Continuation], held: Sequence[Continuation], schedule: Schedule, run: TrainingRun
) -> dict[str, float]:
    """Train on `items`, all as often as each other, until the loss on `held` no longer falls."""
    whole = list(items) * max(1, -(-schedule.least // len(items)))
    measure: Measure[Continuation] = Measure(lambda chosen: loss(network, chosen), len, lambda item: len(item.follows))
    done = train_phase(
        network, Phase(lambda epoch: whole, held, schedule), measure, replace(run, seed=seed_of(run.seed, "causal"))
    )
    return {"score": done.score, "epochs": float(len(done.scores))}


def measure_perplexity(source: str, threads: int, device: str, texts: Sequence[str]) -> float | None:
    """The perplexity of a causal language model of a hub or folder over the tokens of all texts but the first of each,
    which nothing precedes; None where there is none to ask for.
    """
    network, known = load_hub(source, CAUSAL)
    place = choose(device)
    network.to(place).eval()
    longest = int(getattr(network.config, "max_position_embeddings", 512))
    cut = [known.tokenizer(text, add_special_tokens=False).input_ids[:longest] for text in texts]
    ids = [row for row in cut if len(row) > 1]
    total = number = 0.0
    with scope(threads), torch.inference_mode():
        for chosen in batches([len(row) for row in ids], _ROOM):
            shown = padded([ids[i] for i in chosen]).to(place)
            due = padded([[*ids[i][1:], IGNORED] for i in chosen], IGNORED).to(place)
            logits = network(input_ids=shown).logits
            total += float(functional.cross_entropy(logits.flatten(0, 1), due.flatten(), reduction="sum"))
            number += sum(len(ids[i]) - 1 for i in chosen)
    return round(math.exp(total / number), 1) if number else None


class _CausalSteps:
    """The network as a Stepper: it reads the prefixes at once, then one token of every beam."""

    def __init__(self, network: Causal, items: Sequence[Opening], width: int) -> None:
        self.network, self.width = network, width
        self.state: list[Any] = []
        self.prefixes = torch.tensor([item.prefix for item in items], device=device_of(network))

    def __call__(self, last: Tensor, step: int) -> Tensor:
        if step:
            return self.network.read(last[:, None], self.state)
        scores = self.network.read(self.prefixes, self.state)
        rows = torch.arange(len(self.prefixes), device=scores.device).repeat_interleave(self.width)
        self.network.select(rows, self.state)
        return scores[rows]

    def reorder(self, beams: Tensor) -> None:
        self.network.select(beams, self.state)


def write(
    network: Causal,
    items: Sequence[Opening],
    rules: SearchRules,
    size: SearchSize,
    progress: Progress | None = None,
) -> Iterator[tuple[int, Beams]]:
    """(index, beams) of every opening. Sequences end with the end mark of `rules`, after at most `most` tokens."""
    assert rules.end is not None, "openings are written on up to an end mark"
    end, rules = rules.end, replace(rules, never=rules.never.to(device_of(network)))
    order = sorted(range(len(items)), key=lambda i: (len(items[i].prefix), items[i].most, i))
    batches: list[list[int]] = []
    for _, group in groupby(order, key=lambda i: len(items[i].prefix)):
        same = list(group)
        batches += [same[at : at + size.batch] for at in range(0, len(same), size.batch)]
    network.eval()

    def work(chosen: list[Opening]) -> list[tuple[Beams, float]]:
        rows = SearchRows(
            begin=[item.prefix[-1] for item in chosen],
            lengths=[item.most + 1 for item in chosen],
            forced=[(*[-1] * item.most, end) for item in chosen],
            least=[item.least for item in chosen],
        )
        steps = _CausalSteps(network, chosen, size.width)
        return [(beams, beams.margin) for beams in search(steps, rows, rules, size.width)]

    with scope(size.threads), torch.inference_mode():
        for done, out in enumerate(settled(items, batches, work), start=1):
            yield out
            if progress:
                progress(done, len(items), "writing")
