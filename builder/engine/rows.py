"""Rows of characters for the units of a clause, and patterns over them.

A pattern is made of atoms (`CURRENT&QUANTITY`, `[NOUN ASPECT]`). A unit is a row of characters that say which atoms of
the rule it is, by its kind, its place, and the classes of its word. So a unit may be of many classes at once, and every
pattern is one regular expression. What classes a word is of stands in one table for the rules of all actions.

In: rules with their classes of words, a lexicon. Out: a `WordTable`, and `RuleRows`, a rule made ready. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache, reduce
from itertools import pairwise
from operator import or_
from typing import Generic, NamedTuple, TypeVar

from builder.core.errors import ResourceError
from builder.engine.constituents import Units
from builder.engine.symbols import SYMBOLS, compile_expression
from builder.language.lexicon.resources import Lexicon, OpinionEntry
from builder.language.lexicon.rules import Rule

OPINION_STATES: Mapping[str, str] = {
    "CURRENT": "the opinion in question",
    "PLAIN": "it, without a degree word or negator",
    "GRADED": "it, with one",
    "DENIED": "it, with a negator; where an aspect is in question, any opinion with one",
    "PREDICATE": "it, right behind an aspect that it touches",
    "INNER": "a word of its phrase before it",
    "LOW": "an opinion with a word for a bit of it",
    "TARGET": "the aspect in question",
}
"""Names of what is in question, and what they say."""
UNIT_PROPERTIES: Mapping[str, str] = {
    "TOUCHING": "a unit that touches the one before it",
    "ECHO": "one that begins with the word two units before it (新 不 新鮮)",
    "SINGLE": "a word of one character",
    "GOOD": "an opinion that does not blame, its valence 5 or more",
}
"""Names that hold of a unit of any kind, and what they say."""
BITS: Mapping[str, int] = {name: 1 << i for i, name in enumerate([*SYMBOLS, *OPINION_STATES, *UNIT_PROPERTIES])}
"""Name of a unit, a state or a property -> its bit; the bits of classes of words come behind them."""
KIND_BITS: Mapping[str, int] = {symbol: BITS[name] for name, symbol in SYMBOLS.items()}
"""Symbol of a unit -> its bit."""
_FIRST_CLASS = 1 << len(BITS)
_SINGLE, _GOOD = BITS["SINGLE"], BITS["GOOD"]
_OF_PLACE = (_FIRST_CLASS - 1) ^ _SINGLE ^ _GOOD
"""The bits that no word has by itself."""
_ANY_KIND = (1 << len(SYMBOLS)) - 1
_EDGE = "#"
"""First character of a row."""
_FACTOR = r"(?:[A-Z_]+|\[\^?[A-Z_ ]+\])"
_ATOM = re.compile(rf"{_FACTOR}(?:&{_FACTOR})*")
_PART = re.compile(rf"\(\??|{_ATOM.pattern}|(?:[?*+]|{{[^}}]*}})[?+]?|\\.|\[[^\]]*\]|\S")
"""What a pattern is written of: where a group begins, an atom, how often, any other character."""
DENIER = "DENIER"
"""Name of the unit that a rule which denies finds."""
RESERVED = {*BITS, "WORD", DENIER}
"""Names that no class of words may have."""
_PREFIXES = ("role:", "category:", "irrealis:", "contrast:")
"""Marks of entries that name no word."""
CACHE = 100_000
"""Words whose classes are kept."""
COMPILED = 4096
"""Patterns that are kept; the rules of a text ask for some 150."""
Classes = Mapping[str, Collection[str]]
"""Name -> the words of a class."""


def check_classes(rule: Rule, classes: Classes) -> None:
    """ResourceError where a class has the name of a unit, an empty word or, unless it is for all rules, no word."""
    for name, words in classes.items():
        if name in RESERVED:
            units = "rename the class, or write its words in `units` of a rule of kind words"
            fix = units if name in SYMBOLS else "give the class another name"
            raise rule.fault("words", f"{name} is a unit", fix)
        if (not words and rule.kind != "words") or not all(word.strip("…@") for word in words):
            raise rule.fault("words", f"{name} has an empty word", "remove it")


ENGINE_CLASSES: Mapping[str, str] = {
    "FILLERS": "may stand between a negator and its opinion: 沒有想像中好吃",
    "LEVELS": "tells a level, and is no part of the opinion behind it: 這麼好吃",
    "SCOPE": "is an adverb of the clause, with which no opinion begins before a degree word or negator: 還很好吃",
    "UNDIVIDED": "is a degree word that begins with one of SCOPE and keeps it: 還算新鮮",
    "TRAILING": "gives the degree of the opinion before it: 偏鹹一點",
    "STANCE": "belongs to the full opinion behind it: 應該很好",
    "HEDGES": "does so before a bare opinion, but for ordinary ones: 算新鮮",
    "FINALS": "belongs to the full opinion before it, if that is an excess: 太重了",
    "CHOICES": "belongs to any full opinion before it: 很好的選擇",
    "COMPARED": "begins a comparison that belongs to the full opinion behind it: 比上一代輕",
    "BRIDGING": "stands between two opinions of which the first has the second in it: 軟中帶脆",
    "AMOUNTS": "says by how much: 好吃很多",
    "JOINING": "stands between two opinions of one aspect: 又脆又香",
    "WHOLES": "means all of a place or thing, and belongs to the full aspect alone: 整體質感, 店裡座位",
    "HOUSES": "is a house, which a thing before it names: 書店",
    "DETERMINERS": "begins what belongs to the full aspect in front of it: 這家的麵",
    "LOOSE": "is a character that touches a name and is no part of it: a measure word, a particle, an adverb",
    "SIZES": "belongs, with a number before it, to the name of the thing behind: 16吋的筆電",
    "HEADS": "is what an aspect is cut to that ends in it: 服務態度 to 態度",
    "JUDGED": "is an aspect only before an opinion: 冰很好吃",
    "PRAISING": "gives a degree only where no degree word or negator stands before it: 好多人, 很好很快",
    "PASSING": "names a crowd or a queue, which is no topic",
    "GATHERING": "sums a list up: 品質服務都好",
    "PARTED": "sums a list up over commas alone: 湯，麵都是涼的",
    "ABOVE_ALL": "opens a clause with what the opinion before it holds of above all: 都很好吃，尤其是湯",
    "ADDING": "stands before what only goes into the thing that stays the topic: 加上緞帶點綴",
    "ADDED": "says how much of it there is: 滿滿的亮片",
    "QUESTION": "is a character that ends a question",
    "ASKING": "stands in a question that really asks; others blame what they name: 湯都冷了？",
}
"""Name of a class that the engine itself asks for -> what its words are, or do."""


class WordTable:
    """Which classes a word is of, as bits, for the rules of all actions: a class that several rules name costs once.

    A class holds words as they are, beginnings (`一…`), endings (`…味`), classes of aspects (`@staff`), roles of
    aspects (`role:person`), categories of opinions (`category:taste`), kinds of irrealis.tsv and contrast.tsv
    (`irrealis:wish`, `contrast:but`).
    """

    def __init__(self, lexicon: Lexicon, shared: Classes) -> None:
        """`shared`: the classes of rules of kind `words`, which all rules may name; the engine itself asks for some."""
        self._lexicon, self.shared = lexicon, shared
        self._bits: dict[tuple[str, ...], int] = {}
        self._marked: dict[str, dict[str, int]] = {mark: {} for mark in ("", "…_", "_…", "@", *_PREFIXES)}
        self.known: dict[object, int] = {}
        """Words, or words with what they are worth as opinions -> their bits."""
        self.entries = {name: tuple(shared.get(name, ())) for name in ENGINE_CLASSES}
        """The words of the engine's classes as they are written; one that no rule has is empty."""
        self._of_engine = {name: self.add(words) for name, words in self.entries.items()}

    def holds(self, name: str, word: str, entry: OpinionEntry | None = None) -> bool:
        """Whether a word is of one of the engine's classes; `entry`: its own as an opinion."""
        return self.find(word, entry) & self._of_engine[name] != 0

    def add(self, words: Collection[str]) -> int:
        """The bit of a class of words."""
        key = tuple(sorted(words))
        if key in self._bits:
            return self._bits[key]
        bit = self._bits[key] = _FIRST_CLASS << len(self._bits)
        for word in key:
            mark = find_mark(word)
            marked, name = self._marked[mark], word.strip("…@").removeprefix(mark)
            marked[name] = marked.get(name, 0) | bit
        return bit

    def find(self, word: str, entry: OpinionEntry | None = None) -> int:
        """The bits of the classes that a word is of; `entry`: its own as an opinion."""
        key = word if entry is None else (word, entry.category, entry.valence)
        bits = self.known.get(key)
        if bits is None:
            if len(self.known) >= CACHE:
                self.known.clear()
            bits = self.known[key] = self._classify(word, entry or self._lexicon.opinions.get(word.lower()))
        return bits

    def _classify(self, word: str, entry: OpinionEntry | None) -> int:
        lexicon, marked = self._lexicon, self._marked
        bits = marked[""].get(word, 0) | (_SINGLE if len(word) == 1 else 0)
        for end in range(1, len(word) + 1):
            bits |= marked["_…"].get(word[:end], 0) | marked["…_"].get(word[-end:], 0)
        bits |= marked["irrealis:"].get(lexicon.irrealis.get(word, ""), 0)
        bits |= marked["contrast:"].get(lexicon.contrast.get(word, ""), 0)
        if aspect := lexicon.aspects.get(word.lower()):
            bits |= marked["role:"].get(lexicon.classes.get(aspect.cls, ""), 0) | _find_prefixed(
                marked["@"], aspect.cls
            )
        if entry is not None:
            bits |= _find_prefixed(marked["category:"], entry.category) | (_GOOD if entry.valence >= 5 else 0)
        return bits


