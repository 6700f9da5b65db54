"""Markers: a pretrained encoder's second look at pairs of spans.

In: what each of the encoder's upper layers reads of a text, and pairs of an aspect and an opinion in it. Out: for each
pair, whether it is a triplet, and of which polarity. Two markers stand for a pair, one on each span, and pass through
layers of their own. They see the text and each other; the text does not see them. So all pairs of a text are read for
the price of a few tokens each (levitated markers: Ye et al. 2022, section 3.2).
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
        self.out = nn.Linear(width, 1 + len(POLARITIES))
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Sequence[Tensor], seen: Tensor, row: Tensor, spans: Tensor) -> Tensor:
        """The logits of no triplet, and of one of each polarity [P, 4].

        Args:
            states: what the layers below and above each of the markers' own say of the tokens of B texts, [B, K, D].
            seen: where there are tokens, [B, K].
            row: the text of each pair, [P].
            spans: from which token to which its aspect and its opinion reach, [P, 2, (first, past)].
        """
        at = torch.arange(seen.shape[1], device=seen.device)
        inside = (spans[..., :1] <= at) & (at < spans[..., 1:])
        share = inside / inside.sum(-1, keepdim=True).clamp(min=1)
        place = torch.where(inside[:, 0], 0, torch.where(inside[:, 1], 1, 2))
        hidden = seen[row][:, None, None]
        markers = share @ states[0][row] + self.kind.weight
        for layer, state, bias in zip(self.layers, states, self.bias, strict=False):
            own = layer.attention.self
            key, value = (
                torch.cat([self._split(part(state))[row], self._split(part(markers))], 2)
                for part in (own.key, own.value)
            )
            nearness = bias[:, place].permute(1, 3, 0, 2).masked_fill(~hidden, _FAR)
            query, nearness = self._split(own.query(markers)), functional.pad(nearness, (0, 2)).to(key.dtype)
            mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=nearness)
            attended = layer.attention.output(mixed.transpose(1, 2).flatten(2), markers)
            markers = layer.output(functional.gelu(layer.intermediate.dense(attended)), attended)
        top = states[-1][row]
        read = torch.cat([markers.flatten(1), (share @ top).flatten(1), top[:, 0]], -1)
        logits: Tensor = self.out(self.dropout(functional.gelu(self.inner(self.dropout(read)))))
        return logits

    def _split(self, vectors: Tensor) -> Tensor:
        """[N, tokens, D] by heads: [N, heads, tokens, D / heads]."""
        return vectors.view(*vectors.shape[:2], self.heads, -1).transpose(1, 2)
