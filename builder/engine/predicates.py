"""Predicates that judge by their make: 沒通知, 忘記放, 會幫忙.

What a construction and a class of verbs say together no word of them says alone.

In: the units of a clause, the lexicon, rules of kind `predicate`. Out: the units with each such run as one opinion,
which carries its own entry. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from builder.core.errors import ResourceError
from builder.engine.patterns import compile_pattern
from builder.engine.symbols import ASPECT, OPINION
from builder.engine.vocabulary import Unit
from builder.language.lexicon.resources import Lexicon, OpinionEntry
from builder.language.lexicon.rules import Rule

_FIRST = 0xE000
"""Classes of words are characters of the private use area, so that a pattern can name them beside symbols."""


@dataclass(frozen=True, slots=True)
class PredicateRule:
    """Parameters of a rule of kind `predicate`.

    `pattern`: the units that become one opinion of `category`; `before` and `after`: what stands around them. Besides
    units they name the classes of `words`: words as they are, classes of aspects (`@staff`), endings (`…味`)
    of words that are none of these.
    `needs`: classes of which every match has a word, which save other clauses the search; all if none are given.
    """

    pattern: str
    category: str
    words: Mapping[str, tuple[str, ...]]
    before: str = ""
    after: str = ""
    needs: tuple[str, ...] = ()


class Predicate(NamedTuple):
    """A rule made ready: its expression with the group `core`, compiled when a clause asks for it, the entry of what it
    finds, and its classes of words. `ends`: all that `endings` name.
    """

    written: str
    entry: OpinionEntry
    words: Mapping[str, str]
    aspects: Sequence[tuple[str, str]]
    endings: Sequence[tuple[str, str]]
    ends: tuple[str, ...]


class Predicates(NamedTuple):
    """All predicates, and for each word that one of them needs the places of those that may hold beside it."""

    rules: tuple[Predicate, ...]
    anchors: Mapping[str, tuple[int, ...]]


def compile_predicates(rules: Sequence[tuple[Rule, PredicateRule]], valences: Mapping[str, float]) -> Predicates:
    """The rules made ready.

    ResourceError names an unknown category, an unknown unit, or a rule without a plain word.
    """
    out: list[Predicate] = []
    anchors: dict[str, tuple[int, ...]] = {}
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
        for word in _find_anchors(rule, params) or plain:
            anchors[word] = (*anchors.get(word, ()), len(out))
        entry = OpinionEntry(rule.name, params.category, valences[params.category], rule.where)
        aspects, endings = ([(word[1:], char) for word, char in symbols if word[0] == mark] for mark in "@…")
        ends = tuple([ending for ending, _ in endings])
        written = f"(?:{before})(?P<core>{pattern})(?={after})"
        out.append(Predicate(written, entry, plain, aspects, endings, ends))
    return Predicates(tuple(out), anchors)


def _find_anchors(rule: Rule, params: PredicateRule) -> list[str]:
    """The words of the classes that a rule needs, each once; ResourceError if it has no such class."""
    for name in params.needs:
        if any(word[0] in "@…" for word in params.words.get(name, ("@",))):
            fix = "name classes of words as they are"
            raise ResourceError(
                f"rule {rule.name!r} needs {name!r}, no class of plain words", where=rule.at("needs"), fix=fix
            )
    return list(dict.fromkeys(word for name in params.needs for word in params.words[name]))


def read_predicates(units: list[Unit], lexicon: Lexicon, predicates: Predicates) -> list[Unit]:
    """The units, with each run that is such a predicate as one opinion."""
    anchors = predicates.anchors
    places = {place for unit in units if unit.word in anchors for place in anchors[unit.word]}
    for place in sorted(places):
        predicate = predicates.rules[place]
        line = _spell(units, lexicon, predicate)
        for match in reversed(list(_compile(predicate.written).finditer(line))):
            first, stop = match.span("core")
            run = units[first:stop]
            if run and all(a.end == b.start for a, b in pairwise(run)):
                units = [*units[:first], _make_one(run, predicate.entry), *units[stop:]]
    return units


@cache
def _compile(written: str) -> re.Pattern[str]:
    return re.compile(written)


def _make_one(run: Sequence[Unit], entry: OpinionEntry) -> Unit:
    word = "".join(unit.word for unit in run)
    own = OpinionEntry(word, entry.category, entry.valence, entry.where)
    return Unit(run[0].start, run[-1].end, word, OPINION, run[0].first, run[-1].last, own)


def _spell(units: Sequence[Unit], lexicon: Lexicon, predicate: Predicate) -> str:
    """The characters of units for one rule: those of its classes of words, else their own symbols."""
    words, aspects, ends = predicate.words, predicate.aspects, predicate.ends
    out = [words.get(unit.word) or unit.symbol for unit in units]
    if aspects or ends:
        for i, unit in enumerate(units):
            if unit.entry is not None or out[i] != unit.symbol:
                continue
            if aspects and unit.symbol == ASPECT:
                cls = lexicon.aspects[unit.word].cls
                out[i] = next((char for prefix, char in aspects if cls.startswith(prefix)), ASPECT)
            if out[i] == unit.symbol and ends and unit.word.endswith(ends):
                out[i] = next(char for ending, char in predicate.endings if unit.word.endswith(ending))
    return "".join(out)
