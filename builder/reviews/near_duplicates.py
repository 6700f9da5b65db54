"""Which texts say nearly the same? All pairs whose sets of character bigrams have a Jaccard index of at least 0.7,
none missed.

An exact join by prefixes (Bayardo et al. 2007; prefixes that must share two elements: Wang et al. 2012) instead of
MinHash: of two sets that share 70% of their bigrams each holds the same two among its rarest 30% and one more, so
texts are looked up by pairs of rare bigrams, which few have in common by chance. There is no random hash to miss a
leak, and a gate that asks the same question gets the same answer. Copies of a text share most of its pairs: `links`
connects neighbours first and compares only what is not connected yet; `pairs` names each pair, and there may be many.
Each text has its sketch in memory, each link that is found some 170 bytes; time grows somewhat faster than their
number, since among more texts more share two bigrams by chance.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableSequence, Sequence, Set
from functools import lru_cache
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from builder.reviews import rare_pairs
from builder.reviews.rare_pairs import SEVEN, TEN, Ints, Words, bigram_arrays, distinct, groups, ranges, scattered
from builder.reviews.script import Script
from builder.reviews.text import NO_LETTER, view

_MANY = 32
"""The texts of a smaller group are compared each with each."""
_LONG = 2000
"""Bigrams of a text whose pairs are too many to be looked up."""
_WORDS, _WIDE = 4, 64
"""Numbers of 64 bits in a sketch, and in that of a text that is compared with many others."""
_HELD = 1 << 10
"""Texts whose sets are kept for the next comparison."""


def normal(text: str, script: Script | None = None) -> str:
    """What is compared: the letters and digits of what is read of a text, in one script, width and case; the text
    itself where it has none. `script` is that of the text, where it is known.
    """
    return NO_LETTER.sub("", view(text, script=script).text.lower()) or text


def bigrams(text: str) -> frozenset[str]:
    """The pairs of neighbours of a normal text; a single character is its own."""
    return frozenset(text[i : i + 2] for i in range(max(1, len(text) - 1)))


def alike(first: Set[object], second: Set[object]) -> bool:
    """Whether two sets have a Jaccard index of at least 0.7."""
    shared = len(first & second)
    return TEN * shared >= SEVEN * (len(first) + len(second) - shared)


def pairs(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Indices (a, b), a < b, of normal texts that are near-duplicates, in order. Every pair: as many as there are."""
    return _join(texts, every=True)


