"""Fragments of masked sequence-to-sequence augmentation (Li et al. 2020): which are masked (section 3.2.1), how the
network learns to write them (algorithm 1), and how it writes them: forced tokens stay, every other position gets one.

The paper counts from 1 with inclusive ends: positions u to v = u + r * n. Here ranges count from 0 and are half-open,
so that fragment [u, u + floor(r * n) + 1) is the paper's.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise, starmap
from random import Random
from typing import Any, TypeVar

import torch
from torch import Tensor

from builder.augment.candidates import Sentence
from builder.augment.method_settings import MaskedSeq2SeqSettings, describe_settings
from builder.augment.nets import bases
from builder.augment.nets.beam import Beams, Pairs, SearchRows, SearchRules, banned, in_batches, search, settled
from builder.augment.nets.transformer import EmbeddedCore, HubCore, LabelledSeq2Seq, MaskedSentence, collate, loss
from builder.augment.training import LABELS, Workplace, bio, kept
from builder.core.errors import ModelError
from builder.core.records import Span
from builder.learning.checkpoint import tensor_digest
from builder.learning.devices import device_of, place
from builder.learning.hub import SEQ2SEQ
from builder.learning.loop import scope
from builder.learning.obtain import (
    Measure,
    Phase,
    TrainingRun,
    load_or_train,
    split_held_out,
    train_phases,
    training_key,
)
from builder.learning.pieces import Inventory, own_marks
from builder.learning.task import Progress, seed_of

NAME = "masked-seq2seq"

# ---- Which fragment is masked

Token = TypeVar("Token")
SHORT = 5
"""Sentences of so many tokens or fewer are not trained on (equation 1)."""


def weight(length: int) -> float:
    """Equation 1: what the probability that a sentence of `length` tokens is drawn for training is proportional to."""
    return math.sqrt(length) if length > SHORT else 0.0


def starts(length: int, r: float) -> range:
    """The starts that may be drawn (algorithm 1, line 5): in the paper's count 1 to (1 - r) * n; one at least."""
    return range(max(1, math.floor((1 - r) * length + 1e-9)))


def fragment(length: int, u: int, r: float) -> Span:
    """The fragment that begins at `u`."""
    return u, min(length, u + math.floor(r * length + 1e-9) + 1)


def mask_frag(tokens: Sequence[Token], kept: Sequence[object], span: Span, mask: Token) -> tuple[Token, ...]:
    """X with `mask` for the tokens of the fragment that are not kept; the target is the whole fragment."""
    return tuple(
        mask if span[0] <= i < span[1] and not held else token
        for i, (token, held) in enumerate(zip(tokens, kept, strict=True))
    )


def widened(span: Span, edges: Sequence[bool]) -> Span:
    """The fragment with the rest of the words at its ends; `edges[i]`: whether a word begins at token i."""
    first, end = span
    while first and not edges[first]:
        first -= 1
    while end < len(edges) - 1 and not edges[end]:
        end += 1
    return first, end


def chosen_fragments(
    kept: Sequence[object], r: float, copies: int, draw: Random, edges: Sequence[bool] = (), least: int = 1
) -> tuple[Span, ...]:
    """Up to `copies` fragments, spread over the sentence, that mask different tokens, `least` of them (section 3.2.2);
    of whole words, where `edges` tells them.
    """
    by_masked: dict[tuple[int, ...], Span] = {}
    for u in starts(len(kept), r):
        span = fragment(len(kept), u, r)
        first, end = widened(span, edges) if edges else span
        if len(masked := tuple(i for i in range(first, end) if not kept[i])) >= least:
            by_masked.setdefault(masked, (first, end))
    fragments = sorted(by_masked.values())
    if len(fragments) <= copies:
        return tuple(fragments)
    step = len(fragments) / copies
    offset = draw.random() * step
    return tuple(fragments[min(len(fragments) - 1, int(offset + i * step))] for i in range(copies))


# ---- Training

