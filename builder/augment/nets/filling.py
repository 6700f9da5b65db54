"""Filling blanks: training a cloze network, and putting sampled or best tokens in place of words.

In: `Fill`s, a sentence with the steps in which its places are predicted. Out: the token of every place. A whole
word's tokens are predicted one after the other, each seeing those before; words beside each other at once. Sampling
adds Gumbel noise drawn for the item and the place, so that the choice is a maximum with a margin (see `beam`) and an
item's outcome depends on it alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from builder.augment.nets.beam import banned, rounded, settled
from builder.augment.nets.cloze import Blank, Cloze, EmbeddedCloze, HubCloze, LstmCloze
from builder.augment.nets.hub import MASKED, HubInventory
from builder.augment.nets.hub import load as load_hub
from builder.learning.checkpoint import tensor_digest
from builder.learning.loop import scope
from builder.learning.obtain import Measure, Phase, TrainingRun, train_phases
from builder.learning.pieces import Inventory
from builder.learning.task import Progress

Choice = tuple[dict[int, int], float]
"""The new token of every place, and the sum of their log-probabilities."""


@dataclass(frozen=True, slots=True)
class Fill:
    """`steps`: (places predicted now, places masked meanwhile). `other`: places whose new token must not be the old
    one. `temperature` 0 takes the best.
    """

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
    """Any BERT of a hub or folder, its tokens, and the digest of its weights; `new_head`: one without a head for masked
    words gets a new one. ModelError for another kind of model.
    """
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
    network: Cloze,
    items: Sequence[Fill],
    inventory: Inventory,
    batch: int,
    threads: int,
    progress: Progress | None = None,
) -> Iterator[tuple[int, Choice]]:
    """(index, choice) of every item, in batches of like length."""
    never, glued = banned(inventory.size, (*inventory.never, *inventory.marks)), _glued(inventory)
    order = sorted(range(len(items)), key=lambda i: (len(items[i].ids), i))
    cuts = [order[at : at + batch] for at in range(0, len(order), batch)]
    network.eval()
    with scope(threads), torch.inference_mode():
        for done, out in enumerate(
            settled(items, cuts, lambda chosen: _filled(network, chosen, inventory.mask, never, glued)), start=1
        ):
            yield out
            if progress:
                progress(done, len(items), "writing")


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
    """Which tokens go on with the word before them: a place keeps its kind, so that words neither run together nor
    fall apart.
    """
    flags = getattr(inventory, "glued", None)
    return None if flags is None else torch.tensor(flags)
