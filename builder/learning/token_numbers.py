"""The tokens that a model knows, and their numbers: one class for words, pieces and characters.

In: how often tokens occur in training texts. Out: a number of each token that occurs often enough. The numbers below
those of the tokens stand for padding, unknown tokens and the like; whoever makes a vocabulary says how many there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TokenVocabulary:
    """Known tokens; the number of the n-th is n + `special`."""

    tokens: tuple[str, ...]
    special: int
    numbers: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", {token: i for i, token in enumerate(self.tokens, self.special)})

    @classmethod
    def of(cls, counts: Mapping[str, int], least: int, special: int) -> TokenVocabulary:
        """The tokens that occur `least` times, in order of code points."""
        return cls(tuple(sorted(token for token, n in counts.items() if n >= least)), special)

    @classmethod
    def of_frequent(cls, counts: Mapping[str, int], least: int, most: int, special: int) -> TokenVocabulary:
        """The `most` frequent tokens of those that occur `least` times, the most frequent first."""
        known = (token for token, n in counts.items() if n >= least)
        return cls(tuple(sorted(known, key=lambda token: (-counts[token], token))[:most]), special)

    def __len__(self) -> int:
        return len(self.tokens) + self.special

    def number(self, token: str, unknown: int) -> int:
        """The number of a token, `unknown` for one that is not known."""
        return self.numbers.get(token, unknown)