_FASTER, _PATIENCE = 3, 2
"""The embedded network takes so many times the learning rate of other embedded ones: at theirs a pass over a corpus
leaves it half taught.
"""
_RANDOM, _OWN = 0.1, 0.1
"""Of the tokens that MASS hides, these shares are another token and the token itself (Song et al. 2019)."""
LabelledTokens = tuple[tuple[int, ...], tuple[int, ...]]
"""The tokens of a sentence, and a label of each."""


def masked(
    ids: Sequence[int], labels: Sequence[int], span: Span, inventory: Inventory, held: Sequence[object] = ()
) -> MaskedSentence:
    """MaskFrag as a model's example; `held` are the tokens that stay, if more do than those with a label."""
    first, end = span
    hidden = mask_frag(ids, held or labels, span, inventory.mask)
    return MaskedSentence(
        hidden,
        tuple(labels),
        first,
        tuple(ids[first:end]),
        ids[first - 1] if first else inventory.first,
        labels[first - 1] if first else 0,
    )


def noisy(
    item: MaskedSentence, ids: Sequence[int], mask: int, others: Sequence[int], draw: random.Random
) -> MaskedSentence:
    """The example as MASS hides it: of the masked tokens some are others, and some are shown as they are."""
    shown = list(item.source)
    for at in (at for at, token in enumerate(item.source) if token == mask):
        chance = draw.random()
        if chance < _RANDOM + _OWN:
            shown[at] = draw.choice(others) if chance < _RANDOM else ids[at]
    return replace(item, source=tuple(shown))


@dataclass(frozen=True, slots=True)
class FragmentSource:
    """Sentences as tokens and labels, with cumulated weights (equation 1); `others`: what MASS draws from."""

    sentences: tuple[LabelledTokens, ...]
    cumulated: tuple[float, ...]
    inventory: Inventory
    r: float
    others: tuple[int, ...] = ()

    @classmethod
    def of(
        cls, sentences: Sequence[LabelledTokens], inventory: Inventory, r: float, masking: str = "mask"
    ) -> FragmentSource:
        others = tuple(sorted({i for ids, _ in sentences for i in ids})) if masking == "mass" else ()
        return cls(tuple(sentences), tuple(accumulate(weight(len(ids)) for ids, _ in sentences)), inventory, r, others)

    def draw(self, count: int, seed: int, labelled: bool) -> list[MaskedSentence]:
        """`count` sentences with replacement, a start each (algorithm 1, lines 4 to 6); without labels all is O."""
        draw = random.Random(seed)
        out = []
        for n in draw.choices(range(len(self.sentences)), cum_weights=self.cumulated, k=count):
            ids, labels = self.sentences[n]
            shown_labels = labels if labelled else (0,) * len(ids)
            u = draw.choice(starts(len(ids), self.r))
            item = masked(ids, shown_labels, fragment(len(ids), u, self.r), self.inventory)
            if self.others and not labelled:
                item = noisy(item, ids, self.inventory.mask, self.others, draw)
            out.append(item)
        return out


def embedded(size: int, width: int, used: bool, seed: int) -> LabelledSeq2Seq:
    """The embedded network with random weights; `used`: whether labels are."""
    with scope(1, seed):
        return LabelledSeq2Seq(EmbeddedCore(size, width), len(LABELS), used)


def based(source: str, used: bool, seed: int) -> tuple[LabelledSeq2Seq, bases.HubInventory, str]:
    """Any encoder-decoder of a hub or folder with label embeddings, its tokens, and the digest of its weights."""
    network, inventory = bases.load(source, SEQ2SEQ)
    with scope(1, seed):
        labelled = LabelledSeq2Seq(HubCore(network), len(LABELS), used)
    return labelled, inventory, tensor_digest(dict(network.named_parameters()))


def pad_of(inventory: Inventory) -> int:
    """The token that fills up shorter rows."""
    return int(getattr(inventory, "pad", 0))


