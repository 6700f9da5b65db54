"""The rules and the lexicon, compiled for one convention and checked before the first review is read.

In: the lexicon as shipped, all rules (rules/*.toml), the convention. Out: `Compiled`, all that the engine needs. The
rules of other conventions are checked too.

Rules of kind `vocabulary` change the lexicon: they add words, take them away or give them another valence. The
convention reads by the result.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType

from builder.core.errors import ResourceError
from builder.core.settings import Convention
from builder.engine import pairing
from builder.engine.carrying import AddingRule
from builder.engine.coordination import ListRule
from builder.engine.deciding import DecisionRule
from builder.engine.described import mentions
from builder.engine.extent import ExtentRule
from builder.engine.matching import Matcher, MatchRule, ReadingRule, WordsRule
from builder.engine.params import NoParams, Params, in_force, read_params
from builder.engine.phrases import JoinRule, PhraseGrammar
from builder.engine.polarity import ValenceRule
from builder.engine.predicates import PredicateRule, Predicates
from builder.engine.rows import WordTable
from builder.engine.terms import NameGrammar, NameRule, TermGrammar, TermRule, find_leads
from builder.engine.units import Pairer
from builder.engine.vocabulary import FunctionWordRule, UnitVocabulary, check_units
from builder.engine.weighing import ExceptionRule, compile_exceptions
from builder.language.lexicon.resources import AspectEntry, Lexicon, OpinionEntry
from builder.language.lexicon.rules import Rule

# ---- The lexicon of a convention

_CATEGORY = "category:"


@dataclass(frozen=True, slots=True)
class VocabularyRule:
    """Parameters of a rule of kind `vocabulary`.

    `opinions`: valence -> words that have it; `aspects`: class -> words that become aspects of it. `without_opinions`,
    `without_aspects`, `without_degree`, `without_irrealis`: words that are none. Of the first two, beginnings (`一…`)
    and endings (`…分`) as well, of aspects of three characters or more, and categories of opinions (`category:score`).
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
    no_opinions, starts, ends, categories = _split_marks(changes.without_opinions)
    opinions = {
        word: entry
        for word, entry in lexicon.opinions.items()
        if len(word) <= changes.longest_opinion
        and not (word.startswith(starts) or word.endswith(ends) or entry.category.startswith(categories))
    }
    no_aspects, starts, ends, _ = _split_marks(changes.without_aspects)
    aspects = {
        word: entry
        for word, entry in lexicon.aspects.items()
        if len(word) <= 2 or not (word.startswith(starts) or word.endswith(ends))
    }
    not_aspects, general = dict(lexicon.not_aspects), dict(lexicon.general)
    for valence, words in changes.opinions.items():
        for word in words:
            opinions[word] = OpinionEntry(word, f"{rule.name}.{valence}", float(valence), rule.where)
            aspects.pop(word, None)
            not_aspects.pop(word, None)
    for word in changes.read_apart:
        opinions.pop(word, None)
        aspects.pop(word, None)
    for word in no_opinions:
        opinions.pop(word, None)
        general[word] = "X"  # stays one word: Q彈 must not fall apart into Q and 彈
    for cls, words in changes.aspects.items():
        aspects |= {word: AspectEntry(word, cls, rule.where) for word in words}
        not_aspects = {word: reason for word, reason in not_aspects.items() if word not in words}
    for word in no_aspects:
        aspects.pop(word, None)
        if len(word) > 1 and word not in opinions:
            general.setdefault(word, "X")  # a hole is a hole: 調酒 must not fall apart into 調 and 酒
    degree = {word: kind for word, kind in lexicon.degree.items() if word not in changes.without_degree}
    irrealis = {word: kind for word, kind in lexicon.irrealis.items() if word not in changes.without_irrealis}
    return replace(
        lexicon,
        opinions=MappingProxyType(opinions),
        aspects=MappingProxyType(aspects),
        not_aspects=MappingProxyType(not_aspects),
        degree=MappingProxyType(degree),
        irrealis=MappingProxyType(irrealis),
        general=MappingProxyType(general),
        context=MappingProxyType({}) if changes.without_context else lexicon.context,
    )


