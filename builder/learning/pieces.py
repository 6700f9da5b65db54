"""Texts as tokens and back, for models without a tokenizer of their own: characters (Chinese) or words (English,
Kobayashi's models).

In: a text and its words. Out: a `Cut`, and for tokens that a model put in place of others what to write where. What
is not replaced is never written again, so that a character or word outside the vocabulary costs a model knowledge but
a text nothing.

The tokens that a model knows, and their numbers: one class for words, pieces and characters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, Protocol

from builder.core.records import Span


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


PAD, UNK, MASK, BOS, EOS, ASPECT = range(6)
SPECIAL = 6
Unit = Literal["char", "word"]
Written = tuple[int, int, str]
"""[start, end) of the text, and what stands there now."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The tokens of a text: ids, and their code point ranges in it."""

    ids: tuple[int, ...]
    spans: tuple[Span, ...]

    def __len__(self) -> int:
        return len(self.ids)


class Inventory(Protocol):
    """The tokens of a model. `never` are those that must not be generated."""

    @property
    def size(self) -> int: ...
    @property
    def mask(self) -> int: ...
    @property
    def first(self) -> int:
        """What a decoder is given before the first token."""

    @property
    def never(self) -> tuple[int, ...]: ...
    @property
    def marks(self) -> tuple[int, ...]: ...
    def cut(self, text: str, words: Sequence[Span]) -> Cut: ...
    def written(self, text: str, cut: Cut, new: Mapping[int, int]) -> tuple[Written, ...]:
        """The changes of the text when the tokens at some positions are replaced: ordered, disjoint, all real."""


@dataclass(frozen=True, slots=True)
class Units:
    """Characters or words that occur `min_count` times, in order of code points; the id of the n-th is n + SPECIAL.

    `tight`: words that mostly stand without a space before (first) or behind (second), as English marks do (none,
    where texts were cut before). `spaced`: whether texts have spaces between words at all; without, the spaces of a
    text stay where they are.
    """

    tokens: tuple[str, ...]
    unit: Unit
    spaced: bool = False
    tight: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
    vocabulary: TokenVocabulary = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "vocabulary", TokenVocabulary(self.tokens, SPECIAL))

    @classmethod
    def of(cls, texts: Iterable[tuple[str, Sequence[Span]]], unit: Unit, spaced: bool, min_count: int) -> Units:
        counts: Counter[str] = Counter()
        gaps: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        for text, words in texts:
            spans = _ranges(words, unit)
            counts.update(text[start:end] for start, end in spans)
            for (start, end), (following, last) in pairwise(spans):
                gap = 1 if end < following else -1
                left, right = text[start:end], text[following:last]
                if not right.isalnum():  # a word is what marks are tight to, not tight itself
                    gaps[0][right] += gap
                if not any(char.isalnum() for char in left):
                    gaps[1][left] += gap
        before, behind = (
            frozenset(token for token, n in side.items() if n < 0) if spaced else frozenset[str]() for side in gaps
        )
        tokens = TokenVocabulary.of(counts, min_count, SPECIAL).tokens
        return cls(tokens, unit, spaced, (before, behind))

    @property
    def size(self) -> int:
        return len(self.vocabulary)

    @property
    def mask(self) -> int:
        return MASK

    @property
    def first(self) -> int:
        return BOS

    @property
    def never(self) -> tuple[int, ...]:
        return tuple(range(SPECIAL))

    @property
    def marks(self) -> tuple[int, ...]:
        """Tokens without letter or digit: no word may become one."""
        return tuple(
            i for i, token in enumerate(self.tokens, start=SPECIAL) if not any(char.isalnum() for char in token)
        )

    def cut(self, text: str, words: Sequence[Span]) -> Cut:
        spans, numbers = _ranges(words, self.unit), self.vocabulary.numbers
        return Cut(tuple(numbers.get(text[start:end], UNK) for start, end in spans), tuple(spans))

    def token(self, i: int) -> str:
        return self.tokens[i - SPECIAL]

    def written(self, text: str, cut: Cut, new: Mapping[int, int]) -> tuple[Written, ...]:
        changed = {at: self.token(i) for at, i in sorted(new.items()) if self.token(i) != text[slice(*cut.spans[at])]}
        return (
            self._spaced(text, cut, changed)
            if self.spaced
            else tuple(_joined((*cut.spans[at], token) for at, token in changed.items()))
        )

    def _spaced(self, text: str, cut: Cut, changed: Mapping[int, str]) -> tuple[Written, ...]:
        """Runs of changed words with the spaces between and around them, which depend on the words."""
        out = []
        for at, done in in_a_row(changed):
            start, end = cut.spans[at][0], cut.spans[done][1]
            written = self._write([changed[i] for i in range(at, done + 1)])
            if at:
                start, left = cut.spans[at - 1][1], text[slice(*cut.spans[at - 1])]
                written = self._gap(left, changed[at]) + written
            if done + 1 < len(cut):
                end, right = cut.spans[done + 1][0], text[slice(*cut.spans[done + 1])]
                written += self._gap(changed[done], right)
            out.append((start, end, written))
        return tuple(out)

    def read(self, ids: Sequence[int], before: str = "") -> str:
        """What tokens write behind the token `before`."""
        tokens = [self.token(i) for i in ids]
        if not self.spaced or not tokens:
            return "".join(tokens)
        return (self._gap(before, tokens[0]) if before else "") + self._write(tokens)

    def _write(self, tokens: Sequence[str]) -> str:
        return tokens[0] + "".join(self._gap(a, b) + b for a, b in pairwise(tokens))

    def _gap(self, left: str, right: str) -> str:
        return " " if right not in self.tight[0] and left not in self.tight[1] else ""


def in_a_row(places: Iterable[int]) -> list[Span]:
    """The first and the last of each run of places, which are in order."""
    out: list[Span] = []
    for at in places:
        if out and out[-1][1] == at - 1:
            out[-1] = out[-1][0], at
        else:
            out.append((at, at))
    return out


def own_marks(inventory: Inventory) -> tuple[int, ...] | None:
    """The marks of our own tokens; None where tokens may be parts of characters."""
    return inventory.marks if isinstance(inventory, Units) else None


def _ranges(words: Sequence[Span], unit: Unit) -> list[Span]:
    return list(words) if unit == "word" else [(i, i + 1) for start, end in words for i in range(start, end)]


def _joined(changes: Iterable[Written]) -> list[Written]:
    """Changes that touch made one."""
    out: list[Written] = []
    for start, end, new in changes:
        if out and out[-1][1] == start:
            out[-1] = out[-1][0], end, out[-1][2] + new
        else:
            out.append((start, end, new))
    return out
