"""What decides a label without being one: opinion words, negators, degree words, words of contrast, and those that
may be aspects. Pure.

In: the lexicons (Chinese), or the lists of `english`. Out: `Cues`, which finds them in any text of the language, in
either script, by longest match. A source and its candidate are read the same way, so that only what differs between
them counts.

Lists of words beside the code, chinese.txt and english.txt: a kind, a colon and its words a line; lines that begin
with # are remarks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from builder.core.records import polarity_of
from builder.language.lexicon.resources import AGAINST, Lexicon
from builder.reviews.folding import fold

_ENGLISH = "english.txt"


def read_words(name: str) -> list[tuple[str, list[str]]]:
    """(kind, words) of each line of a file of this folder."""
    text = Path(__file__).with_name(name).read_text("utf-8")
    parts = (line.partition(": ") for line in text.splitlines() if not line.startswith("#"))
    return [(kind, words.split()) for kind, _, words in parts]


@cache
def english_words() -> Mapping[str, frozenset[str]]:
    """Kind -> words: not (negators), good, bad (opinions), high, low, over (degree), contrast, aspect, kept (words of
    grammar).
    """
    by_kind: dict[str, set[str]] = {}
    for kind, words in read_words(_ENGLISH):
        if kind != "same":
            by_kind.setdefault(kind, set()).update(words)
    return {kind: frozenset(words) for kind, words in by_kind.items()}


def english_sets() -> list[list[str]]:
    """Words that mean the same, for where no WordNet is at hand."""
    return [words for kind, words in read_words(_ENGLISH) if kind == "same"]


Sort = Literal["opinion", "negator", "degree", "contrast", "aspect", "other"]


class Cue(NamedTuple):
    """A cue in a text: what it is, and what of it must stay the same: an opinion's polarity, a degree word's kind, an
    aspect's word.
    """

    sort: Sort
    value: str


@dataclass(frozen=True, slots=True)
class Cues:
    """`table` by folded word; `lengths` by first character, longest first. `spaced`: words stand between spaces, as
    in English.
    """

    table: Mapping[str, Cue]
    lengths: Mapping[str, tuple[int, ...]]
    spaced: bool

    def count(self, text: str) -> Counter[Cue]:
        """How often each cue stands in a text."""
        if self.spaced:
            return Counter(cue for word in fold(text).split() if (cue := self.table.get(word)))
        return Counter(cue for _, _, cue in self._read(fold(text)))

    def spans(self, text: str) -> list[tuple[int, int, Cue]]:
        """Where each cue stands in a Chinese text, in code points."""
        places = [i for i, char in enumerate(text) for _ in fold(char)]
        return [(places[start], places[end - 1] + 1, cue) for start, end, cue in self._read(fold(text))]

    def _read(self, shown: str) -> Iterator[tuple[int, int, Cue]]:
        """The cues of a folded text. What is only known as another word (特別,
        which holds a negator) is passed over.
        """
        at = 0
        while at < len(shown):
            words = (shown[at : at + length] for length in self.lengths.get(shown[at], ()))
            word = next((word for word in words if word in self.table), shown[at])
            cue = self.table.get(word)
            if cue and cue.sort != "other":
                yield at, at + len(word), cue
            at += len(word)


def chinese(lexicon: Lexicon) -> Cues:
    """The cues of the lexicons. Of a word in several tables the first counts: opinions, words of contrast (不過 denies
    now and then), negators, degree words, aspects, others.
    """
    table: dict[str, Cue] = {}
    for word, entry in lexicon.opinions.items():
        neutral = entry.category.startswith("context")
        table.setdefault(fold(word), Cue("opinion", "context" if neutral else polarity_of(entry.valence)))
    for word, kind in lexicon.contrast.items():
        if kind in AGAINST:
            table.setdefault(fold(word), Cue("contrast", ""))
    for word in lexicon.negators:
        table.setdefault(fold(word), Cue("negator", fold(word)))
    for word, kind in lexicon.degree.items():
        table.setdefault(fold(word), Cue("degree", kind))
    for word in lexicon.aspects:
        table.setdefault(fold(word), Cue("aspect", fold(word)))
    for word in (*lexicon.general, *lexicon.not_aspects, *lexicon.irrealis):
        table.setdefault(fold(word), Cue("other", ""))
    return _cues(table, spaced=False)


def english_cues() -> Cues:
    """The cues of review English: short lists, so that a word they do not hold is no cue."""
    words = english_words()
    table: dict[str, Cue] = {word: Cue("negator", word) for word in words["not"]} | {
        word: Cue("contrast", "") for word in words["contrast"]
    }
    single = {"good": Cue("opinion", "POS"), "bad": Cue("opinion", "NEG")} | {
        kind: Cue("degree", kind) for kind in ("high", "low", "over")
    }
    for kind, cue in single.items():
        table |= {word: cue for word in words[kind] if word not in table}
    return _cues(table | {word: Cue("aspect", word) for word in words["aspect"] if word not in table}, spaced=True)


def _cues(table: Mapping[str, Cue], spaced: bool) -> Cues:
    lengths: dict[str, set[int]] = {}
    for word in filter(None, table):
        lengths.setdefault(word[0], set()).add(len(word))
    return Cues(table, {first: tuple(sorted(sizes, reverse=True)) for first, sizes in lengths.items()}, spaced)