def _split_marks(words: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Words as they are, beginnings, endings, and categories."""
    starts = tuple(word[:-1] for word in words if word[-1:] == "…")
    ends = tuple(word[1:] for word in words if word[:1] == "…")
    categories = tuple(word.removeprefix(_CATEGORY) for word in words if word.startswith(_CATEGORY))
    return tuple(word for word in words if "…" not in word and not word.startswith(_CATEGORY)), starts, ends, categories


# ---- Compiled rules


@dataclass(frozen=True, slots=True)
class QuestionRule:
    """`marks`: characters at the end of a clause that make it a question. `asking`: words of one that really asks;
    without them it blames what it names (湯都冷了？).
    """

    marks: tuple[str, ...] = ()
    asking: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CompatibleRule:
    """`classes`: prefix of opinion categories -> prefixes of the aspect classes that they describe; the longest prefix
    of a category counts.
    """

    classes: Mapping[str, tuple[str, ...]]


DECLARED: Mapping[str, type] = {
    "function-words": FunctionWordRule,
    "predicate": PredicateRule,
    "extent": ExtentRule,
    "words": WordsRule,
    "refuse-opinion": MatchRule,
    "refuse-aspect": MatchRule,
    "deny-opinion": MatchRule,
    "deny-afar": MatchRule,
    "unstate-opinion": MatchRule,
    "read-as": ReadingRule,
    "join": JoinRule,
    "term": TermRule,
    "list": ListRule,
    "name": NameRule,
    "valence": ValenceRule,
    "question": QuestionRule,
    "compatible": CompatibleRule,
    "exception": ExceptionRule,
    "adding": AddingRule,
    "conjunction": NoParams,
    "decision": DecisionRule,
    "vocabulary": VocabularyRule,
    mentions.KIND: mentions.StepRule,
}
"""Kind of a rule -> its parameters, for the kinds that do not pair; those that do declare theirs in `pairing` and
`carrying`.
"""


@dataclass(frozen=True, slots=True)
class Compiled:
    """The rules of a convention by what they do.

    `compatible`: opinion category -> for each rule that limits it, the prefixes of aspect classes it may describe;
    `limited`: how the classes begin of which such rules say something; any other is described by all (those of a
    user's own pack); `exceptions`: opinion -> aspects that it is never said of; `joining`: words between a dish and
    what it comes with; `adding`: which clauses only name what goes into it; `wide`: some rule pairs over the whole
    sentence.
    """

    lexicon: Lexicon
    vocabulary: UnitVocabulary
    readings: Matcher
    predicates: Predicates
    phrases: PhraseGrammar
    refused_aspects: Matcher
    terms: TermGrammar
    joining: frozenset[str]
    adding: AddingRule | None
    pairers: tuple[tuple[str, Pairer], ...]
    conjunction: str
    decision: DecisionRule | None
    decision_name: str
    unstated: Matcher
    valences: tuple[ValenceRule, ...]
    questions: tuple[str, ...]
    asking: tuple[str, ...]
    compatible: Mapping[str, tuple[tuple[str, ...], ...]]
    limited: tuple[str, ...]
    exceptions: Mapping[str, frozenset[str]]
    wide: bool


def check_rules(rules: Sequence[Rule]) -> dict[str, Pairer]:
    """The rules that pair, made ready, by name. ResourceError names a rule of any convention that cannot run."""
    known = {*pairing.KINDS, *DECLARED}
    for rule in rules:
        if rule.kind not in known:
            fix = "known: " + ", ".join(sorted(known))
            raise ResourceError(f"rule {rule.name!r} has unknown kind {rule.kind!r}", where=rule.where, fix=fix)
        if rule.kind in DECLARED:
            read_params(rule, DECLARED[rule.kind])
    return {rule.name: pairing.KINDS[rule.kind](rule) for rule in rules if rule.kind in pairing.KINDS}


class _Selection:
    """The rules in force in a convention, by kind."""

    def __init__(self, rules: Sequence[Rule], convention: Convention) -> None:
        pairers = check_rules(rules)
        self._convention = convention
        self._rules = [rule for rule in rules if in_force(rule, convention)]
        ordered = sorted(self._rules, key=lambda rule: rule.order)
        self.pairers = tuple((rule.name, pairers[rule.name]) for rule in ordered if rule.name in pairers)

    def of_kind(self, kind: str) -> list[Rule]:
        """The rules of a kind."""
        return [rule for rule in self._rules if rule.kind == kind]

    def params(self, kind: str, declared: type[Params]) -> list[Params]:
        """The parameters of the rules of a kind."""
        return [read_params(rule, declared) for rule in self.of_kind(kind)]

    def only(self, kind: str, declared: type[Params]) -> Params:
        """The parameters of a kind that every convention has exactly one rule of."""
        rules = self.of_kind(kind)
        if len(rules) != 1:
            names = ", ".join(rule.name for rule in rules) or "none"
            message = f"{len(rules)} rules of kind {kind} in convention {self._convention}: {names}"
            raise ResourceError(message, where=rules[-1].where if rules else "rules/", fix="keep exactly one")
        return read_params(rules[0], declared)


def compile_rules(lexicon: Lexicon, rules: Sequence[Rule], convention: Convention) -> Compiled:
    """The rules and the lexicon of a convention.

    ResourceError names the rule, in whatever convention, that is of no known kind or has a parameter that is unknown,
    missing or of the wrong type.
    """
    chosen = _Selection(rules, convention)
    function_words = chosen.only("function-words", FunctionWordRule)
    check_units(function_words, chosen.of_kind("function-words")[0])
    shipped, changes = lexicon, chosen.params("vocabulary", VocabularyRule)
    for rule, change in zip(chosen.of_kind("vocabulary"), changes, strict=True):
        lexicon = change_lexicon(lexicon, rule, change)
    apart = shipped.aspects.keys() - lexicon.aspects.keys() - lexicon.general.keys()
    apart |= {word for change in changes for word in change.read_apart}
    join, term = chosen.only("join", JoinRule), chosen.only("term", TermRule)
    shared = {**_share_words(chosen), "JOINING": join.joining}
    table = WordTable(lexicon)
    match = partial(_match, chosen=chosen, shared=shared, table=table)
    compatible = chosen.params("compatible", CompatibleRule)
    return Compiled(
        lexicon=lexicon,
        vocabulary=UnitVocabulary.of(lexicon, function_words, sorted(apart), join.had),
        readings=match("read-as"),
        predicates=Predicates(
            [(rule, read_params(rule, PredicateRule)) for rule in chosen.of_kind("predicate")],
            shared,
            table,
            lexicon.categories,
        ),
        phrases=PhraseGrammar(
            extent=chosen.only("extent", ExtentRule),
            refusals=match("refuse-opinion"),
            denials=match("deny-opinion"),
            far_denials=match("deny-afar"),
            join=join,
            leads=find_leads(lexicon, term.wholes),
        ),
        refused_aspects=match("refuse-aspect"),
        terms=TermGrammar.of(
            term, chosen.only("list", ListRule), NameGrammar.of(chosen.only("name", NameRule), lexicon)
        ),
        joining=frozenset(word for own in chosen.params("pair-pattern", pairing.PatternParams) for word in own.words),
        adding=next(iter(chosen.params("adding", AddingRule)), None),
        pairers=chosen.pairers,
        conjunction=next((rule.name for rule in chosen.of_kind("conjunction")), ""),
        decision=next(iter(chosen.params("decision", DecisionRule)), None),
        decision_name=next((rule.name for rule in chosen.of_kind("decision")), ""),
        valences=tuple(chosen.params("valence", ValenceRule)),
        unstated=match("unstate-opinion"),
        questions=tuple(mark for params in chosen.params("question", QuestionRule) for mark in params.marks),
        asking=tuple(word for params in chosen.params("question", QuestionRule) for word in params.asking),
        compatible=_limit_categories(lexicon, compatible),
        limited=_find_limited(compatible),
        exceptions=compile_exceptions(
            [(rule, read_params(rule, ExceptionRule)) for rule in chosen.of_kind("exception")]
        ),
        wide=bool(chosen.of_kind("pair-sentence")),
    )


def _share_words(chosen: _Selection) -> dict[str, Collection[str]]:
    """The classes of words that all rules may name."""
    return {name: words for params in chosen.params("words", WordsRule) for name, words in params.words.items()}


def _match(action: str, chosen: _Selection, shared: Mapping[str, Collection[str]], table: WordTable) -> Matcher:
    """The rules of an action that match units."""
    declared = ReadingRule if action == "read-as" else MatchRule
    rules = [(rule, read_params(rule, declared)) for rule in chosen.of_kind(action)]
    return Matcher(action, rules, shared, table)


def _find_limited(rules: Sequence[CompatibleRule]) -> tuple[str, ...]:
    """What the classes begin with that rules name: `place`, `part`."""
    return tuple(
        sorted({cls.partition(".")[0] for rule in rules for classes in rule.classes.values() for cls in classes})
    )


def _limit_categories(lexicon: Lexicon, rules: Sequence[CompatibleRule]) -> dict[str, tuple[tuple[str, ...], ...]]:
    """For each category that a rule limits, the classes that each such rule allows: those of the longest prefix.

    All categories count: those that a construction alone gives its opinions (absent.charge) are of no entry.
    """
    limits = {
        category: tuple(
            rule.classes[max(prefixes, key=len)]
            for rule in rules
            if (prefixes := [prefix for prefix in rule.classes if category.startswith(prefix)])
        )
        for category in sorted(lexicon.categories)
    }
    return {category: classes for category, classes in limits.items() if classes}
