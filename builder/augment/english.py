"""Words of English reviews: those that decide a label, those that no synonym replaces, and sets that mean the same (english.txt)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from builder.augment.listed import lines

_FILE = "english.txt"


@cache
def words() -> Mapping[str, frozenset[str]]:
    """Kind -> words: not (negators), good, bad (opinions), high, low, over (degree), contrast, aspect, kept (words of grammar)."""
    found: dict[str, set[str]] = {}
    for kind, listed in lines(_FILE):
        if kind != "same":
            found.setdefault(kind, set()).update(listed)
    return {kind: frozenset(listed) for kind, listed in found.items()}


def sets() -> list[list[str]]:
    """Words that mean the same, for where no WordNet is at hand."""
    return [listed for kind, listed in lines(_FILE) if kind == "same"]
