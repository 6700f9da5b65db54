"""What the dictionary of words says of a piece of text in Simplified script: whether it is a word, how frequent, of
which kind, and whether a word stands across a place.

In: strings. Out: answers, kept for the strings asked last. rjieba's dictionary has 349,000 words with counts.
"""

from __future__ import annotations

from functools import lru_cache

_LONGEST = 4


@lru_cache(maxsize=262_144)
def frequency(text: str) -> int:
    """How often the dictionary counts a word; of what it lacks, how often it would expect its characters as words of
    their own, one behind the other: 1 for 怡君, 354 for 也很.
    """
    import rjieba

    return int(rjieba.suggest_freq(text))


@lru_cache(maxsize=262_144)
def is_word(text: str, above: int = 0) -> bool:
    """Whether the dictionary has a word, and counts it more often than `above`."""
    import rjieba

    return bool(rjieba.has_word(text)) and (not above or frequency(text) > above)


def tagged(text: str) -> list[tuple[str, str]]:
    """The words of a text, each with its kind: n, v, nr for a name of a person, ns for one of a place."""
    import rjieba

    words: list[tuple[str, str]] = rjieba.tag(text)
    return words


def crosses(text: str, at: int) -> bool:
    """Whether a word stands across `at`: 熱情 of 店員超熱|情. Of two characters it is none where another word begins
    at `at`: 味道 of 王品|味道.
    """
    return any(
        text[end - 1] != "的" and is_word(text[start:end], above=10)
        for start in range(max(0, at - _LONGEST + 1), at)
        for end in range(at + 1, min(len(text), start + _LONGEST) + 1)
        if end - start > 2 or len(text) < at + 2 or not is_word(text[at : at + 2], above=10)
    )
