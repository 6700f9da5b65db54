"""Opinions that name their aspect (料多實在, 皮薄餡多): an aspect and its opinions where nothing else is described.

In: the units of a clause. Out: the units with such an opinion taken apart where no aspect stands before it. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from builder.engine.symbols import ASPECT, HAVE, OPINION, symbol_set
from builder.engine.vocabulary import Unit
from builder.language.lexicon.resources import Lexicon

_OTHERS = symbol_set("DE OPINION")
"""Behind such an opinion: what tells that it describes more than the aspect it names (料多又好喝, 料多實在的滷味)."""


def open_clause(units: Sequence[Unit], lexicon: Lexicon, openers: tuple[str, ...]) -> Sequence[Unit]:
    """The units with the first opinion taken apart that begins with an aspect, if no aspect stands before it.

    Only other opinions may stand before it, side by side (好喝 料足).
    """
    if not openers:
        return units
    for k, unit in enumerate(units):
        if unit.symbol == ASPECT:
            return units
        if unit.symbol != OPINION:
            continue
        opens = unit.word.startswith(openers)
        if unit.entry is None and not opens and units[k + 1 : k + 2] and units[k + 1].symbol == OPINION:
            continue  # 好喝 料足
        if unit.entry is not None or not opens or (k and units[k - 1].symbol == HAVE):
            return units
        behind = takewhile(lambda after: after.symbol != ASPECT, units[k + 1 :])  # 料多實在價格便宜
        if any(after.symbol in _OTHERS for after in behind):
            return units
        parts = _take_apart(unit.word, lexicon, openers)
        return [*units[:k], *_make_units(unit, parts), *units[k + 1 :]] if parts else units
    return units


def _take_apart(word: str, lexicon: Lexicon, openers: tuple[str, ...]) -> list[tuple[str, str]]:
    """料多實在 as 料, 多, 實在 with their symbols; nothing if it is not made of aspects, each with its opinions."""
    for opener in openers:
        if word.startswith(opener) and opener in lexicon.aspects:
            opinions = _take_opinions(word[len(opener) :], lexicon, openers)
            return [(opener, ASPECT), *opinions] if opinions else []
    return []


def _take_opinions(word: str, lexicon: Lexicon, openers: tuple[str, ...]) -> list[tuple[str, str]]:
    """The longest opinion that `word` begins with, and what stands behind it; nothing if either is no known word."""
    for stop in range(len(word), 0, -1):
        if word[:stop] in lexicon.opinions:
            behind = word[stop:]
            rest = _take_apart(behind, lexicon, openers) or _take_opinions(behind, lexicon, openers)
            if rest or not behind:
                return [(word[:stop], OPINION), *rest]
    return []


def _make_units(unit: Unit, parts: Sequence[tuple[str, str]]) -> list[Unit]:
    out, at = [], unit.start
    for word, symbol in parts:
        out.append(Unit(at, at + len(word), word, symbol, unit.first, unit.last))
        at += len(word)
    return out
