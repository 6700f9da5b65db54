"""The one matcher of rules: which rules of an action hold of an opinion, and of which aspects.

In: rules of an action with `patterns`, `unless` and `words`; a lexicon. Out: a `Matcher`, which names the rules that
hold of an opinion, or bars the aspects that they hold of. Pure.

Rules are found by the word that they are about, or by a word that they cannot do without, so that the others cost
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
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

    def holds(self, line: str, at: int) -> bool:
        return any(p.holds(line, at) for p in self.patterns) and not any(p.holds(line, at) for p in self.unless)


class _Known(NamedTuple):
    """What is kept of a word: its columns of classes, and the rules that it leads to as the opinion and beside it."""

    row: str
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

    def find(self, units: Sequence[Unit], first: int, k: int) -> str | None:
        """The first rule that holds of opinion k, whose phrase begins at unit `first`; None if none does."""
        return next(self.find_all(units, first, k), None)

    def find_all(self, units: Sequence[Unit], first: int, k: int) -> Iterator[str]:
        """The names of the rules that hold of opinion k, in their order."""
        known = [self._look_up(unit.word, unit.entry, unit.entry is None) for unit in units]
        places = {place for word in known for place in word.beside}.union(known[k].about)
        if places:
            state = "p" if first == k else "n" if any(unit.symbol == NEG for unit in units[first:k]) else "d"
            yield from self._hold_of(units, known, places, k, state)

    def find_phrase(self, items: Sequence[Constituent], k: int) -> str | None:
        """The first rule that holds of the opinion phrase k of a clause; None if none does."""
        known = [self._look_up(item.word, item.phrase and item.phrase.entry, True) for item in items]
        places = {place for word in known for place in word.beside}.union(known[k].about)
        phrase = items[k].phrase
        if not places or phrase is None:
            return None
        return next(self._hold_of(items, known, places, k, _describe_phrase(phrase)), None)

    def _hold_of(
        self, units: Sequence[Unit | Constituent], known: Sequence[_Known], places: Set[int], k: int, state: str
    ) -> Iterator[str]:
        """Those of the rules `places` that hold of opinion k."""
        if k and units[k - 1].symbol == ASPECT and units[k - 1].end == units[k].start:
            state = state.upper()
        rows = self._spell(units, known)
        rows[k] = rows[k][:STATE] + state + rows[k][FIRST:]
        line = "".join(rows)
        for place in sorted(places):
            if self._rules[place].holds(line, k * self._columns.width):
                yield self._rules[place].name

    def bar_aspects(self, items: list[Constituent], refused: list[Refusal] | None = None) -> list[Constituent]:
        """The constituents of a clause, with each aspect that a rule holds of as a plain noun; it is added to
        `refused`.
        """
        known = [self._look_up(item.word, item.phrase and item.phrase.entry, True) for item in items]
        pairs = [self._columns.pairs.get((a.word, b.word), ()) if a.end == b.start else () for a, b in pairwise(items)]
        places = {place for word in known for place in word.beside}
        places.update(*(word.about for item, word in zip(items, known, strict=True) if item.symbol == ASPECT))
        places.update(place for columns in pairs for column in columns for place in self._beside(frozenset({column})))
        for place in sorted(places):
            rows = self._spell(items, known)
            for i, columns in enumerate(pairs, start=1):
                for column in columns:
                    rows[i] = rows[i][:column] + "1" + rows[i][column + 1 :]
            for i, item in enumerate(items):
                if item.phrase is not None:
                    rows[i] = rows[i][:STATE] + _describe_phrase(item.phrase) + rows[i][FIRST:]
            barred = [i for i, item in enumerate(items) if item.symbol == ASPECT and self._holds(place, rows, i)]
            if refused is not None:
                refused += [Refusal(items[i].start, items[i].end, (self._rules[place].name,)) for i in barred]
            if barred:
                items = [bar_aspect(item) if i in barred else item for i, item in enumerate(items)]
        return items

    def _holds(self, place: int, rows: Sequence[str], i: int) -> bool:
        """Whether a rule holds of aspect i."""
        marked = rows[i][:STATE] + "t" + rows[i][FIRST:]
        return self._rules[place].holds("".join([*rows[:i], marked, *rows[i + 1 :]]), i * self._columns.width)

    def _spell(self, units: Sequence[Unit | Constituent], known: Sequence[_Known]) -> list[str]:
        """A row for each unit."""
        touching = ["-", *("+" if a.end == b.start else "-" for a, b in pairwise(units))]
        rows = [u.symbol + touch + "_" + word.row for u, touch, word in zip(units, touching, known, strict=True)]
        echo = self._columns.echo
        for i in range(2, len(units)):
            if units[i].word.startswith(units[i - 2].word):
                rows[i] = rows[i][:echo] + "1" + rows[i][echo + 1 :]
        return rows

    def _look_up(self, word: str, entry: OpinionEntry | None, is_plain: bool) -> _Known:
        key = word if entry is None else (word, entry, is_plain)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _CACHE:
                self._known.clear()
            known = self._known[key] = self._know(word, entry, is_plain)
        return known

    def _know(self, word: str, entry: OpinionEntry | None, is_plain: bool) -> _Known:
        entry = entry or self._lexicon.opinions.get(word.lower())
        columns = self._columns.find(word, entry)
        row = "".join("1" if column in columns else "0" for column in range(FIRST, self._columns.width))
        about = [
            place
            for place, rule in enumerate(self._rules if is_plain else ())
            if any(not p.about.isdisjoint(columns) or not p.about | p.anchors for p in rule.patterns)
        ]
        return _Known(row, tuple(about), tuple(self._beside(columns)))

    def _beside(self, columns: frozenset[int]) -> Iterator[int]:
        """The rules that need a word of one of some columns, whatever word they are about."""
        for place, rule in enumerate(self._rules):
            if any(not p.about and not p.anchors.isdisjoint(columns) for p in rule.patterns):
                yield place


def _describe_phrase(phrase: Phrase) -> str:
    """The state of an opinion beside the aspect in question."""
    if phrase.kinds:
        return "n"
    return "l" if "low" in phrase.degrees else "d" if phrase.degrees else "p"
