"""The tagger's network: which spans are aspects and opinions, which of them belong together, and which of their
characters are core.

Every span of up to `max_span` characters has a logit of its own per layer, so nested and overlapping spans are no
special case. Spans that score above a cut go to the pair scorer, which sees how many other candidates stand between
the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from builder.learning.devices import device_of, place
from builder.learning.encode import Batch, Encoded, IntArray, collate
from builder.learning.task import TaggerConfig
from builder.models.network import Foundation, PairScorer, Spans, SpanVector, TextContext, gap
from builder.models.text_reading import ASPECT, CUT, NEAR, OPINION, TABLE_SIZE

EXTRA = 6


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """A piece of a text with its gold: pairs [n, 5] (aspect start, end, opinion start, end, polarity index), cores
    [m, 3 + max_span] (layer, start, end, then a bit per character), distinct by layer and span.
    """

    text: Encoded
    pairs: IntArray
    cores: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Gold:
    """The gold of a batch, flat: pairs [n, 6] and cores [m, 4 + max_span], as in Window behind the row of the text."""

    pairs: Tensor
    cores: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Spans per layer, the pairs of them (two indices [P]), and the pair scorer's answer (logit [P], polarity logits
    [P, 3]).
    """

    aspects: Spans
    opinions: Spans
    index: tuple[Tensor, Tensor]
    pair: Tensor
    polarity: Tensor


class SpanTable(nn.Module):
    """A logit for every [start, end) of both layers: [B, 2, T, T] by first and last character; -inf where there is no
    span.

    The sum of: how well the character begins one, ends one, both together (scaled dot product), each character
    within, and the length.
    """

    def __init__(self, width: int, size: int, longest: int) -> None:
        super().__init__()
        self.size, self.longest = size, longest
        self.project = nn.Linear(width, 2 * (2 * size + 3))
        self.length = nn.Parameter(torch.full((2, longest), -5.0))

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        rows, chars, _ = hidden.shape
        split = self.project(hidden).view(rows, chars, 2, -1).transpose(1, 2)
        begin, end, single = split.split([self.size, self.size, 3], -1)
        table = torch.matmul(begin, end.transpose(-1, -2)) / self.size**0.5
        inside = functional.pad(single[..., 2].cumsum(-1), (1, 0))
        table = (
            table + (single[..., 0] - inside[..., :-1])[..., :, None] + (single[..., 1] + inside[..., 1:])[..., None, :]
        )
        at = torch.arange(chars, device=hidden.device)
        length = at[None, :] - at[:, None]
        valid = (length >= 0) & (length < self.longest) & mask[:, None, :, None] & mask[:, None, None, :]
        scores: Tensor = table + self.length[:, length.clamp(0, self.longest - 1)]
        return scores.masked_fill(~valid, float("-inf"))


class CoreBits(nn.Module):
    """A logit per character of each span [N, max_span]: does it belong to the core (不會鹹 within 不會太鹹)?"""

    def __init__(self, width: int, size: int, longest: int) -> None:
        super().__init__()
        self.longest = longest
        self.char = nn.Linear(width, size)
        self.spans = nn.ModuleList([SpanVector(width, size), SpanVector(width, size)])
        self.out = nn.Linear(size, 1)

    def forward(self, context: TextContext, spans: Spans, layer: int) -> Tensor:
        at = spans.start[:, None] + torch.arange(self.longest, device=spans.start.device)
        chars = self.char(context.hidden[spans.row[:, None], at.clamp(max=context.hidden.shape[1] - 1)])
        bits: Tensor = self.out(functional.gelu(chars + self.spans[layer](context, spans)[:, None])).squeeze(-1)
        return bits