Indexed = TypeVar("Indexed")


def place_bits(units: Units, of_words: Sequence[int]) -> list[int]:
    """For each unit its bits: those `of_words`, its kind, whether it touches or repeats what stands before it."""
    out = [bits | KIND_BITS[unit.symbol] for unit, bits in zip(units, of_words, strict=True)]
    for i, (before, unit) in enumerate(pairwise(units), start=1):
        if before.end == unit.start:
            out[i] |= BITS["TOUCHING"]
        if i > 1 and unit.word.startswith(units[i - 2].word):
            out[i] |= BITS["ECHO"]
    return out


class RuleIndex(Generic[Indexed]):
    """Rules in their order, by the classes of words one of which leads to each."""

    def __init__(self, rules: Sequence[tuple[int, Indexed]]) -> None:
        """`rules`: the bits of the classes that lead to a rule, none if any word does, and the rule."""
        self._rules, self._mask = rules, reduce(or_, [bits for bits, _ in rules], 0)
        self._known: dict[int, list[Indexed]] = {}

    def find(self, bits: int) -> list[Indexed]:
        """The rules to which words of some classes lead."""
        bits &= self._mask
        rules = self._known.get(bits)
        if rules is None:
            if len(self._known) >= CACHE:
                self._known.clear()
            rules = self._known[bits] = [rule for own, rule in self._rules if not own or own & bits]
        return rules


