"""Writing fragments anew: beam search by a masked sequence-to-sequence model.

In: masked sentences. Out: for each the beams that fit its labels: forced tokens stay, every other position gets one
token, so that the label sequence is that of the source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from builder.augment.nets.beam import Barred, Beams, Pairs, SearchRows, SearchRules, banned, search, settled
from builder.augment.nets.fragments import pad_of
from builder.augment.nets.seq2seq import LabelledSeq2Seq, MaskedSentence, collate
from builder.learning.devices import device_of, place
from builder.learning.loop import scope
from builder.learning.pieces import Inventory, own_marks
from builder.learning.task import Progress


def trimmed(item: MaskedSentence, mask: int) -> MaskedSentence:
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
    """How fragments are written. `beams`: the width of the search; `batch` sentences at once; `barred`, `pairs`: see
    `SearchRules`; `never`: more tokens that are not written.
    """

    beams: int = 5
    batch: int = 64
    threads: int = 2
    barred: Barred = field(default_factory=dict)
    never: Sequence[int] = ()
    pairs: Pairs | None = None


def pairs(texts: Iterable[Sequence[int]], inventory: Inventory, least: int) -> Pairs:
    """Which tokens stand beside each other in texts `least` times; tokens that are none of a text do beside all."""
    size = inventory.size
    beside = torch.tensor([first * size + second for ids in texts for first, second in pairwise(ids)], dtype=torch.long)
    places, counts = torch.unique(beside, return_counts=True)
    out = torch.zeros(size * size, dtype=torch.bool).index_fill(0, places[counts >= least], True).view(size, size)
    out[list(inventory.never)] = True
    out[:, list(inventory.never)] = True
    return out


class _Steps:
    """The network as a Stepper: it remembers the state and tells each step the labels around it."""

    def __init__(self, network: LabelledSeq2Seq, items: Sequence[MaskedSentence], pad: int, width: int) -> None:
        rows = place(collate(items, pad), device_of(network))
        self.network, self.due = network, rows.due.repeat_interleave(width, 0)
        self.before = rows.before.repeat_interleave(width, 0)
        self.state: list[Any] = network.core.remember(network.encode(rows), rows.seen, rows.start, width)

    def __call__(self, last: Tensor, step: int) -> Tensor:
        return self.network.step(last, self.before[:, step], self.due[:, step], self.state)

    def reorder(self, beams: Tensor) -> None:
        self.network.core.reorder(self.state, beams)


def write(
    network: LabelledSeq2Seq,
    items: Sequence[MaskedSentence],
    inventory: Inventory,
    writing: Writing,
    progress: Progress | None = None,
    free: Sequence[Set[int]] = (),
) -> Iterator[tuple[int, Beams]]:
    """(index, beams) of every item, in batches of like length; the tokens are those of the item's whole target. An
    item's beams depend on it alone, and on what of `barred` is `free` in it.
    """
    mask, pad, marks = inventory.mask, pad_of(inventory), own_marks(inventory)
    short = [trimmed(item, mask) for item in items]
    device = device_of(network)
    never = banned(inventory.size, (*inventory.never, *writing.never)).to(device)
    beside = None if writing.pairs is None else writing.pairs.to(device)
    rules = SearchRules(never, marks=marks, barred=writing.barred, pairs=beside)
    order = sorted(
        (i for i in range(len(items)) if short[i].target), key=lambda i: (len(short[i].target), len(short[i].source), i)
    )
    cuts = [order[at : at + writing.batch] for at in range(0, len(order), writing.batch)]
    network.eval()

    def work(batch: list[tuple[MaskedSentence, Set[int]]]) -> list[tuple[Beams, float]]:
        short_items, allowed = [item for item, _ in batch], [numbers for _, numbers in batch]
        forced = [
            [-1 if item.source[item.start + t] == mask else i for t, i in enumerate(item.target)]
            for item in short_items
        ]
        begin, lengths = [item.previous for item in short_items], [len(item.target) for item in short_items]
        rows = SearchRows(begin, lengths, forced, behind=list(map(_behind, short_items)), free=allowed)
        steps = _Steps(network, short_items, pad, writing.beams)
        return [(beams, beams.margin) for beams in search(steps, rows, rules, writing.beams)]

    with scope(writing.threads), torch.inference_mode():
        for done, (i, beams) in enumerate(
            settled(list(zip(short, free or [frozenset()] * len(short), strict=True)), cuts, work), start=1
        ):
            yield i, _whole(items[i], short[i], beams)
            if progress:
                progress(done, len(order), "writing")


def _behind(item: MaskedSentence) -> int:
    """The token behind the fragment."""
    end = item.start + len(item.target)
    return item.source[end] if end < len(item.source) else -1


def _whole(item: MaskedSentence, short: MaskedSentence, beams: Beams) -> Beams:
    """Beams of the trimmed fragment with the forced tokens around it again."""
    at = short.start - item.start
    head, tail = item.target[:at], item.target[at + len(short.target) :]
    return Beams(tuple(((*head, *tokens, *tail), score) for tokens, score in beams.sequences), beams.margin)
