"""`builder words lexicon import`: lexicons in the layouts that people hold become an overlay in ours.

In: a file, its kind, the lexicon in use. Out: `Overlay` with entries, the categories they need, and every line that was
refused, with its reason. Words are written as the view shows them: Traditional, width folded. The kinds: `layouts`
and `ehownet`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from builder.core.errors import ConfigError
from builder.language.lexicon.layouts import (
    Entry,
    Options,
    Reader,
    read_dishes,
    read_ehownet,
    read_ntusd,
    read_text,
    read_valence_csv,
    read_words,
)
from builder.language.lexicon.overlay import Overlay, Refused, check_name, own
from builder.language.lexicon.resources import Lexicon
from builder.reviews.script import HAN, script_of
from builder.reviews.text import view

FindNouns = Callable[[Sequence[str]], list[list[str]]]
"""For each name the nouns that a segmenter finds in it."""
_DEFAULTS = Options()
PART_OF = 2
"""A noun is added as a part of names when it stands in so many of them: what stands in one may be a cut gone wrong."""

READERS: Mapping[str, Reader] = {
    "ehownet": read_ehownet,
    "valence-csv": read_valence_csv,
    "ntusd": read_ntusd,
    "dishes": read_dishes,
    "words": read_words,
}


def import_lexicon(
    path: Path, kind: str, lexicon: Lexicon, options: Options = _DEFAULTS, find_nouns: FindNouns | None = None
) -> Overlay:
    """Read `path` as `kind`. `lexicon` is the one in use: it knows the categories, and the words that it has are
    refused as `known`, unless `options` say to replace them. With `find_nouns` the parts of imported aspects are
    aspects too (paper, section 3.2.2).

    ConfigError for an unknown kind or an option that is missing, InputError for a file that is not of the kind at all.
    """
    if kind not in READERS:
        raise ConfigError(f"unknown kind of lexicon {kind!r}", fix=f"known: {', '.join(sorted(READERS))}")
    _check(options, lexicon)
    name = check_name(options.name or re.sub(r"\W+", "_", path.stem))
    shortest = options.shortest or (1 if kind in ("ehownet", "words") else 2)
    entries = _Gathered(name, lexicon, options, shortest)
    for entry in READERS[kind](read_text(path, options.encoding), path, lexicon, options):
        entries.add(entry)
    if find_nouns is not None:
        entries.add_parts(find_nouns)
    return entries.overlay()


def _check(options: Options, lexicon: Lexicon) -> None:
    """ConfigError for a class or category that the lexicon does not have."""
    for label, name, known in (
        ("aspect class", options.cls, lexicon.classes),
        ("opinion category", options.category, lexicon.categories),
    ):
        if name and name not in known:
            raise ConfigError(f"unknown {label} {name!r}", fix=f"known: {', '.join(sorted(known))}")
    if options.scale is not None and not options.scale[0] < options.scale[1]:
        raise ConfigError(f"the scale {options.scale} has no width", fix="give the lowest value, then the highest")


@dataclass(slots=True)
class _Gathered:
    """Entries while a file is read; the first line that has a word decides."""

    name: str
    lexicon: Lexicon
    options: Options
    shortest: int
    opinions: dict[str, tuple[str, float]] = field(default_factory=dict)
    aspects: dict[str, str] = field(default_factory=dict)
    general: dict[str, str] = field(default_factory=dict)
    categories: dict[str, tuple[float, str]] = field(default_factory=dict)
    refused: list[Refused] = field(default_factory=list)
    parts: int = 0

    def add(self, entry: Entry) -> None:
        """Take an entry, or keep why not."""
        word = self.lexicon.variants.canonical(as_viewed(entry.word))
        reason, detail = (entry.reason, entry.detail) if entry.reason else self._unfit(word, entry)
        if reason:
            self.refused.append(Refused(entry.line, entry.word, reason, detail))
        elif entry.cls:
            self.aspects[word] = entry.cls
        elif entry.pos:
            self.general[word] = entry.pos
        else:
            assert entry.valence is not None, f"an opinion without a valence: {entry}"
            category = self.options.category or self._category(entry.category, entry.valence)
            self.opinions[word] = category, self.lexicon.categories.get(category, entry.valence)

    def add_parts(self, find_nouns: FindNouns) -> None:
        """Add the nouns that several imported aspects share, unless some lexicon knows them as something."""
        names = list(self.aspects)
        counts: Counter[str] = Counter()
        classes: dict[str, str] = {}
        for name, nouns in zip(names, find_nouns(names), strict=True):
            counts.update(set(nouns) - {name})
            for noun in nouns:
                classes.setdefault(noun, self.aspects[name])
        for noun, count in sorted(counts.items()):
            if count >= PART_OF and noun not in self.aspects and not self._unfit_part(noun):
                self.aspects[noun] = classes[noun]
                self.parts += 1

    def _unfit_part(self, noun: str) -> bool:
        lexicon = self.lexicon
        known = (lexicon.opinions, lexicon.general, lexicon.not_aspects, lexicon.morphemes, lexicon.degree)
        marks = (lexicon.negators, lexicon.irrealis, lexicon.contrast, self.opinions, self.general)
        if not 2 <= len(noun) <= self.options.longest or not all(map(HAN.match, noun)):
            return True
        aspect = lexicon.aspects.get(noun)
        return any(noun in words for words in (*known, *marks)) or (aspect is not None and not self._own(aspect.where))

    def _category(self, category: str, valence: float) -> str:
        if self.lexicon.categories.get(category) == valence:
            return category
        self.categories.setdefault(own(self.name, category), (valence, f"from {self.name}"))
        return own(self.name, category)

    def _unfit(self, word: str, entry: Entry) -> tuple[str, str]:
        """Why a word is no entry, or two empty strings."""
        if not any(HAN.match(char) or char.isalpha() for char in word):
            return "no-word", ""
        if any(map(str.isspace, word)):
            return "whitespace", "the segmenter cannot keep it whole"
        if not self.shortest <= len(word) <= self.options.longest:
            return "length", f"{len(word)} characters; {self.shortest} to {self.options.longest} are taken"
        if entry.cls:
            return self._unfit_aspect(word)
        return self._unfit_general(word) if entry.pos else self._unfit_opinion(word, entry)

    def _unfit_aspect(self, word: str) -> tuple[str, str]:
        if word in self.aspects:
            return "duplicate", ""
        aspect = self.lexicon.aspects.get(word)
        if aspect and self._keeps(aspect.where):
            return "known", f"{aspect.cls} in {aspect.where}"
        return "", ""

    def _unfit_general(self, word: str) -> tuple[str, str]:
        if word in self.general:
            return "duplicate", f"listed before as {self.general[word]}"
        if self.options.keep_known:
            for words in (self.lexicon.opinions, self.lexicon.aspects):
                if word in words:
                    return "known", words[word].where
        return "", ""

    def _unfit_opinion(self, word: str, entry: Entry) -> tuple[str, str]:
        if entry.valence is None or not 1 <= entry.valence <= 10:
            return "valence", f"{entry.valence} is no valence from 1 to 10"
        if word in self.opinions:
            category, valence = self.opinions[word]
            reason = "contradiction" if (valence - 5) * (entry.valence - 5) < 0 else "duplicate"
            return reason, f"listed before as {category}"
        opinion = self.lexicon.opinions.get(word)
        if opinion and self._keeps(opinion.where):
            return "known", f"{opinion.category} ({opinion.valence:g}) in {opinion.where}"
        for marks in (self.lexicon.degree, self.lexicon.negators):
            if word in marks:
                return "function-word", f"{marks[word]} in our lexicon"
            for cut in range(1, len(word)):
                if word[:cut] in marks and word[cut:] in self.lexicon.opinions:
                    return "compositional", f"{word[:cut]} + {word[cut:]}"
        return "", ""

    def _keeps(self, where: str) -> bool:
        """Whether an entry of the lexicon in use wins over the file; one that an earlier import of this name made
        does not.
        """
        return self.options.keep_known and not self._own(where)

    def _own(self, where: str) -> bool:
        """Whether an earlier import of this name brought an entry."""
        return f"/imported_{self.name}.tsv:" in where

    def overlay(self) -> Overlay:
        """What was gathered."""
        opinions = tuple((word, category) for word, (category, _) in self.opinions.items())
        categories = tuple((name, valence, gloss) for name, (valence, gloss) in self.categories.items())
        aspects, general = tuple(self.aspects.items()), tuple(self.general.items())
        return Overlay(self.name, opinions, aspects, categories, tuple(self.refused), general, self.parts)


def as_viewed(word: str) -> str:
    """A listed word as a review's view shows it; single Simplified characters that both scripts write stay."""
    return view(word.strip(), script=None if script_of(word) == "simplified" else "traditional").text.lower()
