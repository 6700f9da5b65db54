"""Pairs of words that are no triplet, whatever rule would make one: rules of kind `exception`.

In: the rules. Out: for each opinion the aspects it is never said of, by their words as triplets show them. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from builder.core.errors import ResourceError
from builder.core.records import Triplet
from builder.engine.constituents import Constituent
from builder.engine.elements import make_opinion
from builder.engine.extent import ExtentRule
from builder.language.lexicon.rules import Rule

_PLAIN = ExtentRule()
"""An opinion shows as its core and its negators, whatever else belongs to the whole stretch."""
Exceptions = Mapping[str, frozenset[str]]
"""Opinion -> the aspects that it is never said of."""


@dataclass(frozen=True, slots=True)
class ExceptionRule:
    """`pairs`: `aspect|opinion`, as triplets show them: the opinion with its negator."""

    pairs: tuple[str, ...]


def compile_exceptions(rules: Iterable[tuple[Rule, ExceptionRule]]) -> Exceptions:
    """Opinion -> the aspects it is never said of. ResourceError where a pair is none."""
    aspects: dict[str, set[str]] = {}
    for rule, params in rules:
        for pair in params.pairs:
            aspect, _, opinion = pair.partition("|")
            if not aspect or not opinion or "|" in opinion:
                message = f"rule {rule.name!r}: {pair!r} is no pair"
                raise ResourceError(message, where=rule.at("pairs"), fix='write "aspect|opinion"')
            aspects.setdefault(opinion, set()).add(aspect)
    return {opinion: frozenset(words) for opinion, words in aspects.items()}


def is_excepted(text: str, item: Constituent, aspect: Constituent, exceptions: Exceptions) -> bool:
    """Whether an opinion is never said of an aspect, by the words that a triplet of both would show."""
    if not exceptions:  # as good as always, and this is asked of every candidate
        return False
    assert item.phrase is not None
    assert aspect.term is not None
    aspects = exceptions.get(make_opinion(text, (item,), 0, _PLAIN)[0].text)
    return aspects is not None and text[aspect.start + aspect.term.lead : aspect.end] in aspects


def drop_excepted(triplets: Iterable[Triplet | None], exceptions: Exceptions) -> list[Triplet | None]:
    """The triplets, None for each that is an exception."""
    return [t if t and t.aspect.text not in exceptions.get(t.opinion.text, ()) else None for t in triplets]
