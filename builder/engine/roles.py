"""Words with two roles take the one that their neighbours ask for, and people may be a crowd. Pure.

A crowd is 人 很 多 or 很 多 人 排隊. In: the units of a clause, the lexicon, and the rule that names function words.
Out: the units with their final symbols, and whether people there are a crowd, with their units.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from builder.engine.matching import Matcher, Refusal
from builder.engine.symbols import (
    ADV,
    ASPECT,
    BLOCKED,
    BUT,
    CONJ,
    DE,
    DEG,
    LIST,
    NEG,
    NOMINALS,
    OPINION,
    POST,
    VERB,
    symbol_set,
)
from builder.engine.vocabulary import FunctionWordRule, Unit, UnitVocabulary
from builder.language.lexicon.resources import Lexicon

# ---- People as a crowd

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


# ---- Words with two roles

_TWO_ROLES = symbol_set("OPINION NEG POST")
_STRENGTHENED = symbol_set("OPINION DEG NEG ADJ")
"""What a degree word stands before."""
_JUDGED_BEHIND = symbol_set("DEG NEG")
_JUDGED_BEHIND_HAVING = symbol_set("DEG NEG HAVE")
"""What an opinion stands behind that may be an aspect as well."""
_LACK_ENDS = symbol_set("PART DE")
_LACK_ENDS_BEHIND_ASPECT = symbol_set("ASPECT")
_CONTINUING = symbol_set("DE ASPECT NOUN")
_LONG = frozenset(["speed.longwait", "crowd.queue"])
"""Categories of opinions that say how long a wait is."""


def join_lacks(units: list[Unit], lexicon: Lexicon, rule: FunctionWordRule) -> list[Unit]:
    """根本沒有 味道 is 根本 沒有味道: a negator of several words gives its last one to the aspect behind it.

    Only where an opinion is made of both.
    """
    out = units
    for i in range(len(units) - 2, -1, -1):
        negator, after = units[i], units[i + 1]
        if negator.symbol != NEG or after.symbol not in NOMINALS or negator.end != after.start:
            continue
        noun = after.word.lower()
        lack = next(
            (lack for lack in rule.lacking if negator.word.endswith(lack) and lack + noun in lexicon.opinions), ""
        )
        if lack and (at := len(negator.word) - len(lack)):
            lead = negator.word[:at]
            adverb = Unit(
                negator.start, negator.start + at, lead, DEG if lead in lexicon.degree else ADV, *negator[4:6]
            )
            whole = Unit(adverb.end, after.end, lack + after.word, OPINION, negator.last, after.last)
            out = [*out[:i], adverb, whole, *out[i + 2 :]]
    return out


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
        if reading := readings.find_reading(units, i):
            units[i] = unit._replace(symbol=reading[1])
            if refused is not None:
                refused.append(Refusal(unit.start, unit.end, reading[:1]))
            continue
        if unit.word[0] in rule.crowds and unit.symbol == OPINION and is_crowd(units, i, i, lexicon, rule):  # 人很多
            units[i : i + 1] = take_crowd_apart(unit, lexicon)
            bar_time(units, i, lexicon, rule)
            continue
        if unit.word in rule.masses and (counted := count_crowd(units, i, lexicon, rule)):
            units[i : i + 1] = counted
            continue
        if unit.symbol == OPINION and unit.word.endswith(rule.queues) and _is_measured(units, i, lexicon):
            units[i : i + 1] = _cut_queue(unit, rule.queues)
            continue
        if unit.symbol == ASPECT and unit.word in rule.crowds:
            if not is_crowd(units, i, i + 1, lexicon, rule):
                units[i] = unit._replace(symbol=BLOCKED)
            else:
                bar_time(units, i, lexicon, rule)
            continue
        if unit.symbol not in _TWO_ROLES and unit.word not in rule.degrees:
            continue
        symbol = _settle_role(units, i, lexicon, rule, judged)
        if symbol != unit.symbol:
            units[i] = Unit(unit.start, unit.end, unit.word, symbol, unit.first, unit.last)
    return units


def _is_measured(units: Sequence[Unit], i: int, lexicon: Lexicon) -> bool:
    """要排隊 很 久, 要排隊 排 很久: whether what touches a word of queueing, over adverbs, says how long that takes."""
    number = next((k for k in range(i + 1, len(units)) if units[k].symbol not in ADVERBIAL), len(units))
    if number == len(units) or units[number].symbol != OPINION or units[i + 1].start > units[i].end:
        return False
    return lexicon.opinions[units[number].word.lower()].category in _LONG


def _cut_queue(unit: Unit, queues: tuple[str, ...]) -> list[Unit]:
    """要排隊 as 要 and 排隊."""
    at = next(len(unit.word) - len(queue) for queue in queues if unit.word.endswith(queue))
    cut = unit.start + at
    whole = Unit(cut, unit.end, unit.word[at:], ASPECT, unit.first, unit.last)
    return [Unit(unit.start, cut, unit.word[:at], ADV, unit.first, unit.last), whole] if at else [whole]


def _settle_role(
    units: Sequence[Unit], i: int, lexicon: Lexicon, rule: FunctionWordRule, judged: frozenset[str]
) -> str:
    """The symbol of unit i among its neighbours, of which those behind it are settled.

    Opinion or degree (特別, 好): degree before an opinion or another adjective, but an
    opinion between two degree words (很 特別 非常 好吃), as is one of `praising`
    behind one (不 好 很 慢). Opinion or aspect (特色, 服務): an
    opinion only behind one of `judged`, a degree word, negator or word of having (帶有嚼勁). A lack (不夠) with
    nothing behind it is the opinion. 帶點 is a degree word before an adjective that ends its phrase (口味帶點甜). 過
    before an opinion says too much of it unless a verb stands before it, and 不過 between an aspect and its only
    opinion denies that if it is a taste (紅豆 不過 甜). Degree words with nothing to strengthen are plain adverbs,
    POST words that follow no opinion likewise.
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
        stated = before == DEG == after and len(word) > 1 and units[i + 1].word != word  # 十分 特別 很 好吃
        praise = word in rule.praising and before in _JUDGED_BEHIND and units[i - 1].word not in rule.confirming
        return OPINION if stated or praise else DEG
    if (
        symbol == OPINION
        and word in lexicon.aspects
        and before not in judged
        and not (word in rule.alike and _is_one_more(units, i))
        and _is_described(word, units, i, lexicon, rule)
    ):
        return ASPECT
    if symbol == NEG and word in lexicon.opinions and _closes_phrase(word, before, after):
        return OPINION
    if symbol == POST and before != OPINION:
        return ADV
    if word in rule.degrees and after == OPINION and _gives_degree(units, i, lexicon, rule):
        return DEG
    if word in rule.barely and not (after == OPINION and _denies_excess(units, i, lexicon, rule)):
        return BUT
    return symbol


