"""Texts as numbers of words (Latin script) or characters (Han): regular expressions and a list by frequency, nothing
else.

Numbers: 0 pads, 1 begins a text, 2 ends it, 3 is every word that occurs less often than `least`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from builder.records import Span
from builder.text import HAN

PAD, BEGIN, END, UNKNOWN = range(4)
SPECIAL = 4
_PIECE = re.compile(rf"{HAN.pattern}|[^\W\d_{HAN.pattern[1:-1]}]+(?:['’]\w+)?|\d+|[^\w\s]|_")


def pieces(text: str) -> list[Span]:
    """Han characters, runs of other letters, numbers, and marks; in order, white space left out."""
    return [match.span() for match in _PIECE.finditer(text)]


@dataclass(frozen=True, slots=True)
class Words:
    """The known words, the most frequent first. `rare` is how many different words were seen too seldom to be known."""

    listed: tuple[str, ...]
    rare: int

    @classmethod
    def of(cls, texts: Iterable[Sequence[str]], least: int, most: int) -> Words:
        counts = Counter(word.lower() for words in texts for word in words)
        ranked = sorted((word for word, n in counts.items() if n >= least), key=lambda word: (-counts[word], word))[
            :most
        ]
        return cls(tuple(ranked), max(1, len(counts) - len(ranked)))

    def __len__(self) -> int:
        return len(self.listed) + SPECIAL

    def numbers(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.listed, SPECIAL)}


def cut(text: str) -> list[str]:
    """The pieces of a text as strings."""
    return [text[start:end] for start, end in pieces(text)]
