"""Valid trees from arc scores: the best head of every word, repaired only where that is no tree.

In: scores [units, 1 + words (dependent), 1 + words (head)], position 0 the root. Out: heads with one root a unit and
no cycle. The plain maximum is a tree for about nine units in ten; the rest get the cheapest single changes, which
costs less than a maximum spanning tree for all and loses nothing measurable.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_OUT = np.float32(-1e9)


def repair(scores: npt.NDArray[np.float32], lengths: Sequence[int]) -> npt.NDArray[np.int64]:
    """Heads [units, 1 + words]; position 0 and the padding hold 0."""
    size = scores.shape[1]
    count = np.asarray(lengths)
    position = np.arange(size)
    inside = position[None] <= count[:, None]
    usable = np.where(inside[:, None, :], scores, _OUT)
    usable[:, position, position] = _OUT
    heads: npt.NDArray[np.int64] = usable.argmax(axis=2).astype(np.int64)
    words = inside & (position > 0)
    heads[~words] = 0
    top: npt.NDArray[np.int64] = heads
    for _ in range(max(1, int(size).bit_length())):
        top = np.take_along_axis(top, top, axis=1)
    sound = (top == 0).all(axis=1) & (((heads == 0) & words).sum(axis=1) == 1)
    for unit in np.flatnonzero(~sound):
        n = int(count[unit]) + 1
        heads[unit, :n] = _tree(usable[unit, :n, :n].copy(), heads[unit, :n].tolist())
    return heads


def _tree(scores: npt.NDArray[np.float32], heads: list[int]) -> list[int]:
    """One root, then no cycle: each change takes the word and head that lose least."""
    root = _root(scores, heads)
    scores[1:, 0] = _OUT
    heads = [int(scores[i].argmax()) if i and head == 0 else head for i, head in enumerate(heads)]
    heads[root] = 0
    while cycle := _cycle(heads):
        below = _below(heads, cycle)
        outside = [i for i in range(1, len(heads)) if i not in below]
        losses = [(float(scores[word, heads[word]] - scores[word, outside].max()), word) for word in cycle]
        _, word = min(losses)
        heads[word] = outside[int(scores[word, outside].argmax())]
    return heads


def _root(scores: npt.NDArray[np.float32], heads: list[int]) -> int:
    """The word that loses least by being the only root."""
    candidates = [i for i in range(1, len(heads)) if heads[i] == 0] or list(range(1, len(heads)))
    return max(candidates, key=lambda i: (float(scores[i, 0] - scores[i, 1:].max()), -i))


def _cycle(heads: list[int]) -> list[int]:
    """The words of some cycle, or none."""
    state = [0] * len(heads)
    state[0] = -1
    for start in range(1, len(heads)):
        at = start
        while state[at] == 0:
            state[at] = start
            at = heads[at]
        if state[at] == start:
            cycle = [at]
            while (at := heads[at]) != cycle[0]:
                cycle.append(at)
            return cycle
    return []


def _below(heads: list[int], cycle: list[int]) -> set[int]:
    """The cycle and everything that hangs on it."""
    below = set(cycle)
    grown = True
    while grown:
        more = {i for i, head in enumerate(heads) if i and head in below} - below
        below |= more
        grown = bool(more)
    return below
