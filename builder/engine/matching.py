"""The matcher of rules: which rules of an action hold of an opinion, and of which aspects, and what predicates judge by
their make: 沒通知, 忘記放, 會幫忙.

In: rules of an action with `patterns`, `unless` and `words`; a `WordTable`. Out: a `Matcher`, which names the rules
that hold of an opinion, or bars the aspects that they hold of; `Predicates`, which make opinions of words. Pure.

Rules are found by the word that they are about, and by the words that they cannot do without, so that the others cost
next to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain, pairwise
from operator import or_
from typing import NamedTuple

from builder.engine.constituents import Constituent, Phrase, Units, bar_aspect
from builder.engine.rows import BITS, DENIER, Pattern, RuleIndex, RuleRows, WordTable, compile_body, place_bits
from builder.engine.symbols import ASPECT, NEG, OPINION, SYMBOLS
from builder.language.lexicon.resources import OpinionEntry
from builder.language.lexicon.rules import Rule

_OPINION = frozenset({"CURRENT", "PLAIN", "GRADED", "DENIED", "PREDICATE"})
"""Names of the opinion that a rule is about, one of which every pattern has."""
_ASPECT = frozenset({"TARGET"})
"""That of the aspect, where a pattern of the rule has it."""
_NAME = re.compile("[A-Z_]+")
_PLAIN = BITS["CURRENT"] | BITS["PLAIN"]
_GRADED = BITS["CURRENT"] | BITS["GRADED"]
_DENIED, _LOW = _GRADED | BITS["DENIED"], _GRADED | BITS["LOW"]
"""States of an opinion."""


class Refusal(NamedTuple):
    """An opinion that judges nothing where it stands or is not stated, with its degree words and negators, or an aspect
    of which nothing is said, and the rules that say so; the first of them decides.
    """

    start: int
    end: int
    rules: tuple[str, ...]


class UnitReading(NamedTuple):
    """What a rule makes of a unit: the symbol of another kind, or for a word that falls `apart` its parts; one that
    begins with one of `heads` falls into that and its opinions.
    """

    rule: str
    symbol: str
    apart: Mapping[str, Sequence[str]]
    heads: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WordsRule:
    """Parameters of a rule of kind `words`: classes of words that every rule that matches units may name, some of which
    the engine itself asks for, and `units`: name of a unit -> the words that are it whatever their part of speech.
    """

    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    units: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MatchRule:
    """Parameters of a rule that matches units: it holds where one of `patterns` does, and none of `unless`. Both name
    units, properties and the classes of `words`, of entries as `WordTable` has them.
    """

    patterns: tuple[str, ...]
    unless: tuple[str, ...] = ()
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RefusalRule(MatchRule):
    """Parameters of a rule of kind `refuse`: the opinion, or the aspect of patterns that name TARGET, is a plain word.

    An opinion that is `paired` finds its aspect, but makes no triplet (希望服務更好).
    """

    paired: bool = False

    @property
    def of_aspects(self) -> bool:
        """Whether it is about aspects rather than opinions."""
        return any("TARGET" in _NAME.findall(pattern) for pattern in self.patterns)


@dataclass(frozen=True, slots=True)
class DenialRule(MatchRule):
    """Parameters of a rule of kind `deny`: the phrase of the opinion begins with DENIER (沒有隔壁的好吃).

    Where the two stand `afar`, what stands between stays what it is (沒有一道菜不好吃).
    """

    afar: bool = False


@dataclass(frozen=True, slots=True)
class ReadingRule(MatchRule):
    """Parameters of a rule of kind `read-as`: CURRENT becomes a `unit` of that kind where the rule holds of it, or
    falls into the words that `apart` spells it with (人 很 多), each read as it is by itself. Where `apart` names a
    class, words fall into the aspect with which they begin there (料…) and their opinions (料多實在).
    """

    unit: str = ""
    apart: tuple[str, ...] = ()


class _Matched(NamedTuple):
    """A rule made ready."""

    name: str
    rows: RuleRows
    patterns: tuple[Pattern, ...]
    unless: tuple[Pattern, ...]
    afar: bool

    @property
    def about(self) -> int:
        """The classes one of which the word is of that it is about; none if that may be any word."""
        words = [pattern.about for pattern in self.patterns]
        return reduce(or_, words) if all(words) else 0

    def may_hold(self, word: int, clause: int) -> bool:
        """Whether it can hold of a word, by its classes and those of its clause. A loop: this is asked most of all."""
        for pattern in self.patterns:
            if not pattern.about or pattern.about & word:
                for need in pattern.needs:
                    if not need & clause:
                        break
                else:
                    return True
        return False

    def holds(self, line: str) -> bool:
        """Whether it holds of the unit of a line that is in question."""
        return any(p.holds(line) for p in self.patterns) and not any(p.holds(line) for p in self.unless)

    def find_denier(self, line: str, taken: int) -> int | None:
        """The unit, from `taken` on, that denies the one in question; None if the rule does not hold of that."""
        width = self.rows.width
        deniers = [match.start(DENIER) // width for p in self.patterns if (match := compile_body(p.body).search(line))]
        denier = next((place for place in deniers if place >= taken), None)
        return None if denier is None or any(p.holds(line) for p in self.unless) else denier


class Line(NamedTuple):
    """The units of a clause with the classes of each, as bits. `clause`: all of their classes."""

    units: Units
    bits: list[int]
    clause: int


class Matcher:
    """The rules of one action, in their order."""

    def __init__(self, rules: Sequence[tuple[Rule, MatchRule]], table: WordTable) -> None:
        """ResourceError names a pattern that cannot be read, a class that is empty, or one whose name is taken."""
        self._table = table
        self._rules = tuple([_compile_rule(rule, params, table) for rule, params in rules])
        self._readings = {rule.name: _read_reading(rule, own) for rule, own in rules if isinstance(own, ReadingRule)}
        self._index = RuleIndex([(rule.about, rule) for rule in self._rules])
        self._of_neighbours = {rule.name for rule in self._rules for p in rule.patterns if {*p.needs} - {p.about}}
        """Those that need a word of a class beside the one that they are about."""

    def read(self, units: Units) -> Line:
        """What is known of the units of a clause."""
        known, find = self._table.known, self._table.find
        bits = [
            known[unit.word] if unit.phrase is None and unit.word in known else find(unit.word, unit.entry)
            for unit in units
        ]
        return Line(units, bits, reduce(or_, bits, 0))

    def find_all(self, line: Line, first: int, k: int) -> Iterator[str]:
        """The names of the rules that hold of opinion k, in their order. Of one that a predicate made, those alone that
        need a word beside it: it is no word of a class itself.
        """
        names = self._hold_of(line, first, k, _describe_units(line.units[first:k]))
        made = line.units[k].phrase is not None
        return (name for name in names if not made or name in self._of_neighbours)

    def find_denier(self, line: Line, first: int, k: int, taken: int) -> tuple[int, bool]:
        """The unit, from `taken` on, by which a rule denies opinion k, and whether it stays apart; where none does,
        `first`, at which the opinion's phrase begins.
        """
        if not any(unit.symbol == NEG for unit in line.units[taken:first]):
            return first, False
        state = _describe_units(line.units[first:k])
        spelled = self._spell_for(line, first, k, state)
        deniers = ((rule.find_denier(text, taken), rule.afar) for rule, text in spelled)
        return next(((denier, afar) for denier, afar in deniers if denier is not None), (first, False))

    def find_phrase(self, items: Units, k: int) -> str | None:
        """The first rule that holds of the opinion phrase k of a clause; None if none does."""
        line = self.read(items)
        state = _describe_phrase(items[k].own_phrase)
        return next(self._hold_of(line, k, k, state), None)

    def find_reading(self, units: Units, i: int) -> UnitReading | None:
        """What the first rule makes of unit i that holds of it; None if none does."""
        if not self._index.find(self._table.find(units[i].word)):
            return None
        name = next(self._hold_of(self.read(units), i, i, _PLAIN), None)
        return None if name is None else self._readings[name]

    def _hold_of(self, line: Line, first: int, k: int, state: int) -> Iterator[str]:
        """The names of the rules that hold of opinion k, whose phrase begins at unit `first`."""
        return (rule.name for rule, text in self._spell_for(line, first, k, state) if rule.holds(text))

    def _spell_for(self, line: Line, first: int, k: int, state: int) -> Iterator[tuple[_Matched, str]]:
        """Each rule that can hold of opinion k by the words of its clause, with the line of its clause where opinion k
        is in question; its phrase begins at unit `first`.
        """
        rules = [rule for rule in self._index.find(line.bits[k]) if rule.may_hold(line.bits[k], line.clause)]
        if not rules:
            return
        units, all_bits = line.units, place_bits(line.units, line.bits)
        if k and units[k - 1].symbol == ASPECT and units[k - 1].end == units[k].start:
            state |= BITS["PREDICATE"]
        all_bits[first:k] = [bits | BITS["INNER"] for bits in all_bits[first:k]]
        all_bits[k] |= state
        for rule in rules:
            yield rule, "".join(map(rule.rows.spell, all_bits))

    def bar_aspects(self, items: list[Constituent], refused: list[Refusal] | None = None) -> list[Constituent]:
        """The clause, changed in place: each aspect that a rule holds of is a plain noun, and in `refused`."""
        line = self.read(items)
        aspects = [i for i, item in enumerate(items) if item.symbol == ASPECT]
        for rule in self._index.find(reduce(or_, [line.bits[i] for i in aspects])) if aspects else ():
            asked = [i for i in aspects if items[i].symbol == ASPECT and rule.may_hold(line.bits[i], line.clause)]
            barred = [i for i in asked if self._holds_of_aspect(rule, line, i)]
            for i in barred:
                items[i] = bar_aspect(items[i])
            if refused is not None:
                refused += [Refusal(items[i].start, items[i].end, (rule.name,)) for i in barred]
        return items

    def _holds_of_aspect(self, rule: _Matched, line: Line, i: int) -> bool:
        all_bits = [
            bits if item.phrase is None else bits | _describe_phrase(item.phrase)
            for item, bits in zip(line.units, place_bits(line.units, line.bits), strict=True)
        ]
        all_bits[i] |= BITS["TARGET"]
        return rule.holds("".join(map(rule.rows.spell, all_bits)))


def _compile_rule(rule: Rule, params: MatchRule, table: WordTable) -> _Matched:
    focus = _ASPECT if isinstance(params, RefusalRule) and params.of_aspects else _OPINION
    rows = RuleRows(rule, {"patterns": params.patterns, "unless": params.unless}, params.words, table)
    patterns, unless = (
        tuple(rows.compile(pattern, focus, rule.at(key)) for pattern in part)
        for key, part in (("patterns", params.patterns), ("unless", params.unless))
    )
    for pattern in patterns if isinstance(params, DenialRule) else ():
        if f"<{DENIER}>" not in pattern.body:
            raise rule.fault("patterns", "it names no DENIER", "write DENIER&NEG for the negator")
    return _Matched(rule.name, rows, patterns, unless, isinstance(params, DenialRule) and params.afar)


def _read_reading(rule: Rule, params: ReadingRule) -> UnitReading:
    """What a rule makes of a unit."""
    unit, apart = params.unit, params.apart
    if unit not in SYMBOLS and not apart:
        raise rule.fault("unit", f"unknown unit {unit!r}", "known: " + ", ".join(sorted(SYMBOLS)))
    for name in (name for name in apart if _NAME.fullmatch(name) and name not in params.words):
        fix = f"list its words in `words` of this rule: {', '.join(sorted(params.words)) or 'it has none'}"
        raise rule.fault("apart", f"no class {name!r}", fix)
    heads = tuple([word.strip("…") for name in apart for word in params.words.get(name, ())])
    spelled = {word.replace(" ", ""): word.split(" ") for word in apart}
    return UnitReading(rule.name, SYMBOLS.get(unit, ""), spelled, heads)


def _describe_units(before: Units) -> int:
    """The state of an opinion behind the units of its phrase."""
    return _PLAIN if not before else _DENIED if any(unit.symbol == NEG for unit in before) else _GRADED


def _describe_phrase(phrase: Phrase) -> int:
    """The state of an opinion beside the aspect in question."""
    if phrase.kinds:
        return _DENIED
    return _LOW if "low" in phrase.degrees else _GRADED if phrase.degrees else _PLAIN


# ---- Predicates: what a construction and a class of verbs say together no word of them says alone


@dataclass(frozen=True, slots=True)
class PredicateRule:
    """Parameters of a rule of kind `predicate`.

    `pattern`: the units that become one opinion of `category`; `before` and `after`: what stands around them. They name
    units, properties and classes as other rules that match do.
    """

    pattern: str
    category: str
    words: Mapping[str, tuple[str, ...]]
    before: str = ""
    after: str = ""


class _Predicate(NamedTuple):
    """A rule made ready: its expression with the group `core`, the classes that it needs, what it makes."""

    rows: RuleRows
    body: str
    needs: tuple[int, ...]
    entry: OpinionEntry


class Predicates:
    """All predicates, found by the words that they need; each makes opinions that carry their own entry."""

    def __init__(
        self, rules: Sequence[tuple[Rule, PredicateRule]], table: WordTable, valences: Mapping[str, float]
    ) -> None:
        """`valences`: those of the categories. ResourceError names an unknown category or unit."""
        self._table = table
        made = [_compile_predicate(rule, params, table, valences) for rule, params in rules]
        self._index = RuleIndex([(one.needs[0] if one.needs else 0, one) for one in made])
        self._makeable = reduce(or_, [table.find(one.entry.word, one.entry) for one in made], 0)
        """The classes of the opinions that they make, by category: a later one may need what an earlier one makes."""

    def read(self, units: list[Constituent]) -> list[Constituent]:
        """The units, with each run that is such a predicate as one opinion."""
        bits = [self._table.find(unit.word, unit.entry) for unit in units]
        clause, placed = reduce(or_, bits, 0), place_bits(units, bits)
        for rows, body, needs, entry in self._index.find(clause | self._makeable):
            if not all(need & clause for need in needs):
                continue
            line = "".join(map(rows.spell, placed))
            for match in reversed(list(compile_body(body).finditer(line))):
                first, stop = (at // rows.width for at in match.span("core"))
                run = units[first:stop]
                if run and all(a.end == b.start for a, b in pairwise(run)):
                    one = _make_opinion(run, entry)
                    units = [*units[:first], one, *units[stop:]]
                    bits[first:stop] = [self._table.find(one.word, one.entry)]
                    clause, placed = clause | bits[first], place_bits(units, bits)
        return units


def _compile_predicate(
    rule: Rule, params: PredicateRule, table: WordTable, valences: Mapping[str, float]
) -> _Predicate:
    if params.category not in valences:
        fix = "use one of lexicons/opinion_categories.tsv"
        raise rule.fault("category", f"unknown category {params.category!r}", fix)
    parts = {"before": params.before, "pattern": params.pattern, "after": params.after}
    rows = RuleRows(rule, {key: [part] for key, part in parts.items()}, params.words, table)
    before, core, after = map(rows.spell_pattern, parts.values())
    own = reduce(or_, map(table.add, params.words.values()), 0)
    needs = tuple(chain(*map(rows.find_needs, parts.values()))) or ((own,) if own else ())
    entry = OpinionEntry(rule.name, params.category, valences[params.category], rule.where)
    return _Predicate(rows, f"(?:{before})(?P<core>{core})(?={after})", needs, entry)


def _make_opinion(run: Units, entry: OpinionEntry) -> Constituent:
    word = "".join(unit.word for unit in run)
    own = OpinionEntry(word, entry.category, entry.valence, entry.where)
    start, end = run[0].start, run[-1].end
    return Constituent(start, end, OPINION, word, run[-1].last, Phrase((start, end), own))
