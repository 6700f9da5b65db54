"""Verdicts that stand before what they are about as a heading of its own: 推薦：牛肉麵, 必喝 紅茶.

In: the constituents of two neighbouring clauses and what stands between them. Out: whether the first heads the second.
Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from builder.engine.constituents import ATTRIBUTES, Constituent
from builder.engine.symbols import symbol_set

_NAME = symbol_set("ASPECT CONJ LIST NUM NOUN BLOCKED PART DE OTHER")
"""Units of a clause that names things and says nothing of them."""


@dataclass(frozen=True, slots=True)
class HeadingRule:
    """Parameters of a rule of kind `heading`: the `categories` of such verdicts, and the `marks` behind them."""

    categories: tuple[str, ...]
    marks: frozenset[str]


def is_heading(before: Sequence[Constituent], behind: Sequence[Constituent], gap: str, rule: HeadingRule) -> bool:
    """Whether a clause ends with a verdict, names nothing itself, and the clause behind `gap` only names things."""
    verdict = before[-1].phrase
    return (
        verdict is not None
        and verdict.entry.category.startswith(rule.categories)
        and rule.marks.issuperset(gap)
        and behind[0].term is not None
        and behind[0].term.role not in ATTRIBUTES
        and all(item.symbol in _NAME for item in behind)
        and all(item.term is None for item in before)
    )
