"""The lexicon of a convention: the words that a rule of kind `vocabulary` adds, takes away or values otherwise.

In: the lexicon as shipped, and such a rule. Out: the lexicon that the convention reads by.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from builder.language.lexicon.resources import AspectEntry, Lexicon, OpinionEntry
from builder.language.lexicon.rules import Rule


@dataclass(frozen=True, slots=True)
class VocabularyRule:
    """Parameters of a rule of kind `vocabulary`.

    `opinions`: valence -> words that have it; `aspects`: words that become aspects, of the class `aspect_class`.
    `without_opinions`, `without_aspects`, `without_degree`, `without_irrealis`: words that are none;
    `without_categories`: categories that are none; `without_context`: whether context.tsv is left out.
    `longest_opinion`: characters of an opinion at most. `no_opinion_starts` and `no_opinion_ends`: how none begins or
    ends, `no_long_opinion_starts` and `no_aspect_starts`, `no_aspect_ends`: the same for those of three characters or
    more. `read_apart`: words that are read as their parts.
    """

    opinions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    aspects: tuple[str, ...] = ()
    aspect_class: str = ""
    without_opinions: tuple[str, ...] = ()
    without_aspects: tuple[str, ...] = ()
    without_degree: frozenset[str] = frozenset()
    without_irrealis: frozenset[str] = frozenset()
    without_categories: tuple[str, ...] = ()
    without_context: bool = False
    longest_opinion: int = 99
    no_opinion_starts: tuple[str, ...] = ()
    no_opinion_ends: tuple[str, ...] = ()
    no_long_opinion_starts: tuple[str, ...] = ()
    no_aspect_starts: tuple[str, ...] = ()
    no_aspect_ends: tuple[str, ...] = ()
    read_apart: tuple[str, ...] = ()


def change_lexicon(lexicon: Lexicon, rule: Rule, changes: VocabularyRule) -> Lexicon:
    """The lexicon with a convention's own words; `rule` names the new entries."""
    opinions = {word: entry for word, entry in lexicon.opinions.items() if _keeps_opinion(entry, word, changes)}
    aspects = {word: entry for word, entry in lexicon.aspects.items() if _keeps_aspect(word, changes)}
    not_aspects, general = dict(lexicon.not_aspects), dict(lexicon.general)
    for valence, words in changes.opinions.items():
        for word in words:
            opinions[word] = OpinionEntry(word, f"{rule.name}.{valence}", float(valence), rule.where)
            aspects.pop(word, None)
            not_aspects.pop(word, None)
    for word in changes.read_apart:
        opinions.pop(word, None)
        aspects.pop(word, None)
    for word in changes.without_opinions:
        opinions.pop(word, None)
        general[word] = "X"  # stays one word: Q彈 must not fall apart into Q and 彈
    for word in changes.aspects:
        aspects[word] = AspectEntry(word, changes.aspect_class, rule.where)
        not_aspects.pop(word, None)
    for word in changes.without_aspects:
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


def _keeps_opinion(entry: OpinionEntry, word: str, changes: VocabularyRule) -> bool:
    return (
        len(word) <= changes.longest_opinion
        and not word.startswith(changes.no_opinion_starts)
        and not (len(word) > 2 and word.startswith(changes.no_long_opinion_starts))
        and not word.endswith(changes.no_opinion_ends)
        and not entry.category.startswith(changes.without_categories)
    )


def _keeps_aspect(word: str, changes: VocabularyRule) -> bool:
    return len(word) <= 2 or not (word.startswith(changes.no_aspect_starts) or word.endswith(changes.no_aspect_ends))
