"""rules/*.toml and the lexicon, compiled for one convention: what the engine needs, checked before the first review is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType

from builder.config import Convention
from builder.engine import pairing
from builder.engine.items import Grammar
from builder.engine.pairing import Pairer
from builder.engine.params import number, strings, table
from builder.engine.polarity import Denial, Excess
from builder.engine.units import Vocabulary
from builder.errors import ResourceError
from builder.lexicon.resources import AspectEntry, Lexicon, OpinionEntry, Rule

_OTHERS = ("grammar", "excess", "denial", "irrealis", "question", "compatible", "block", "conjunction", "vocabulary")


@dataclass(frozen=True, slots=True)
class Compiled:
    """The rules of a convention by what they do.

    `compatible`: opinion category -> for each rule that limits it, the prefixes of aspect classes it may describe; `blocked`: opinion words
    that pair with nothing; `joining`: words between a dish and what it comes with; `wide`: some rule pairs over the whole sentence.
    """

    lexicon: Lexicon
    vocabulary: Vocabulary
    grammar: Grammar
    joining: frozenset[str]
    pairers: tuple[tuple[str, Pairer], ...]
    conjunction: str
    excess: tuple[Excess, ...]
    denials: tuple[Denial, ...]
    irrealis: frozenset[str]
    contrast: frozenset[str]
    questions: tuple[str, ...]
    compatible: Mapping[str, tuple[tuple[str, ...], ...]]
    blocked: frozenset[str]
    wide: bool


def compile_rules(lexicon: Lexicon, rules: Sequence[Rule], convention: Convention) -> Compiled:
    """ResourceError names the rule that is of no known kind or lacks a parameter."""
    known = {*pairing.KINDS, *_OTHERS}
    by_kind: dict[str, list[Rule]] = {kind: [] for kind in known}
    for rule in rules:
        if rule.kind not in known:
            raise ResourceError(
                f"rule {rule.name!r} has unknown kind {rule.kind!r}", where=rule.where, fix="known: " + ", ".join(sorted(known))
            )
        if rule.params.get("enabled", True) and convention in (strings(rule, "conventions") or (convention,)):
            by_kind[rule.kind].append(rule)
    pairers = sorted((rule for kind in pairing.KINDS for rule in by_kind[kind]), key=lambda rule: rule.order)
    before = lexicon
    for rule in by_kind["vocabulary"]:
        lexicon = _vocabulary(lexicon, rule)
    apart = before.aspects.keys() - lexicon.aspects.keys() - lexicon.general.keys()
    apart |= {word for rule in by_kind["vocabulary"] for word in strings(rule, "read_apart")}
    grammar = _grammar(lexicon, by_kind["grammar"])
    return Compiled(
        lexicon=lexicon,
        vocabulary=Vocabulary.of(lexicon, sorted(apart), grammar.had),
        grammar=grammar,
        joining=frozenset(word for rule in by_kind["pair-with"] for word in strings(rule, "words")),
        pairers=tuple((rule.name, pairing.KINDS[rule.kind](rule)) for rule in pairers),
        conjunction=next((rule.name for rule in by_kind["conjunction"]), ""),
        excess=tuple(_excess(rule) for rule in by_kind["excess"]),
        denials=tuple(Denial(strings(rule, "kinds"), strings(rule, "categories") or ("",)) for rule in by_kind["denial"]),
        irrealis=frozenset(kind for rule in by_kind["irrealis"] for kind in strings(rule, "kinds")),
        contrast=frozenset(
            word for rule in by_kind["irrealis"] for word, kind in lexicon.contrast.items() if kind in strings(rule, "contrast")
        ),
        questions=tuple(mark for rule in by_kind["question"] for mark in strings(rule, "marks")),
        compatible=_compatible(lexicon, by_kind["compatible"]),
        blocked=frozenset(
            word for rule in by_kind["block"] for word in _named(lexicon, strings(rule, "categories"), strings(rule, "words"))
        ),
        wide=bool(by_kind["pair-sentence"]),
    )


def _named(lexicon: Lexicon, categories: tuple[str, ...], words: tuple[str, ...]) -> set[str]:
    """The opinion words of some categories (by prefix), and some words."""
    return {entry.word for entry in lexicon.opinions.values() if entry.category.startswith(categories)} | set(words)


def _compatible(lexicon: Lexicon, rules: Sequence[Rule]) -> dict[str, tuple[tuple[str, ...], ...]]:
    limits = {prefix: tuple(classes) for rule in rules for prefix, classes in table(rule, "classes").items()}
    categories = sorted({entry.category for entry in lexicon.opinions.values()})
    listed = {category: tuple(classes for prefix, classes in limits.items() if category.startswith(prefix)) for category in categories}
    return {category: found for category, found in listed.items() if found}


def _vocabulary(lexicon: Lexicon, rule: Rule) -> Lexicon:
    """The lexicon with a convention's own words: `opinions` of a valence, `without_*` words it lacks, `aspects` it adds."""
    opinions, aspects, not_aspects, general = (
        dict(lexicon.opinions),
        dict(lexicon.aspects),
        dict(lexicon.not_aspects),
        dict(lexicon.general),
    )
    longest = rule.params.get("longest_opinion", 99)
    assert isinstance(longest, int), f"{rule.where}: longest_opinion is {longest!r}"
    opinions = {
        word: entry
        for word, entry in opinions.items()
        if len(word) <= longest
        and not word.startswith(strings(rule, "no_opinion_starts"))
        and not (len(word) > 2 and word.startswith(strings(rule, "no_long_opinion_starts")))
        and not word.endswith(strings(rule, "no_opinion_ends"))
        and not entry.category.startswith(strings(rule, "without_categories"))
    }
    aspects = {
        word: entry
        for word, entry in aspects.items()
        if not (len(word) > 2 and word.startswith(strings(rule, "no_aspect_starts")))
        and not (len(word) > 2 and word.endswith(strings(rule, "no_aspect_ends")))
    }
    for valence, words in table(rule, "opinions").items():
        for word in words:
            opinions[word] = OpinionEntry(word, f"{rule.name}.{valence}", float(valence), rule.where)
            aspects.pop(word, None)
            not_aspects.pop(word, None)
    for word in strings(rule, "read_apart"):
        opinions.pop(word, None)
        aspects.pop(word, None)
    for word in strings(rule, "without_opinions"):
        opinions.pop(word, None)
        general[word] = "X"  # stays one word: Q彈 must not fall apart into Q and 彈
    for word in strings(rule, "aspects"):
        aspects[word] = AspectEntry(word, "quality.generic", rule.where)
        not_aspects.pop(word, None)
    for word in strings(rule, "without_aspects"):
        aspects.pop(word, None)
    degree = {word: kind for word, kind in lexicon.degree.items() if word not in strings(rule, "without_degree")}
    context = {} if rule.params.get("without_context", False) else lexicon.context
    return replace(
        lexicon,
        opinions=MappingProxyType(opinions),
        aspects=MappingProxyType(aspects),
        not_aspects=MappingProxyType(not_aspects),
        degree=MappingProxyType(degree),
        general=MappingProxyType(general),
        context=MappingProxyType(dict(context)),
    )


