"""Texts as numbers of words (Latin script) or characters (Han), cut by regular expressions.

Numbers: 0 pads, 1 begins a text, 2 ends it, 3 is every word that occurs less often than `least`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from builder.core.records import Span
from builder.learning.token_numbers import TokenVocabulary
from builder.reviews.script import HAN

PAD, BEGIN, END, UNKNOWN = range(4)
SPECIAL = 4
_PIECE = re.compile(rf"{HAN.pattern}|[^\W\d_{HAN.pattern[1:-1]}]+(?:['’]\w+)?|\d+|[^\w\s]|_")


def pieces(text: str) -> list[Span]:
    """Han characters, runs of other letters, numbers, and marks; in order, white space left out."""
    return [match.span() for match in _PIECE.finditer(text)]


@dataclass(frozen=True, slots=True)
class FoldVocabulary:
    """The known words of a fold, the most frequent first. `rare` is how many different words were too seldom seen."""

    known: TokenVocabulary
    rare: int

    @classmethod
    def of(cls, texts: Iterable[Sequence[str]], least: int, most: int) -> FoldVocabulary:
        counts = Counter(word.lower() for words in texts for word in words)
        known = TokenVocabulary.of_frequent(counts, least, most, SPECIAL)
        return cls(known, max(1, len(counts) - len(known.tokens)))

    @property
    def description(self) -> str:
        """What digests of models are taken of. It never changes, so that a model keeps its digest."""
        return f"Words(listed={self.known.tokens!r}, rare={self.rare})"

    def __len__(self) -> int:
        return len(self.known)

    def number(self, word: str) -> int:
        """The number of a word, in whatever letter case."""
        return self.known.numbers.get(word.lower(), UNKNOWN)


def cut(text: str) -> list[str]:
    """The pieces of a text as strings."""
    return [text[start:end] for start, end in pieces(text)]
