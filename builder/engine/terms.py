"""Aspect terms: the parts of one aspect joined (餐點口感, 水蓮炒肉絲), what is only compared with set aside, coordinations found.

In: a clause's items with its opinion phrases. Out: the items that rules pair.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from builder.engine.items import GENERAL, Grammar, Item, Term, is_dish, is_kind
from builder.lexicon.resources import Lexicon
from builder.records import Span

PRAISE = 7.5
"""From this valence on a sensory word praises rather than names a kind: 好吃牛雜湯 is no dish, 酸辣湯 is."""

_DISHES = tuple(
    f"food.{kind}"
    for kind in ["dish", "noodle", "rice", "soup", "hotpot", "grill", "fried", "dumpling", "bread", "snack", "dessert", "set"]
)
"""Classes of whole dishes: 牛肉 of 牛肉麵 is none."""
_POINTS = re.compile("[這那此該]一?[道款份碗盤種樣味]")
"""What points at a dish, and at no place (這家)."""
_ALL = frozenset(("都", "皆", "均", "俱", "全都", "也都"))


def compared(listed: list[Item], grammar: Grammar) -> list[Item]:
    """像麻糬, 跟外面的牛肉麵一樣, 相較於豬排: what something is held against is no aspect of the opinion that follows."""
    words = grammar.standards | grammar.companions
    held = [i for i, item in enumerate(listed) if item.word in words]
    if not held:
        return listed
    out = list(listed)
    for i in held:
        item = listed[i]
        reach = next((j for j in range(i + 1, len(out)) if out[j].phrase or out[j].word in grammar.sameness), len(out))
        if item.word in grammar.companions and (reach == len(out) or out[reach].word not in grammar.sameness):
            continue
        for j in range(i + 1, reach):
            if out[j].symbol == "A":
                out[j] = out[j]._replace(symbol="t", term=None)
    return out


def left_out(listed: list[Item], grammar: Grammar) -> list[Item]:
    """不沾醬就很好吃, 不用醬料: what one does not take is no aspect."""
    out = listed
    for i in [i for i, item in enumerate(listed[:-1]) if item.symbol == "N" and item.word in grammar.refusals]:
        after = listed[i + 1]
        if after.symbol == "A" and after.start == listed[i].end:
            out = [*out[: i + 1], after._replace(symbol="t", term=None), *out[i + 2 :]]
    return out


def terms(listed: list[Item], text: str, lexicon: Lexicon, grammar: Grammar) -> list[Item]:
    """Join neighbouring parts of one aspect, attach owners, and take what 、 和 跟 coordinate with an aspect for one."""
    out: list[Item] = []
    for i, item in enumerate([_cut(item, grammar) for item in listed] if grammar.heads else listed):
        if item.term and item.word in grammar.wholes and out and _touches(out[-1], item) and not _touches(item, *listed[i + 1 : i + 2]):
            item = item._replace(symbol="r", term=None)  # 餐點 整體 不錯
        joined = _join(out, item, text, lexicon, grammar) if out and (item.term or out[-1].term) else None
        if joined and grammar.list_touching and _listed_dishes(out[-1], listed, i):
            joined = None
        if joined is None:
            out.append(item._replace(symbol="t", term=None) if item.term and is_kind(item) and _apposed(out, item) else item)
            continue
        out[-joined[0] :] = [joined[1]]
        while grammar.compounds and len(out) > 1 and out[-2].end == out[-1].start and _leads(out, listed, i, lexicon, grammar):
            out[-2:] = [
                _joined(out[-2], out[-1], text, out[-1].term and out[-1].term.owner, _lead(out[-2], out[-1], grammar))
            ]  # 清蒸 野生石斑
    return _listed_nouns(out)


def _touches(first: Item, *after: Item) -> bool:
    """Whether two aspects stand side by side, if there is a second one."""
    return bool(first.term and after and after[0].term and first.end == after[0].start)


def _apposed(out: Sequence[Item], item: Item) -> bool:
    """豬腳這道菜很香, 芋圓這款甜品很好吃: whether the kind of dish `item` is the dish named before it again."""
    if len(out) < 2 or not _POINTS.fullmatch(out[-1].word) or out[-1].end != item.start:
        return False
    before = out[-3] if len(out) > 2 and out[-2].symbol == "d" else out[-2]
    return before.term is not None and before.term.cls.startswith(("food", "drink"))


def _listed_dishes(before: Item, listed: Sequence[Item], i: int) -> bool:
    """牛肉麵排骨飯都很油: two names of whole dishes before a word that gathers them are a list, not one name."""
    item = listed[i]
    return (
        item.term is not None
        and before.term is not None
        and before.end == item.start
        and item.term.cls.startswith(_DISHES)
        and before.term.cls.startswith(_DISHES)
        and _said_of_all(listed, i)
    )


def _join(out: Sequence[Item], item: Item, text: str, lexicon: Lexicon, grammar: Grammar) -> tuple[int, Item] | None:
    """How many of the last items of `out` the new item joins, and the item they become; None if it stands alone."""
    before = out[-1]
    if before.term and before.end == item.start and item.symbol in "nvxk" and _suffix(before.term, item, lexicon, grammar):
        return 1, before._replace(end=item.end, word=text[before.start : item.end], last=item.last)
    if item.term is None:
        return None
    attribute = item.term.cls.startswith(grammar.attributes)
    if (
        before.symbol == "A"
        and before.term
        and before.end == item.start
        and (before.word in grammar.wholes or item.word in grammar.houses or not grammar.separate(before.term.cls, item.term.cls))
    ):
        owner = (before.start + before.term.lead, before.end) if attribute else before.term.owner
        return 1, _joined(before, item, text, owner, _lead(before, item, grammar))
    first = out[-2] if len(out) > 1 else before
    if before.symbol == "d" and attribute and first.symbol == "A" and first.term and item.start == before.end:
        return 2, _joined(first, item, text, (first.start + first.term.lead, first.end), _lead(first, item, grammar))
    touches = len(out) > 1 and out[-2].symbol == "A" and out[-2].end == before.start
    if grammar.compounds and (_modifies(before, item, lexicon, grammar) or (not touches and _names_a_kind(before, item, out, grammar))):
        return 1, _joined(before, item, text, None, _lead(before, item, grammar))
    return None


def _suffix(term: Term, item: Item, lexicon: Lexicon, grammar: Grammar) -> bool:
    """Whether a word belongs to the aspect it touches: a suffix of any, or the head of a dish (麵, 湯, 鍋)."""
    if item.word in grammar.suffixes:
        return True
    food = term.cls.startswith("food")
    return food and (
        lexicon.morphemes.get(item.word) == "head"
        or (item.symbol in "nk" and item.word in grammar.ends and _unknown(item.word, lexicon, grammar))
    )


def _unknown(word: str, lexicon: Lexicon, grammar: Grammar) -> bool:
    """Whether a character that touches a dish is likely a part of its name (羊油拌麵 線)."""
    return grammar.compounds and len(word) == 1 and word.isalpha() and word not in grammar.loose and word not in lexicon.general


def _cut(item: Item, grammar: Grammar) -> Item:
    """The aspect's head alone where the convention wants it so."""
    if item.term is None or item.term.cls.startswith(("food", "drink", "staff")):
        return item
    head = next((item.word[i:] for i in range(1, len(item.word) - 1) if item.word[i:] in grammar.heads), None)
    return item if head is None else item._replace(start=item.end - len(head), word=head, term=Term(item.term.cls))