class Factor(NamedTuple):
    """A name or a set of a pattern: a unit has one of its bits, or none if it is `denied`."""

    bits: int
    denied: bool

    def holds(self, unit: int) -> bool:
        """Whether a unit is so, by all its bits."""
        return (unit & self.bits != 0) is not self.denied

    @property
    def needed(self) -> int:
        """The bits of classes one of which such a unit is of; none if it needs none."""
        return 0 if self.denied or self.bits & _OF_PLACE else self.bits


class Pattern(NamedTuple):
    """A pattern made ready. `about`: the classes one of which what it is about is of, none if that may be any word.
    `needs`: for each class that a match needs a word of, its bits.
    """

    body: str
    about: int
    needs: tuple[int, ...]

    def holds(self, line: str) -> bool:
        """Whether it holds of the unit of a line that is in question."""
        return compile_body(self.body).search(line) is not None


class RuleRows:
    """The rows of the units of a clause for one rule, and its patterns over them."""

    def __init__(self, rule: Rule, patterns: Mapping[str, Sequence[str]], own: Classes, table: WordTable) -> None:
        """`patterns`: key of the rule -> its patterns; `own`: the classes that they may name beside those of the table.

        ResourceError on a name that is taken, an empty word, or a pattern that cannot be read.
        """
        check_classes(rule, own)
        self._classes, self._table = {**table.shared, **own}, table
        self._atoms: dict[str, list[Factor]] = {}
        for key, pattern in ((key, pattern) for key, key_patterns in patterns.items() for pattern in key_patterns):
            for atom in _ATOM.findall(pattern):
                names = [name for name in atom.split("&") if name != DENIER]
                self._atoms[atom] = [self._read_factor(name, pattern, rule.at(key)) for name in names]
            # few are made, so that here no character is what its units are
            compile_expression(pattern, _ATOM.sub(_spell_unit, pattern), rule.at(key))
        self._bodies = {atom: f".{{{at}}}1.{{{len(self._atoms) - at - 1}}}" for at, atom in enumerate(self._atoms)}
        self._mask = reduce(or_, [factor.bits for factors in self._atoms.values() for factor in factors], 0)
        self.width = 1 + len(self._atoms)
        self._rows: dict[int, str] = {}

    def spell(self, unit: int) -> str:
        """The row of a unit: a mark of where it begins, and for each atom of the patterns whether it is so."""
        unit &= self._mask
        row = self._rows.get(unit)
        if row is None:
            so = [all(factor.holds(unit) for factor in factors) for factors in self._atoms.values()]
            row = self._rows[unit] = _EDGE + "".join("1" if one else "0" for one in so)
        return row

    def compile(self, pattern: str, focus: frozenset[str], where: str) -> Pattern:
        """A pattern made ready. `focus`: names of what it is about; ResourceError where it has none of them."""
        atoms = [atom for atom in _ATOM.findall(pattern) if not focus.isdisjoint(atom.split("&"))]
        if not atoms:
            fix = "name one of " + ", ".join(sorted(focus))
            raise ResourceError(f"pattern {pattern!r} does not name what it is about", where=where, fix=fix)
        about = [next((factor.needed for factor in self._atoms[atom] if factor.needed), 0) for atom in atoms]
        bits = reduce(or_, about) if all(about) else 0
        return Pattern(self.spell_pattern(pattern), bits, self.find_needs(pattern))

    def find_needs(self, pattern: str) -> tuple[int, ...]:
        """For each class that a match of a pattern needs a word of, its bits; one of several alternatives together.

        What is optional needs nothing, nor what looks around.
        """
        groups: list[list[list[Sequence[int]]]] = [[[]]]  # that are open, with the parts of each of their alternatives
        for part in _PART.findall(pattern):
            if part[0] == "(":
                groups.append([[], []] if part == "(?" else [[]])
            elif part == "|":
                groups[-1].append([])
            elif part[0] in "?*{":
                del groups[-1][-1][-1:]
            elif part[0] != "+":
                own = [factor.needed for factor in self._atoms.get(part, ()) if factor.needed]
                needs = _unite_needs(groups.pop()) if part == ")" else own
                groups[-1][-1].append(needs)
        return _unite_needs(groups[0])

    def spell_pattern(self, pattern: str) -> str:
        """A pattern as a regular expression over rows."""

        def spell_atom(match: re.Match[str]) -> str:
            group = f"(?P<{DENIER}>" if DENIER in match[0].split("&") else "(?:"
            return f"{group}{_EDGE}{self._bodies[match[0]]})"

        return _ATOM.sub(spell_atom, pattern).replace(" ", "")

    def _read_factor(self, text: str, pattern: str, where: str) -> Factor:
        """What a unit must be to be what `text` says: a name, a set, or one that is denied."""
        names, bits = text.strip("[^]").split(), 0
        if not names:
            raise ResourceError(f"an empty set in pattern {pattern!r}", where=where, fix="name a unit in it")
        for name in names:
            if name in self._classes:  # which may hold kinds of units, too
                words = self._classes[name]
                bits |= reduce(or_, [BITS[word] for word in words if word in SYMBOLS], self._table.add(words))
            elif name in BITS or name == "WORD":
                bits |= BITS.get(name, _ANY_KIND)
            else:
                fix = "known: " + ", ".join(sorted(RESERVED | self._classes.keys()))
                raise ResourceError(f"unknown unit {name!r} in pattern {pattern!r}", where=where, fix=fix)
        return Factor(bits, text.startswith("[^"))


