"""Words of English reviews: those that decide a label, those that no synonym replaces, and sets that mean the same (english.txt)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("english.txt")


@cache
def words() -> Mapping[str, frozenset[str]]:
    """Kind -> words: not (negators), good, bad (opinions), high, low, over (degree), contrast, aspect, kept (words of grammar)."""
    found: dict[str, set[str]] = {}
    for kind, listed in _lines():
        if kind != "same":
            found.setdefault(kind, set()).update(listed)
    return {kind: frozenset(listed) for kind, listed in found.items()}


def sets() -> list[list[str]]:
    """Words that mean the same, for where no WordNet is at hand."""
    return [listed for kind, listed in _lines() if kind == "same"]


def _lines() -> list[tuple[str, list[str]]]:
    lines = (line.partition(": ") for line in _FILE.read_text("utf-8").splitlines() if not line.startswith("#"))
    return [(kind, listed.split()) for kind, _, listed in lines]
