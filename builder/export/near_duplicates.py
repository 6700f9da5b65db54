"""Which texts say nearly the same? All pairs whose sets of character bigrams have a Jaccard index of at least 0.7, none missed. Pure.

An exact join by prefix filtering (Bayardo et al. 2007, Xiao et al. 2008) instead of MinHash: two sets that share 70% of their bigrams share
one of the rarest 30% of each, so few pairs are ever compared. 48,000 reviews take two seconds, there is no random hash to miss a leak, and
a gate that asks the same question gets the same answer.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set

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
    shared = len(one & other)
    return TEN * shared >= SEVEN * (len(one) + len(other) - shared)


def pairs(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Indices (a, b), a < b, of normal texts that are near-duplicates, in order. Every pair: as many as there are."""
    return _join(texts, list(range(len(texts))), every=True)


def links(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs enough to connect all that `pairs` would connect, and no more than there are texts: a template filled a thousand times is no
    million pairs. Any two groups of texts have a link between them if they have a pair."""
    return _join(texts, list(range(len(texts))), every=False)


def _join(texts: Sequence[str], parent: list[int], every: bool) -> list[tuple[int, int]]:
    named = [bigrams(text) for text in texts]
    common = Counter(gram for listed in named for gram in listed)
    rank = {gram: n for n, gram in enumerate(sorted(common, key=lambda gram: (common[gram], gram)))}  # the rarest first
    grams = [frozenset(rank[gram] for gram in listed) for listed in named]
    holders: defaultdict[int, dict[int, list[int]]] = defaultdict(dict)
    # gram -> cluster -> the texts of it that hold the gram
    found: list[tuple[int, int]] = []
    for i in sorted(range(len(grams)), key=lambda i: len(grams[i])):
        size = len(grams[i])
        compared: set[int] = set()
        prefix = sorted(grams[i])[: size - (SEVEN * size + TEN - 1) // TEN + 1]
        for gram in prefix:
            for cluster, listed in holders[gram].items():
                for j in listed:
                    if not every and _root(parent, cluster) == _root(parent, i):
                        break
                    if j not in compared and TEN * len(grams[j]) >= SEVEN * size:
                        compared.add(j)
                        if alike(grams[i], grams[j]):
                            found.append((min(i, j), max(i, j)))
                            parent[_root(parent, i)] = _root(parent, j)
        for gram in prefix:
            holders[gram].setdefault(_root(parent, i), []).append(i)
    return sorted(found)


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
