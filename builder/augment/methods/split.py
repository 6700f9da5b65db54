"""Words split in two (SplitAug: Li et al. 2019, section 4.2, "insert a space"; nlpaug's SplitAug).

In: sentences with their words. Out: candidates in each of which `rate` of the words (one at least) are split.
English: a space into the word. Chinese, which has no spaces to be wrong about: a character into the two it is made of
(好 to 女子), or a word into its parts by a space.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

from builder.augment import characters
from builder.augment.characters import amount, distinct, free, replacing
from builder.augment.records import Edit, Rewrite, Sentence, seeded
from builder.augment.settings import AugmentSettings
from builder.core.files import key_of
from builder.reviews.script import HAN

LEAST = 4
"""The shortest English word that is split, as in nlpaug."""


@dataclass(frozen=True, slots=True)
class Split:
    """The method: words split in two."""

    rate: float
    name: str = "split"

    @property
    def signature(self) -> str:
        return f"split/{key_of(self.rate, tuple(characters.versions().items()))}"

    def propose(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Rewrite, ...]]:
        for sentence in sentences:
            random = seeded(seed, "split", sentence.id)
            words = [i for i in free(sentence) if _splits(sentence.text[slice(*sentence.words[i])])]
            if not words:
                yield ()
                continue
            yield distinct(sentence, partial(self._split_words, sentence, words, random), copies)

    def _split_words(self, sentence: Sentence, words: list[int], random: Random, _: int) -> tuple[Edit, ...]:
        chosen = random.sample(words, min(len(words), amount(self.rate, len(sentence.words))))
        return replacing(sentence, [(i, _split(sentence.text[slice(*sentence.words[i])], random)) for i in chosen])


def _splits(word: str) -> bool:
    if HAN.search(word):
        return len(word) > 1 or bool(characters.parts(word))
    return len(word) >= LEAST


def _split(word: str, random: Random) -> str:
    """The word with a space in it, or a character of it in parts; even odds where both can be."""
    made_of = (
        [(i, parts) for i, character in enumerate(word) if (parts := characters.parts(character))]
        if HAN.search(word)
        else []
    )
    if made_of and (len(word) == 1 or random.random() < 0.5):
        i, parts = random.choice(made_of)
        return word[:i] + "".join(parts) + word[i + 1 :]
    at = random.randrange(1, len(word))
    return f"{word[:at]} {word[at:]}"


def load(settings: AugmentSettings) -> Split:
    """ConfigError where Chinese is to be split and the extra is missing."""
    if settings.given.language == "zh":
        characters.check()
    return Split(settings.split.rate)
