"""Dependency paths between two tokens, for the paper's pairing rule and for the story of a triplet.

In: the tokens of a text with their heads. Out: the relations on the way, or None where two tokens stand in different
trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from builder.core.records import Token
from builder.engine.constituents import Constituent


class Tree(tuple[Token, ...]):
    """The tokens of a text, and what depends on each."""

    @cached_property
    def children(self) -> list[list[int]]:
        """For each token those that depend on it, in text order."""
        children: list[list[int]] = [[] for _ in self]
        for number, token in enumerate(self):
            if token.head >= 0:
                children[token.head].append(number)
        return children


def last_core_token(tokens: Sequence[Token], opinion: Constituent) -> int:
    """The token on which an opinion's core ends."""
    assert opinion.phrase is not None
    last = opinion.last
    while last > 0 and tokens[last].start >= opinion.phrase.core[1]:
        last -= 1
    return last


def dependency_path(tokens: Sequence[Token], source: int, target: int) -> list[str] | None:
    """Relations from source up to the common ancestor and down to target; None if they stand in different trees."""
    above: dict[int, int] = {}
    steps: list[str] = []
    node = source
    while node >= 0 and node not in above:
        above[node] = len(steps)
        steps.append("↑" + tokens[node].rel)
        node = tokens[node].head
    down: list[str] = []
    seen: set[int] = set()
    node = target
    while node >= 0 and node not in seen:
        if node in above:
            return steps[: above[node]] + down[::-1]
        seen.add(node)
        down.append("↓" + tokens[node].rel)
        node = tokens[node].head
    return None


def find_roots(tokens: Sequence[Token]) -> list[int]:
    """For each token the root of its tree."""
    roots: list[int] = [-1] * len(tokens)
    for token in range(len(tokens)):
        way: dict[int, None] = {}
        node = token
        while roots[node] < 0 and node not in way:
            way[node] = None
            if tokens[node].head >= 0:
                node = tokens[node].head
        root = node if roots[node] < 0 else roots[node]
        for passed in way:
            roots[passed] = root
    return roots
