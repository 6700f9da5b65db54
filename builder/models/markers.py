"""Markers: a pretrained encoder's second look at pairs of spans.

In: what each of the encoder's upper layers reads of a text, and pairs of an aspect and an opinion in it. Out: for each
pair, whether it is a triplet, of which polarity, or one with other edges. Two markers stand for a pair, one on each
span, and pass through layers of their own. They see the text and each other; the text does not see them. So all pairs
of a text are read for the price of a few tokens each (levitated markers: Ye et al. 2022).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from builder.core.records import POLARITIES
from builder.learning import hub

_FAR = -1e9
"""What a look at a token that is none weighs."""
_TOGETHER = 64
"""Pairs of a text that are read at once."""


class PairMarkers(nn.Module):
    """The layers that markers pass through, as many as the encoder's upper ones that they look at, and the head."""

    def __init__(self, config: Mapping[str, Any], layers: int, dropout: float) -> None:
        """`config`: that of the encoder, a plain BERT."""
        super().__init__()
        width, heads = int(config["hidden_size"]), int(config["num_attention_heads"])
        self.heads, self.depth = heads, layers
        made = hub.make_network("AutoModel", {**config, "num_hidden_layers": layers}, "encoder.base")
        self.layers = made.encoder.layer
        self.kind = nn.Embedding(2, width)
        self.bias = nn.Parameter(torch.zeros(layers, 2, 3, heads))
        self.inner = nn.Linear(5 * width, width)
        self.out = nn.Linear(width, 2 + len(POLARITIES))
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Sequence[Tensor], seen: Tensor, row: Tensor, spans: Tensor) -> Tensor:
        """The logits of no triplet, of one of each polarity, and of one with other edges [P, 5].

        Args:
            states: what the layers below and above each of the markers' own say of the tokens of B texts, [B, K, D].
            seen: where there are tokens, [B, K].
            row: the text of each pair, [P].
            spans: from which token to which its aspect and its opinion reach, [P, 2, (first, past)].
        """
        counts = torch.bincount(row, minlength=len(seen))
        slot = torch.empty_like(row)
        slot[row.argsort(stable=True)] = _steps(counts)
        padded = spans.new_zeros(len(seen), int(counts.max()), *spans.shape[1:])
        padded[row, slot] = spans
        return torch.cat([self._read(states, seen, part) for part in torch.split(padded, _TOGETHER, 1)], 1)[row, slot]

    def _read(self, states: Sequence[Tensor], seen: Tensor, spans: Tensor) -> Tensor:
        """As `forward`, of C pairs a text [B, C, 2, (first, past)], some of them none: [B, C, 5]."""
        pairs, at = spans.shape[1], torch.arange(seen.shape[1], device=seen.device)
        inside = (spans[..., :1] <= at) & (at < spans[..., 1:])
        share = (inside / inside.sum(-1, keepdim=True).clamp(min=1)).transpose(1, 2).flatten(1, 2)
        place = torch.where(inside[:, :, 0], 0, torch.where(inside[:, :, 1], 1, 2))
        same = torch.eye(pairs, dtype=torch.bool, device=seen.device).repeat(2, 2).expand(len(seen), 1, -1, -1)
        markers = share @ states[0] + self.kind.weight.repeat_interleave(pairs, 0)
        for layer, state, bias in zip(self.layers, states[:-1], self.bias, strict=True):
            own = layer.attention.self
            both = torch.cat([state, markers], 1)
            query, key, value = (
                self._split(own.query(markers)),
                self._split(own.key(both)),
                self._split(own.value(both)),
            )
            nearness = bias[:, place].permute(1, 4, 0, 2, 3).flatten(2, 3).masked_fill(~seen[:, None, None], _FAR)
            apart = torch.zeros_like(nearness[..., :1]).masked_fill(~same, _FAR)
            mask = torch.cat([nearness, apart], -1).to(key.dtype)
            mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
            attended = layer.attention.output(mixed.transpose(1, 2).flatten(2), markers)
            markers = layer.output(functional.gelu(layer.intermediate.dense(attended)), attended)
        top, first = share @ states[-1], states[-1][:, :1].expand(-1, pairs, -1)
        read = torch.cat([*markers.chunk(2, 1), *top.chunk(2, 1), first], -1)
        logits: Tensor = self.out(self.dropout(functional.gelu(self.inner(self.dropout(read)))))
        return logits

    def _split(self, vectors: Tensor) -> Tensor:
        """[N, tokens, D] by heads: [N, heads, tokens, D / heads]."""
        return vectors.view(*vectors.shape[:2], self.heads, -1).transpose(1, 2)


def _steps(counts: Tensor) -> Tensor:
    """0, 1 … for each count, one behind the other."""
    ends = counts.cumsum(0)
    return torch.arange(int(counts.sum()), device=counts.device) - (ends - counts).repeat_interleave(counts)
