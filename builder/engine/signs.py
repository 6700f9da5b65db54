"""Pictures that judge what stands before them where no word does: a thumb behind 牛肉麵.

In: the text, its tokens and the units of a clause. Out: the units, with such a picture as an opinion. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from builder.engine.symbols import ASPECT, OPINION
from builder.engine.vocabulary import Unit
from builder.errors import ResourceError
from builder.lexicon.resources import OpinionEntry
from builder.lexicon.rules import Rule
from builder.records import Token

_TONES = frozenset("\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff\ufe0f")
"""What only colours the picture before it."""


@dataclass(frozen=True, slots=True)
class SignRule:
    """Parameters of a rule of kind `sign`: category of an opinion -> the pictures that are one."""

    signs: Mapping[str, tuple[str, ...]]


def compile_signs(rules: Sequence[tuple[Rule, SignRule]], valences: Mapping[str, float]) -> dict[str, OpinionEntry]:
    """Picture -> entry of its opinion. ResourceError names an unknown category."""
    out: dict[str, OpinionEntry] = {}
    for rule, params in rules:
        for category, signs in params.signs.items():
            if category not in valences:
                fix = "use one of lexicons/opinion_categories.tsv"
                raise ResourceError(f"unknown category {category!r}", where=rule.at("signs"), fix=fix)
            out |= {sign: OpinionEntry(sign, category, valences[category], rule.where) for sign in signs}
    return out


def read_sign(
    units: list[Unit], text: str, tokens: Sequence[Token], stop: int, signs: Mapping[str, OpinionEntry]
) -> list[Unit]:
    """The units of a clause that ends before token `stop`, with the picture there if they end with an aspect and judge
    nothing.
    """
    if not units or units[-1].symbol != ASPECT or stop >= len(tokens) or tokens[stop].start != units[-1].end:
        return units
    start = tokens[stop].start
    entry = signs.get(text[start])
    if entry is None or any(unit.symbol == OPINION for unit in units):
        return units
    same = _TONES | {text[start]}
    last = stop
    while last + 1 < len(tokens) and same.issuperset(text[start : tokens[last + 1].end]):
        last += 1
    word = text[start : tokens[last].end]
    own = OpinionEntry(word, entry.category, entry.valence, entry.where)
    return [*units, Unit(start, tokens[last].end, word, OPINION, stop, last, own)]
