"""Dependency paths between two tokens, for the paper's pairing rule and for the story of a triplet.

In: the tokens of a text with their heads. Out: the relations on the way, or None where two tokens stand in different
trees.
"""

from __future__ import annotations

from collections.abc import Sequence

from builder.engine.constituents import Constituent
from builder.records import Token


def last_core_token(tokens: Sequence[Token], opinion: Constituent) -> int:
    """The token on which an opinion's core ends."""
    assert opinion.phrase is not None
    last = opinion.last
    while last > 0 and tokens[last].start >= opinion.phrase.core[1]:
        last -= 1
    return last


def dependency_path(tokens: Sequence[Token], source: int, target: int) -> list[str] | None:
    """Relations from source up to the common ancestor and down to target; None if they stand in different trees."""
    above: dict[int, list[str]] = {}
    steps: list[str] = []
    node = source
    while node >= 0 and node not in above:
        above[node] = list(steps)
        steps.append("↑" + tokens[node].rel)
        node = tokens[node].head
    down: list[str] = []
    seen: set[int] = set()
    node = target
    while node >= 0 and node not in seen:
        if node in above:
            return above[node] + down[::-1]
        seen.add(node)
        down.append("↓" + tokens[node].rel)
        node = tokens[node].head
    return None
