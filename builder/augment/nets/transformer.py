"""A small Transformer (Vaswani et al. 2017) with its normalisation first: encoder, and a decoder that remembers what
it has read. And LSTMs before their first layers: in the minutes that an embedded model is trained, order and
neighbours are learnt by these, and hardly by attention alone.

Shapes: B rows, T tokens of the encoder, K beams a row (1 in training), S steps, D width, H heads. All attention is
over [B, H, ., D / H]. The beams of a row share the encoder's keys and values, so that a wide beam costs queries
alone.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Attention(nn.Module):
    """Multi-head attention; `keys_values` are computed apart so that they can be kept."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.both, self.out = nn.Linear(width, width), nn.Linear(width, 2 * width), nn.Linear(width, width)

    def split(self, x: Tensor) -> Tensor:
        """[B, S, D] -> [B, H, S, D / H]."""
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def keys_values(self, x: Tensor) -> tuple[Tensor, Tensor]:
        keys, values = self.both(x).chunk(2, -1)
        return self.split(keys), self.split(values)

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, causal: bool = False) -> Tensor:
        """`mask` is true where a query may look: it broadcasts to [B, H, queries, keys]."""
        mixed = functional.scaled_dot_product_attention(
            self.split(self.query(x)), keys, values, attn_mask=mask, is_causal=causal
        )
        out: Tensor = self.out(mixed.transpose(1, 2).flatten(2))
        return out


class Feed(nn.Sequential):
    """The position-wise part of a layer."""

    def __init__(self, width: int) -> None:
        super().__init__(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))


class TwoWayReading(nn.Module):
    """What two LSTMs read, one from either side, added to the embeddings [B, T, D]; `seen` [B, T] true where there
    are tokens, which stand before the padding. Rows are turned round for the second, so that neither reads padding
    before tokens: a row depends on itself alone.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.both = nn.ModuleList(nn.LSTM(width, width // 2, batch_first=True) for _ in range(2))

    def forward(self, x: Tensor, seen: Tensor) -> Tensor:
        at = torch.arange(x.shape[1], device=x.device)
        turned = (seen.sum(1, keepdim=True) - 1 - at[None]).clamp(min=0)[:, :, None]
        there, back = self.both
        behind = back(x.gather(1, turned.expand_as(x)))[0]
        return x + torch.cat([there(x)[0], behind.gather(1, turned.expand_as(behind))], 2)


class EncoderLayer(nn.Module):
    """Self-attention over what is seen, then feed-forward."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.attention, self.feed, self.dropout = Attention(width, heads), Feed(width), nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        normal = self.norms[0](x)
        x = x + self.dropout(self.attention(normal, *self.attention.keys_values(normal), mask))
        out: Tensor = x + self.dropout(self.feed(self.norms[1](x)))
        return out


class DecoderLayer(nn.Module):
    """Self-attention over what was read, attention to the encoder where there is one, feed-forward."""

    def __init__(self, width: int, heads: int, dropout: float, crossed: bool = True) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3 if crossed else 2))
        self.attention, self.feed, self.dropout = Attention(width, heads), Feed(width), nn.Dropout(dropout)
        self.cross = Attention(width, heads) if crossed else None

    def memory(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The keys and values of an encoder's output."""
        assert self.cross is not None, "a decoder without an encoder"
        return self.cross.keys_values(x)

    def forward(
        self, x: Tensor, memory: tuple[Tensor, Tensor] | None, seen: Tensor | None, mask: Tensor | None = None
    ) -> Tensor:
        """All steps at once, [B, S, D]; `memory` keys and values of the encoder, `seen` [B, 1, 1, T] true where it
        has tokens. `mask` [B, 1, S, S] in place of the causal one.
        """
        normal = self.norms[0](x)
        x = x + self.dropout(self.attention(normal, *self.attention.keys_values(normal), mask, causal=mask is None))
        return self._rest(x, memory, seen)

    def step(
        self,
        x: Tensor,
        past: tuple[Tensor, Tensor] | None,
        memory: tuple[Tensor, Tensor] | None,
        seen: Tensor | None,
        mask: Tensor | None,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """One step of every beam, [B * K, 1, D]; `memory` is of rows, not of beams. Returns the keys and values so
        far as well.
        """
        normal = self.norms[0](x)
        keys, values = self.attention.keys_values(normal)
        if past is not None:
            keys, values = torch.cat([past[0], keys], 2), torch.cat([past[1], values], 2)
        x = x + self.attention(normal, keys, values, mask)
        rows = x if memory is None else x.view(memory[0].shape[0], -1, x.shape[-1])
        return self._rest(rows, memory, seen).view_as(x), (keys, values)

    def _rest(self, x: Tensor, memory: tuple[Tensor, Tensor] | None, seen: Tensor | None) -> Tensor:
        if self.cross is not None and memory is not None:
            x = x + self.dropout(self.cross(self.norms[1](x), *memory, seen))
        out: Tensor = x + self.dropout(self.feed(self.norms[-1](x)))
        return out


def begun(network: nn.Module) -> None:
    """Small embeddings, as tied outputs want them."""
    for module in network.modules():
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)


def padded(rows: list[list[int]], fill: int = 0) -> Tensor:
    """Lists of numbers as [rows, longest], filled up behind."""
    longest = max(map(len, rows))
    return torch.tensor([row + [fill] * (longest - len(row)) for row in rows], dtype=torch.long)