def _excess(rule: Rule) -> Excess:
    value = number(rule, "value")
    least = number(rule, "least") if "least" in rule.params else value
    about = strings(rule, "categories") or ("",), least, number(rule, "below"), value, strings(rule, "aspects") or ("",)
    return Excess(strings(rule, "kinds"), *about)


def _pairs(listed: tuple[str, ...]) -> Callable[[str, str], bool]:
    """Whether two classes are one of the pairs `listed` ("food service"), by prefix."""
    pairs = [(a, b) for a, b in (pair.split(" ") for pair in listed)]

    @cache
    def holds(first: str, second: str) -> bool:
        return any(first.startswith(a) and second.startswith(b) for a, b in pairs)

    return holds


def _grammar(lexicon: Lexicon, rules: Sequence[Rule]) -> Grammar:
    if len(rules) != 1:
        raise ResourceError(f"{len(rules)} rules of kind grammar", where="rules/", fix="keep exactly one")
    rule = rules[0]
    gap = rule.params.get("gap", 3)
    wholes = frozenset(strings(rule, "wholes"))
    lengths = {len(word) for word in wholes}
    leads = {
        word: n + (word[n : n + 1] == "的")
        for word in lexicon.aspects
        for n in lengths
        if word[:n] in wholes and word[n:].removeprefix("的") in lexicon.aspects
    }

    return Grammar(
        fillers=frozenset(strings(rule, "fillers")),
        gap=gap if isinstance(gap, int) else 3,
        attributes=strings(rule, "attributes"),
        separate=_pairs(strings(rule, "separate")),
        suffixes=frozenset(strings(rule, "suffixes")),
        bare=frozenset(strings(rule, "bare")),
        adverbial=frozenset(strings(rule, "adverbial")),
        verbal=frozenset(strings(rule, "verbal")),
        gradable=frozenset(strings(rule, "gradable")),
        predicates=frozenset(strings(rule, "predicates")),
        quantities=frozenset(strings(rule, "quantities")),
        absorbed=strings(rule, "absorbed"),
        merge=bool(rule.params.get("merge", False)),
        apart=strings(rule, "apart"),
        having=frozenset(strings(rule, "having")),
        amounts=frozenset(strings(rule, "amounts")),
        had=bool(rule.params.get("had", False)),
        list_touching=bool(rule.params.get("list_touching", True)),
        heads=frozenset(strings(rule, "heads")),
        naming=strings(rule, "naming") or ("-",),
        standards=frozenset(strings(rule, "standards")),
        companions=frozenset(strings(rule, "companions")),
        common=frozenset(strings(rule, "common")),
        sameness=frozenset(strings(rule, "sameness")),
        wholes=wholes,
        leads=leads,
        leading=_pairs(strings(rule, "leading")),
        houses=frozenset(strings(rule, "houses")),
        levels=frozenset(strings(rule, "levels")),
        unequal=frozenset(strings(rule, "unequal")),
        likings=strings(rule, "likings"),
        persons=frozenset(strings(rule, "persons")),
        inferior=strings(rule, "inferior"),
        none=strings(rule, "none"),
        measured=strings(rule, "measured"),
        level_gap=int(number(rule, "level_gap")) if "level_gap" in rule.params else 0,
        refusals=frozenset(strings(rule, "refusals")),
        scope=strings(rule, "scope"),
        trailing=frozenset(strings(rule, "trailing")),
        bits=frozenset(strings(rule, "bits")),
        wishing=frozenset(strings(rule, "wishing")),
        loose=frozenset(strings(rule, "loose")),
        ends=frozenset(word[-1] for word, entry in lexicon.aspects.items() if len(word) > 1 and entry.cls.startswith("food")),
        epithets=strings(rule, "epithets") or ("-",),
        compounds=bool(rule.params.get("compounds", True)),
    )
