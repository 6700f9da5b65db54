"""Words with two roles take the one that their neighbours ask for. Pure.

In: the units of a clause, the lexicon, and the rule that names function words. Out: the units with their final symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from builder.engine.matching import Matcher, Refusal
from builder.engine.symbols import (
    ADV,
    ASPECT,
    DE,
    DEG,
    NEG,
    OPINION,
    OTHER,
    POST,
    symbol_set,
)
from builder.engine.vocabulary import FunctionWordRule, Unit, UnitVocabulary
from builder.language.lexicon.resources import Lexicon

_ADVERBIAL = symbol_set("ADV DEG NEG COP")
"""Between a fault and what is said of it."""
_TWO_ROLES = symbol_set("OPINION NEG POST")
_STRENGTHENED = symbol_set("OPINION DEG NEG ADJ")
"""What a degree word stands before."""
_JUDGED_BEHIND = symbol_set("DEG NEG")
_JUDGED_BEHIND_HAVING = symbol_set("DEG NEG HAVE")
"""What an opinion stands behind that may be an aspect as well."""
_LACK_ENDS = symbol_set("PART DE CONJ BUT")
"""What stands behind a lack that denies nothing (不夠)."""


def settle_roles(
    units: list[Unit], lexicon: Lexicon, vocabulary: UnitVocabulary, readings: Matcher, refused: list[Refusal] | None
) -> list[Unit]:
    """The units, changed in place from the last to the first. What a rule of `readings` takes for another kind of unit
    is added to `refused`.
    """
    rule, had = vocabulary.rule, vocabulary.had
    judged = _JUDGED_BEHIND_HAVING if had else _JUDGED_BEHIND
    for i in range(len(units) - 1, -1, -1):
        unit = units[i]
        reading = readings.find_reading(units, i)
        parts = reading.apart.get(unit.word) if reading else None
        if reading and (parts or reading.symbol):
            if refused is not None:
                refused.append(Refusal(unit.start, unit.end, (reading.rule,)))
            units[i : i + 1] = (
                _take_apart(unit, parts, lexicon, vocabulary) if parts else [unit._replace(symbol=reading.symbol)]
            )
            continue
        if unit.symbol not in _TWO_ROLES:
            continue
        symbol = _settle_role(units, i, lexicon, rule, judged)
        if symbol != unit.symbol:
            units[i] = Unit(unit.start, unit.end, unit.word, symbol, unit.first, unit.last)
    return units


def _take_apart(unit: Unit, parts: Sequence[str], lexicon: Lexicon, vocabulary: UnitVocabulary) -> list[Unit]:
    """人很多 as 人, 很 and 多: a unit as its parts, each of the kind that it is by itself, or a degree word (好)."""
    starts = accumulate(map(len, parts[:-1]), initial=unit.start)
    kinds = [DEG if part in lexicon.degree else vocabulary.symbols.get(part, OTHER) for part in parts]
    return [
        Unit(start, start + len(part), part, kind, unit.first, unit.last)
        for start, part, kind in zip(starts, parts, kinds, strict=True)
    ]


def _settle_role(
    units: Sequence[Unit], i: int, lexicon: Lexicon, rule: FunctionWordRule, judged: frozenset[str]
) -> str:
    """The symbol of unit i among its neighbours, of which those behind it are settled.

    Opinion or degree (特別, 好): degree before an opinion or another adjective, but an opinion where it is one of
    `praising` behind a degree word or negator (不 好 很 慢). Opinion or aspect (特色, 服務): an opinion only behind one
    of `judged`, a degree word, negator or word of having (帶有嚼勁). A lack (不夠) with nothing behind it is the
    opinion. Degree words with nothing to strengthen are plain adverbs, POST words that follow no opinion likewise.
    """
    word, symbol = units[i].word, units[i].symbol
    before = units[i - 1].symbol if i else ""
    after = units[i + 1].symbol if i + 1 < len(units) else ""
    if after == DE and _opens_judgement(units[i + 2 : i + 4]):  # 意外的好吃, 意外的不好吃
        after = OPINION
    degree = lexicon.degree.get(word) if symbol == OPINION else None
    if degree == "post":
        return POST if before == OPINION else OPINION
    if degree and after in _STRENGTHENED:
        return OPINION if word in rule.praising and before in _JUDGED_BEHIND else DEG
    if (
        symbol == OPINION
        and word in lexicon.aspects
        and before not in judged
        and _is_described(word, units, i, lexicon, rule)
    ):
        return ASPECT
    alone = not after or after in _LACK_ENDS or (before == DEG and word[-1] == "了")  # 太 少了
    if symbol == NEG and word in lexicon.opinions and alone:
        return OPINION
    return ADV if symbol == POST and before != OPINION else symbol


def _opens_judgement(units: Sequence[Unit]) -> bool:
    """Whether an opinion comes first, or a negator and an opinion."""
    return bool(units) and units[units[0].symbol == NEG and len(units) > 1].symbol == OPINION


def _is_described(word: str, units: Sequence[Unit], i: int, lexicon: Lexicon, rule: FunctionWordRule) -> bool:
    """Whether word i of two roles is what an opinion is about: a fault (有腥味), and one of `judged`, only if one
    follows, over adverbs (腥味很重), or stands before 的 (很重的 腥味).
    """
    if lexicon.role(word) != "fault" and word not in rule.judged:
        return True
    if i > 1 and units[i - 1].symbol == DE and units[i - 2].word in lexicon.context:
        return True
    return next((unit.symbol for unit in units[i + 1 :] if unit.symbol not in _ADVERBIAL), "") == OPINION
