"""What rules pair: items of a clause, one symbol each, some of them opinion phrases and some aspect terms; and the grammar's parameters.

`phrases` makes them of a clause's units, `terms` joins what is one aspect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from builder.lexicon.resources import OpinionEntry
from builder.records import Span


class Phrase(NamedTuple):
    """An opinion phrase: 不 會 太 鹹 has core 鹹, negators (不會), degrees (太)."""

    core: Span
    entry: OpinionEntry
    negators: tuple[Span, ...]
    kinds: tuple[str, ...]
    degrees: tuple[str, ...]


class Term(NamedTuple):
    """An aspect term: its class (empty for a noun no lexicon knows) and, for 餐點口感, the span of the owner 餐點.

    `lead`: how many of its first characters belong to `aspect_full` alone (整體 口感, 店裡 座位, 甜點 布丁).
    """

    cls: str
    owner: Span | None = None
    lead: int = 0


class Item(NamedTuple):
    """A symbol with its place in the view, the last token it covers (its head in Chinese), and what it is.

    A tuple, as phrases and terms are, because the engine makes millions: a frozen dataclass takes three times as long to make.
    """

    start: int
    end: int
    symbol: str
    word: str
    last: int
    phrase: Phrase | None = None
    term: Term | None = None


@dataclass(frozen=True, slots=True)
class Grammar:
    """Parameters of the rule of kind `grammar`.

    `heads`: last words to which an aspect is cut (服務態度 to 態度, convention `paper`). `separate`: whether neighbouring aspects of two
    classes are a list without a comma (餐點服務都好) rather than one term. `scope`: adverbs of the clause, which no phrase begins with before
    a degree word or negator (還 很好吃). `wholes`: what belongs to `aspect_full` alone (整體 口感, 店裡 座位), as does the
    first of two classes that are `leading` (餐廳 餐點); `leads`: how much of an entry of the lexicon it is. `loose`: characters that touch a dish and
    are no part of its name (measure words, particles, adverbs). `ends`: last characters of the dishes of the lexicon. `epithets`: categories of opinions that
    dishes are named for (香酥荔茸鴨). `trailing`: words behind an opinion that tell its degree (偏鹹 一點), a wish where it praises and nothing but `wishing`
    stands before it (再 甜 一點). `bits`: those that tell a bit too much (甜 了點). `inferior`: words that say that something is less than what follows (不如 老店 好),
    `none`: last characters of the negators that deny so (沒有 老店 好), `measured`: categories of what they deny. `likings`: first characters of what `persons` do to what they eat
    (喜歡 咖啡 的 朋友).
    """

    fillers: frozenset[str]
    gap: int
    attributes: tuple[str, ...]
    separate: Callable[[str, str], bool]
    suffixes: frozenset[str]
    bare: frozenset[str]
    adverbial: frozenset[str]
    verbal: frozenset[str]
    gradable: frozenset[str]
    predicates: frozenset[str]
    quantities: frozenset[str]
    absorbed: tuple[str, ...]
    merge: bool
    apart: tuple[str, ...]
    having: frozenset[str]
    amounts: frozenset[str]
    had: bool
    list_touching: bool
    heads: frozenset[str]
    compounds: bool
    naming: tuple[str, ...]
    standards: frozenset[str]
    companions: frozenset[str]
    common: frozenset[str]
    sameness: frozenset[str]
    wholes: frozenset[str]
    leads: Mapping[str, int]
    leading: Callable[[str, str], bool]
    houses: frozenset[str]
    levels: frozenset[str]
    unequal: frozenset[str]
    likings: tuple[str, ...]
    persons: frozenset[str]
    inferior: tuple[str, ...]
    none: tuple[str, ...]
    measured: tuple[str, ...]
    level_gap: int
    refusals: frozenset[str]
    scope: tuple[str, ...]
    trailing: frozenset[str]
    bits: frozenset[str]
    wishing: frozenset[str]
    loose: frozenset[str]
    ends: frozenset[str]
    epithets: tuple[str, ...]


GENERAL = ("food.generic", "food.kind", "drink.generic", "drink.kind")
"""Classes of words for food and drink that name no dish."""


def is_kind(item: Item) -> bool:
    """Whether an item only says what kind of dish or drink something is (餐點, 甜點, 飲料)."""
    return item.term is not None and item.term.cls in ("food.kind", "drink.kind")


def is_dish(item: Item) -> bool:
    """Whether an item names a dish or a drink itself, no attribute or part of one."""
    assert item.term is not None
    cls = item.term.cls
    return cls.startswith(("food", "drink")) and not cls.startswith(("food.part", "food.ingredient", "food.sauce"))