class TaggerNetwork(nn.Module):
    """Trunk, span table, pair scorer and core bits."""

    def __init__(self, foundation: Foundation, config: TaggerConfig) -> None:
        super().__init__()
        self.max_span, self.max_gap = config.max_span, config.max_gap
        self.table = SpanTable(config.width, TABLE_SIZE, config.max_span)
        self.pairs = PairScorer(
            config.width, config.pair_size, EXTRA, config.dropout, config.max_gap, config.max_clauses
        )
        self.cores = CoreBits(config.width, 64, config.max_span)
        self.trunk = foundation.make_trunk(config)
        self.markers = foundation.make_markers(config)

    def context(self, batch: Batch) -> TextContext:
        return self.trunk.context(batch, self.markers.depth if self.markers else 0)

    def mark(self, context: TextContext, row: Tensor, spans: Tensor) -> Tensor:
        """What markers say of pairs of tokens' spans, as PairMarkers has it: [P, 5]."""
        tokens = context.batch.tokens
        assert self.markers is not None and tokens is not None, "a tagger with markers"
        states = [state.float().flatten(0, 1)[tokens.of_text] for state in context.states]
        marked: Tensor = self.markers(states, tokens.seen, row, spans)
        return marked

    def candidates(self, context: TextContext, table: Tensor, gold: Tensor | None = None) -> Candidates:
        """The spans above the cut, with the gold ones while training, paired and scored."""
        scores = table.detach()
        chosen = scores > CUT
        if gold is not None:
            chosen = chosen | gold
        chosen = chosen & (scores >= _kth_best(scores.masked_fill(~chosen, float("-inf"))))
        if gold is not None:
            chosen = chosen | gold
        aspects, opinions = (_spans(chosen[:, layer]) for layer in (ASPECT, OPINION))
        index = _near(aspects, opinions, self.max_gap)
        extra = _extra(scores, aspects, opinions, index)
        pair, polarity = self.pairs(context, aspects, opinions, index, extra)
        return Candidates(aspects, opinions, index, pair, polarity)

    def score_pairs(
        self, context: TextContext, table: Tensor, aspects: Spans, opinions: Spans
    ) -> tuple[Tensor, Tensor]:
        """The logit and the polarity logits of pairs at any places, a pair for each row of both: [P], [P, 3]."""
        index = (torch.arange(len(aspects), device=table.device),) * 2
        scored: tuple[Tensor, Tensor] = self.pairs(
            context, aspects, opinions, index, _extra(table, aspects, opinions, index)
        )
        return scored

    def loss(self, windows: Sequence[Window]) -> Tensor:
        """As `loss_in`, of windows that are read now."""
        return self.loss_in(self.context(place(collate([window.text for window in windows]), device_of(self))), windows)

    def loss_in(self, context: TextContext, windows: Sequence[Window]) -> Tensor:
        """Negative log-likelihood of spans, pairs, polarities and core bits, per window."""
        device, batch = context.hidden.device, context.batch
        gold = _gold(windows, device)
        table = self.table(context.hidden, batch.mask)
        marked = torch.zeros(table.shape, dtype=torch.bool, device=device)
        for layer in (ASPECT, OPINION):
            marked[gold.pairs[:, 0], layer, gold.pairs[:, 1 + 2 * layer], gold.pairs[:, 2 + 2 * layer] - 1] = True
        valid = torch.isfinite(table)
        spans = functional.binary_cross_entropy_with_logits(
            table[valid], marked[valid].to(table.dtype), reduction="sum"
        )
        candidates = self.candidates(context, table, marked)
        return (spans + _pair_loss(candidates, gold, table.shape[-1] + 1) + self._core_loss(context, gold)) / len(
            windows
        )

    def _core_loss(self, context: TextContext, gold: Gold) -> Tensor:
        total = context.hidden.new_zeros(())
        for layer in (ASPECT, OPINION):
            rows = gold.cores[gold.cores[:, 1] == layer]
            if not len(rows):
                continue
            bits = self.cores(context, Spans(rows[:, 0], rows[:, 2], rows[:, 3]), layer)
            within = torch.arange(self.max_span, device=rows.device) < (rows[:, 3] - rows[:, 2])[:, None]
            total = total + functional.binary_cross_entropy_with_logits(
                bits[within], rows[:, 4:][within].to(bits.dtype), reduction="sum"
            )
        return total


