"""Names of things that no lexicon holds whole: which word beside an aspect is a part of its name (水蓮炒肉絲,
羊油拌麵線).

In: two neighbouring constituents of a clause. Out: whether they are one name. Pure. What is composed so, and of what,
is data: the rule of kind `name`, morphemes.tsv, and the roles of the classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from builder.engine.constituents import GENERIC, THINGS, Constituent, Term, is_thing
from builder.engine.symbols import ADJ, BLOCKED, BUT, NOUN, PART, symbol_set
from builder.language.lexicon.resources import Lexicon

PRAISE = 7.5
"""From this valence on a sensory word praises rather than names a kind: 好吃牛雜湯 is no dish, 酸辣湯 is."""
_BEFORE_HEADS = frozenset(["noun", "verb", "adjective"])
"""Roles of morphemes that stand before the head of a name."""
_TAIL_UNITS = symbol_set("NOUN PART")
"""What the last character of a name may be read as."""
_PART_UNITS = symbol_set("VERB ADJ NOUN BLOCKED")
"""What a part from morphemes.tsv may be read as."""


@dataclass(frozen=True, slots=True)
class NameRule:
    """Parameters of a rule of kind `name`.

    `compounds`: whether names are put together at all. `composed`: classes whose names go on at both ends (羊油 拌
    麵線). `absorbed`: categories of opinion words that name a kind of thing (酸辣湯); `epithets`: those that do so
    where nothing is named or judged before them (香酥荔茸鴨). `loose`: characters that touch a name and are no part of
    it (measure words, particles, adverbs). `latin`: whether words of Latin letters and digits are part of the name that
    they touch (ZX14 筆電). `codes`: class of a name of Latin letters and digits that no lexicon holds (KX-520); ""
    where such names are no aspects. `sizes`: units that with a number before a thing belong to its name (16吋的筆電).
    `housed`: classes of houses whose names begin with where they come from (泰國餐廳).
    """

    compounds: bool = True
    composed: tuple[str, ...] = ()
    absorbed: tuple[str, ...] = ()
    epithets: tuple[str, ...] = ()
    loose: frozenset[str] = frozenset()
    latin: bool = False
    codes: str = ""
    sizes: tuple[str, ...] = ()
    housed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NameGrammar:
    """A `NameRule` with what the lexicon adds to it: `endings`, the last characters of its composed names."""

    rule: NameRule
    endings: frozenset[str]

    @classmethod
    def of(cls, rule: NameRule, lexicon: Lexicon) -> NameGrammar:
        """The rule on a lexicon."""
        entries = lexicon.aspects.items()
        names = (word for word, entry in entries if len(word) > 1 and entry.cls.startswith(rule.composed))
        return cls(rule, frozenset(word[-1] for word in names))

    def is_composed(self, term: Term) -> bool:
        """Whether names of the term's class go on at both ends."""
        return term.cls.startswith(self.rule.composed)


def ends_name(term: Term, item: Constituent, lexicon: Lexicon, grammar: NameGrammar) -> bool:
    """Whether a word belongs to the aspect it touches: the head of a composed name (麵, 湯, 鍋)."""
    if not grammar.is_composed(term):
        return False
    if lexicon.morphemes.get(item.word) == "head":
        return True
    return item.symbol in _TAIL_UNITS and item.word in grammar.endings and _is_stray(item.word, lexicon, grammar)


def _is_stray(word: str, lexicon: Lexicon, grammar: NameGrammar) -> bool:
    """Whether a character that touches a name is likely a part of it (羊油拌麵 線)."""
    rule = grammar.rule
    return (
        rule.compounds and len(word) == 1 and word.isalpha() and word not in rule.loose and word not in lexicon.general
    )


def begins_name(before: Constituent, item: Constituent, lexicon: Lexicon, grammar: NameGrammar) -> bool:
    """Whether a word no lexicon calls an aspect is the first part of a name: a noun, or a part from morphemes.tsv."""
    if before.end != item.start or item.term is None:
        return False
    if grammar.rule.latin and before.word.isascii() and any(map(str.isalnum, before.word)):
        return before.symbol != BUT
    thing = item.term.role in THINGS
    if before.symbol == BLOCKED and _is_proper(before, item.term, lexicon, grammar):
        return True
    if before.symbol == NOUN:
        return len(before.word) > 1 or (thing and _is_stray(before.word, lexicon, grammar))
    if before.symbol == PART:
        return thing and _is_stray(before.word, lexicon, grammar)
    role = lexicon.morphemes.get(before.word, "")
    return thing and role in _BEFORE_HEADS and before.symbol in _PART_UNITS


def _is_proper(before: Constituent, term: Term, lexicon: Lexicon, grammar: NameGrammar) -> bool:
    """Whether a word that is no aspect names whose a thing is (阿明 三明治), or where it or a house comes from."""
    reason = lexicon.not_aspects.get(before.word)
    if reason is None:
        return term.role in THINGS and term.role not in GENERIC and len(before.word) > 1 and before.word.isalpha()
    return reason == "origin" and (term.role in THINGS or term.cls.startswith(grammar.rule.housed))


def names_a_kind(before: Constituent, item: Constituent, out: Sequence[Constituent], grammar: NameGrammar) -> bool:
    """甜菠菜, 濃厚雞白湯拉麵: a sensory word right before a thing, without a degree word, is part of its name."""
    if before.end != item.start or item.term is None:
        return False
    if item.term.role not in THINGS or item.term.role in GENERIC:
        return False
    if before.symbol == ADJ and len(before.word) == 1:
        return True
    phrase = before.phrase
    if phrase is None or phrase.core != (before.start, before.end):
        return False
    category = phrase.entry.category
    if category.startswith(grammar.rule.absorbed) and phrase.entry.valence < PRAISE:
        return True
    opens = is_thing(item) and not any(earlier.term or earlier.phrase for earlier in out[:-1])
    return opens and category.startswith(grammar.rule.epithets)
