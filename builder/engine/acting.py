"""Whether an opinion word only tells what somebody does (what staff suggest, how much a guest eats, how long one
thought about it), is asked (香 不 香), liked in general (喜歡 清淡 的) or the name of a stuff (兩 滴 油).

In: the units of a clause and the place of an opinion word. Out: yes or no. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from builder.engine.asserting import AssertionRule
from builder.engine.constituents import ATTRIBUTES, GENERIC, THINGS
from builder.engine.symbols import (
    ADV,
    ASPECT,
    AUX,
    DE,
    DEG,
    DEGREE_DE,
    JOINERS,
    NEG,
    NOMINALS,
    OPINION,
    PART,
    VERB,
    symbol_set,
)
from builder.engine.vocabulary import Unit, entry_of
from builder.language.lexicon.resources import Lexicon

_BEFORE_VERB = frozenset({ADV, AUX})
"""Between a person and the verb."""
_BEFORE_ADVICE = frozenset({ADV, AUX, DEG})
"""Between an adviser and the advice."""
_INSIDE = frozenset("上中裡裏")
"""Behind a place where others give advice (評論 上)."""
_BEFORE_AMOUNT = frozenset({DEG, NEG, PART, DEGREE_DE})
"""Between a verb and the word that says how much or how long."""
_BEFORE_TASTE = frozenset({DEG, NEG, VERB})
"""Between a word of liking and the taste that is liked."""
_FAR = 4
_REACH = 6
"""Units before 的 among which the verb stands that says what some people like or bear."""
_BEFORE_QUALITY = JOINERS | symbol_set("ASPECT COP")
_BEHIND_QUALITY = JOINERS | symbol_set("PART DE DEGREE_DE POST")
"""Around a word of a stuff where it is a quality instead."""
_ASKING = frozenset("不沒")
"""Between the halves of a question."""


def tells_an_act(units: Sequence[Unit], k: int, plain: bool, lexicon: Lexicon, rule: AssertionRule) -> bool:
    """Whether opinion word k judges nothing because it is part of what a person does, of a question, or a stuff."""
    word, before, after = units[k].word, units[k - 1] if k else None, units[k + 1] if k + 1 < len(units) else None
    if plain and word in rule.material and not _is_said_of_a_dish(units, k, rule):
        return True
    if after is not None and after.symbol == DE and _names_no_dish(units, k, lexicon, rule):
        return True
    if (after is not None and after.word in _ASKING and _is_asked(units, k)) or (
        before is not None and before.word in _ASKING and _is_asked(units, k - 2)
    ):
        return True
    if word in rule.warning and _is_meant_for_some(units, k, rule):
        return True
    if plain and word in rule.diminutive and _belongs_to_a_name(units, k, lexicon):
        return True
    if plain and entry_of(units[k], lexicon).category.startswith(rule.sized):
        if before is not None and before.word.endswith("成"):  # 切成 小塊
            return True
        if entry_of(units[k], lexicon).category.startswith(rule.scanty) and _measures_a_part(units, k, rule):
            return True
    if word in rule.suggesting and (
        _is_said_by_a_seller(units, k, lexicon, rule) or _is_said_by_an_adviser(units, k, rule)
    ):
        return True
    if _is_a_slip_of_guests(units, k, lexicon, rule):
        return True
    if (word[:-1] if word[-1] == "了" else word) in rule.quantities:
        if _ends_act(units, k, rule.consuming):
            return after is None or after.symbol != ASPECT  # 吃了 好多 雞排: part of no name
        if before is not None and before.word in rule.needless and after is not None:
            return after.symbol != PART
    if word not in rule.durations:
        return False
    if _ends_act(units, k, rule.employed) and [unit.symbol for unit in units[k + 1 : k + 3]] == [DE, ASPECT]:
        return lexicon.role(units[k + 2].word.lower()) == "person"  # 服務 很 久 的 店員
    return _ends_act(units, k, rule.pondering) or _begins_absence(units, k)


def _is_asked(units: Sequence[Unit], first: int) -> bool:
    """新 不 新鮮, 香 不 香: the halves of a question, which touch the negator."""
    if first < 0 or first + 2 >= len(units):
        return False
    one, negator, other = units[first : first + 3]
    return one.end == negator.start and negator.end == other.start and other.word.startswith(one.word)


def _names_no_dish(units: Sequence[Unit], k: int, lexicon: Lexicon, rule: AssertionRule) -> bool:
    """這麼 冷 的 天; 喜歡 吃 清淡 的, 不 愛 太 甜 的 東西: the weather, or the kind that an eater likes."""
    thing = units[k + 2].word if k + 2 < len(units) else ""
    if thing in rule.weather:
        return True
    if not entry_of(units[k], lexicon).category.startswith(rule.preferred):
        return False
    at = k if units[k].word.startswith(rule.rather) else k - 1
    if at > 0 and units[at].word.startswith(rule.rather) and units[at - 1].word.startswith(rule.likings):
        return True  # 喜歡 偏 軟 的 米粉
    if thing and lexicon.role(thing.lower()) not in GENERIC | ATTRIBUTES:
        return False
    for unit in reversed(units[max(0, k - _FAR) : k]):
        if unit.word.startswith(rule.likings):
            return True
        attribute = unit.symbol == ASPECT and lexicon.role(unit.word.lower()) in ATTRIBUTES
        if unit.symbol not in _BEFORE_TASTE and not attribute:
            return False
    return False


def _is_said_by_a_seller(units: Sequence[Unit], k: int, lexicon: Lexicon, rule: AssertionRule) -> bool:
    """店員 推薦 我們 加 布丁, 老闆 推薦 的 口味: what those who sell suggest is no verdict of the guest."""
    at = k - 1
    while at >= 0 and units[at].symbol in _BEFORE_VERB:
        at -= 1
    if at < 0 or k + 1 == len(units):
        return False
    before = units[at]
    if before.word in rule.sellers:
        return True
    return before.symbol == ASPECT and lexicon.role(before.word.lower()) == "person"


def _is_said_by_an_adviser(units: Sequence[Unit], k: int, rule: AssertionRule) -> bool:
    """朋友 推薦 的 雞排, 網友 大力 推薦: what others say. 給 大家 推薦 is the guest's own."""
    at = k - 1
    while at > 0 and (units[at].symbol in _BEFORE_ADVICE or units[at].word in _INSIDE):
        at -= 1
    if at < 0 or units[at].word not in rule.advisers:
        return False
    return not at or (units[at - 1].symbol != DE and units[at - 1].word not in rule.advised)


