"""Aspects that their clause says nothing of: the place where another one is (廁所 在 二樓), and the taste of a person
(我 口味 重).

In: a clause's constituents with its opinion phrases, and the rule of terms. Out: the clause without them. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from builder.engine.constituents import Constituent
from builder.engine.symbols import ADJ, ASPECT, BLOCKED, DE, symbol_set

if TYPE_CHECKING:
    from builder.engine.terms import TermRule

_PLACE_UNITS = symbol_set("ASPECT NOUN BLOCKED NUM PRON DE ADJ")
"""What the name of a place is made of (商場 的 二樓)."""
_BEFORE_PREDICATE = symbol_set("ADV DEG NEG COP")
"""Between a person's taste and what is said of it."""


def bar_places(clause: list[Constituent], rule: TermRule) -> list[Constituent]:
    """The clause without the place where the thing named before is: 廁所 在 二樓, 牛蛙 放 在 湯鍋 裡.

    Nothing is judged between the two, and what names no place stays (這家店 在 環境 上 有 加分).
    """
    out = clause
    for i in range(1, len(clause) - 1):
        if clause[i].word not in rule.situating or not _is_named_unjudged(clause[:i]):
            continue
        end = next((k for k in range(i + 1, len(clause)) if clause[k].symbol not in _PLACE_UNITS), len(clause))
        if clause[end - 1].symbol == DE and end < len(clause) and clause[end].phrase:  # 特色 在 奶茶 的 香
            continue
        if all(_names_a_place(item, rule) for item in clause[i + 1 : end] if item.term):
            barred = [x._replace(symbol=BLOCKED, term=None) if x.term else x for x in clause[i + 1 : end]]
            out = [*out[: i + 1], *barred, *out[end:]]
    return out


def _names_a_place(item: Constituent, rule: TermRule) -> bool:
    """Whether an aspect may be where another one is; not one that is an attribute of it."""
    assert item.term is not None
    return item.term.cls.startswith(rule.places) and not item.word.endswith(rule.unsituated)


def _is_named_unjudged(before: Sequence[Constituent]) -> bool:
    """Whether an aspect stands before, with no opinion behind it."""
    for item in reversed(before):
        if item.phrase is not None:
            return False
        if item.symbol == ASPECT:
            return True
    return False


def bar_habits(clause: list[Constituent], rule: TermRule) -> list[Constituent]:
    """The clause without what people say of their own taste: 我 口味 重, 老公 食量 不 大, 每個人 口味 不同.

    符合 我 口味 and 他家 口味 重 judge what was served.
    """
    for i in range(1, len(clause) - 1):
        if clause[i].word not in rule.habits:
            continue
        if _is_had_by(clause[:i], rule.everyone):
            clause = [*clause[:i], clause[i]._replace(symbol=BLOCKED, term=None), *clause[i + 1 :]]
            continue
        if not _is_had_by(clause[:i], rule.eaters):
            continue
        at = next((k for k in range(i + 1, len(clause)) if clause[k].symbol not in _BEFORE_PREDICATE), i)
        phrase = clause[at].phrase
        if phrase is None or not phrase.entry.category.startswith(rule.habitual):
            continue
        habit = clause[i]._replace(symbol=BLOCKED, term=None)
        judged = clause[at]._replace(symbol=ADJ, phrase=None)
        clause = [*clause[:i], habit, *clause[i + 1 : at], judged, *clause[at + 1 :]]
    return clause


def _is_had_by(before: Sequence[Constituent], persons: Collection[str]) -> bool:
    """我, 我 的, and nothing that judges before (符合 我 口味)."""
    if not before:
        return False
    at = len(before) - 1
    if before[at].symbol == DE and at:
        at -= 1
    whole = "".join(item.word for item in before[max(0, at - 1) : at + 1])  # 每個 人
    return (before[at].word in persons or whole in persons) and all(item.phrase is None for item in before)
