"""What the edit-based back ends do alike: find the words that may change, and collect candidates that differ."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from builder.augment.records import Edit, Rewrite, Sentence
from builder.core.records import Span

T = TypeVar("T")
TRIES = 4
"""Draws per wanted candidate before a sentence is held to have no more to give."""


def free(sentence: Sentence) -> list[int]:
    """The words, by index, that hold a letter or digit and share no character with a mark: the ones that may change."""
    marks, text = sentence.marks, sentence.text
    if not marks:
        return [i for i, (start, end) in enumerate(sentence.words) if _wordy(text[start:end])]
    starts = [mark.start for mark in marks]
    out = []
    for i, (start, end) in enumerate(sentence.words):
        at = bisect_right(starts, end - 1) - 1
        if (at < 0 or marks[at].end <= start) and _wordy(text[start:end]):
            out.append(i)
    return out


def _wordy(word: str) -> bool:
    return word[0].isalnum() or any(map(str.isalnum, word))


def inside(marks: Sequence[Span], place: int) -> bool:
    """Whether something inserted at `place` would stand within one of the spans, which are in order and apart."""
    at = bisect_left(marks, (place,)) - 1
    return at >= 0 and place < marks[at][1]


def some(random: Random, values: Sequence[T], number: int) -> Sequence[T]:
    """As Random.sample; of one or two, as nearly always, in a third of the time."""
    if number == 1:
        return (random.choice(values),)
    if number == 2:
        first, second = random.randrange(len(values)), random.randrange(len(values) - 1)
        return values[first], values[second + (second >= first)]
    return random.sample(values, number)


def amount(rate: float, words: int) -> int:
    """How many words a rate asks for: one at least (Wei and Zou 2019, n = max(1, alpha l))."""
    return max(1, int(rate * words))


def replacing(sentence: Sentence, chosen: Sequence[tuple[int, str]]) -> tuple[Edit, ...]:
    """Words, by index, and what stands in their place, as edits in order."""
    return tuple(Edit(*sentence.words[i], text) for i, text in sorted(chosen))


def distinct(sentence: Sentence, make: Callable[[int], tuple[Edit, ...]], copies: int) -> tuple[Rewrite, ...]:
    """Up to `copies` candidates with different edits; `make` takes the number of the try, and returns () where it
    finds nothing.
    """
    seen: dict[tuple[Edit, ...], None] = {}
    for number in range(TRIES * copies):
        if edits := make(number):
            seen[edits] = None
            if len(seen) == copies:
                break
    return tuple(Rewrite(sentence.id, edits) for edits in seen)
