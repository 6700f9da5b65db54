"""The rules and the lexicon, compiled for one convention and checked before the first review is read.

In: the lexicon as shipped, all rules (rules/*.toml), the convention. Out: `Compiled`, all that the engine needs. The
rules of other conventions are checked too.

Rules of kind `vocabulary` change the lexicon: they add words, take them away or give them another valence. The
convention reads by the result.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from itertools import chain
from types import MappingProxyType
from typing import TypeVar, cast

from builder.core.settings import Convention
from builder.engine import described, pairing
from builder.engine.constituents import Pairer
from builder.engine.coordination import ListReader
from builder.engine.deciding import Decision, DecisionRule
from builder.engine.functions import load_functions
from builder.engine.matching import DenialRule, Matcher, PredicateRule, Predicates, ReadingRule, RefusalRule, WordsRule
from builder.engine.params import NoParams, Params, in_force, read_params
from builder.engine.phrases import JoinRule, PhraseReader
from builder.engine.rows import Classes, WordTable, check_classes, find_mark
from builder.engine.symbols import SYMBOLS
from builder.engine.terms import TermReader, TermRule
from builder.engine.units import UnitReader
from builder.engine.weighing import ExceptionRule, ValenceRule, compile_exceptions
from builder.language.lexicon.resources import AspectEntry, Lexicon, OpinionEntry
from builder.language.lexicon.rules import FUNCTION, Rule

# ---- The lexicon of a convention

Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True)
class VocabularyRule:
    """Parameters of a rule of kind `vocabulary`.

    `opinions`: valence -> words that have it; `aspects`: class -> words that become aspects of it. `without_opinions`,
    `without_aspects`, `without_degree`, `without_irrealis`: words that are none. The first two hold beginnings (`一…`,
    of aspects of three characters or more), categories (`category:score`) and the like, as classes of words do.
    `without_context`: whether context.tsv is left out. `longest_opinion`: characters of an opinion at most.
    `read_apart`: words that are read as their parts.
    """

    opinions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    aspects: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    without_opinions: tuple[str, ...] = ()
    without_aspects: tuple[str, ...] = ()
    without_degree: frozenset[str] = frozenset()
    without_irrealis: frozenset[str] = frozenset()
    without_context: bool = False
    longest_opinion: int = 99
    read_apart: tuple[str, ...] = ()


def change_lexicon(lexicon: Lexicon, rule: Rule, changes: VocabularyRule) -> Lexicon:
    """The lexicon with a convention's own words; `rule` names the new entries."""
    table, read_apart = WordTable(lexicon, {}), frozenset(changes.read_apart)
    unjudged, unnamed = table.add(changes.without_opinions), table.add(changes.without_aspects)
    no_opinions, no_aspects = _list_words(changes.without_opinions), _list_words(changes.without_aspects)
    new = {
        word: OpinionEntry(word, f"{rule.name}.{valence}", float(valence), rule.where)
        for valence, words in changes.opinions.items()
        for word in words
    }
    short = {word: entry for word, entry in lexicon.opinions.items() if len(word) <= changes.longest_opinion}
    judging = {
        word: entry
        for word, entry in short.items()
        if not (changes.without_opinions and table.find(word, entry) & unjudged)
    }
    opinions = _leave_out(judging | new, read_apart | no_opinions)
    named = {word: AspectEntry(word, cls, rule.where) for cls, words in changes.aspects.items() for word in words}
    kept = {
        word: own
        for word, own in lexicon.aspects.items()
        if len(word) <= 2 or not (changes.without_aspects and table.find(word) & unnamed)
    }
    aspects = _leave_out(_leave_out(kept, new.keys() | read_apart) | named, no_aspects)
    # a hole is a hole: 調酒 must not fall apart into 調 and 酒, nor Q彈 into Q and 彈
    holes = {word for word in no_aspects if len(word) > 1 and word not in opinions and word not in lexicon.general}
    return replace(
        lexicon,
        opinions=MappingProxyType(opinions),
        aspects=MappingProxyType(aspects),
        not_aspects=MappingProxyType(_leave_out(lexicon.not_aspects, new.keys() | named.keys())),
        degree=MappingProxyType(_leave_out(lexicon.degree, changes.without_degree)),
        irrealis=MappingProxyType(_leave_out(lexicon.irrealis, changes.without_irrealis)),
        general=MappingProxyType({**lexicon.general, **dict.fromkeys(no_opinions | holes, "X")}),
        context=MappingProxyType({}) if changes.without_context else lexicon.context,
    )


