"""Masked sequence-to-sequence models and their training on drawn fragments. In: token ids and labels. Out: a trained
`LabelledSeq2Seq` network.

Writing fragments anew: beam search by a masked sequence-to-sequence model.

In: masked sentences. Out: for each the beams that fit its labels: forced tokens stay, every other position gets one
token, so that the label sequence is that of the source.

Do new words fit where they stand? The network that wrote them is asked what is hidden around and among them.

The words beside them (`around`; Li et al. 2016, MMI-bidi): a small model's best beam is often what it has read most
often, whatever stands around it: likely under its context, but the context is unlikely under it. The same words
hidden beside the old fragment tell how likely they can be at all. And each of them alone, with those next to them
(`alone`; Salazar et al. 2020, pseudo-likelihood): a network that sees all but one token tells a broken place which it
wrote seeing half.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from builder.augment.nets import hub
from builder.augment.nets.beam import Barred, Beams, Pairs, SearchRows, SearchRules, banned, rounded, search, settled
from builder.augment.nets.seq2seq import (
    EmbeddedCore,
    HubCore,
    LabelledSeq2Seq,
    MaskedSentence,
    Seq2SeqShape,
    collate,
    loss,
)
from builder.augment.nets.transformer import padded
from builder.learning.checkpoint import tensor_digest
from builder.learning.devices import device_of, place
from builder.learning.loop import scope
from builder.learning.obtain import Measure, Phase, TrainingRun, train_phases
from builder.learning.pieces import Inventory, own_marks
from builder.learning.task import Progress

# ---- fragments

# ---- fragments


def embedded(size: int, labels: int, shape: Seq2SeqShape, used: bool, seed: int) -> LabelledSeq2Seq:
    """The embedded network with random weights."""
    with scope(1, seed):
        return LabelledSeq2Seq(EmbeddedCore(size, shape), labels, used)


def based(source: str, labels: int, used: bool, seed: int) -> tuple[LabelledSeq2Seq, hub.HubInventory, str]:
    """Any encoder-decoder of a hub or folder with label embeddings, its tokens, and the digest of its weights."""
    network, inventory = hub.load_seq2seq(source)
    with scope(1, seed):
        labelled = LabelledSeq2Seq(HubCore(network), labels, used)
    return labelled, inventory, tensor_digest(dict(network.named_parameters()))


def pad_of(inventory: Inventory) -> int:
    """The token that fills up shorter rows."""
    return int(getattr(inventory, "pad", 0))


def train(
    network: LabelledSeq2Seq, phases: Sequence[Phase[MaskedSentence]], inventory: Inventory, run: TrainingRun
) -> dict[str, float]:
    """Train in phases: in-domain pre-training, then with labels; a token of a fragment counts as one. Returns scores
    and epochs.
    """
    pad = pad_of(inventory)
    measure: Measure[MaskedSentence] = Measure(
        lambda chosen: loss(network, chosen, pad), lambda item: len(item.source), lambda item: len(item.target)
    )
    return train_phases(network, phases, measure, run)


# ---- fragment writing


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


# ---- fitting

BESIDE = 4
"""Tokens on either side that are hidden together."""
NEXT = 2
"""Tokens on either side that are hidden one by one."""
AT_ONCE = 256
"""Tokens whose logits are in memory at a time: a base may know 250,000 tokens."""


def around(ids: Sequence[int], first: int, end: int, mask: int, begin: int) -> MaskedSentence:
    """The tokens beside [first, end) hidden, those inside shown; no token has a label. `begin`: what a decoder is
    given before the first token.
    """
    a, b = max(0, first - BESIDE), min(len(ids), end + BESIDE)
    hidden = (*ids[:a], *[mask] * (first - a), *ids[first:end], *[mask] * (b - end), *ids[b:])
    return MaskedSentence(hidden, (0,) * len(ids), a, tuple(ids[a:b]), ids[a - 1] if a else begin)


def alone(ids: Sequence[int], first: int, end: int, mask: int, begin: int) -> list[MaskedSentence]:
    """Each token of [first, end) and next to it hidden alone."""
    nothing = (0,) * len(ids)
    places = range(max(0, first - NEXT), min(len(ids), end + NEXT))
    return [
        MaskedSentence((*ids[:at], mask, *ids[at + 1 :]), nothing, at, (ids[at],), ids[at - 1] if at else begin)
        for at in places
    ]


def likely(
    network: LabelledSeq2Seq, items: Sequence[MaskedSentence], mask: int, pad: int, batch: int, threads: int
) -> list[float]:
    """log P of the hidden tokens of each item, to hundredths; whatever the batch."""
    order = sorted(range(len(items)), key=lambda i: (len(items[i].source), len(items[i].target), i))
    cuts = [order[at : at + batch] for at in range(0, len(order), batch)]

    def work(rows: list[MaskedSentence]) -> list[tuple[float, float]]:
        asked = [[i == mask for i in row.source[row.start : row.start + len(row.target)]] for row in rows]
        given = place(collate(rows, pad), device_of(network))
        hidden = padded([[int(is_hidden) for is_hidden in row] for row in asked]).bool().to(given.target.device)
        states, due = network.states(given)[hidden], given.target[hidden]
        log_p = iter(
            torch.cat(
                [
                    _log_p(network, *part)
                    for part in zip(torch.split(states, AT_ONCE), torch.split(due, AT_ONCE), strict=True)
                ]
            ).tolist()
        )
        return [rounded(sum(next(log_p) for is_hidden in row if is_hidden)) for row in asked]

    out = [0.0] * len(items)
    with scope(threads), torch.inference_mode():
        for i, score in settled(items, cuts, work):
            out[i] = score
    return out


def _log_p(network: LabelledSeq2Seq, states: Tensor, due: Tensor) -> Tensor:
    """log P [N] of tokens [N] in states [N, D]."""
    logits = network.core.head(states).float()
    return logits.gather(1, due[:, None])[:, 0] - logits.logsumexp(1)
