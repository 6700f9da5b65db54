"""Masked sequence-to-sequence models: training on drawn fragments, and writing new ones with beam search.

In: token ids and labels. Out: a trained `Labelled` network; for a masked sentence the beams that fit its labels: forced tokens stay, every other
position gets one token, so that the label sequence is that of the source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from builder.model.augment import hub
from builder.model.augment.beam import Barred, Found, banned, search, settled
from builder.model.augment.keeping import Schedule, trained
from builder.model.augment.pieces import Inventory, own_marks
from builder.model.augment.seq2seq import EmbeddedCore, HubCore, Labelled, Masked, Shape, collate, loss
from builder.model.checkpoint import tensor_digest
from builder.model.encode import batches
from builder.model.network import seed_of
from builder.model.task import Progress
from builder.model.training import scope

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


def trimmed(item: Masked, mask: int) -> Masked:
    """The fragment without the forced tokens at its ends: the same masked sentence, and nothing to search for there."""
    free = [i for i in range(item.start, item.start + len(item.target)) if item.source[i] == mask]
    if not free:
        return replace(item, target=())
    first, end = free[0], free[-1] + 1
    start = item.start
    whole = item.source[first - 1] if first > start else item.previous
    before = item.labels[first - 1] if first else 0
    return replace(item, start=first, target=item.target[first - start : end - start], previous=whole, before=before)


@dataclass(frozen=True, slots=True)
class Writing:
    """How fragments are written. `beams`: the width of the search; `batch` sentences at once; `barred`: see `search`; `never`: more tokens that
    are not written."""

    beams: int = 5
    batch: int = 64
    threads: int = 2
    barred: Barred = field(default_factory=dict)
    never: Sequence[int] = ()


class _Steps:
    """The network as a Stepper: it remembers the state and tells each step the labels around it."""

    def __init__(self, network: Labelled, items: Sequence[Masked], pad: int, width: int) -> None:
        rows = collate(items, pad)
        self.network, self.due = network, rows.due.repeat_interleave(width, 0)
        self.before = rows.before.repeat_interleave(width, 0)
        self.state: list[Any] = network.core.remember(network.encode(rows), rows.seen, rows.start, width)

    def __call__(self, last: Tensor, step: int) -> Tensor:
        return self.network.step(last, self.before[:, step], self.due[:, step], self.state)

    def reorder(self, beams: Tensor) -> None:
        self.network.core.reorder(self.state, beams)


def write(
    network: Labelled, items: Sequence[Masked], inventory: Inventory, writing: Writing, progress: Progress | None = None
) -> Iterator[tuple[int, Found]]:
    """(index, beams) of every item, in batches of like length; the tokens are those of the item's whole target. An item's beams depend on it alone."""
    mask, pad = inventory.mask, pad_of(inventory)
    short = [trimmed(item, mask) for item in items]
    never = banned(inventory.size, (*inventory.never, *writing.never))
    order = sorted((i for i in range(len(items)) if short[i].target), key=lambda i: (len(short[i].target), len(short[i].source), i))
    cuts = [order[at : at + writing.batch] for at in range(0, len(order), writing.batch)]
    network.eval()

    def work(batch: list[Masked]) -> list[tuple[Found, float]]:
        forced = [[-1 if item.source[item.start + t] == mask else i for t, i in enumerate(item.target)] for item in batch]
        steps = _Steps(network, batch, pad, writing.beams)
        begin, lengths = [item.previous for item in batch], [len(item.target) for item in batch]
        behind, marks = list(map(_behind, batch)), own_marks(inventory)
        found = search(steps, begin, lengths, forced, writing.beams, never, marks=marks, behind=behind, barred=writing.barred)
        return [(one, one.margin) for one in found]

    with scope(writing.threads), torch.inference_mode():
        for done, (i, found) in enumerate(settled(short, cuts, work), start=1):
            yield i, _whole(items[i], short[i], found)
            if progress:
                progress(done, len(order), "writing")


def _behind(item: Masked) -> int:
    """The token behind the fragment."""
    end = item.start + len(item.target)
    return item.source[end] if end < len(item.source) else -1


def _whole(item: Masked, short: Masked, found: Found) -> Found:
    """Beams of the trimmed fragment with the forced tokens around it again."""
    at = short.start - item.start
    head, tail = item.target[:at], item.target[at + len(short.target) :]
    return Found(tuple(((*head, *said, *tail), score) for said, score in found.sequences), found.margin)


def parameters(network: nn.Module) -> int:
    """How many numbers a network has."""
    return sum(parameter.numel() for parameter in network.parameters())
