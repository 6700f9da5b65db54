"""The parser's network as numpy reads it: a BiLSTM over words, and scores of arcs and relations over its states.

In: weights by the names of `fit_parser.Network`, and words as columns of numbers. Out: scores. Words stand time
by time: the first words of all units, then the second, each time over the units that are that long, longest first.
What the first layer makes of a word is the same wherever it stands, and is reckoned once for each different word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Weights = Mapping[str, Floats]
_AT_ONCE = 256  # rows whose products stay in the processor's cache
_SLOPE = np.float32(0.1)
_HALF = np.float32(0.5)
_VIEWS = ("arc_head", "arc_dep", "rel_head", "rel_dep")


@dataclass(frozen=True, slots=True, eq=False)
class Direction:
    """One direction of a layer: weights of its inputs [in, 4 hidden] and of its last state [hidden, 4 hidden].

    The gates stand in the order input, forget, output, cell. The first three are halved, since a sigmoid is half of
    a tanh of the half: one tanh does for all four.
    """

    inputs: Floats
    bias: Floats
    recurrent: Floats

    @classmethod
    def of(cls, weights: Weights, name: str) -> Direction:
        """`name` is the end of the names of torch's weights, l0_reverse for one."""
        hidden = weights[f"lstm.weight_hh_{name}"].shape[1]
        order = np.r_[0 : 2 * hidden, 3 * hidden : 4 * hidden, 2 * hidden : 3 * hidden]
        scale = np.where(np.arange(4 * hidden) < 3 * hidden, _HALF, np.float32(1))
        inputs, recurrent = (weights[f"lstm.weight_{kind}_{name}"][order].T * scale for kind in ("ih", "hh"))
        bias = (weights[f"lstm.bias_ih_{name}"] + weights[f"lstm.bias_hh_{name}"])[order] * scale
        return cls(np.ascontiguousarray(inputs), bias, np.ascontiguousarray(recurrent))

    def project(self, states: Floats) -> Floats:
        """What inputs add to the gates: [words, in] -> [words, 4 hidden]."""
        gates: Floats = states @ self.inputs
        gates += self.bias
        return gates

    def run(self, gates: Floats, sizes: Sequence[int], starts: Sequence[int], backwards: bool, out: Floats) -> None:
        """Write the states of all words to `out` [words, hidden]; `gates`, what `project` gave, is used up.

        `sizes` are the units that reach each time, `starts` where their words begin.
        """
        hidden = len(self.recurrent)
        cells = np.zeros((sizes[0], hidden), np.float32)
        room = np.empty((sizes[0], 4 * hidden), np.float32)
        before = out[:0]
        times = range(len(sizes))
        for time in reversed(times) if backwards else times:
            size = sizes[time]
            now = gates[starts[time] : starts[time] + size]
            going = min(size, len(before))  # the others begin here
            if going:
                now[:going] += np.matmul(before[:going], self.recurrent, out=room[:going])
            np.tanh(now, out=now)
            opened = now[:, : 3 * hidden]
            opened *= _HALF
            opened += _HALF
            cell = cells[:size]
            cell *= opened[:, hidden : 2 * hidden]
            now[:, 3 * hidden :] *= opened[:, :hidden]
            cell += now[:, 3 * hidden :]
            before = out[starts[time] : starts[time] + size]
            np.tanh(cell, out=before)
            before *= opened[:, 2 * hidden :]


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """The weights, laid out for reading."""

    tables: tuple[Floats, Floats, Floats, Floats, Floats]
    """Of words, fixed vectors, characters, lengths and tags."""
    layers: tuple[tuple[Direction, Direction], ...]
    root: Floats
    views: Floats
    view_bias: Floats
    arc: Floats
    relation: Floats
    """[dependent × head, relations]"""
    relation_size: int

    @classmethod
    def of(cls, weights: Weights) -> Network:
        """From torch's weights."""
        word, vector, char, length, tag = (
            weights[f"{name}.weight"] for name in ("word", "vector", "char", "length", "tag")
        )
        count = sum(name.startswith("lstm.weight_hh") for name in weights) // 2
        layers = tuple(
            (Direction.of(weights, f"l{layer}"), Direction.of(weights, f"l{layer}_reverse")) for layer in range(count)
        )
        views = np.concatenate([weights[f"views.{name}.weight"] for name in _VIEWS]).T
        bias = np.concatenate([weights[f"views.{name}.bias"] for name in _VIEWS])
        relation = weights["rel"].transpose(1, 2, 0)
        return cls(
            (word, vector, char, length, tag),
            layers,
            weights["root"],
            np.ascontiguousarray(views),
            bias,
            weights["arc"],
            np.ascontiguousarray(relation.reshape(-1, relation.shape[2])),
            relation.shape[0] - 1,
        )

    def project(self, columns: Ints) -> tuple[Floats, Floats]:
        """What different words, by their columns [words, FEATURES], add to the gates of both directions."""
        word, vector, char, length, tag = self.tables
        parts = [word[columns[:, 0]], vector[columns[:, 1]], *(char[columns[:, i]] for i in (2, 3, 4))]
        states = np.concatenate([*parts, tag[columns[:, 6]], length[columns[:, 5]]], axis=1)
        forwards, backwards = self.layers[0]
        return forwards.project(states), backwards.project(states)

    def encode(self, projected: tuple[Floats, Floats], numbers: Ints, sizes: Sequence[int]) -> Floats:
        """[1 + words, views]: what arcs and relations see of each word, and of the root, which is last.

        `numbers` are the words' places in `projected`, time by time.
        """
        starts = np.concatenate([[0], np.cumsum(sizes)]).tolist()
        hidden = len(self.layers[0][0].recurrent)
        states = np.empty((len(numbers) + 1, 2 * hidden), np.float32)
        gates = (projected[0][numbers], projected[1][numbers])
        for place, layer in enumerate(self.layers):
            if place:
                gates = (layer[0].project(states[:-1]), layer[1].project(states[:-1]))
            layer[0].run(gates[0], sizes, starts, False, states[:-1, :hidden])
            layer[1].run(gates[1], sizes, starts, True, states[:-1, hidden:])
        states[-1] = self.root
        seen: Floats = states @ self.views
        seen += self.view_bias
        np.maximum(seen, seen * _SLOPE, out=seen)
        return seen

    def arcs(self, seen: Floats, places: Ints) -> Floats:
        """[units, 1 + words (dependent), 1 + words (head)]; `places` [units, 1 + words] are rows of `seen`."""
        size = self.arc.shape[1]
        left: Floats = seen[:, size : 2 * size] @ self.arc[:-1]
        left += self.arc[-1]
        head = np.ascontiguousarray(seen[:, :size])
        scores: Floats = left[places] @ head[places].transpose(0, 2, 1)
        return scores

    def relations(self, seen: Floats, heads: Ints) -> Floats:
        """[words, relations] of all words for given heads, rows of `seen`."""
        size, start = self.relation_size, 2 * self.arc.shape[1]
        sides = np.ones((2, len(heads), size + 1), np.float32)
        sides[0, :, :-1] = seen[:-1, start + size :]
        sides[1, :, :-1] = seen[heads, start : start + size]
        out = np.empty((len(heads), self.relation.shape[1]), np.float32)
        for first in range(0, len(heads), _AT_ONCE):
            dependent, head = sides[:, first : first + _AT_ONCE]
            products = (dependent[:, :, None] * head[:, None, :]).reshape(len(head), -1)
            np.matmul(products, self.relation, out=out[first : first + _AT_ONCE])
        return out