def _list_words(entries: Sequence[str]) -> frozenset[str]:
    """Those of the entries of a class that are words as they stand."""
    return frozenset(entry for entry in entries if not find_mark(entry))


def _leave_out(table: Mapping[str, Entry], words: Collection[str]) -> dict[str, Entry]:
    return {word: entry for word, entry in table.items() if word not in words}


# ---- Compiled rules


@dataclass(frozen=True, slots=True)
class CompatibleRule:
    """`classes`: prefix of opinion categories, the longest of which counts -> those of the classes they describe."""

    classes: Mapping[str, tuple[str, ...]]


DECLARED: Mapping[str, type] = {
    "predicate": PredicateRule,
    "words": WordsRule,
    "refuse": RefusalRule,
    "deny": DenialRule,
    "read-as": ReadingRule,
    "join": JoinRule,
    "term": TermRule,
    "valence": ValenceRule,
    "compatible": CompatibleRule,
    "exception": ExceptionRule,
    "conjunction": NoParams,
    FUNCTION: NoParams,
    "decision": DecisionRule,
    "vocabulary": VocabularyRule,
    described.KIND: described.StepRule,
    **pairing.KINDS,
}
"""Kind of a rule -> its parameters."""


def check_rules(rules: Sequence[Rule]) -> list[tuple[Rule, object]]:
    """The rules with their parameters. ResourceError names one that cannot run, of whatever convention."""
    out = list[tuple[Rule, object]]()
    for rule in rules:
        if rule.kind not in DECLARED:
            raise rule.fault("", f"unknown kind {rule.kind!r}", "known: " + ", ".join(sorted(DECLARED)))
        out.append((rule, read_params(rule, DECLARED[rule.kind])))
        if rule.kind == FUNCTION and not rule.code:
            raise rule.fault("", "it has no function", "write a function of Python into a domain pack")
    return out


class _Selection(list[tuple[Rule, object]]):
    """The rules in force in a convention, with their parameters."""

    def find(self, declared: type[Params]) -> list[tuple[Rule, Params]]:
        """The rules with parameters of a kind."""
        return [(rule, own) for rule, own in self if isinstance(own, declared)]

    def unite(self, declared: type[Params]) -> Params:
        """What the rules of a kind say together: their lists in a row, of other values the first that is given."""
        rules = [own for _, own in self.find(declared)]
        values = {field.name: [getattr(own, field.name) for own in rules] for field in fields(declared)}
        united: dict[str, object] = {
            name: tuple(chain(*own)) if isinstance(own[0], tuple) else next(filter(None, own), own[0])
            for name, own in values.items()
            if own
        }
        return declared(**united)


