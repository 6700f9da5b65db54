"""Which texts say nearly the same? All pairs whose sets of character bigrams have a Jaccard index of at least 0.7, none missed. Pure.

An exact join by prefixes (Bayardo et al. 2007; prefixes that must share two elements: Wang et al. 2012) instead of MinHash: of two sets
that share 70% of their bigrams each holds the same two among its rarest 30% and one more, so texts are looked up by pairs of rare bigrams,
which few have in common by chance. There is no random hash to miss a leak, and a gate that asks the same question gets the same answer.
Copies of a text share most of its pairs: `links` connects neighbours first and compares only what is not connected yet; `pairs` names each
pair, and there may be many. Memory grows as the number of texts; time somewhat faster, since among more texts more share two bigrams by chance.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableSequence, Sequence, Set
from functools import lru_cache
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from builder.text import script_of, view

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

SEVEN, TEN = 7, 10
"""The threshold as a fraction: floats would round pairs away that lie on it."""
_CHUNK = 1 << 14
"""Texts whose bigrams are in memory at a time."""
_PART = 1 << 19
"""Pairs of bigrams in memory at a time."""
_MANY = 32
"""The texts of a smaller group are compared each with each."""
_LONG = 2000
"""Bigrams of a text whose pairs are too many to be looked up."""
_WORDS, _WIDE = 4, 64
"""Numbers of 64 bits in a sketch, and in that of a long text."""
_HELD = 1 << 10
"""Texts whose sets are kept for the next comparison."""
_BITS = 20
"""How often a bigram occurs is counted by a hash of at most so many bits: an order that is nearly by rarity serves as well."""


def normal(text: str) -> str:
    """What is compared: the letters and digits of a text in one script, width and case; the text itself where it has none."""
    return "".join(c for c in view(text, script=script_of(text)).text.lower() if c.isalnum()) or text


def bigrams(text: str) -> frozenset[str]:
    """The pairs of neighbours of a normal text; a single character is its own."""
    return frozenset(text[i : i + 2] for i in range(max(1, len(text) - 1)))


def alike(one: Set[object], other: Set[object]) -> bool:
    shared = len(one & other)
    return TEN * shared >= SEVEN * (len(one) + len(other) - shared)


def pairs(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Indices (a, b), a < b, of normal texts that are near-duplicates, in order. Every pair: as many as there are."""
    return _join(texts, every=True)


