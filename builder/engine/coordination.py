"""Coordinations of aspects: what 、 和 跟 join, and what stands side by side before a word that gathers it
(餐點服務都好).

In: the constituents of a clause. Out: which aspects share an opinion. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from builder.engine.constituents import ATTRIBUTES, Constituent, Term
from builder.engine.symbols import ASPECT, JOINERS, NOUN


def make_listed_nouns_aspects(clause: list[Constituent]) -> list[Constituent]:
    """The clause, changed in place: a noun that a list comma or conjunction joins to an aspect becomes one."""
    for i in range(1, len(clause) - 1):
        if clause[i].symbol in JOINERS:
            left, right = clause[i - 1], clause[i + 1]
            if left.symbol == ASPECT and right.symbol == NOUN and len(right.word) > 1:
                clause[i + 1] = right._replace(symbol=ASPECT, term=Term(""))
            elif right.symbol == ASPECT and left.symbol == NOUN and len(left.word) > 1:
                clause[i - 1] = left._replace(symbol=ASPECT, term=Term(""))
    return clause


def add_coordinated(
    clause: Sequence[Constituent], aspects: tuple[Constituent, ...], gathering: frozenset[str], touching: bool
) -> tuple[Constituent, ...]:
    """An aspect and those of its coordination (paper: `conj`); several aspects stay as they are."""
    if len(aspects) != 1:
        return aspects
    for at, item in enumerate(clause):
        if item is aspects[0]:
            return aspects + tuple([clause[i] for i in _find_coordination(clause, at, gathering, touching) if i != at])
    return aspects


def _find_coordination(clause: Sequence[Constituent], at: int, gathering: frozenset[str], touching: bool) -> list[int]:
    """The places of the aspects coordinated with the one at `at`, itself included.

    Between them stands 、 or a conjunction or, if `touching`, nothing.
    """
    first = at
    while step := _step_to_previous(clause, first, gathering, touching):
        first -= step
    out = [first]
    for i in range(first + 1, len(clause)):
        if clause[i].term is not None:
            if not _step_to_previous(clause, i, gathering, touching):
                break
            out.append(i)
    return out


def _step_to_previous(clause: Sequence[Constituent], i: int, gathering: frozenset[str], touching: bool) -> int:
    """How many places before aspect i the one stands that it is coordinated with; 0 if there is none."""
    if i >= 2 and clause[i - 1].symbol in JOINERS and clause[i - 2].symbol == ASPECT:
        return 2
    touches = touching and i and clause[i - 1].symbol == ASPECT and clause[i - 1].end == clause[i].start
    return 1 if touches and (_are_attributes(clause[i - 1], clause[i]) or are_gathered(clause, i, gathering)) else 0


def _are_attributes(*items: Constituent) -> bool:
    return all(item.term and item.term.role in ATTRIBUTES for item in items)


def are_gathered(clause: Sequence[Constituent], i: int, gathering: frozenset[str]) -> bool:
    """餐點服務都好: whether behind the run of aspects that touch, of which i is one,
    stands a word that gathers them.
    """
    while i + 1 < len(clause) and clause[i + 1].symbol == ASPECT and clause[i + 1].start == clause[i].end:
        i += 1
    return i + 1 < len(clause) and clause[i + 1].word in gathering
