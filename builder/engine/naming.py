"""Names of dishes that no lexicon holds whole: which word beside an aspect is a part of its name (水蓮炒肉絲,
羊油拌麵線).

In: two neighbouring constituents of a clause. Out: whether they are one name. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from builder.engine.constituents import GENERIC, Constituent, Term, is_dish
from builder.engine.symbols import ADJ, BLOCKED, NOUN, PART, symbol_set
from builder.lexicon.resources import Lexicon

PRAISE = 7.5
"""From this valence on a sensory word praises rather than names a kind: 好吃牛雜湯 is no dish, 酸辣湯 is."""
_FOOD_AND_DRINK = ("food", "drink")
_TAIL_UNITS = symbol_set("NOUN PART")
"""What the last character of a dish's name may be read as."""
_PART_UNITS = symbol_set("VERB ADJ NOUN BLOCKED")
"""What a part from food_morphemes may be read as."""


@dataclass(frozen=True, slots=True)
class DishRule:
    """Parameters of a rule of kind `dish-name`.

    `compounds`: whether names are put together at all. `suffixes`: words that end any aspect (雞柳 條). `absorbed`:
    categories of opinion words that name a kind of dish (酸辣湯); `epithets`: those that do so where nothing is named
    before them (香酥荔茸鴨). `loose`: characters that touch a dish and are no part of its name (measure words,
    particles, adverbs).
    """

    compounds: bool = True
    suffixes: frozenset[str] = frozenset()
    absorbed: tuple[str, ...] = ()
    epithets: tuple[str, ...] = ()
    loose: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class DishGrammar:
    """A `DishRule` with what the lexicon adds to it: `endings`, the last characters of its dishes."""

    rule: DishRule
    endings: frozenset[str]

    @classmethod
    def of(cls, rule: DishRule, lexicon: Lexicon) -> DishGrammar:
        """The rule on a lexicon."""
        dishes = (word for word, entry in lexicon.aspects.items() if len(word) > 1 and entry.cls.startswith("food"))
        return cls(rule, frozenset(word[-1] for word in dishes))


def ends_name(term: Term, item: Constituent, lexicon: Lexicon, grammar: DishGrammar) -> bool:
    """Whether a word belongs to the aspect it touches: a suffix of any, or the head of a dish (麵, 湯, 鍋)."""
    if item.word in grammar.rule.suffixes:
        return True
    if not term.cls.startswith("food"):
        return False
    if lexicon.morphemes.get(item.word) == "head":
        return True
    return item.symbol in _TAIL_UNITS and item.word in grammar.endings and _is_stray(item.word, lexicon, grammar)


def _is_stray(word: str, lexicon: Lexicon, grammar: DishGrammar) -> bool:
    """Whether a character that touches a dish is likely a part of its name (羊油拌麵 線)."""
    rule = grammar.rule
    return (
        rule.compounds and len(word) == 1 and word.isalpha() and word not in rule.loose and word not in lexicon.general
    )


def begins_name(before: Constituent, item: Constituent, lexicon: Lexicon, grammar: DishGrammar) -> bool:
    """Whether a word no lexicon calls an aspect is the first part of a dish name: a noun, or a part from
    food_morphemes.
    """
    if before.end != item.start or item.term is None:
        return False
    food = item.term.cls.startswith(_FOOD_AND_DRINK)
    if food and before.symbol == BLOCKED and lexicon.not_aspects.get(before.word) == "origin":
        return True
    if before.symbol == NOUN:
        return len(before.word) > 1 or (food and _is_stray(before.word, lexicon, grammar))
    if before.symbol == PART:
        return food and _is_stray(before.word, lexicon, grammar)
    role = lexicon.morphemes.get(before.word, "")
    return food and role in ("ingredient", "method", "flavour") and before.symbol in _PART_UNITS


def names_a_kind(before: Constituent, item: Constituent, out: Sequence[Constituent], grammar: DishGrammar) -> bool:
    """甜菠菜, 濃厚雞白湯拉麵: a sensory word right before a dish, without a degree word, is part of the dish's name.

    Epithets (香酥荔茸鴨, 現沖牛肉湯) only where the clause names nothing before them: 外皮酥脆肉質厚實.
    """
    if before.end != item.start or item.term is None:
        return False
    if not item.term.cls.startswith(_FOOD_AND_DRINK) or item.term.cls in GENERIC:
        return False
    if before.symbol == ADJ and len(before.word) == 1:
        return True
    phrase, rule = before.phrase, grammar.rule
    if phrase is None or phrase.core != (before.start, before.end):
        return False
    category, valence = phrase.entry.category, phrase.entry.valence
    if category.startswith(rule.absorbed) and valence < PRAISE:
        return True
    if not category.startswith(rule.epithets) or not is_dish(item):
        return False
    return not any(earlier.term or earlier.phrase for earlier in out[:-1])