def links(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs enough to connect all that `pairs` would connect, and fewer than there are texts: a template filled a thousand times is no
    million pairs."""
    return _join(texts, every=False)


def _join(texts: Sequence[str], every: bool) -> list[tuple[int, int]]:
    forest = _Forest(len(texts), every)
    grams = lru_cache(_HELD)(lambda i: bigrams(texts[i]))
    found: set[tuple[int, int]] = set()

    def near(one: int, other: int) -> bool:
        pair = min(one, other), max(one, other)
        if pair not in found and alike(grams(one), grams(other)):
            found.add(pair)
            forest.join(one, other)
        return pair in found

    for group in _alone(texts):
        for one, other in combinations(group, 2) if every else pairwise(group):
            near(one, other)
    sketches = _sketches(texts)

    def compare(ones: Ints, others: Ints) -> None:
        for one, other in zip(ones.tolist(), others.tolist(), strict=True):
            if forest.open(one, other):
                near(one, other)

    sizes = sketches[:, -1].astype(np.int64)
    if (sizes > _LONG).any():  # few: each with each that may be alike
        long = np.flatnonzero(TEN * sizes > SEVEN * _LONG)
        _compare(long, _sketches([texts[i] for i in long.tolist()], _WIDE), forest, near)
    for who, start, end in _groups(texts, sizes):
        if not every:  # copies of one text share most of their pairs: neighbours connect them, and what is connected is not compared again
            compare(*_neighbours(who, start, end, sketches, forest))
            mixed = forest.mixed(who, start, end)
            start, end = start[mixed], end[mixed]
        few = end - start <= _MANY
        for ones, others in _pairs(who, start[few], end[few], sketches, forest):
            compare(ones, others)
        for first, last in zip(start[~few].tolist(), end[~few].tolist(), strict=True):
            _compare(who[first:last], sketches[who[first:last]], forest, near)
    return sorted(found)


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

    def join(self, one: int, other: int) -> None:
        self.parent[self.root(one)] = self.root(other)

    def open(self, one: int, other: int) -> bool:
        return self.every or self.root(one) != self.root(other)


def _pairs(who: Ints, start: Ints, end: Ints, sketches: Words, forest: _Forest) -> Iterator[tuple[Ints, Ints]]:
    """The pairs inside groups, `who[start:end]` each, that may be alike and are not connected; a part at a time, in a part each once."""
    at = _within(start, end)
    left = np.repeat(end, end - start) - at - 1
    cuts = np.searchsorted(np.cumsum(left), np.arange(0, int(left.sum()), _PART))
    for first, last in pairwise([*cuts.tolist(), len(at)]):
        here, count = at[first:last], left[first:last]
        yield _sifted(who[np.repeat(here, count)], who[_within(here + 1, here + 1 + count)], sketches, forest)


def _neighbours(who: Ints, start: Ints, end: Ints, sketches: Words, forest: _Forest) -> tuple[Ints, Ints]:
    """Of the pairs of neighbours inside groups those that `_pairs` would give."""
    at = _within(start, end - 1)
    return _sifted(who[at], who[at + 1], sketches, forest)


def _sifted(one: Ints, other: Ints, sketches: Words, forest: _Forest) -> tuple[Ints, Ints]:
    """The pairs that may be alike and are not connected, each once."""
    if not forest.every:
        apart = forest.roots(one) != forest.roots(other)
        one, other = one[apart], other[apart]
    count = len(forest.parent)
    pair = np.unique(one * count + other)
    one, other = pair // count, pair % count
    likely = _likely(sketches[one], sketches[other])
    return one[likely], other[likely]


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
    """Whether texts may be alike: they differ by at least as many bigrams as their sketches do by bits, and by at most 3/17 of both sizes
    where they are alike."""
    apart = np.bitwise_count(a[..., :-1] ^ b[..., :-1]).sum(axis=-1, dtype=np.uint64)
    return np.asarray(np.uint64(TEN + SEVEN) * apart <= np.uint64(TEN - SEVEN) * (a[..., -1] + b[..., -1]))


def _sketches(texts: Sequence[str], words: int = _WORDS) -> Words:
    """Per text its set of bigrams as so many words of bits, some of which share one, and the size of the set."""
    out = np.zeros((len(texts), words + 1), np.uint64)
    for start, gram, owner in _bigrams(texts):
        gram, owner = _distinct(gram, owner, np.lexsort((gram, owner)))
        mixed = _mixed(gram)
        cell = (owner + start) * (words + 1) + (mixed >> np.uint64(6)).astype(np.int64) % words
        order = np.argsort(cell, kind="stable")
        edges = np.flatnonzero(np.diff(cell[order], prepend=-1))
        bit = np.uint64(1) << (mixed & np.uint64(63))
        out.reshape(-1)[cell[order][edges]] = np.bitwise_or.reduceat(bit[order], edges)
        out[start : start + owner[-1] + 1, -1] = np.bincount(owner)
    return out


def _alone(texts: Sequence[str]) -> list[list[int]]:
    """The texts with a single bigram by this bigram: no pair can be drawn from it."""
    groups: defaultdict[frozenset[str], list[int]] = defaultdict(list)
    for i, text in enumerate(texts):
        if len(text) < 3 or len(set(text)) == 1:
            groups[bigrams(text)].append(i)
    return [group for group in groups.values() if len(group) > 1]


def _groups(texts: Sequence[str], sizes: Ints) -> Iterator[tuple[Ints, Ints, Ints]]:
    """The texts that have a pair of rare bigrams in common: indices, and where each group starts and ends among them, ascending inside.

    Made in parts that fit into memory. `sizes`: of the sets of bigrams; long texts are left out.
    """
    scattered, owner, left = _prefixes(texts)
    left = np.where(sizes[owner] > _LONG, np.uint32(0), left)
    parts = min(max(1, int(left.sum(dtype=np.int64)) // _PART), 1 << 16)
    turn = (scattered % np.uint64(parts)).astype(np.uint16)
    turns = np.argsort(turn, kind="stable")
    for first in np.split(turns, np.cumsum(np.bincount(turn, minlength=parts))[:-1]):
        count = left[first].astype(np.int64)
        at, after = np.repeat(first, count), _within(first + 1, first + 1 + count)
        key = _mixed(scattered[at] + _mixed(scattered[after] + np.uint64(1)))
        order = np.argsort(key, kind="stable")
        key = key[order]
        edges = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1], [True]]))
        several = np.diff(edges) > 1
        yield owner[at[order]].astype(np.int64), edges[:-1][several], edges[1:][several]


def _prefixes(texts: Sequence[str]) -> tuple[Words, NDArray[np.uint32], NDArray[np.uint32]]:
    """The rarest bigrams of each text, rarest first: the bigrams, scattered; whose they are; and how many of the same text follow each."""
    bits = min(_BITS, 8 + len(texts).bit_length())
    often = np.zeros(1 << bits, np.int64)
    for _, gram, _ in _bigrams(texts):
        often += np.bincount(_bucket(gram, bits), minlength=len(often))
    kept, owners, follow = array("Q"), array("I"), array("I")  # which grow in place: they are most of what is in memory
    for start, gram, owner in _bigrams(texts):
        gram, owner = _distinct(gram, owner, np.lexsort((gram, often[_bucket(gram, bits)], owner)))
        size = np.bincount(owner)
        taken = np.minimum(size - (SEVEN * size + TEN - 1) // TEN + 2, size)
        place = _within(np.zeros_like(size), size)
        inside = place < taken[owner]
        kept.frombytes(_mixed(gram[inside]).tobytes())
        owners.frombytes((owner[inside] + start).astype(np.uint32).tobytes())
        follow.frombytes((taken[owner] - place - 1)[inside].astype(np.uint32).tobytes())
    return np.frombuffer(kept, np.uint64), np.frombuffer(owners, np.uint32), np.frombuffer(follow, np.uint32)


def _distinct(gram: Words, owner: Ints, order: Ints) -> tuple[Words, Ints]:
    """Bigrams and whose they are in an order that puts equal ones together, each once."""
    gram, owner = gram[order], owner[order]
    fresh = np.concatenate([[True], (gram[1:] != gram[:-1]) | (owner[1:] != owner[:-1])])
    return gram[fresh], owner[fresh]


def _within(start: Ints, end: Ints) -> Ints:
    """The numbers of several ranges, one after another."""
    count = end - start
    return np.asarray(np.arange(int(count.sum())) + np.repeat(start - np.cumsum(count) + count, count))


def _bigrams(texts: Sequence[str]) -> Iterator[tuple[int, Words, Ints]]:
    """Chunks of texts: the first's index, the bigrams as numbers (repeated ones too), and which text of the chunk each is of."""
    for start in range(0, len(texts), _CHUNK):
        chunk = texts[start : start + _CHUNK]
        codes = np.frombuffer("".join(chunk).encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
        owner = np.repeat(np.arange(len(chunk)), [len(text) for text in chunk])
        inside = owner[:-1] == owner[1:]
        if inside.any():
            yield start, ((codes[:-1] << np.uint64(21)) | codes[1:])[inside], owner[:-1][inside]


def _bucket(gram: Words, bits: int) -> Ints:
    return (_mixed(gram) >> np.uint64(64 - bits)).astype(np.int64)


def _mixed(x: Words) -> Words:
    """Numbers scattered over 64 bits (splitmix64, Steele et al. 2014). What falls together is compared all the same."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _root(parent: MutableSequence[int], i: int) -> int:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


def among(texts: Sequence[str], groups: Mapping[int, Sequence[int]]) -> list[tuple[int, int]]:
    """Every pair inside each of some groups of indices."""
    return [(own[a], own[b]) for own in groups.values() for a, b in pairs([texts[i] for i in own])]


def clusters(count: int, near: Iterable[tuple[int, int]]) -> list[int]:
    """For each of `count` texts the smallest index among those it is connected to by pairs."""
    parent = array("q", range(count))
    for one, other in near:
        a, b = sorted((_root(parent, one), _root(parent, other)))
        parent[b] = a
    return [_root(parent, i) for i in range(count)]