def _opens_judgement(units: Sequence[Unit]) -> bool:
    """Whether an opinion comes first, or a negator and an opinion."""
    return bool(units) and units[units[0].symbol == NEG and len(units) > 1].symbol == OPINION


def _closes_phrase(word: str, before: str, after: str) -> bool:
    """Whether a lack (不夠) stands where nothing is left that it could deny, or has a degree of its own (太 少了)."""
    if not after or after in _LACK_ENDS or after in (CONJ, BUT) or (before == DEG and word[-1] == "了"):
        return True
    return after in _LACK_ENDS_BEHIND_ASPECT and before == ASPECT and word[-1] != "了"


def _gives_degree(units: Sequence[Unit], i: int, lexicon: Lexicon, rule: FunctionWordRule) -> bool:
    """炒得 過 硬, but not 吃 過 好吃的; 口味 帶點 甜, but not 帶點 濃郁的香味 nor a quality (帶點 嚼勁)."""
    word, before = units[i].word, units[i - 1] if i else None
    if word in rule.excessive:
        return before is None or before.symbol != VERB or before.word[-1] == "得"
    ends = i + 2 == len(units) or units[i + 2].symbol not in _CONTINUING
    return ends and units[i + 1].word not in lexicon.aspects


def _denies_excess(units: Sequence[Unit], i: int, lexicon: Lexicon, rule: FunctionWordRule) -> bool:
    """紅豆 不過 甜, 夠味 卻 不過 鹹: of a taste that may be too much, behind its aspect where nothing was judged
    before, or behind a word that links it to what was; but not 停車 不過 方便.
    """
    entry = lexicon.opinions.get(units[i + 1].word)
    if i == 0 or entry is None or not entry.category.startswith(rule.overdone):
        return False
    if units[i - 1].word in rule.linking:
        return True
    return units[i - 1].symbol == ASPECT and all(unit.symbol != OPINION for unit in units[:i])


def _is_one_more(units: Sequence[Unit], i: int) -> bool:
    """環境 乾淨 衛生, 乾淨 又 衛生 的: whether unit i stands behind an opinion, and nothing that judges it follows.

    A list goes on behind two that touch (環境 乾淨 衛生、菜色 多樣).
    """
    at = i - 1 if i and units[i - 1].symbol != ADV else i - 2
    follows = units[i + 1].symbol if i + 1 < len(units) else DE
    if at < 0 or units[at].symbol != OPINION:
        return False
    return follows in _LACK_ENDS or (follows == LIST and units[at].end == units[i].start)


def _is_described(word: str, units: Sequence[Unit], i: int, lexicon: Lexicon, rule: FunctionWordRule) -> bool:
    """Whether word i of two roles is what an opinion is about.

    A fault (有腥味) only if one follows, over adverbs (腥味很重), or stands before 的 (很重的 腥味).
    """
    if lexicon.role(word) != "fault" and word not in rule.judged:
        return True
    if i > 1 and units[i - 1].symbol == DE and units[i - 2].word in lexicon.context:
        return True
    return next((unit.symbol for unit in units[i + 1 :] if unit.symbol not in ADVERBIAL), "") == OPINION
