"""Do new words fit where they stand? The network that wrote them is asked what is hidden around and among them.

The words beside them (`around`; Li et al. 2016, MMI-bidi): a small model's best beam is often what it has read most
often, whatever stands around it: likely under its context, but the context is unlikely under it. The same words
hidden beside the old fragment tell how likely they can be at all. And each of them alone, with those next to them
(`alone`; Salazar et al. 2020, pseudo-likelihood): a network that sees all but one token tells a broken place which it
wrote seeing half.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from builder.augment.nets.beam import rounded, settled
from builder.augment.nets.seq2seq import LabelledSeq2Seq, MaskedSentence, collate
from builder.augment.nets.transformer import padded
from builder.learning.devices import device_of, place
from builder.learning.loop import scope

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
