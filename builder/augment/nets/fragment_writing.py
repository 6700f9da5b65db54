"""Fragments written anew by a masked sequence-to-sequence model, and which of them fit where they stand.

Writing: masked sentences go in; out come for each the beams that fit its labels. Forced tokens stay, every other
position gets one token, so that the label sequence is that of the source.

Fitting: the network that wrote is asked what is hidden around and among the new words. The words beside them (`around`;
Li et al. 2016, MMI-bidi): a small model's best beam is often what it has read most often, whatever stands around it:
likely under its context, but the context is unlikely under it. The same words hidden beside the old fragment tell how
likely they can be at all. And each of them alone, with those next to them (`alone`; Salazar et al. 2020,
pseudo-likelihood): a network that sees all but one token tells a broken place which it wrote seeing half. The beams
count for which log P(beam | context) + log P(context | beam) is highest, of equal weight, unless their context is much
unlikelier than beside the old fragment, or they surprise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from builder.augment.nets.beam import (
    Barred,
    Beams,
    Pairs,
    SearchRows,
    SearchRules,
    banned,
    in_batches,
    rounded,
    search,
    settled,
)
from builder.augment.nets.fragments import pad_of
from builder.augment.nets.transformer import LabelledSeq2Seq, MaskedSentence, collate, padded
from builder.augment.records import Doubt, Edit, applied
from builder.learning.devices import device_of, place
from builder.learning.loop import scope
from builder.learning.pieces import Inventory, own_marks
from builder.learning.task import Progress

# ---- Writing


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
    """How fragments are written. `beams`: the width of the search; `barred`, `pairs`: see `SearchRules`; `never`: more
    tokens that are not written.
    """

    beams: int = 5
    threads: int = 1
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

    rows = list(zip(short, free or [frozenset()] * len(short), strict=True))
    with scope(writing.threads), torch.inference_mode():
        for i, beams in settled(rows, in_batches(order), work, progress):
            yield i, _whole(items[i], short[i], beams)


def _behind(item: MaskedSentence) -> int:
    """The token behind the fragment."""
    end = item.start + len(item.target)
    return item.source[end] if end < len(item.source) else -1


def _whole(item: MaskedSentence, short: MaskedSentence, beams: Beams) -> Beams:
    """Beams of the trimmed fragment with the forced tokens around it again."""
    at = short.start - item.start
    head, tail = item.target[:at], item.target[at + len(short.target) :]
    return Beams(tuple(((*head, *tokens, *tail), score) for tokens, score in beams.sequences), beams.margin)


# ---- Fitting

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


def likely(network: LabelledSeq2Seq, items: Sequence[MaskedSentence], mask: int, pad: int, threads: int) -> list[float]:
    """log P of the hidden tokens of each item, to hundredths; whatever the batch."""
    order = sorted(range(len(items)), key=lambda i: (len(items[i].source), len(items[i].target), i))

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
        for i, score in settled(items, in_batches(order), work):
            out[i] = score
    return out


def _log_p(network: LabelledSeq2Seq, states: Tensor, due: Tensor) -> Tensor:
    """log P [N] of tokens [N] in states [N, D]."""
    logits = network.core.head(states).float()
    return logits.gather(1, due[:, None])[:, 0] - logits.logsumexp(1)


@dataclass(frozen=True, slots=True)
class BeamLimits:
    """Which beams count: the best `each` of a fragment.

    `fit` is the least log ratio of the context's likelihood beside the beam and beside the old words. `surprise` is
    the most that the new tokens and their neighbours may surprise, in usual tokens.
    """

    each: int
    fit: float
    surprise: float


@dataclass(frozen=True, slots=True)
class Beam:
    """The tokens of a fragment, the edits they make, their log-probability, and how they fit and surprise (see
    `BeamLimits`).
    """

    tokens: tuple[int, ...]
    edits: tuple[Edit, ...]
    score: float
    fit: float | None = None
    surprise: float | None = None

    def doubt(self, limits: BeamLimits) -> Doubt | None:
        if self.fit is not None and self.fit < limits.fit:
            return "unfitting"
        return "surprising" if self.surprise is not None and self.surprise > limits.surprise else None


@dataclass(frozen=True, slots=True)
class FragmentReader:
    """A network that reads what it has written; `usual`: -log P of a token of its training sentences that is hidden
    alone.
    """

    network: LabelledSeq2Seq
    inventory: Inventory
    usual: float = 1.0
    threads: int = 1

    def score(self, items: Sequence[MaskedSentence]) -> list[float]:
        """The log-probability of the hidden tokens of each item."""
        return likely(self.network, items, self.inventory.mask, pad_of(self.inventory), self.threads)


def fitted(
    reader: FragmentReader,
    fragments: Sequence[tuple[Sequence[int], MaskedSentence, Sequence[Beam]]],
    limits: BeamLimits,
) -> list[list[Beam]]:
    """The best beams of each of `fragments`: the tokens of a sentence, its masked fragment, the fragment's beams.

    Surprise is measured only of beams that fit: the others are rejected.
    """
    texts = [
        [_text(ids, item, tokens, reader) for tokens in (item.target, *(beam.tokens for beam in beams))]
        if beams
        else []
        for ids, item, beams in fragments
    ]
    likelihoods = iter(reader.score([around(*text) for each in texts for text in each]))
    out = [_best(beams, likelihoods, limits.each) if beams else [] for *_, beams in fragments]
    due = [(n, k) for n, beams in enumerate(out) for k, beam in enumerate(beams) if (beam.fit or 0.0) >= limits.fit]
    surprises = _surprises(reader, [_text(*fragments[n][:2], out[n][k].tokens, reader) for n, k in due])
    for (n, k), surprise in zip(due, surprises, strict=True):
        out[n][k] = replace(out[n][k], surprise=surprise)
    return out


def _best(beams: Sequence[Beam], likelihoods: Iterator[float], each: int) -> list[Beam]:
    """The `each` best beams; `likelihoods` are those of the context, beside the old words and then beside each beam."""
    before = next(likelihoods)
    fits = [replace(beam, fit=round(next(likelihoods) - before, 2)) for beam in beams]
    return sorted(fits, key=lambda fit: -(fit.score + (fit.fit or 0.0)))[:each]


def surest(text: str, beams: Iterable[Beam], copies: int) -> list[Beam]:
    """Up to `copies` beams of a sentence, the least surprising first, then the best fitting; of two that make texts
    with one character between them the first.
    """
    chosen: dict[str, Beam] = {}
    for beam in sorted(beams, key=_doubtfulness):
        made = applied(text, beam.edits)
        if len(chosen) < copies and all(_differ(made, other) for other in chosen):
            chosen[made] = beam
    return list(chosen.values())


def _doubtfulness(beam: Beam) -> tuple[bool, float]:
    return (True, -(beam.fit or 0.0)) if beam.surprise is None else (False, beam.surprise)


def _differ(text: str, other: str) -> bool:
    return len(text) != len(other) or sum(a != b for a, b in zip(text, other, strict=True)) > 1


def _surprises(reader: FragmentReader, texts: Sequence[Text]) -> list[float]:
    asked = [alone(*text) for text in texts]
    likelihoods = iter(reader.score([item for items in asked for item in items]))
    return [round(-sum(next(likelihoods) for _ in items) / reader.usual, 2) for items in asked]


def usual(reader: FragmentReader, cuts: Sequence[Sequence[int]]) -> float:
    """-log P of a token that is hidden alone, the mean over some sentences."""
    items = [item for ids in cuts for item in alone(ids, 0, len(ids), reader.inventory.mask, reader.inventory.first)]
    return max(0.01, round(-sum(reader.score(items)) / max(1, len(items)), 2))


Text = tuple[Sequence[int], int, int, int, int]
"""Tokens, the range of new ones, and what hides and begins a text."""


def _text(ids: Sequence[int], item: MaskedSentence, tokens: Sequence[int], reader: FragmentReader) -> Text:
    """A sentence with `tokens` for its fragment."""
    inventory = reader.inventory
    free = [at for at in range(item.start, item.start + len(tokens)) if item.source[at] == inventory.mask]
    return (
        (*ids[: item.start], *tokens, *ids[item.start + len(tokens) :]),
        free[0],
        free[-1] + 1,
        inventory.mask,
        inventory.first,
    )
