"""Which texts say nearly the same? All pairs whose sets of character bigrams have a Jaccard index of at least 0.7, none missed. Pure.

An exact join by prefix filtering (Bayardo et al. 2007, Xiao et al. 2008) instead of MinHash: two sets that share 70% of their bigrams share
one of the rarest 30% of each, so few pairs are ever compared. 48,000 reviews take two seconds, there is no random hash to miss a leak, and
a gate that asks the same question gets the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from builder.text import script_of, view

SEVEN, TEN = 7, 10
"""The threshold as a fraction: floats would round pairs away that lie on it."""


def normal(text: str) -> str:
    """What is compared: the letters and digits of a text in one script, width and case; the text itself where it has none."""
    return "".join(c for c in view(text, script=script_of(text)).text.lower() if c.isalnum()) or text


def bigrams(text: str) -> frozenset[str]:
    """The pairs of neighbours of a normal text; a single character is its own."""
    return frozenset(text[i : i + 2] for i in range(max(1, len(text) - 1)))


def alike(one: Set[object], other: Set[object]) -> bool:
    return _alike(len(one & other), len(one) + len(other))


def _alike(shared: int, sizes: int) -> bool:
    return TEN * shared >= SEVEN * (sizes - shared)


def pairs(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Indices (a, b), a < b, of normal texts that are near-duplicates, in order. Every pair: as many as there are."""
    return _join(texts, list(range(len(texts))), every=True)


def links(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs enough to connect all that `pairs` would connect, and no more than there are texts: a template filled a thousand times is no
    million pairs. Any two groups of texts have a link between them if they have a pair."""
    return _join(texts, list(range(len(texts))), every=False)


def _join(texts: Sequence[str], parent: list[int], every: bool) -> list[tuple[int, int]]:
    grams = Grams.of(texts)
    holders: list[_Holders] = [None] * grams.distinct
    found: list[tuple[int, int]] = []
    for i in np.argsort(grams.sizes(), kind="stable").tolist():
        own = grams.ranks(i)
        size, whole = len(own), set(own)
        compared: set[int] = set()
        prefix = own[: size - (SEVEN * size + TEN - 1) // TEN + 1]
        for gram in prefix:
            for listed in _held(holders[gram]):
                for j in listed:
                    if not every and _root(parent, listed[0]) == _root(parent, i):
                        break
                    if j not in compared and TEN * grams.size(j) >= SEVEN * size:
                        compared.add(j)
                        if _alike(len(whole.intersection(grams.ranks(j))), size + grams.size(j)):
                            found.append((min(i, j), max(i, j)))
                            parent[_root(parent, i)] = _root(parent, j)
        for gram in prefix:
            holders[gram] = _with(holders[gram], i, parent)
    return sorted(found)


_Holders = int | dict[int, list[int]] | None
"""The texts that hold a gram, so far: none, one (as nearly all grams have: a number is all that it costs), or those of each cluster."""


def _held(holders: _Holders) -> Iterable[Sequence[int]]:
    return () if holders is None else ((holders,),) if isinstance(holders, int) else holders.values()


def _with(holders: _Holders, i: int, parent: list[int]) -> _Holders:
    if holders is None:
        return i
    several = {_root(parent, holders): [holders]} if isinstance(holders, int) else holders
    several.setdefault(_root(parent, i), []).append(i)
    return several


@dataclass(frozen=True, slots=True, eq=False)
class Grams:
    """The bigrams of many texts as numbers, the rarest first, sorted: text i has flat[starts[i]:starts[i + 1]]. Four bytes each, where sets of
    strings take a hundred."""

    flat: NDArray[np.int32]
    starts: NDArray[np.int64]
    distinct: int

    @classmethod
    def of(cls, texts: Sequence[str]) -> Grams:
        counted = np.empty(0, np.int64), np.empty(0, np.int64)
        for first in range(0, len(texts), _BLOCK):
            counted = _added(counted, _codes(texts[first : first + _BLOCK])[1])
        known, counts = counted
        rank = np.empty(len(known), np.int32)
        rank[np.lexsort((known, counts))] = np.arange(len(known), dtype=np.int32)
        blocks, sizes = [np.empty(0, np.int32)], [np.zeros(1, np.int64)]
        for first in range(0, len(texts), _BLOCK):
            of, codes = _codes(texts[first : first + _BLOCK])
            ranks = rank[np.searchsorted(known, codes)]
            blocks.append(ranks[np.lexsort((ranks, of))])
            sizes.append(np.bincount(of, minlength=len(texts[first : first + _BLOCK])))
        return cls(np.concatenate(blocks), np.cumsum(np.concatenate(sizes)), len(known))

    def ranks(self, i: int) -> list[int]:
        found: list[int] = self.flat[self.starts[i] : self.starts[i + 1]].tolist()
        return found

    def size(self, i: int) -> int:
        return int(self.starts[i + 1] - self.starts[i])

    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.starts)


_BLOCK = 1 << 14
_BITS = 21
"""Of a code point; a text of a block, two code points and their order fit into 63 bits."""


def _codes(texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(text, gram) of the bigrams of a block, each once a text, in order: the gram is its two code points, the second one up, 0 for none."""
    points = [np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64) for text in texts]
    grams = [one[:-1] << _BITS | one[1:] + 1 if len(one) > 1 else one << _BITS if len(one) else np.full(1, -1) for one in points]
    keys = np.unique(
        np.concatenate([grams_ + 1 | np.int64(n) << 2 * _BITS + 1 for n, grams_ in enumerate(grams)] or [np.empty(0, np.int64)])
    )
    return keys >> 2 * _BITS + 1, (keys & (1 << 2 * _BITS + 1) - 1) - 1


Counted = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Grams in order, and how many texts have each."""


def _added(counted: Counted, grams: NDArray[np.int64]) -> Counted:
    """`counted` with the grams of another block."""
    known, back = np.unique(np.concatenate([counted[0], grams]), return_inverse=True)
    weights = np.concatenate([counted[1], np.ones(len(grams), np.int64)])
    return known, np.bincount(back, weights, len(known)).astype(np.int64)


def _root(parent: list[int], i: int) -> int:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


def among(texts: Sequence[str], groups: Mapping[int, Sequence[int]]) -> list[tuple[int, int]]:
    """Every pair inside each of some groups of indices."""
    return [(own[a], own[b]) for own in groups.values() for a, b in pairs([texts[i] for i in own])]


def clusters(count: int, near: Iterable[tuple[int, int]]) -> list[int]:
    """For each of `count` texts the smallest index among those it is connected to by pairs."""
    parent = list(range(count))
    for one, other in near:
        a, b = sorted((_root(parent, one), _root(parent, other)))
        parent[b] = a
    return [_root(parent, i) for i in range(count)]
