"""The one matcher of rules: which rules of an action hold of an opinion, and of which aspects.

In: rules of an action with `patterns`, `unless` and `words`; a lexicon. Out: a `Matcher`, which names the rules that
hold of an opinion, or bars the aspects that they hold of. Pure.

Rules are found by the word that they are about, or by a word that they cannot do without, so that the others cost
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import NamedTuple

from builder.engine.constituents import Constituent, Phrase, bar_aspect
from builder.engine.rows import FIRST, FOCUS, STATE, Classes, Columns, MatchRule, Pattern
from builder.engine.symbols import ASPECT, NEG
from builder.engine.vocabulary import Unit
from builder.language.lexicon.resources import Lexicon, OpinionEntry
from builder.language.lexicon.rules import Rule

_CACHE = 100_000
"""Words whose rows are kept."""


class Refusal(NamedTuple):
    """An opinion that judges nothing where it stands or is not stated, with its degree words and negators, or an aspect
    of which nothing is said, and the rules that say so; the first of them decides.
    """

    start: int
    end: int
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WordsRule:
    """Parameters of a rule of kind `words`: classes of words that every rule that matches units may name."""

    words: Mapping[str, tuple[str, ...]]


class _Matched(NamedTuple):
    """A rule made ready."""

    name: str
    patterns: tuple[Pattern, ...]
    unless: tuple[Pattern, ...]

    def may_hold(self, word: int, clause: int) -> bool:
        """Whether it can hold of a word, by its columns and those of its clause. A loop: this is asked most of all."""
        for pattern in self.patterns:
            if not pattern.about or pattern.about & word:
                for need in pattern.needs:
                    if not need & clause:
                        break
                else:
                    return True
        return False

    def holds(self, line: str, at: int) -> bool:
        return any(p.holds(line, at) for p in self.patterns) and not any(p.holds(line, at) for p in self.unless)


class _Known(NamedTuple):
    """What is kept of a word: its columns of classes, as characters and as bits, and the rules that it leads to as what
    they are about and beside it.
    """

    row: str
    columns: int
    about: tuple[int, ...]
    beside: tuple[int, ...]


class Matcher:
    """The rules of one action, in their order."""

    def __init__(self, action: str, rules: Sequence[tuple[Rule, MatchRule]], shared: Classes, lexicon: Lexicon) -> None:
        """`shared`: classes of words that every rule may name beside its own.

        ResourceError names a pattern that cannot be read, a class that is empty, or one whose name is taken.
        """
        self._lexicon = lexicon
        self._columns = Columns(
            FOCUS[action], [(rule, params, {**shared, **params.words}) for rule, params in rules], lexicon
        )
        self._rules = tuple(
            _Matched(rule.name, patterns, unless)
            for (rule, _), (patterns, unless) in zip(rules, self._columns.patterns, strict=True)
        )
        self._known: dict[object, _Known] = {}
        self._led: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}

    def find(self, units: Sequence[Unit], first: int, k: int) -> str | None:
        """The first rule that holds of opinion k, whose phrase begins at unit `first`; None if none does."""
        return next(self.find_all(units, first, k), None)

    def find_all(self, units: Sequence[Unit], first: int, k: int) -> Iterator[str]:
        """The names of the rules that hold of opinion k, in their order."""
        look_up = self._known.get
        known = [
            (unit.entry is None and look_up(unit.word)) or self._look_up(unit.word, unit.entry, unit.entry is None)
            for unit in units
        ]
        if places := self._find_places(known, k):
            state = "p" if first == k else "n" if any(unit.symbol == NEG for unit in units[first:k]) else "d"
            yield from self._hold_of(units, known, places, k, state)

    def find_phrase(self, items: Sequence[Constituent], k: int) -> str | None:
        """The first rule that holds of the opinion phrase k of a clause; None if none does."""
        known = self._look_up_all(items)
        places, phrase = self._find_places(known, k), items[k].phrase
        if not places or phrase is None:
            return None
        return next(self._hold_of(items, known, places, k, _describe_phrase(phrase)), None)

    def _find_places(self, known: Sequence[_Known], k: int) -> list[int]:
        """The rules that can hold of opinion k, by the words of its clause."""
        places = {*known[k].about, *(place for word in known for place in word.beside)}
        if not places:
            return []
        clause = reduce(or_, [word.columns for word in known])
        return [place for place in sorted(places) if self._rules[place].may_hold(known[k].columns, clause)]

    def _hold_of(
        self,
        units: Sequence[Unit | Constituent],
        known: Sequence[_Known],
        places: Sequence[int],
        k: int,
        state: str,
    ) -> Iterator[str]:
        """Those of the rules `places` that hold of opinion k."""
        if k and units[k - 1].symbol == ASPECT and units[k - 1].end == units[k].start:
            state = state.upper()
        rows = self._spell(units, known)
        rows[k] = rows[k][:STATE] + state + rows[k][FIRST:]
        line = "".join(rows)
        for place in places:
            if self._rules[place].holds(line, k * self._columns.width):
                yield self._rules[place].name

    def bar_aspects(self, items: list[Constituent], refused: list[Refusal] | None = None) -> list[Constituent]:
        """The constituents of a clause, with each aspect that a rule holds of as a plain noun; it is added to
        `refused`.
        """
        known = self._look_up_all(items)
        pairs = self._find_pairs(items)
        places = {place for word in known for place in word.beside}
        places.update(
            place for item, word in zip(items, known, strict=True) if item.symbol == ASPECT for place in word.about
        )
        places.update(place for columns in pairs.values() for place in self._lead(columns)[1])
        if not places:
            return items
        clause = reduce(or_, [*(word.columns for word in known), *pairs.values()])
        for place in sorted(places):
            rule = self._rules[place]
            asked = [
                i for i, item in enumerate(items) if item.symbol == ASPECT and rule.may_hold(known[i].columns, clause)
            ]
            rows = self._mark_phrases(items, known, pairs) if asked else []
            barred = [i for i in asked if self._holds(rule, rows, i)]
            if refused is not None:
                refused += [Refusal(items[i].start, items[i].end, (rule.name,)) for i in barred]
            if barred:
                items = [bar_aspect(item) if i in barred else item for i, item in enumerate(items)]
        return items

    def _find_pairs(self, items: Sequence[Constituent]) -> dict[int, int]:
        """Place of a word that is one of a class together with the word before it -> the columns of the class."""
        pairs, firsts = self._columns.pairs, self._columns.firsts
        return {
            i + 1: columns
            for i, item in enumerate(items[:-1])
            if item.word in firsts
            and item.end == items[i + 1].start
            and (columns := pairs.get((item.word, items[i + 1].word)))
        }

    def _mark_phrases(
        self, items: Sequence[Constituent], known: Sequence[_Known], pairs: Mapping[int, int]
    ) -> list[str]:
        """The rows of a clause with the states of its opinions, and the classes of two units."""
        known = [
            word._replace(row=self._spell_columns(word.columns | pairs[i])) if i in pairs else word
            for i, word in enumerate(known)
        ]
        return [
            row if item.phrase is None else row[:STATE] + _describe_phrase(item.phrase) + row[FIRST:]
            for item, row in zip(items, self._spell(items, known), strict=True)
        ]

    def _holds(self, rule: _Matched, rows: Sequence[str], i: int) -> bool:
        """Whether a rule holds of aspect i."""
        marked = rows[i][:STATE] + "t" + rows[i][FIRST:]
        return rule.holds("".join([*rows[:i], marked, *rows[i + 1 :]]), i * self._columns.width)

    def _spell(self, units: Sequence[Unit | Constituent], known: Sequence[_Known]) -> list[str]:
        """A row for each unit."""
        touching = ["-", *("+" if a.end == b.start else "-" for a, b in pairwise(units))]
        rows = [u.symbol + touch + "_" + word.row for u, touch, word in zip(units, touching, known, strict=True)]
        echo = self._columns.echo
        for i in range(2, len(units)):
            if units[i].word.startswith(units[i - 2].word):
                rows[i] = rows[i][:echo] + "1" + rows[i][echo + 1 :]
        return rows

    def _look_up_all(self, items: Sequence[Constituent]) -> list[_Known]:
        look_up = self._known.get
        return [
            (item.phrase is None and look_up(item.word))
            or self._look_up(item.word, item.phrase and item.phrase.entry, True)
            for item in items
        ]

    def _look_up(self, word: str, entry: OpinionEntry | None, is_plain: bool) -> _Known:
        key = word if entry is None else (word, entry.category, entry.valence, is_plain)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _CACHE:
                self._known.clear()
            known = self._known[key] = self._know(word, entry, is_plain)
        return known

    def _know(self, word: str, entry: OpinionEntry | None, is_plain: bool) -> _Known:
        columns = self._columns.find(word, entry or self._lexicon.opinions.get(word.lower()))
        about, beside = self._lead(columns)
        return _Known(self._spell_columns(columns), columns, about if is_plain else (), beside)

    def _spell_columns(self, columns: int) -> str:
        return f"{columns >> FIRST:0{self._columns.width - FIRST}b}"[::-1]

    def _lead(self, columns: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The rules to which a word of some columns leads: as what they are about, and beside it.

        A pattern that needs a word of some class is found by the first such class alone.
        """
        if columns in self._led:
            return self._led[columns]
        patterns = [(place, pattern) for place, rule in enumerate(self._rules) for pattern in rule.patterns]
        about = [place for place, p in patterns if not p.needs and (not p.about or p.about & columns)]
        beside = [place for place, p in patterns if p.needs and p.needs[0] & columns]
        led = self._led[columns] = tuple(dict.fromkeys(about)), tuple(dict.fromkeys(beside))
        return led


def _describe_phrase(phrase: Phrase) -> str:
    """The state of an opinion beside the aspect in question."""
    if phrase.kinds:
        return "n"
    return "l" if "low" in phrase.degrees else "d" if phrase.degrees else "p"