def _joined(first: Item, last: Item, text: str, owner: Span | None, lead: int) -> Item:
    assert last.term is not None
    owner = owner if owner and owner[0] >= first.start + lead else None
    return last._replace(start=first.start, word=text[first.start : last.end], term=Term(last.term.cls, owner, lead))


def _lead(first: Item, last: Item, grammar: Grammar) -> int:
    """How many characters of the name that the two become only say where it is or of what kind: 店裡 座位, 甜點 布丁, 餐廳 餐點."""
    assert last.term is not None
    leads = first.word in grammar.wholes or (
        first.term
        and (grammar.leading(first.term.cls, last.term.cls) or (is_kind(first) and is_dish(last) and last.term.cls not in GENERAL))
    )
    if leads or (last.term.lead and not (first.term and is_dish(first) and not is_kind(first))):
        return last.start - first.start + last.term.lead
    return first.term.lead if first.term else 0


def _modifies(before: Item, item: Item, lexicon: Lexicon, grammar: Grammar) -> bool:
    """Whether a word no lexicon calls an aspect is the first part of a dish name: a noun, or a part from food_morphemes."""
    if before.end != item.start or item.term is None:
        return False
    food = item.term.cls.startswith(("food", "drink"))
    if food and before.symbol == "t" and lexicon.not_aspects.get(before.word) == "origin":
        return True
    if before.symbol == "n":
        return len(before.word) > 1 or (food and _unknown(before.word, lexicon, grammar))
    if before.symbol == "k":
        return food and _unknown(before.word, lexicon, grammar)
    return food and lexicon.morphemes.get(before.word, "") in ("ingredient", "method", "flavour") and before.symbol in "vjnt"


