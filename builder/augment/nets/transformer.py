"""A small Transformer (Vaswani et al. 2017) with its normalisation first, behind LSTMs: in the minutes that an embedded
model is trained, order and neighbours are learnt by these. And the label-aware encoder-decoder of Li et al. (2020),
equations 2 to 7, over it or any encoder-decoder of a hub: label embeddings are added to the input of the encoder (2),
to that of the decoder (6), and to its states before the softmax (5, 4). They can be left out (table 3).

Shapes: B rows, T tokens of the encoder, K beams a row (1 in training), S steps, D width, H heads. The beams of a row
share the encoder's keys and values, so that a wide beam costs queries alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from builder.learning.devices import device_of, place

# ---- A small Transformer


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
    """What LSTMs from either side read, added to the embeddings [B, T, D]; `seen` [B, T]: where tokens are."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.both = nn.ModuleList(nn.LSTM(width, width // 2, batch_first=True) for _ in range(2))

    def forward(self, x: Tensor, seen: Tensor) -> Tensor:
        there, back = self.both
        lengths = seen.sum(1)
        behind = turned_round(back(turned_round(x, lengths))[0], lengths)
        return x + torch.cat([there(x)[0], behind], 2)


def turned_round(x: Tensor, lengths: Tensor) -> Tensor:
    """Every row's tokens in reverse [B, T, D], the first one for padding, which still stands behind."""
    at = (lengths[:, None] - 1 - torch.arange(x.shape[1], device=x.device)[None]).clamp(min=0)
    return x.gather(1, at[:, :, None].expand_as(x))


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
    """Self-attention over what was read, attention to the encoder, feed-forward."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.attention, self.feed, self.dropout = Attention(width, heads), Feed(width), nn.Dropout(dropout)
        self.cross = Attention(width, heads)

    def memory(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The keys and values of an encoder's output."""
        return self.cross.keys_values(x)

    def forward(self, x: Tensor, memory: tuple[Tensor, Tensor], seen: Tensor) -> Tensor:
        """All steps at once [B, S, D]; `seen` [B, 1, 1, T]: where the encoder has tokens."""
        normal = self.norms[0](x)
        x = x + self.dropout(self.attention(normal, *self.attention.keys_values(normal), None, causal=True))
        return self._rest(x, memory, seen)

    def step(
        self, x: Tensor, past: tuple[Tensor, Tensor] | None, memory: tuple[Tensor, Tensor], seen: Tensor
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """One step of every beam [B * K, 1, D], and the keys and values so far; `memory` is of rows."""
        normal = self.norms[0](x)
        keys, values = self.attention.keys_values(normal)
        if past is not None:
            keys, values = torch.cat([past[0], keys], 2), torch.cat([past[1], values], 2)
        x = x + self.attention(normal, keys, values, None)
        rows = x.view(memory[0].shape[0], -1, x.shape[-1])
        return self._rest(rows, memory, seen).view_as(x), (keys, values)

    def _rest(self, x: Tensor, memory: tuple[Tensor, Tensor], seen: Tensor) -> Tensor:
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


# ---- Label-aware encoder-decoders

IGNORED = -100


@dataclass(frozen=True, slots=True)
class MaskedSentence:
    """A masked sentence with its labels; [start, start + len(target)) is the fragment, `previous` the token before it
    (or what a decoder begins with), `before` its label.
    """

    source: tuple[int, ...]
    labels: tuple[int, ...]
    start: int
    target: tuple[int, ...]
    previous: int
    before: int = 0

    @property
    def target_labels(self) -> tuple[int, ...]:
        return self.labels[self.start : self.start + len(self.target)]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """A batch. Encoder: source, labels, seen [B, T]; decoder: start [B], target and due, previous and before [B, S]."""

    source: Tensor
    labels: Tensor
    seen: Tensor
    start: Tensor
    previous: Tensor
    before: Tensor
    target: Tensor
    due: Tensor


def collate(items: Sequence[MaskedSentence], pad: int) -> Rows:
    """Pad masked sentences into one batch; padding of the target is ignored by the loss."""
    source = padded([list(item.source) for item in items], pad)
    lengths = torch.tensor([len(item.source) for item in items])
    return Rows(
        source,
        padded([list(item.labels) for item in items]),
        torch.arange(source.shape[1])[None] < lengths[:, None],
        torch.tensor([item.start for item in items]),
        padded([[item.previous, *item.target[:-1]] for item in items], pad),
        padded([[item.before, *item.target_labels[:-1]] for item in items]),
        padded([list(item.target) for item in items], IGNORED),
        padded([list(item.target_labels) for item in items]),
    )


class EmbeddedCore(nn.Module):
    """A Transformer of one layer behind an LSTM, on either side; decoder positions are the sentence's, as in MASS."""

    longest = 512

    def __init__(self, size: int, width: int = 192, heads: int = 4, dropout: float = 0.1) -> None:
        super().__init__()
        self.width = width
        self.positions = nn.Embedding(self.longest, width)
        self.reading, self.writing = TwoWayReading(width), nn.LSTM(width, width, batch_first=True)
        self.encoder, self.decoder = EncoderLayer(width, heads, dropout), DecoderLayer(width, heads, dropout)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.dropout = nn.Dropout(dropout)
        self.bias = nn.Parameter(torch.zeros(size))
        self.tokens = nn.Embedding(size, width)  # last: its size is drawn from the data
        begun(self)

    def embed(self, ids: Tensor) -> Tensor:
        out: Tensor = self.tokens(ids)
        return out

    def encode(self, x: Tensor, seen: Tensor) -> Tensor:
        x = self.dropout(self.reading(x, seen) + self.positions.weight[: x.shape[1]])
        out: Tensor = self.norms[0](self.encoder(x, seen[:, None, None, :]))
        return out

    def decode(self, x: Tensor, memory: Tensor, seen: Tensor, start: Tensor) -> Tensor:
        at = (start[:, None] + torch.arange(x.shape[1], device=x.device)[None]).clamp(max=self.longest - 1)
        x = self.dropout(x + self.writing(x)[0] + self.positions(at))
        out: Tensor = self.norms[1](self.decoder(x, self.decoder.memory(memory), seen[:, None, None, :]))
        return out

    def remember(self, memory: Tensor, seen: Tensor, start: Tensor, beams: int) -> list[Any]:
        """Decoding's state: encoder's keys and values, where it has tokens, next positions, past of layer and LSTM."""
        return [self.decoder.memory(memory), seen[:, None, None, :], start.repeat_interleave(beams), None, None]

    def advance(self, x: Tensor, state: list[Any]) -> Tensor:
        kept, seen, at, past, written = state
        output, state[4] = self.writing(x, written)
        x = x + output + self.positions(at.clamp(max=self.longest - 1))[:, None]
        x, state[3] = self.decoder.step(x, past, kept, seen)
        state[2] = at + 1
        out: Tensor = self.norms[1](x)
        return out

    def reorder(self, state: list[Any], beams: Tensor) -> None:
        state[3] = tuple(part[beams] for part in state[3])
        state[4] = tuple(part[:, beams] for part in state[4])

    def head(self, s: Tensor) -> Tensor:
        return functional.linear(s, self.tokens.weight, self.bias)


class HubCore(nn.Module):
    """An encoder-decoder of transformers behind the same words; its decoder counts from the fragment's start."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network, self.width = network, int(network.get_input_embeddings().weight.shape[1])
        self.longest = int(getattr(network.config, "max_position_embeddings", 512))
        self._scale = self.width**-0.5 if getattr(network.config, "scale_decoder_outputs", False) else 1.0

    def embed(self, ids: Tensor) -> Tensor:
        out: Tensor = self.network.get_encoder().embed_tokens(ids)
        return out

    def encode(self, x: Tensor, seen: Tensor) -> Tensor:
        out: Tensor = self.network.get_encoder()(inputs_embeds=x, attention_mask=seen.long()).last_hidden_state
        return out

    def decode(self, x: Tensor, memory: Tensor, seen: Tensor, start: Tensor) -> Tensor:
        out: Tensor = self._read(x, memory, seen.long(), use_cache=False).last_hidden_state
        return out

    def _read(self, x: Tensor, memory: Tensor, seen: Tensor, **cache: Any) -> Any:
        decoder = self.network.get_decoder()
        return decoder(inputs_embeds=x, encoder_hidden_states=memory, encoder_attention_mask=seen, **cache)

    def remember(self, memory: Tensor, seen: Tensor, start: Tensor, beams: int) -> list[Any]:
        return [memory.repeat_interleave(beams, 0), seen.long().repeat_interleave(beams, 0), None]

    def advance(self, x: Tensor, state: list[Any]) -> Tensor:
        memory, seen, past = state
        output = self._read(x, memory, seen, past_key_values=past, use_cache=True)
        state[2] = output.past_key_values
        out: Tensor = output.last_hidden_state
        return out

    def reorder(self, state: list[Any], beams: Tensor) -> None:
        state[2].reorder_cache(beams)

    def head(self, s: Tensor) -> Tensor:
        out: Tensor = self.network.get_output_embeddings()(s * self._scale)
        bias = getattr(self.network, "final_logits_bias", None)
        return out if bias is None else out + bias


class LabelledSeq2Seq(nn.Module):
    """Equations 2 to 7 around a core. Label embeddings begin at nothing, so that a pretrained core begins as it was."""

    def __init__(self, core: EmbeddedCore | HubCore, labels: int, used: bool = True) -> None:
        super().__init__()
        self.core = core
        self.labels = nn.Embedding(labels, core.width)
        nn.init.zeros_(self.labels.weight)
        self.labels.weight.requires_grad_(used)

    def encode(self, rows: Rows) -> Tensor:
        return self.core.encode(self.core.embed(rows.source) + self.labels(rows.labels), rows.seen)

    def states(self, rows: Rows) -> Tensor:
        """s_t [B, S, D] of every token of the fragments."""
        z = self.core.decode(
            self.core.embed(rows.previous) + self.labels(rows.before), self.encode(rows), rows.seen, rows.start
        )
        out: Tensor = z + self.labels(rows.due)
        return out

    def forward(self, rows: Rows) -> Tensor:
        """Logits [B, S, V] of them."""
        out: Tensor = self.core.head(self.states(rows))
        return out

    def step(self, previous: Tensor, before: Tensor, due: Tensor, state: list[Any]) -> Tensor:
        """log P(y_t | ...) [B * K, V] of every beam: the tokens chosen last, their labels, the labels due."""
        z = self.core.advance((self.core.embed(previous) + self.labels(before))[:, None], state)[:, 0]
        return torch.log_softmax(self.core.head(z + self.labels(due)).float(), -1)


def loss(network: LabelledSeq2Seq, items: Sequence[MaskedSentence], pad: int) -> Tensor:
    """Equation 7, turned into a mean over tokens."""
    rows = place(collate(items, pad), device_of(network))
    return functional.cross_entropy(network(rows).flatten(0, 1).float(), rows.target.flatten(), ignore_index=IGNORED)