def train_fragments(
    settings: MaskedSeq2SeqSettings,
    sentences: Sequence[Sentence],
    network: LabelledSeq2Seq,
    inventory: Inventory,
    base: str,
    place: Workplace,
    phases: Sequence[tuple[int, bool]],
) -> str:
    """Give `network` its weights, kept or learnt in phases of (epochs, with labels) from `base`; their digest."""
    tokens = [_labelled_tokens(sentence, inventory) for sentence in sentences]
    long_enough = [n for n, (ids, _) in enumerate(tokens) if SHORT < len(ids) < network.core.longest]
    if not long_enough:
        raise ModelError(
            f"no sentence of more than five tokens to learn from (of {len(sentences)})",
            where=NAME,
            fix="give more training text",
        )
    data = [
        (sentence.id, sentence.text, sentence.words, labels)
        for sentence, (_, labels) in zip(sentences, tokens, strict=True)
    ]
    seed, pad = place.seed, pad_of(inventory)
    key = training_key(NAME, (describe_settings(settings, training=True), seed), data, base, __name__)
    parts = split_held_out([sentences[n].id for n in long_enough], 0.05, seed)
    learnt, held = ([tokens[long_enough[n]] for n in part] for part in parts)
    source, checked = (FragmentSource.of(part, inventory, settings.r, settings.masking) for part in (learnt, held))
    network.labels.weight.requires_grad_(settings.label_embeddings)
    measure: Measure[MaskedSentence] = Measure(
        lambda chosen: loss(network, chosen, pad), lambda item: len(item.source), lambda item: len(item.target)
    )

    def phase(epochs: int, labelled: bool) -> Phase[MaskedSentence]:
        count = max(len(learnt), settings.least)
        rate = settings.own_rate * (_FASTER if settings.base == "embedded" else 1)
        return Phase(
            lambda epoch: source.draw(count, seed_of(NAME, seed, labelled, epoch), labelled),
            checked.draw(max(200, len(held)), seed, labelled),
            place.schedule(settings, epochs, sentences, rate, _PATIENCE),
        )

    def train(run: TrainingRun) -> dict[str, float]:
        return train_phases(network, list(starmap(phase, phases)), measure, run)

    return load_or_train(place, key, network, train)


def _labelled_tokens(sentence: Sentence, inventory: Inventory) -> LabelledTokens:
    cut = inventory.cut(sentence.text, sentence.words)
    return cut.ids, bio(cut.spans, kept(sentence))


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
    """The width of the search, tokens that are never written, and `pairs` as in `SearchRules`."""

    beams: int = 5
    threads: int = 1
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
) -> Iterator[tuple[int, Beams]]:
    """(index, beams) of every item, in batches of like length; an item's beams depend on it alone."""
    mask, pad, marks = inventory.mask, pad_of(inventory), own_marks(inventory)
    short = [trimmed(item, mask) for item in items]
    device = device_of(network)
    never = banned(inventory.size, (*inventory.never, *writing.never)).to(device)
    beside = None if writing.pairs is None else writing.pairs.to(device)
    rules = SearchRules(never, marks=marks, pairs=beside)
    order = sorted(
        (i for i in range(len(items)) if short[i].target), key=lambda i: (len(short[i].target), len(short[i].source), i)
    )
    network.eval()

    def work(short_items: list[MaskedSentence]) -> list[tuple[Beams, float]]:
        forced = [
            [-1 if item.source[item.start + t] == mask else i for t, i in enumerate(item.target)]
            for item in short_items
        ]
        begin, lengths = [item.previous for item in short_items], [len(item.target) for item in short_items]
        rows = SearchRows(begin, lengths, forced, behind=list(map(_behind, short_items)))
        steps = _Steps(network, short_items, pad, writing.beams)
        return [(beams, beams.margin) for beams in search(steps, rows, rules, writing.beams)]

    with scope(writing.threads), torch.inference_mode():
        for i, beams in settled(short, in_batches(order), work, progress):
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
