"""Masked sequence-to-sequence models and their training on drawn fragments. In: token ids and labels. Out: a trained `Labelled` network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from torch import Tensor, nn

from builder.augment.nets import hub
from builder.augment.nets.seq2seq import EmbeddedCore, HubCore, Labelled, Masked, Shape, loss
from builder.learning.checkpoint import tensor_digest
from builder.learning.encode import batches
from builder.learning.keeping import Schedule, trained
from builder.learning.loop import scope
from builder.learning.pieces import Inventory
from builder.learning.seeds import seed_of
from builder.learning.task import Progress

Draw = Callable[[int], Sequence[Masked]]
"""The examples of an epoch, told its number from 0."""


def embedded(size: int, labels: int, shape: Shape, used: bool, seed: int) -> Labelled:
    """The embedded network with random weights."""
    with scope(1, seed):
        return Labelled(EmbeddedCore(size, shape), labels, used)


def based(source: str, labels: int, used: bool, seed: int) -> tuple[Labelled, hub.HubInventory, str]:
    """Any encoder-decoder of a hub or folder with label embeddings, its tokens, and the digest of its weights."""
    network, inventory = hub.load_seq2seq(source)
    with scope(1, seed):
        labelled = Labelled(HubCore(network), labels, used)
    return labelled, inventory, tensor_digest(dict(network.named_parameters()))


def pad_of(inventory: Inventory) -> int:
    return int(getattr(inventory, "pad", 0))


def train(
    network: Labelled,
    phases: Sequence[tuple[Draw, Sequence[Masked], Schedule]],
    inventory: Inventory,
    seed: int,
    checkpoints: Path,
    key: str,
    progress: Progress | None,
) -> dict[str, float]:
    """Train in phases of (draw, validation examples, schedule): in-domain pre-training, then with labels. Returns scores and epochs."""
    facts: dict[str, float] = {}
    for number, (draw, held, schedule) in enumerate(phases):
        pad, now = pad_of(inventory), list[Masked]()

        def begin(epoch: int, draw: Draw = draw, now: list[Masked] = now) -> list[int]:
            now[:] = draw(epoch)
            return [len(item.source) for item in now]

        def step(chosen: list[int], now: list[Masked] = now, pad: int = pad) -> Tensor:
            return loss(network, [now[i] for i in chosen], pad)

        def check(held: Sequence[Masked] = held, pad: int = pad, budget: int = schedule.batch_tokens) -> float:
            return validation(network, held, pad, budget)

        folder = checkpoints / f"phase{number}"
        done = trained(network, begin, step, check, schedule, seed_of(seed, number), folder, f"{key} {number}", progress)
        facts |= {f"phase{number}_score": done.score, f"phase{number}_epochs": float(len(done.scores))}
    return facts


def validation(network: Labelled, held: Sequence[Masked], pad: int, budget: int) -> float:
    """The mean loss of a token."""
    total = tokens = 0.0
    for batch in batches([len(item.source) for item in held], budget):
        count = sum(len(held[i].target) for i in batch)
        total += float(loss(network, [held[i] for i in batch], pad)) * count
        tokens += count
    return total / max(1.0, tokens)


def parameters(network: nn.Module) -> int:
    """How many numbers a network has."""
    return sum(parameter.numel() for parameter in network.parameters())
