"""What the clause beside an opinion makes of it: 麵太勁道了，承受不住; 不會因為客人多，而有所怠慢.

In: the constituents of a clause, the text, and where the clause before it stands. Out: the constituents, their phrases
with a degree `unborne` or with the negator of the clause before. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from builder.engine.constituents import Constituent, Phrase
from builder.engine.extent import OVER
from builder.reviews.text import Clause

UNBORNE = "unborne"
"""Degree of what is too much to bear."""
_LONGEST_GAP, _LONGEST_SUBJECT, _LONGEST_VERB, _LONGEST_CLAUSE = 3, 4, 2, 40
"""Words between an excess and the word that it is not borne, and characters before and behind the word of a result."""


@dataclass(frozen=True, slots=True)
class AdjoiningRule:
    """Parameters of a rule of kind `adjoining`.

    `unborne`: that one cannot bear it, said behind a word of excess (太勁道了，承受不住); between them stand `finals`,
    a comma, and words for who bears it (`bearers`). `negators` before `reasons` (不會因為) at a distance deny the
    fault in the clause behind, which begins with one of `results` (，而有所怠慢) or with a short subject before it, and
    has none of `contrasts`.
    """

    unborne: tuple[str, ...] = ()
    bearers: tuple[str, ...] = ()
    finals: tuple[str, ...] = ()
    negators: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    contrasts: tuple[str, ...] = ()


class Adjoining(NamedTuple):
    """The expressions of a rule: for what stands behind an excess, for the clause before a fault, and for the words
    between the beginning of a clause and its fault.
    """

    unborne: re.Pattern[str]
    denied: re.Pattern[str]
    result: re.Pattern[str]


def compile_adjoining(rule: AdjoiningRule) -> Adjoining:
    """A rule made ready."""
    finals = rf"(?:{_any(rule.finals)}){{0,2}}"
    bearers = rf"(?:{_any(rule.bearers)}){{0,{_LONGEST_GAP}}}"
    results, within = rf"(?:{_any(rule.results)})", rf"{{0,{_LONGEST_CLAUSE}}}"
    return Adjoining(
        re.compile(rf"{finals}[，, ]?{bearers}(?:{_any(rule.unborne)}){finals}(?!\w)"),
        re.compile(rf"(?<!會)(?P<negator>{_any(rule.negators)})(?:{_any(rule.reasons)})(?!.{within}{results})"),
        re.compile(
            rf"(?!\w{within}(?:{_any(rule.contrasts)}))\w{{0,{_LONGEST_SUBJECT}}}?{results}{{1,2}}\w{{0,{_LONGEST_VERB}}}"
        ),
    )


def read_adjoining(
    items: list[Constituent], text: str, clause: Clause, before: Clause | None, adjoining: Adjoining | None
) -> list[Constituent]:
    """The constituents of a clause, with what the clauses beside it make of their phrases."""
    if adjoining is None:
        return items
    denial = _find_denial(items, text, clause, before, adjoining)
    out = []
    for item in items:
        phrase = item.phrase
        if phrase is not None and OVER in phrase.degrees and adjoining.unborne.match(text, item.end):
            item = item._replace(phrase=phrase._replace(degrees=(*phrase.degrees, UNBORNE)))
        elif phrase is not None and denial is not None and _is_fault(phrase):
            item = item._replace(phrase=phrase._replace(negators=(denial,), kinds=("not",)))
            denial = None
        out.append(item)
    return out


def _find_denial(
    items: Sequence[Constituent], text: str, clause: Clause, before: Clause | None, adjoining: Adjoining
) -> tuple[int, int] | None:
    """The negator of the clause before, if it denies the first opinion of this one."""
    first = next((item for item in items if item.phrase is not None), None)
    if first is None or first.phrase is None or not _is_fault(first.phrase):
        return None
    if before is None or before.sentence != clause.sentence or text[before.end : clause.start] not in ("，", ","):
        return None
    if not adjoining.result.fullmatch(text, clause.start, first.start):
        return None
    found = adjoining.denied.search(text, before.start, before.end)
    return found.span("negator") if found else None


def _is_fault(phrase: Phrase) -> bool:
    """Whether a phrase blames, and nothing denies it."""
    return phrase.entry.valence < 5 and not phrase.kinds


def _any(words: Sequence[str]) -> str:
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