class Compiled:
    """The rules of a convention by what they do, and its lexicon."""

    def __init__(self, lexicon: Lexicon, rules: Sequence[Rule], convention: Convention) -> None:
        """ResourceError names a rule, of whatever convention, that cannot run."""
        chosen = _Selection(pair for pair in check_rules(rules) if in_force(pair[0], convention))
        self.natural = convention == "natural"
        join, term = chosen.unite(JoinRule), chosen.unite(TermRule)
        self.lexicon, apart = _change_words(lexicon, chosen.find(VocabularyRule))
        classes, units = _gather_words(chosen.find(WordsRule))
        self.words = WordTable(self.lexicon, classes)
        self._match(chosen, join)
        self.units = UnitReader(self.lexicon, units, apart, join.had, self._readings, self.words)
        joining = frozenset(word for _, own in chosen.find(pairing.PatternPairer) for word in own.words)
        self.lists = ListReader(self.words, joining)
        self.terms = TermReader(self.lexicon, term, self.words, self.lists)
        pairers = [(rule, cast(Pairer, own)) for rule, own in chosen if rule.kind in pairing.KINDS]
        self._pairers = [(rule.name, pairer) for rule, pairer in sorted(pairers, key=lambda pair: pair[0].order)]
        self.conjunction = next((rule.name for rule, _ in chosen if rule.kind == "conjunction"), "")
        self.decision = next((Decision(rule.name, own) for rule, own in chosen.find(DecisionRule)), None)
        self.valences = [own for _, own in chosen.find(ValenceRule)]
        self.can_describe = compile_limits([own for _, own in chosen.find(CompatibleRule)])
        """Whether an opinion of a category can describe an aspect of a class."""
        self.exceptions = compile_exceptions(chosen.find(ExceptionRule))
        self.functions = load_functions(rule for rule, _ in chosen if rule.kind == FUNCTION)

    def find_pairers(self, category: str, is_named: bool) -> list[tuple[str, Pairer]]:
        """The rules that may pair an opinion of a category, in their order; `is_named`: its clause names an aspect."""
        return [
            (name, pairer)
            for name, pairer in self._pairers
            if not isinstance(pairer, pairing.PatternPairer) or pairer.may_answer(category, is_named)
        ]

    def _match(self, chosen: _Selection, join: JoinRule) -> None:
        """The rules that match units, over one table of words."""
        table = self.words
        self.predicates = Predicates(chosen.find(PredicateRule), table, self.lexicon.categories)
        self._readings = Matcher(chosen.find(ReadingRule), table)
        refusals = chosen.find(RefusalRule)
        for rule, own in refusals:
            if own.paired and own.of_aspects:
                raise rule.fault("paired", "it refuses aspects, which are not paired", "leave out `paired`")
        self.refused_aspects = Matcher([own for own in refusals if own[1].of_aspects], table)
        self.unstated = Matcher([own for own in refusals if own[1].paired], table)
        plain = Matcher([own for own in refusals if not (own[1].of_aspects or own[1].paired)], table)
        denials = Matcher(chosen.find(DenialRule), table)
        self.phrases = PhraseReader(self.lexicon, self.words, join, plain, denials)


def _gather_words(rules: Sequence[tuple[Rule, WordsRule]]) -> tuple[Classes, Classes]:
    """The words of each class, and of each unit, in all rules. ResourceError on a name or word that cannot be."""
    classes, units = dict[str, tuple[str, ...]](), dict[str, tuple[str, ...]]()
    for rule, own in rules:
        check_classes(rule, own.words)
        for name in (name for name in own.units if name not in SYMBOLS):
            raise rule.fault("units", f"unknown unit {name!r}", "known: " + ", ".join(sorted(SYMBOLS)))
        for known, more in ((classes, own.words), (units, own.units)):
            known.update({name: (*known.get(name, ()), *words) for name, words in more.items()})
    return classes, units


def _change_words(lexicon: Lexicon, rules: Sequence[tuple[Rule, VocabularyRule]]) -> tuple[Lexicon, list[str]]:
    """The lexicon of a convention, and the words that it reads apart."""
    shipped = lexicon
    for rule, changes in rules:
        lexicon = change_lexicon(lexicon, rule, changes)
    apart = shipped.aspects.keys() - lexicon.aspects.keys() - lexicon.general.keys()
    return lexicon, sorted(apart.union(*(changes.read_apart for _, changes in rules)))


def compile_limits(rules: Sequence[CompatibleRule]) -> Callable[[str, str], bool]:
    """Whether opinions of a category can describe aspects of a class. Of each rule the longest prefix of the category
    counts. A class that begins as none in a rule (of a user's pack) is described by all.
    """
    allowed = [cls for rule in rules for classes in rule.classes.values() for cls in classes]
    limited = tuple({cls.partition(".")[0] for cls in allowed})

    @cache
    def can_describe(category: str, cls: str) -> bool:
        known = [(rule, [prefix for prefix in rule.classes if category.startswith(prefix)]) for rule in rules]
        limits = [rule.classes[max(prefixes, key=len)] for rule, prefixes in known if prefixes]
        return not cls.startswith(limited) or all(cls.startswith(classes) for classes in limits)

    return can_describe
