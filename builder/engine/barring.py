"""Which candidates the engine excepts, and which aspects an opinion singles out. Pure.

Singled out is what an opinion holds of above all, named in the clause behind it: 都很好吃，尤其是湯. In: the
constituents of both clauses. Out: the aspects that the second one names.

Excepted are pairs of words that are no triplet, whatever rule would make one: rules of kind `exception`. In: the rules.
Out: for each opinion the aspects it is never said of, by their words as triplets show them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from builder.core.errors import ResourceError
from builder.core.records import Triplet
from builder.engine.constituents import THINGS, Constituent
from builder.engine.extent import ExtentRule
from builder.engine.symbols import symbol_set
from builder.engine.weighing import make_opinion
from builder.language.lexicon.rules import Rule

# ---- Singled-out aspects

_ENDING = symbol_set("PART CONJ ADV OPINION")
"""Behind an opinion that ends its clause, alone or with others (好吃 且 超值)."""
_NAMES = symbol_set("ASPECT CONJ LIST NUM NOUN BLOCKED PRON PART DE COP")
"""Units of a clause that names things and says nothing of them."""


def find_singled(
    clause: Sequence[Constituent], at: int, behind: Sequence[Constituent], above_all: Collection[str]
) -> tuple[Constituent, ...]:
    """The things that `behind` names with one of `above_all`, if opinion `at` ends its clause, or others behind it do.

    尤其是湯很好喝 and 尤其是晚上 name none: a clause with a predicate of its own, or no thing in it.
    """
    if not behind or behind[0].word not in above_all or any(item.symbol not in _ENDING for item in clause[at + 1 :]):
        return ()
    if not all(item.symbol in _NAMES for item in behind[1:]):
        return ()
    return tuple([item for item in behind if item.term is not None and item.term.role in THINGS])


# ---- Excepted pairs

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
    aspects = exceptions.get(make_opinion(text, (item,), 0, _PLAIN)[0].text)
    return aspects is not None and text[aspect.start + aspect.own_term.lead : aspect.end] in aspects


def drop_excepted(triplets: Iterable[Triplet | None], exceptions: Exceptions) -> list[Triplet | None]:
    """The triplets, None for each that is an exception."""
    return [t if t and t.aspect.text not in exceptions.get(t.opinion.text, ()) else None for t in triplets]
