"""Lists of words beside the code, chinese.txt and english.txt: a kind, a colon and its words a line; lines that begin
with # are remarks.

Of English reviews: words that decide a label, those that no synonym replaces, and sets that mean the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

_ENGLISH = "english.txt"


def read_words(name: str) -> list[tuple[str, list[str]]]:
    """(kind, words) of each line of a file of this folder."""
    text = Path(__file__).with_name(name).read_text("utf-8")
    parts = (line.partition(": ") for line in text.splitlines() if not line.startswith("#"))
    return [(kind, words.split()) for kind, _, words in parts]


@cache
def english_words() -> Mapping[str, frozenset[str]]:
    """Kind -> words: not (negators), good, bad (opinions), high, low, over (degree), contrast, aspect, kept (words of
    grammar).
    """
    by_kind: dict[str, set[str]] = {}
    for kind, words in read_words(_ENGLISH):
        if kind != "same":
            by_kind.setdefault(kind, set()).update(words)
    return {kind: frozenset(words) for kind, words in by_kind.items()}


def english_sets() -> list[list[str]]:
    """Words that mean the same, for where no WordNet is at hand."""
    return [words for kind, words in read_words(_ENGLISH) if kind == "same"]
