"""People as a crowd: 人 很 多, 很 多 人 排隊.

In: the units of a clause, and the rule that names function words. Out: whether people there are a crowd, and their
units. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from builder.engine.symbols import ADV, ASPECT, BLOCKED, DE, DEG, NEG, OPINION, VERB, symbol_set
from builder.engine.vocabulary import FunctionWordRule, Unit
from builder.language.lexicon.resources import Lexicon

ADVERBIAL = symbol_set("ADV DEG NEG COP")
"""Between people and how many they are."""
_OPENING = symbol_set("BUT COP")
"""What opens a statement within its clause."""
_WHEN = symbol_set("ADV BLOCKED BUT CONJ DEG NOUN OPINION ASPECT")
"""Before the people of a crowd (可惜 假日 人 超 多, 好喝 人 很 多, 店內 人 很 多)."""
_COMING = symbol_set("ADV BLOCKED NOUN VERB NUM AUX")
"""Before the 的 of a crowd that is told what it comes for (來 買 的 人 很 多)."""
_BEHIND_NUMBER = symbol_set("PART BUT POST")
"""Behind how many people there are, where nothing else is told of them."""
_BEHIND_LARGE_NUMBER = symbol_set("ADV AUX CONJ PRON BLOCKED NEG HAVE ASPECT")
"""Behind how very many people there are, where it goes on with what follows from that (人 很 多 要 等, 人 太 多 座位 太
少)."""
_SCENE = symbol_set("ADV BLOCKED BUT DEG NOUN ASPECT COP HAVE AUX PRON NUM CONJ")
"""Before a crowd whose number comes first (現場 真的 很 多 人)."""
_DIRECTED = symbol_set("PREP CONJ NEG IRREALIS")
"""Right before people who are no crowd (對 很 多 人 來說)."""


def is_crowd(units: Sequence[Unit], i: int, at: int, lexicon: Lexicon, rule: FunctionWordRule) -> bool:
    """假日 人 真的 好 多: whether people open the clause, but for when they come, where they are (店內 人 很 多) or
    what for (來 買 的 人), and an opinion from `at` on says that they are many, which describes nothing else (人 多
    的 時候).
    """
    first = next((k + 1 for k in range(i - 1, -1, -1) if _opposes(units[k], rule)), 0)
    opening = units[first : i - 1] if i > first and units[i - 1].symbol == DE else units[first:i]
    before = _COMING if len(opening) < i - first else _WHEN
    if opening and _is_of(opening[-1], lexicon, rule.scenes + rule.times):  # 店內 人 很 多
        opening = opening[:-1]
    if any(unit.symbol not in before for unit in opening):
        return False
    number = next((k for k in range(at, len(units)) if units[k].symbol not in ADVERBIAL), len(units))
    if [unit.symbol for unit in units[number : number + 2]] == [DE, OPINION] and number > at:  # 人 特別 的 多
        number += 1
    if number == len(units) or units[number].symbol != OPINION:
        return False
    many = units[number].word.startswith(rule.crowding) or (number == i and units[i].word.endswith(rule.crowding))
    return many and _ends_count(units, i, number)


def bar_time(units: list[Unit], i: int, lexicon: Lexicon, rule: FunctionWordRule) -> None:
    """用餐時間 人 很 多: the time right before the crowd at i is no aspect."""
    if i and _is_of(units[i - 1], lexicon, rule.times):
        units[i - 1] = units[i - 1]._replace(symbol=BLOCKED)


def _is_of(unit: Unit, lexicon: Lexicon, classes: tuple[str, ...]) -> bool:
    """Whether a unit is an aspect of one of the classes."""
    entry = lexicon.aspects.get(unit.word) if unit.symbol == ASPECT else None
    return entry is not None and entry.cls.startswith(classes)


def _opposes(unit: Unit, rule: FunctionWordRule) -> bool:
    """Whether a word of contrast or a copula opens a statement of its own (好喝 但 人 很 多, 缺點 是 人 很 多)."""
    return unit.symbol in _OPENING or unit.word in rule.barely


def _ends_count(units: Sequence[Unit], i: int, number: int) -> bool:
    """Whether the count of the people at i ends with unit `number`: 人 超 多 的, 人 很 多 要 等, but not 人 多 要 等
    nor 人 很 多 的 店.
    """
    after = units[number + 1 : number + 2]
    if not after or after[0].symbol in _BEHIND_NUMBER or after[0].start > units[number].end:
        return True
    if not after[0].word[0].isalnum():  # 人 太 多 ⋯
        return True
    if after[0].symbol == DE:
        return number + 2 == len(units)
    graded = number > i + 1 or len(units[number].word) > (2 if number == i else 1)
    return graded and after[0].symbol in _BEHIND_LARGE_NUMBER


def count_crowd(units: list[Unit], i: int, lexicon: Lexicon, rule: FunctionWordRule) -> list[Unit]:
    """現場 很 多人, 太 多 人 排隊: unit i as how many and who, where a crowd is all that it can be; else nothing.

    很 多人 推薦, 給 很 多 人 tell what people do or who gets something. That they wait (很 多 人 要排隊) judges nothing
    more: that unit becomes a verb.
    """
    unit = units[i]
    number = unit.word[:-1]
    first = i if number else i - 1
    if first < 0 or (not number and units[first].word not in rule.numerous):
        return []
    graded = first > 0 and (units[first - 1].symbol == DEG or units[first - 1].word in lexicon.degree)  # 好 多人
    if (number or units[first].word) in rule.bare_numerous and not graded:
        return []
    first -= graded
    waiting = _find_wait(units, i, rule)
    if not waiting and not _ends_scene(units, i):
        return []
    before = units[:first]
    if before and before[-1].symbol in _DIRECTED:
        return []
    if not waiting and any(earlier.symbol not in _SCENE for earlier in before):
        return []
    if waiting and units[waiting].symbol == OPINION:
        units[waiting] = units[waiting]._replace(symbol=VERB)
    at = unit.end - 1
    people = Unit(at, unit.end, unit.word[-1], ASPECT, unit.first, unit.last)
    return [Unit(unit.start, at, number, OPINION, unit.first, unit.last), people] if number else [people]


def _find_wait(units: Sequence[Unit], i: int, rule: FunctionWordRule) -> int:
    """很 多 人 排隊, 好 多人 在 等: the unit that says that the people at i wait; 0 if none does."""
    if i + 1 == len(units) or units[i + 1].start != units[i].end:
        return 0
    at = i + 1
    while at < len(units) and (units[at].symbol in ADVERBIAL or units[at].word in rule.being):
        at += 1
    return at if at < len(units) and units[at].word.startswith(rule.queuing) else 0


def _ends_scene(units: Sequence[Unit], i: int) -> bool:
    """很 多 人 了, 很 多 人 但 很 快: whether nothing is told of the people at i."""
    if i + 1 == len(units):
        return True
    after = units[i + 1]
    return after.symbol in _BEHIND_NUMBER or after.start > units[i].end or not after.word[0].isalnum()


def take_crowd_apart(unit: Unit, lexicon: Lexicon) -> list[Unit]:
    """人很多 as 人, 很 and 多: who come, and how many they are."""
    cuts, between = [unit.start, unit.start + 1, unit.end - 1, unit.end], unit.word[1:-1]
    symbols = [ASPECT, DEG if between in lexicon.degree else NEG if between in lexicon.negators else ADV, OPINION]
    return [
        Unit(start, end, unit.word[start - unit.start : end - unit.start], symbol, unit.first, unit.last)
        for start, end, symbol in ((a, b, symbol) for (a, b), symbol in zip(pairwise(cuts), symbols, strict=True))
        if start < end
    ]
