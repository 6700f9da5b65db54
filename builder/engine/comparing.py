"""Comparisons that deny: what an opinion is measured by stands between it and a negator (沒有 王品 的 好吃) or a word of being less (不如 老店 好).

In: the units of a clause and the place of an opinion. Out: where the negator stands, and whether it denies the opinion. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from builder.engine.items import Grammar
from builder.engine.units import Unit
from builder.lexicon.resources import Lexicon

_STANDARD = ("food", "drink", "place.generic")
_NO_STANDARD = ("food.part", "food.ingredient", "food.sauce", "food.vegetable", "quality")
"""Classes of what a dish may be measured by (沒有 隔壁 的 炸雞 好吃), and of what it may only be free of."""


def standard(units: Sequence[Unit], k: int, taken: int, grammar: Grammar) -> int:
    """Index of the negator or word of being less before what opinion k is measured by, which touches both (沒有 王品 的 好吃, 不如 老店 好); k if there is none.

    附近 沒有 這家 好吃 praises this house, and 別家 比不上 的 鮮甜 this sweetness.
    """
    at = k - 1
    while at >= 0 and k - at <= grammar.level_gap and units[at].end == units[at + 1].start:
        word, symbol = units[at].word, units[at].symbol
        if symbol == "O" and any(one in word for one in grammar.inferior):
            return at if at == k - 1 or units[at + 1].symbol != "d" else k
        if symbol == "N":
            return at if taken <= at < k - 1 else k
        if (symbol not in "nAtpmdejPvSb" and word not in grammar.common) or word[0] == "這":
            break
        at -= 1
    return k


def held_to(units: Sequence[Unit], at: int, k: int, lexicon: Lexicon, grammar: Grammar) -> bool:
    """Whether negator `at` denies opinion k by what stands between: 不比 路邊攤 差, 沒有 一道 菜 好吃, 沒有 羊肉 的 羶味, 沒有 王品 的 好吃."""
    negator, between, entry = units[at].word, units[at + 1 : k], lexicon.opinions[units[k].word.lower()]
    if not negator.endswith(grammar.none):
        return False
    if negator[-1] == "比" or between[0].symbol == "b" or between[0].word[0] == "一":
        return True
    owned = between[-1].symbol in "de"
    if entry.valence < 5:
        return owned and units[k].word.lower() in lexicon.aspects
    return entry.category.startswith(grammar.measured) and _is_standard(units, at, k, owned, lexicon)


def _is_standard(units: Sequence[Unit], at: int, k: int, owned: bool, lexicon: Lexicon) -> bool:
    """Whether a dish or a house stands between: 沒有 隔壁 的 好吃, and behind an aspect 沒 街邊 小店 好吃.

    沒有 骨頭 好吃, 沒有 香菜 的 滷肉飯 好吃, 沒有 冷氣 的 好 地方 are free of something.
    """
    between = units[at + 1 : k]
    classes = [lexicon.aspects[u.word.lower()].cls if u.symbol == "A" else "" for u in between]
    if any(u.symbol in "vS" for u in (between[:-2] if owned else between)):
        return False
    if owned:
        attributive = k + 1 < len(units) and units[k + 1].symbol in "nA" and units[k + 1].start == units[k].end
        return not attributive and not any(cls.startswith(_NO_STANDARD) for cls in classes)
    if any(u.symbol == "d" and classes[i].startswith(("food", "drink", "quality")) for i, u in enumerate(between[1:])):
        return False
    named = between[-1].symbol == "n" or (classes[-1].startswith(_STANDARD) and not classes[-1].startswith(_NO_STANDARD))
    return named and any(u.symbol == "A" for u in units[:at])
