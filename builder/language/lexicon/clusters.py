"""Classes of aspects for a new domain: words that are spoken of alike, or end alike, belong together.

In: words with how often each opinion describes them. Out: the name of a cluster for each word, that of its most
frequent member; a person gives it a better one. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

ALIKE = 0.3
"""From this cosine of the opinions that describe them on, two words are spoken of alike."""
_SAME_HEAD = 0.35
"""What the last character in common adds."""


def cluster_words(words: Mapping[str, int], described: Mapping[str, Mapping[str, int]]) -> dict[str, str]:
    """Word -> the most frequent member of its cluster.

    Args:
        words: each word with the reviews that use it; the most frequent ones begin clusters.
        described: word -> opinion -> how often the opinion describes it.

    >>> cluster_words({"床": 9, "床墊": 5, "早餐": 7}, {"床": {"軟": 3}, "床墊": {"軟": 2}, "早餐": {"豐富": 4}})
    {'床': '床', '早餐': '早餐', '床墊': '床'}
    """
    clusters: list[str] = []
    out: dict[str, str] = {}
    for word in sorted(words, key=lambda name: (-words[name], name)):
        scores = {name: _likeness(word, name, described) for name in clusters}
        best = max(scores, key=lambda name: scores[name], default="")
        out[word] = best if best and scores[best] >= ALIKE else word
        if out[word] == word:
            clusters.append(word)
    return out


def _likeness(first: str, second: str, described: Mapping[str, Mapping[str, int]]) -> float:
    latin = first.isascii() or second.isascii()
    alike = first[-1] == second[-1] or first.startswith(second) or second.startswith(first)
    head = _SAME_HEAD if alike and not latin else 0.0
    return head + _cosine(described.get(first, {}), described.get(second, {}))


def _cosine(first: Mapping[str, int], second: Mapping[str, int]) -> float:
    shared = sum(count * second.get(word, 0) for word, count in first.items())
    norms = math.sqrt(sum(n * n for n in first.values()) * sum(n * n for n in second.values()))
    return shared / norms if norms else 0.0