def _is_meant_for_some(units: Sequence[Unit], k: int, rule: AssertionRule) -> bool:
    """不 吃 辣 的 別點, 怕 吵 的 人 不要來: a warning for those who like or bear something else judges nothing."""
    at = k - 1
    while at > 0 and units[at].symbol in _BEFORE_ADVICE:
        at -= 1
    if at > 0 and units[at].word in rule.persons:
        at -= 1
    if at < 1 or units[at].symbol != DE:
        return False
    return any(unit.word.startswith((*rule.likings, *rule.averse)) for unit in units[max(0, at - _REACH) : at])


def _belongs_to_a_name(units: Sequence[Unit], k: int, lexicon: Lexicon) -> bool:
    """南瓜 小 蛋糕, 肉鬆 大 飯糰 很 香: a size between two names of things that it touches, neither of one character.

    雞排 大 薯條 脆 are two judgements side by side.
    """
    if not k or k + 1 == len(units):
        return False
    before, after = units[k - 1], units[k + 1]
    if before.symbol != ASPECT or after.symbol != ASPECT or before.end != units[k].start or units[k].end != after.start:
        return False
    if min(len(before.word), len(after.word)) < 2 or lexicon.role(after.word.lower()) != "thing":
        return False
    behind = units[k + 2] if k + 2 < len(units) else None
    if behind is not None and behind.symbol == OPINION and behind.start == after.end:
        return False
    return lexicon.role(before.word.lower()) in THINGS


def _measures_a_part(units: Sequence[Unit], k: int, rule: AssertionRule) -> bool:
    """還 有 一小碗 湯: so much of something blames only where a word restricts it (只有 一小碗 湯)."""
    before = units[k - 1] if k else None
    if before is not None and before.symbol == ASPECT and before.end == units[k].start:
        return False
    at = k + 2 if k + 1 < len(units) and units[k + 1].symbol == DE else k + 1
    if at >= len(units) or units[at].symbol not in NOMINALS:
        return False
    return not any(unit.word.startswith(rule.restricting) for unit in (*units[: k + 1], *units[at + 1 :]))


def _is_a_slip_of_guests(units: Sequence[Unit], k: int, lexicon: Lexicon, rule: AssertionRule) -> bool:
    """我 不小心 點錯 餐, 家人 自己 記錯 時間: what a guest did wrong blames nobody who serves."""
    at = k - 1
    while at > 0 and units[at].symbol in _BEFORE_VERB:
        at -= 1
    return at >= 0 and units[at].word in rule.guests and entry_of(units[k], lexicon).category.startswith(rule.slips)


def _ends_act(units: Sequence[Unit], k: int, verbs: frozenset[str]) -> bool:
    """吃 太 多, 糾結 了 很 久: whether one of `verbs` stands right before the amount."""
    at = k - 1
    while at >= 0 and units[at].symbol in _BEFORE_AMOUNT:
        at -= 1
    return at >= 0 and units[at].word in verbs


def _begins_absence(units: Sequence[Unit], k: int) -> bool:
    """很 久 沒 吃 這個: how long a guest was away."""
    return k + 1 < len(units) and units[k + 1].word.startswith("沒") and units[k + 1].symbol in (NEG, VERB)


def _is_said_of_a_dish(units: Sequence[Unit], k: int, rule: AssertionRule) -> bool:
    """湯 油 得 不能 喝, 又 甜 又 油, 吃 了 會 覺得 油: not 兩 滴 油, 油 拌 菜 or 放 那麼 多 油."""
    behind = units[k + 1] if k + 1 < len(units) else None
    if behind is not None and behind.word in rule.measures:  # 就是 油 了點
        return True
    if not k or (behind and behind.symbol not in _BEHIND_QUALITY):
        return False
    before = units[k - 1]
    return before.symbol in _BEFORE_QUALITY or before.word in rule.joining or before.word in rule.feeling