def links(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs enough to connect all that `pairs` would connect, and fewer than there are texts: a template filled a
    thousand times is no million pairs.
    """
    return _join(texts, every=False)


def _join(texts: Sequence[str], every: bool) -> list[tuple[int, int]]:
    forest = _Forest(len(texts), every)
    grams = lru_cache(_HELD)(lambda i: bigrams(texts[i]))
    near_pairs: set[tuple[int, int]] = set()

    def near(first: int, second: int) -> bool:
        pair = min(first, second), max(first, second)
        if pair not in near_pairs and alike(grams(first), grams(second)):
            near_pairs.add(pair)
            forest.join(first, second)
        return pair in near_pairs

    for group in _alone(texts):
        for first, second in combinations(group, 2) if every else pairwise(group):
            near(first, second)
    sketches = _sketches(texts)

    def compare(firsts: Ints, seconds: Ints) -> None:
        for first, second in zip(firsts.tolist(), seconds.tolist(), strict=True):
            if forest.open(first, second):
                near(first, second)

    def compare_all(group: Ints) -> None:
        _compare(group, _sketches([texts[i] for i in group.tolist()], _WIDE), forest, near)

    sizes = sketches[:, -1].astype(np.int64)
    if (sizes > _LONG).any():  # few: each with each that may be alike
        compare_all(np.flatnonzero(TEN * sizes > SEVEN * _LONG))
    for who, start, end in groups(texts, sizes, _LONG):
        if not every:
            # Copies of a text share most pairs: neighbours connect them, and what is connected is not compared again.
            compare(*_neighbours(who, start, end, sketches, forest))
            mixed = forest.mixed(who, start, end)
            start, end = start[mixed], end[mixed]
        few = end - start <= _MANY
        for firsts, seconds in _pairs(who, start[few], end[few], sketches, forest):
            compare(firsts, seconds)
        start, end = start[~few], end[~few]
        union = np.unique(who[ranges(start, end)])
        if int(((end - start) ** 2).sum()) > len(union) ** 2:  # reviews of the same few words share many pairs
            compare_all(union)
        else:
            for first, last in zip(start.tolist(), end.tolist(), strict=True):
                _compare(who[first:last], sketches[who[first:last]], forest, near)
    return sorted(near_pairs)


class _Forest:
    """Which texts are connected. With `every`, that is never a reason to leave a pair uncompared."""

    def __init__(self, count: int, every: bool) -> None:
        self.parent, self.every = array("q", range(count)), every
        self._parent = np.frombuffer(self.parent, np.int64)

    def root(self, i: int) -> int:
        return _root(self.parent, i)

    def roots(self, texts: Ints) -> Ints:
        """The root of each of some texts."""
        root = self._parent[texts]
        while (root != (above := self._parent[root])).any():
            root = above
        self._parent[texts] = root
        return root

    def mixed(self, who: Ints, start: Ints, end: Ints) -> NDArray[np.bool_]:
        """Which groups hold texts that are not connected."""
        root = np.append(self.roots(who), 0)
        edges = np.stack([start, end], -1).ravel()
        return np.asarray(np.minimum.reduceat(root, edges)[::2] != np.maximum.reduceat(root, edges)[::2])

    def join(self, first: int, second: int) -> None:
        self.parent[self.root(first)] = self.root(second)

    def open(self, first: int, second: int) -> bool:
        return self.every or self.root(first) != self.root(second)


def _pairs(who: Ints, start: Ints, end: Ints, sketches: Words, forest: _Forest) -> Iterator[tuple[Ints, Ints]]:
    """The pairs inside groups, `who[start:end]` each, that may be alike and are not connected; parts at a time."""
    at = ranges(start, end)
    for former, latter in rare_pairs.followers(np.repeat(end, end - start) - at - 1):
        yield _sifted(who[at[former]], who[at[latter]], sketches, forest)


def _neighbours(who: Ints, start: Ints, end: Ints, sketches: Words, forest: _Forest) -> tuple[Ints, Ints]:
    """Of the pairs of neighbours inside groups those that `_pairs` would give."""
    at = ranges(start, end - 1)
    return _sifted(who[at], who[at + 1], sketches, forest)


def _sifted(first: Ints, second: Ints, sketches: Words, forest: _Forest) -> tuple[Ints, Ints]:
    """The pairs that may be alike and are not connected, each once."""
    if not forest.every:
        apart = forest.roots(first) != forest.roots(second)
        first, second = first[apart], second[apart]
    count = len(forest.parent)
    pair = first * count + second
    pair.sort()  # twice as fast as `np.unique`, and more among many
    pair = pair[np.diff(pair, prepend=-1) > 0]
    first, second = pair // count, pair % count
    likely = _likely(sketches[first], sketches[second])
    return first[likely], second[likely]


def _compare(group: Ints, sketches: Words, forest: _Forest, near: Callable[[int, int], bool]) -> None:
    """Compare the texts of a large group, as of all that end in the same words. `sketches` are theirs."""
    order = np.argsort(sketches[:, -1], kind="stable")
    group, sketches = group[order], sketches[order]
    size = sketches[:, -1].astype(np.int64)
    root = forest.roots(group)
    for i in range(1, len(group)):
        first = int(np.searchsorted(size[:i], -(-SEVEN * size[i] // TEN)))
        left = np.arange(first, i) if forest.every else first + np.flatnonzero(root[first:i] != root[i])
        left = left[_likely(sketches[left], sketches[i])]
        while len(left := left if forest.every else left[root[left] != root[i]]):
            if near(int(group[left[0]]), int(group[i])):
                root[root == root[left[0]]] = root[i]
            left = left[1:]


def _likely(a: Words, b: Words) -> NDArray[np.bool_]:
    """Whether texts may be alike: sketches differ by at most as many bits as sets by bigrams, at most 3/17 of both."""
    apart = np.bitwise_count(a[..., :-1] ^ b[..., :-1]).sum(axis=-1, dtype=np.uint64)
    return np.asarray(np.uint64(TEN + SEVEN) * apart <= np.uint64(TEN - SEVEN) * (a[..., -1] + b[..., -1]))


def _sketches(texts: Sequence[str], words: int = _WORDS) -> Words:
    """Per text its set of bigrams as so many words of bits, some of which share one, and the size of the set."""
    out = np.zeros((len(texts), words + 1), np.uint64)
    for start, gram, owner in bigram_arrays(texts):
        gram, owner = distinct(gram, owner)
        mixed = scattered(gram)
        cell = (owner + start) * (words + 1) + (mixed >> np.uint64(6)).astype(np.int64) % words
        order = np.argsort(cell)
        edges = np.flatnonzero(np.diff(cell[order], prepend=-1))
        bit = np.uint64(1) << (mixed & np.uint64(63))
        out.reshape(-1)[cell[order][edges]] = np.bitwise_or.reduceat(bit[order], edges)
        out[start : start + owner[-1] + 1, -1] = np.bincount(owner)
    return out


def _alone(texts: Sequence[str]) -> list[list[int]]:
    """The texts with a single bigram by this bigram: no pair can be drawn from it."""
    groups: defaultdict[frozenset[str], list[int]] = defaultdict(list)
    for i, text in enumerate(texts):
        if len(text) < 3 or text == text[0] * len(text):
            groups[bigrams(text)].append(i)
    return [group for group in groups.values() if len(group) > 1]


def _root(parent: MutableSequence[int], i: int) -> int:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


def among(texts: Sequence[str], groups: Mapping[int, Sequence[int]]) -> list[tuple[int, int]]:
    """Every pair inside each of some groups of indices."""
    return [(own[a], own[b]) for own in groups.values() for a, b in pairs([texts[i] for i in own])]


def clusters(count: int, near: Iterable[tuple[int, int]]) -> Sequence[int]:
    """For each of `count` texts the smallest index among those it is connected to by pairs."""
    parent = array("q", range(count))
    for first, second in near:
        a, b = sorted((_root(parent, first), _root(parent, second)))
        parent[b] = a
    return array("q", (_root(parent, i) for i in range(count)))


def disputed(cluster_of: Sequence[int], pinned: Iterable[tuple[int, str]]) -> dict[int, list[int]]:
    """The members of the clusters that hold texts of more than one split: there every pair matters.

    Args:
        cluster_of: the cluster of each text, as `clusters` gives it.
        pinned: texts with their splits.
    """
    shared = {cluster for i, cluster in enumerate(cluster_of) if cluster != i}
    splits: defaultdict[int, set[str]] = defaultdict(set)
    for i, split in pinned:
        if cluster_of[i] in shared:
            splits[cluster_of[i]].add(split)
    members: defaultdict[int, list[int]] = defaultdict(list)
    for i, cluster in enumerate(cluster_of):
        if len(splits.get(cluster, ())) > 1:
            members[cluster].append(i)
    return members
