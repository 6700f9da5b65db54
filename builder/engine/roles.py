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
    BUT,
    CONJ,
    DE,
    DEG,
    LIST,
    NEG,
    NOMINALS,
    OPINION,
    OTHER,
    POST,
    VERB,
    symbol_set,
)
from builder.engine.vocabulary import FunctionWordRule, Unit, UnitVocabulary
from builder.language.lexicon.resources import Lexicon

_ADVERBIAL = symbol_set("ADV DEG NEG COP")
"""Between queueing and how long it takes."""
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
        reading = readings.find_reading(units, i)
        parts = reading.apart.get(unit.word) if reading else None
        if reading and (parts or reading.symbol):
            if refused is not None:
                refused.append(Refusal(unit.start, unit.end, (reading.rule,)))
            units[i : i + 1] = (
                _take_apart(unit, parts, lexicon, vocabulary) if parts else [unit._replace(symbol=reading.symbol)]
            )
            continue
        if unit.symbol == OPINION and unit.word.endswith(rule.queues) and _is_measured(units, i, lexicon):
            units[i : i + 1] = _cut_queue(unit, rule.queues)
            continue
        if unit.symbol not in _TWO_ROLES and unit.word not in rule.degrees:
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


def _is_measured(units: Sequence[Unit], i: int, lexicon: Lexicon) -> bool:
    """要排隊 很 久, 要排隊 排 很久: whether what touches a word of queueing, over adverbs, says how long that takes."""
    number = next((k for k in range(i + 1, len(units)) if units[k].symbol not in _ADVERBIAL), len(units))
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
    return next((unit.symbol for unit in units[i + 1 :] if unit.symbol not in _ADVERBIAL), "") == OPINION
