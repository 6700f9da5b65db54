"""Whether an opinion word only tells what somebody does (what staff suggest, how much a guest eats, how long one
thought about it), or is asked (香 不 香).

In: the units of a clause and the place of an opinion word. Out: yes or no. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from builder.engine.asserting import AssertionRule
from builder.engine.symbols import ADV, ASPECT, AUX, DEG, DEGREE_DE, NEG, PART, VERB
from builder.engine.vocabulary import Unit
from builder.lexicon.resources import Lexicon

_BEFORE_VERB = frozenset({ADV, AUX})
"""Between a person and the verb."""
_BEFORE_AMOUNT = frozenset({DEG, NEG, PART, DEGREE_DE})
"""Between a verb and the word that says how much or how long."""

_ASKING = frozenset("不沒")
"""Between the halves of a question."""


def tells_an_act(units: Sequence[Unit], k: int, lexicon: Lexicon, rule: AssertionRule) -> bool:
    """Whether opinion word k judges nothing because it is part of what a person does, or of a question."""
    word = units[k].word
    if _is_asked(units, k):
        return True
    if word in rule.suggesting and _is_said_by_a_seller(units, k, lexicon, rule):
        return True
    if word.rstrip("了") in rule.quantities and _ends_act(units, k, rule.consuming):
        return k + 1 == len(units) or units[k + 1].symbol != ASPECT  # 吃了 好多 雞排: part of no name
    return word in rule.durations and (_ends_act(units, k, rule.pondering) or _begins_absence(units, k))


def _is_asked(units: Sequence[Unit], k: int) -> bool:
    """新 不 新鮮, 香 不 香: both halves, which touch the negator."""
    for first in (k, k - 2):
        if first >= 0 and first + 2 < len(units):
            one, negator, other = units[first : first + 3]
            touch = one.end == negator.start and negator.end == other.start
            if touch and negator.word in _ASKING and other.word.startswith(one.word):
                return True
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


def _ends_act(units: Sequence[Unit], k: int, verbs: frozenset[str]) -> bool:
    """吃 太 多, 糾結 了 很 久: whether one of `verbs` stands right before the amount."""
    at = k - 1
    while at >= 0 and units[at].symbol in _BEFORE_AMOUNT:
        at -= 1
    return at >= 0 and units[at].word in verbs


def _begins_absence(units: Sequence[Unit], k: int) -> bool:
    """很 久 沒 吃 這個: how long a guest was away."""
    return k + 1 < len(units) and units[k + 1].word.startswith("沒") and units[k + 1].symbol in (NEG, VERB)