def _kth_best(scores: Tensor) -> Tensor:
    """Per text and layer the score of the k-th best candidate, k growing with the length: a bound for untrained
    weights. [B, 2, 1, 1]
    """
    rows, layers, chars, _ = scores.shape
    most = min(chars * chars, 4 + chars // 5)
    return scores.view(rows, layers, -1).topk(most, sorted=True).values[..., -1][..., None, None]


def _spans(chosen: Tensor) -> Spans:
    row, first, last = chosen.nonzero(as_tuple=True)
    return Spans(row, first, last + 1)


def _near(aspects: Spans, opinions: Spans, most: int) -> tuple[Tensor, Tensor]:
    """The pairs of one text with at most `most` characters between them, as indices of both lists."""
    apart = torch.maximum(aspects.start[:, None] - opinions.end, opinions.start - aspects.end[:, None])
    at = ((aspects.row[:, None] == opinions.row) & (apart <= most)).nonzero()
    return at[:, 0], at[:, 1]


def _extra(scores: Tensor, aspects: Spans, opinions: Spans, index: tuple[Tensor, Tensor]) -> Tensor:
    """Per pair: the two span logits, and the expected number of aspects and opinions that begin between the two and
    near both. [P, 6]
    """
    logits = [scores[spans.row, layer, spans.start, spans.end - 1] for layer, spans in enumerate((aspects, opinions))]
    own = [logit.clamp(-8, 8)[at] / 4 for logit, at in zip(logits, index, strict=True)]
    begins = functional.pad(scores.sigmoid().sum(-1).cumsum(-1), (1, 0))
    first, second = aspects.at(index[0]), opinions.at(index[1])
    low, high = gap(first, second)
    row, edge = first.row, begins.shape[-1] - 1
    rivals = [
        torch.log1p((begins[row, layer, high] - begins[row, layer, low]).clamp(min=0)) for layer in (ASPECT, OPINION)
    ]
    left = torch.minimum(first.start, second.start)
    right = torch.maximum(first.end, second.end)
    before = begins[row, ASPECT, left] - begins[row, ASPECT, (left - NEAR).clamp(min=0)]
    after = begins[row, ASPECT, (right + NEAR).clamp(max=edge)] - begins[row, ASPECT, right]
    near = [torch.log1p(side.clamp(min=0)) for side in (before, after)]
    return torch.stack([*own, *rivals, *near], -1)


def _gold(windows: Sequence[Window], device: torch.device) -> Gold:
    def flat(arrays: Sequence[IntArray]) -> Tensor:
        rows = np.repeat(np.arange(len(arrays)), [len(array) for array in arrays])
        return torch.from_numpy(np.concatenate([rows[:, None], np.concatenate(arrays)], 1).astype(np.int64)).to(device)

    return Gold(flat([window.pairs for window in windows]), flat([window.cores for window in windows]))


def _pair_loss(candidates: Candidates, gold: Gold, base: int) -> Tensor:
    """Cross-entropy of the pairs, and of the polarity where the pair is gold. Pairs meet their gold by one number per
    pair.
    """
    aspects, opinions = candidates.aspects.at(candidates.index[0]), candidates.opinions.at(candidates.index[1])
    codes = _code([aspects.row, aspects.start, aspects.end, opinions.start, opinions.end], base)
    wanted, order = torch.sort(_code([gold.pairs[:, i] for i in range(5)], base))
    if not len(wanted):
        return functional.binary_cross_entropy_with_logits(
            candidates.pair, torch.zeros_like(candidates.pair), reduction="sum"
        )
    at = torch.searchsorted(wanted, codes).clamp(max=len(wanted) - 1)
    hit = wanted[at] == codes
    pairs = functional.binary_cross_entropy_with_logits(candidates.pair, hit.to(candidates.pair.dtype), reduction="sum")
    polarity = functional.cross_entropy(candidates.polarity[hit], gold.pairs[order[at[hit]], 5], reduction="sum")
    return pairs + polarity


def _code(parts: Sequence[Tensor], base: int) -> Tensor:
    code = parts[0]
    for part in parts[1:]:
        code = code * base + part
    return code
