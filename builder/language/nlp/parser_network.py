"""The parser's network while it learns, in torch; what it has learnt is read by `builder.language.nlp.parser`, which needs none.

In: columns of words. Out: scores of arcs and relations, with gradients. `learnt` is the way from one to the other.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from builder.language.nlp.parser import LENGTHS, Parser, ParserShape, ParserVocabulary, make_parser

_CACHED = 256  # rows whose products stay in the processor's cache


class Network(nn.Module):
    """Scores of arcs and relations. `shape` fixes every size."""

    def __init__(self, shape: ParserShape) -> None:
        super().__init__()
        self.shape = shape
        self.word = nn.Embedding(shape.words + 1, shape.word_dim, padding_idx=0)
        self.vector = nn.Embedding(shape.vectors + 1, shape.vector_dim, padding_idx=0)
        self.vector.weight.requires_grad_(False)
        self.char = nn.Embedding(shape.chars + 1, shape.char_dim, padding_idx=0)
        self.tag = nn.Embedding(shape.tags + 1, shape.tag_dim)
        self.length = nn.Embedding(LENGTHS, LENGTHS)
        self.lstm = nn.LSTM(
            shape.width, shape.hidden, shape.layers, bidirectional=True, batch_first=True, dropout=shape.dropout
        )
        self.root = nn.Parameter(torch.zeros(2 * shape.hidden))
        sizes = {"arc_head": shape.arc, "arc_dep": shape.arc, "rel_head": shape.rel, "rel_dep": shape.rel}
        self.views = nn.ModuleDict({name: nn.Linear(2 * shape.hidden, size) for name, size in sizes.items()})
        self.arc = nn.Parameter(torch.zeros(shape.arc + 1, shape.arc))
        self.rel = nn.Parameter(torch.zeros(shape.rels, shape.rel + 1, shape.rel + 1))
        self.drop = nn.Dropout(shape.dropout)

    def encode(self, columns: Tensor, lengths: Tensor) -> Tensor:
        """[units, words, FEATURES] -> [units, 1 + words, 2 hidden]; position 0 is the root."""
        word, vector, chars, length, tag = (
            columns[..., 0],
            columns[..., 1],
            columns[..., 2:5],
            columns[..., 5],
            columns[..., 6],
        )
        parts = [self.word(word), self.vector(vector), self.char(chars).flatten(2), self.tag(tag), self.length(length)]
        packed = pack_padded_sequence(self.drop(torch.cat(parts, 2)), lengths, batch_first=True)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        root = self.root.expand(len(states), 1, -1)
        out: Tensor = self.drop(torch.cat([root, states], 1))
        return out

    def view(self, name: str, states: Tensor) -> Tensor:
        """The states as the head or dependent of an arc or relation sees them, by `name`: [units, 1 + words, size]."""
        out: Tensor = self.drop(nn.functional.leaky_relu(self.views[name](states), 0.1))
        return out

    def arcs(self, states: Tensor) -> Tensor:
        """[units, 1 + words (dependent), 1 + words (head)]."""
        dependent, head = self.view("arc_dep", states), self.view("arc_head", states)
        biased = torch.cat([dependent, torch.ones_like(dependent[..., :1])], 2)
        scores: Tensor = biased @ self.arc @ head.transpose(1, 2)
        return scores

    def relations(self, states: Tensor, heads: Tensor) -> Tensor:
        """[units, 1 + words, relations] for given heads [units, 1 + words]."""
        dependent, head = self.view("rel_dep", states), self.view("rel_head", states)
        head = head.gather(1, heads[..., None].expand(-1, -1, head.shape[2]))
        bias = torch.ones_like(dependent[..., :1])
        dependent, head = torch.cat([dependent, bias], 2), torch.cat([head, bias], 2)
        size = dependent.shape[2]
        weights = self.rel.permute(1, 0, 2).reshape(size, -1)
        rows = [
            ((left @ weights).view(len(left), -1, size) @ right[..., None])[..., 0]
            for left, right in zip(
                torch.split(dependent.view(-1, size), _CACHED), torch.split(head.view(-1, size), _CACHED), strict=True
            )
        ]
        return torch.cat(rows).view(*heads.shape, -1)


def learnt(vocabulary: ParserVocabulary, network: Network) -> Parser:
    """The parser that a network has become so far."""
    weights = {name: value.detach().numpy() for name, value in network.state_dict().items()}
    return make_parser(vocabulary, network.shape, weights)