@lru_cache(maxsize=COMPILED)
def compile_body(body: str) -> re.Pattern[str]:
    """An expression, made when it is first asked for: few rules meet a text."""
    return re.compile(body)


def _spell_unit(match: re.Match[str]) -> str:
    """An atom as what no character is, which stands where it may stand."""
    return f"(?P<{DENIER}>(?!).)" if DENIER in match[0].split("&") else "(?:(?!).)"


def find_mark(word: str) -> str:
    """The mark of an entry of a class: `_…` of `一…`, `…_` of `…味`, `role:` of `role:person`; empty of a word."""
    if "…" in (word[:1], word[-1:]):
        return "…_" if word[:1] == "…" else "_…"
    return "@" if word[:1] == "@" else next((prefix for prefix in _PREFIXES if word.startswith(prefix)), "")


def _find_prefixed(marked: Mapping[str, int], name: str) -> int:
    """The bits of what a name begins with."""
    return reduce(or_, [bits for prefix, bits in marked.items() if name.startswith(prefix)], 0)


def _unite_needs(alternatives: Sequence[Sequence[Sequence[int]]]) -> tuple[int, ...]:
    """What one of several alternatives needs, by what the parts of each do."""
    needs = [[bits for part in parts for bits in part] for parts in alternatives]
    return tuple(needs[0]) if len(needs) == 1 else (reduce(or_, [own[0] for own in needs]),) if all(needs) else ()