def _leads(out: Sequence[Item], listed: Sequence[Item], i: int, lexicon: Lexicon, grammar: Grammar) -> bool:
    """Whether the name that ends `out` goes on to the left: by a part, or by food that is no kind of food (餐點, 甜點) nor one of a list."""
    before, item = out[-2:]
    if before.term is None or item.term is None:
        return _modifies(before, item, lexicon, grammar)
    food = before.term.cls.startswith("food") and item.term.cls.startswith("food")
    return food and before.term.cls not in GENERAL and not _said_of_all(listed, i)


def _names_a_kind(before: Item, item: Item, out: Sequence[Item], grammar: Grammar) -> bool:
    """甜菠菜, 濃厚雞白湯拉麵: a sensory word right before a dish, without a degree word, is part of the dish's name.

    Epithets (香酥荔茸鴨, 現沖牛肉湯) only where the clause names nothing before them: 外皮酥脆肉質厚實.
    """
    if before.end != item.start or item.term is None or not item.term.cls.startswith(("food", "drink")) or item.term.cls in GENERAL:
        return False
    if before.symbol == "j" and len(before.word) == 1:
        return True
    phrase = before.phrase
    if phrase is None or phrase.core != (before.start, before.end):
        return False
    category, valence = phrase.entry.category, phrase.entry.valence
    if category.startswith(grammar.absorbed) and valence < PRAISE:
        return True
    return category.startswith(grammar.epithets) and is_dish(item) and not any(one.term or one.phrase for one in out[:-1])


def _listed_nouns(out: list[Item]) -> list[Item]:
    """A noun that a list comma or conjunction joins to an aspect becomes one."""
    for i in range(1, len(out) - 1):
        if out[i].symbol in "cl":
            left, right = out[i - 1], out[i + 1]
            if left.symbol == "A" and right.symbol == "n" and len(right.word) > 1:
                out[i + 1] = right._replace(symbol="A", term=Term(""))
            elif right.symbol == "A" and left.symbol == "n" and len(left.word) > 1:
                out[i - 1] = left._replace(symbol="A", term=Term(""))
    return out


def chain(listed: Sequence[Item], at: int, touching: bool) -> list[int]:
    """The places of the aspects coordinated with the one at `at`, itself included: 、 or a conjunction between them, or, if `touching`, nothing."""
    first = at
    while step := _link(listed, first, touching):
        first -= step
    out = [first]
    for i in range(first + 1, len(listed)):
        if listed[i].term is not None:
            if not _link(listed, i, touching):
                break
            out.append(i)
    return out


def _link(listed: Sequence[Item], i: int, touching: bool) -> int:
    """How many places before aspect i the one stands that it is coordinated with; 0 if there is none."""
    if i >= 2 and listed[i - 1].symbol in "cl" and listed[i - 2].symbol == "A":
        return 2
    touches = touching and i and listed[i - 1].symbol == "A" and listed[i - 1].end == listed[i].start
    return 1 if touches and (_attributes(listed[i - 1], listed[i]) or _said_of_all(listed, i)) else 0


def _attributes(*items: Item) -> bool:
    return all(item.term and item.term.cls.startswith("quality.") for item in items)


def _said_of_all(listed: Sequence[Item], i: int) -> bool:
    """餐點服務都好: behind the run of aspects that touch stands a word that gathers them."""
    while i + 1 < len(listed) and listed[i + 1].symbol == "A" and listed[i + 1].start == listed[i].end:
        i += 1
    return i + 1 < len(listed) and listed[i + 1].word in _ALL
