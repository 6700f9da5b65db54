"""Aspect terms: the parts of one aspect joined (餐點口感, 水蓮炒肉絲), and what one does without set aside.

In: a clause's constituents with its opinion phrases. Out: the constituents that rules pair.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from builder.core.records import Span
from builder.engine.constituents import GENERIC, THINGS, Constituent, Term, Units, is_kind, is_thing
from builder.engine.coordination import ListReader, make_listed_nouns_aspects
from builder.engine.params import compile_pairs
from builder.engine.rows import WordTable
from builder.engine.symbols import ADJ, ADV, ASPECT, BLOCKED, BUT, DE, NOUN, symbol_set
from builder.language.lexicon.resources import Lexicon

PRAISE = 7.5
"""From this valence on a sensory word praises rather than names a kind: 好吃牛雜湯 is no dish, 酸辣湯 is."""
_BEFORE_HEADS = frozenset(["noun", "verb", "adjective"])
"""Roles of morphemes that stand before the head of a name."""
_TAIL_UNITS = symbol_set("NOUN PART")
"""What the last character of a name may be read as, and a stray one in front."""
_PART_UNITS = symbol_set("VERB ADJ NOUN BLOCKED")
"""What a part from morphemes.tsv may be read as."""
_LISTED = frozenset(["thing", "kind", "person", "other"])
"""Roles of what is named whole: two of one role that touch may be a list."""
_POSSESSIVE = ("", "的")
"""Between a name and its head."""
_SUFFIX_UNITS = symbol_set("NOUN VERB OTHER PART")


@dataclass(frozen=True, slots=True)
class TermRule:
    """Parameters of a rule of kind `term`: which words are one aspect.

    `attributes`: classes that take an owner (餐點口感). `separate`: pairs of classes, "food service", that are never
    one term: side by side they are a list without a comma (餐點服務都好); a blank alone stands for all pairs.
    `leading`: pairs of which the first belongs to `aspect_full` alone (餐廳 餐點).

    `compounds`: whether names are put together at all. `composed`: classes whose names go on at both ends (羊油 拌
    麵線). `absorbed`: categories of opinion words that name a kind of thing (酸辣湯); `epithets`: those that do so
    where nothing is named or judged before them (香酥荔茸鴨). `latin`: whether words of Latin letters and digits are
    part of the name that they touch (ZX14 筆電). `codes`: class of a name of Latin letters and digits that no lexicon
    holds (KX-520); "" where such names are no aspects. `housed`: classes of houses whose names begin with where they
    come from (泰國餐廳).
    """

    attributes: tuple[str, ...] = ()
    separate: tuple[str, ...] = ()
    leading: tuple[str, ...] = ()
    compounds: bool = False
    composed: tuple[str, ...] = ()
    absorbed: tuple[str, ...] = ()
    epithets: tuple[str, ...] = ()
    latin: bool = False
    codes: str = ""
    housed: tuple[str, ...] = ()


class TermReader:
    """A `TermRule` made ready for reading. `_endings` are the last characters of composed names."""

    def __init__(self, lexicon: Lexicon, rule: TermRule, words: WordTable, lists: ListReader) -> None:
        self._lexicon, self.rule, self._words, self._lists = lexicon, rule, words, lists
        self._wholes = frozenset(words.entries["WHOLES"])
        self._are_separate, self._is_leading = compile_pairs(rule.separate), compile_pairs(rule.leading)
        composed = (word for word, entry in lexicon.aspects.items() if entry.cls.startswith(rule.composed))
        self._endings = frozenset(word[-1] for word in composed if len(word) > 1)

    # Names

    def _is_composed(self, term: Term) -> bool:
        """Whether names of the term's class go on at both ends."""
        return term.cls.startswith(self.rule.composed)

    def _ends_name(self, term: Term, item: Constituent) -> bool:
        """Whether a word belongs to the aspect it touches: the head of a composed name (麵, 湯, 鍋)."""
        tail = item.symbol in _TAIL_UNITS and item.word in self._endings and self._is_stray(item.word)
        return self._is_composed(term) and (tail or self._lexicon.morphemes.get(item.word) == "head")

    def _is_stray(self, word: str) -> bool:
        """Whether a character that touches a name is likely a part of it (羊油拌麵 線)."""
        single = self.rule.compounds and len(word) == 1 and word.isalpha()
        return single and not self._words.holds("LOOSE", word) and word not in self._lexicon.general

    def _begins_name(self, before: Constituent, item: Constituent) -> bool:
        """Whether a word no lexicon calls an aspect is the first part of a name: a noun, or one of morphemes.tsv."""
        if before.end != item.start or item.term is None:
            return False
        if self.rule.latin and before.word.isascii() and any(map(str.isalnum, before.word)):
            return before.symbol != BUT
        thing = item.term.role in THINGS
        if before.symbol == BLOCKED and self._is_proper(before, item.term):
            return True
        if before.symbol in _TAIL_UNITS:
            return (before.symbol == NOUN and len(before.word) > 1) or (thing and self._is_stray(before.word))
        role = self._lexicon.morphemes.get(before.word, "")
        return thing and role in _BEFORE_HEADS and before.symbol in _PART_UNITS

    def _is_proper(self, before: Constituent, term: Term) -> bool:
        """Whether a word that is no aspect names whose a thing is (阿明 三明治), or where it or a house comes from."""
        reason = self._lexicon.not_aspects.get(before.word)
        if reason is None:
            return term.role in THINGS and term.role not in GENERIC and len(before.word) > 1 and before.word.isalpha()
        return reason == "origin" and (term.role in THINGS or term.cls.startswith(self.rule.housed))

    def _names_a_kind(self, before: Constituent, item: Constituent, out: Units) -> bool:
        """甜菠菜, 濃厚雞白湯拉麵: a sensory word right before a thing, without a degree word, is part of its name."""
        if before.end != item.start or item.term is None or item.term.role not in THINGS - GENERIC:
            return False
        if before.symbol == ADJ and len(before.word) == 1:
            return True
        phrase = before.phrase
        if phrase is None or phrase.core != (before.start, before.end):
            return False
        category = phrase.entry.category
        if category.startswith(self.rule.absorbed) and phrase.entry.valence < PRAISE:
            return True
        opens = is_thing(item) and not any(earlier.term or earlier.phrase for earlier in out[:-1])
        return opens and category.startswith(self.rule.epithets)

    # Terms

    def join(self, clause: list[Constituent], text: str) -> list[Constituent]:
        """Join neighbouring parts of one aspect, attach owners, and add what 、 和 跟 coordinate with an aspect."""
        compounds, heads = self.rule.compounds, self._words.entries["HEADS"]
        out: list[Constituent] = []
        for i, item in enumerate([_cut_to_head(item, heads) for item in clause] if heads else clause):
            joined = self._join_to_last(out, item, text) if out and (item.term or out[-1].term) else None
            if joined is None and compounds and out and self._is_head(clause, i):
                count = 2 if out[-1].symbol == DE and len(out) > 1 else 1
                first = out[-count]
                if first.term is not None and text[first.end : item.start] in _POSSESSIVE:
                    joined = count, first._replace(end=item.end, word=text[first.start : item.end], last=item.last)
            if joined is None or self._are_touching_things(out[-1], clause, i):
                out.append(item)
                continue
            out[-joined[0] :] = [joined[1]]
            while compounds and len(out) > 1 and out[-2].end == out[-1].start and self._goes_on_left(out, clause, i):
                first, last = out[-2:]  # 清蒸 野生石斑
                out[-2:] = [self._make_one(first, last, text, last.term and last.term.owner)]
        return make_listed_nouns_aspects(out)

    def _is_head(self, clause: Units, i: int) -> bool:
        """商品 質素 很好: whether an unknown noun may be the head of the name before it, as an opinion follows."""
        item = clause[i]
        unknown = item.word not in self._lexicon.general and item.word.isalpha() and not item.word.isascii()
        if item.symbol != NOUN or len(item.word) < 2 or not unknown:
            return False
        return next((other.phrase for other in clause[i + 1 :] if other.symbol != ADV), None) is not None

    def _are_touching_things(self, before: Constituent, clause: Units, i: int) -> bool:
        """牛肉麵排骨飯都很油: two names of whole things before a word that gathers them are a list, not one name."""
        item = clause[i]
        if item.term is None or before.term is None or before.end != item.start or item.term.role != before.term.role:
            return False
        return item.term.role in _LISTED and self._lists.are_gathered(clause, i)

    def _join_to_last(self, out: Units, item: Constituent, text: str) -> tuple[int, Constituent] | None:
        """How many of the last constituents the new one joins, and what they become; None if it stands alone."""
        before = out[-1]
        touches = before.end == item.start
        if before.term and touches and item.symbol in _SUFFIX_UNITS and self._ends_name(before.term, item):
            return 1, before._replace(end=item.end, word=text[before.start : item.end], last=item.last)
        if item.term is None:
            return None
        attribute = item.term.cls.startswith(self.rule.attributes)
        if before.symbol == ASPECT and before.term and touches and self._is_one_term(before, item):
            owner = (before.start + before.term.lead, before.end) if attribute else before.term.owner
            return 1, self._make_one(before, item, text, owner)
        first = out[-2] if len(out) > 1 else before
        if before.symbol == DE and attribute and first.symbol == ASPECT and first.term and touches:
            return 2, self._make_one(first, item, text, (first.start + first.term.lead, first.end))
        if not self.rule.compounds:
            return None
        apart = len(out) < 2 or first.symbol != ASPECT or first.end != before.start
        if self._begins_name(before, item) or (apart and self._names_a_kind(before, item, out)):
            return 1, self._make_one(before, item, text, None)
        return None

    def _is_one_term(self, before: Constituent, item: Constituent) -> bool:
        """Whether two aspects that touch are one term rather than a list."""
        one = before.word in self._wholes or self._words.holds("HOUSES", item.word)
        return one or not self._are_separate(before.own_term.cls, item.own_term.cls)

    def _make_one(self, first: Constituent, last: Constituent, text: str, owner: Span | None) -> Constituent:
        lead = self._count_lead(first, last)
        owner = owner if owner and owner[0] >= first.start + lead else None
        term = last.own_term._replace(owner=owner, lead=lead)
        return last._replace(start=first.start, word=text[first.start : last.end], term=term)

    def _count_lead(self, first: Constituent, last: Constituent) -> int:
        """How many characters of the name that two become only say where or what kind it is: 店裡 座位, 甜點 布丁."""
        of_kind = is_kind(first) and is_thing(last) and last.own_term.role not in GENERIC
        leads = first.term and (of_kind or self._is_leading(first.term.cls, last.own_term.cls))
        within = last.own_term.lead and not (first.term and is_thing(first) and not is_kind(first))
        if leads or within or first.word in self._wholes:
            return last.start - first.start + last.own_term.lead
        return first.term.lead if first.term else 0

    def _goes_on_left(self, out: Units, clause: Units, i: int) -> bool:
        """Whether the name that ends `out` goes on to the left.

        By a part, or by food that is no kind of food (餐點, 甜點) nor one of a list.
        """
        before, item = out[-2:]
        if before.term is None or item.term is None:
            return self._begins_name(before, item)
        composed = self._is_composed(before.term) and self._is_composed(item.term)
        return composed and before.term.role not in GENERIC and not self._lists.are_gathered(clause, i)


def _cut_to_head(item: Constituent, heads: Collection[str]) -> Constituent:
    """The aspect's head alone where the convention wants it so."""
    head = next((item.word[i:] for i in range(1, len(item.word) - 1) if item.word[i:] in heads), None)
    if item.term is None or item.term.role in THINGS or item.term.role == "person" or head is None:
        return item
    return item._replace(start=item.end - len(head), word=head, term=item.term._replace(owner=None, lead=0))


def find_leads(lexicon: Lexicon, wholes: Collection[str]) -> Mapping[str, int]:
    """Aspect entries that begin with one of `wholes` -> how many of their characters it takes (整體 口感)."""
    lengths = {len(word) for word in wholes}
    return {
        word: length + (word[length : length + 1] == "的")
        for word in lexicon.aspects
        for length in lengths
        if word[:length] in wholes and word[length:].removeprefix("的") in lexicon.aspects
    }


def bar_all(clause: Units) -> list[Constituent]:
    """The clause with no aspects and no opinions."""
    return [
        item._replace(symbol=BLOCKED, term=None, phrase=None) if item.term or item.phrase else item for item in clause
    ]
