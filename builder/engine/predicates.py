"""Predicates that judge by their make: 沒通知, 忘記放, 會幫忙.

What a construction and a class of verbs say together no word of them says alone.

In: the units of a clause, the lexicon, rules of kind `predicate`. Out: the units with each such run as one opinion,
which carries its own entry. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from builder.engine.patterns import compile_pattern
from builder.engine.symbols import ASPECT, OPINION
from builder.engine.vocabulary import Unit
from builder.errors import ResourceError
from builder.lexicon.resources import Lexicon, OpinionEntry
from builder.lexicon.rules import Rule

_FIRST = 0xE000
"""Classes of words are characters of the private use area, so that a pattern can name them beside symbols."""


@dataclass(frozen=True, slots=True)
class PredicateRule:
    """Parameters of a rule of kind `predicate`.

    `pattern`: the units that become one opinion of `category`; `before` and `after`: what stands around them. Besides
    units they name the classes of `words`: words as they are, classes of aspects (`@staff`), endings (`…味`).
    """

    pattern: str
    category: str
    words: Mapping[str, tuple[str, ...]]
    before: str = ""
    after: str = ""


class Predicate(NamedTuple):
    """A rule made ready: its expression with the group `core`, the entry of what it finds, and its classes of words."""

    expression: re.Pattern[str]
    entry: OpinionEntry
    words: Mapping[str, str]
    aspects: Sequence[tuple[str, str]]
    endings: Sequence[tuple[str, str]]


class Predicates(NamedTuple):
    """All predicates, and the words without which none of them holds."""

    rules: tuple[Predicate, ...]
    anchors: frozenset[str]


def compile_predicates(rules: Sequence[tuple[Rule, PredicateRule]], valences: Mapping[str, float]) -> Predicates:
    """The rules made ready.

    ResourceError names an unknown category, an unknown unit, or a rule without a plain word.
    """
    out: list[Predicate] = []
    anchors: set[str] = set()
    for rule, params in rules:
        if params.category not in valences:
            fix = "use one of lexicons/opinion_categories.tsv"
            raise ResourceError(f"unknown category {params.category!r}", where=rule.at("category"), fix=fix)
        names = tuple((name, chr(_FIRST + i)) for i, name in enumerate(sorted(params.words)))
        before, pattern, after = (
            compile_pattern(part, rule.at(key), names).pattern
            for key, part in (("before", params.before), ("pattern", params.pattern), ("after", params.after))
        )
        symbols = [(word, char) for name, char in names for word in params.words[name]]
        if any(not word.lstrip("@…") for word, _ in symbols):
            raise ResourceError(f"rule {rule.name!r} has an empty word", where=rule.at("words"), fix="remove it")
        plain = {word: char for word, char in symbols if word[0] not in "@…"}
        if not plain:
            raise ResourceError(f"rule {rule.name!r} names no word", where=rule.at("words"), fix="name one")
        anchors |= plain.keys()
        entry = OpinionEntry(rule.name, params.category, valences[params.category], rule.where)
        expression = re.compile(f"(?:{before})(?P<core>{pattern})(?={after})")
        aspects, endings = ([(word[1:], char) for word, char in symbols if word[0] == mark] for mark in "@…")
        out.append(Predicate(expression, entry, plain, aspects, endings))
    return Predicates(tuple(out), frozenset(anchors))


def read_predicates(units: list[Unit], lexicon: Lexicon, predicates: Predicates) -> list[Unit]:
    """The units, with each run that is such a predicate as one opinion."""
    words = {unit.word for unit in units}
    if predicates.anchors.isdisjoint(words):
        return units
    for predicate in predicates.rules:
        if words.isdisjoint(predicate.words):
            continue
        line = "".join([_symbol(unit, lexicon, predicate) for unit in units])
        for match in reversed(list(predicate.expression.finditer(line))):
            first, stop = match.span("core")
            run = units[first:stop]
            if run and all(a.end == b.start for a, b in pairwise(run)):
                units = [*units[:first], _make_one(run, predicate.entry), *units[stop:]]
    return units


def _make_one(run: Sequence[Unit], entry: OpinionEntry) -> Unit:
    word = "".join(unit.word for unit in run)
    own = OpinionEntry(word, entry.category, entry.valence, entry.where)
    return Unit(run[0].start, run[-1].end, word, OPINION, run[0].first, run[-1].last, own)


def _symbol(unit: Unit, lexicon: Lexicon, predicate: Predicate) -> str:
    """The character of a unit for one rule: that of a class of words, else its own."""
    if char := predicate.words.get(unit.word):
        return char
    if unit.entry is not None:
        return unit.symbol
    if unit.symbol == ASPECT and predicate.aspects:
        cls = lexicon.aspects[unit.word].cls
        return next((char for prefix, char in predicate.aspects if cls.startswith(prefix)), unit.symbol)
    return next((char for ending, char in predicate.endings if unit.word.endswith(ending)), unit.symbol)
