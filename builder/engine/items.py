"""Units become the items that rules pair: aspect terms with their owners, opinion phrases with degree words and negators.

In: a clause's units. Out: `Item`s in text order, one symbol each. Pure; all word lists come from the lexicons and from the rules'
parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from builder.engine.units import Unit
from builder.records import Span
from builder.resources import Lexicon, OpinionEntry

PRAISE = 7.5
"""From this valence on a sensory word praises rather than names a kind: 好吃牛雜湯 is no dish, 酸辣湯 is."""
NUMERALS = "一二兩三四五六七八九十半"


@dataclass(frozen=True, slots=True)
class Phrase:
    """An opinion phrase: 不 會 太 鹹 has core 鹹, negators (不會), degrees (太)."""

    core: Span
    entry: OpinionEntry
    negators: tuple[Span, ...]
    kinds: tuple[str, ...]
    degrees: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Term:
    """An aspect term: its class (empty for a noun no lexicon knows) and, for 餐點口感, the span of the owner 餐點."""

    cls: str
    owner: Span | None = None


class Item(NamedTuple):
    """A symbol with its place in the view, the last token it covers (its head in Chinese), and what it is.

    A tuple because the engine makes millions: a frozen dataclass takes three times as long to make.
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
    classes are a list without a comma (餐點服務都好) rather than one term.
    """

    fillers: frozenset[str]
    gap: int
    attributes: tuple[str, ...]
    separate: Callable[[str, str], bool]
    suffixes: frozenset[str]
    bare: frozenset[str]
    adverbial: frozenset[str]
    gradable: frozenset[str]
    quantities: frozenset[str]
    absorbed: tuple[str, ...]
    merge: bool
    list_touching: bool
    heads: frozenset[str]
    compounds: bool
    naming: tuple[str, ...]
    standards: frozenset[str]
    companions: frozenset[str]
    sameness: frozenset[str]
    wholes: frozenset[str]


def items(units: Sequence[Unit], text: str, lexicon: Lexicon, grammar: Grammar) -> list[Item]:
    """The items of one clause."""
    return _terms(_compared(_phrases(units, text, lexicon, grammar), grammar), text, lexicon, grammar)


def _compared(listed: list[Item], grammar: Grammar) -> list[Item]:
    """像麻糬, 跟外面的牛肉麵一樣, 相較於豬排: what something is held against is no aspect of the opinion that follows."""
    out = list(listed)
    for i, item in enumerate(listed):
        if item.word not in grammar.standards and item.word not in grammar.companions:
            continue
        reach = next((j for j in range(i + 1, len(out)) if out[j].phrase or out[j].word in grammar.sameness), len(out))
        if item.word in grammar.companions and (reach == len(out) or out[reach].word not in grammar.sameness):
            continue
        for j in range(i + 1, reach):
            if out[j].symbol == "A":
                out[j] = out[j]._replace(symbol="t", term=None)
    return out


def _phrases(units: Sequence[Unit], text: str, lexicon: Lexicon, grammar: Grammar) -> list[Item]:
    """Join each opinion word with the degree words and negators that stand before it, and a post degree word behind."""
    out: list[Item] = []
    taken = 0
    for k in [k for k, unit in enumerate(units) if unit.symbol == "O"]:
        unit = units[k]
        first = _left_edge(units, k, taken, grammar)
        if not _asserted(units, k, first == k, grammar) or (first == k and _kind_of_place(units, k, lexicon, grammar)):
            continue
        out += [_plain(u, lexicon) for u in units[taken:first]]
        last = k + 1 if k + 1 < len(units) and units[k + 1].symbol == "Q" else k
        start, end = units[first].start, units[last].end
        item = Item(start, end, "O", text[start:end], unit.last, _phrase(unit, units[first:k], lexicon, grammar))
        if grammar.merge and out and (run := _one_run(out[-1], item, text)) is not None:
            out[-1] = run
        else:
            out.append(item)
        taken = last + 1
    return out + [_plain(u, lexicon) for u in units[taken:]]


def _phrase(unit: Unit, before: Sequence[Unit], lexicon: Lexicon, grammar: Grammar) -> Phrase:
    """The opinion word `unit` with the units of its phrase that stand before it."""
    entry = lexicon.opinions[unit.word.lower()]
    if not before:
        return Phrase((unit.start, unit.end), entry, (), (), ())
    negators = [u for u in before if u.symbol == "N"]
    return Phrase(
        core=(unit.start, unit.end),
        entry=entry,
        negators=tuple([(u.start, u.start + len(bare_negator(u.word, lexicon, grammar.fillers))) for u in negators]),
        kinds=tuple([lexicon.negators[u.word] for u in negators]),
        degrees=tuple([lexicon.degree.get(u.word, "") for u in before if u.symbol == "D"]),
    )


def bare_negator(word: str, lexicon: Lexicon, fillers: frozenset[str]) -> str:
    """A negator without the degree word or filler it ends in: 不會太 is 不會, 沒有想像中 is 沒有, 不夠 stays."""
    for cut in range(1, len(word)):
        same = lexicon.negators.get(word[:cut]) == lexicon.negators.get(word)
        if same and (word[cut:] in lexicon.degree or word[cut:] in fillers):
            return word[:cut]
    return word


def _one_run(before: Item, item: Item, text: str) -> Item | None:
    """親切熱情, 軟嫩好吃: opinions of one sign that touch are one phrase, read with the first one's entry."""
    first, second = before.phrase, item.phrase
    if first is None or second is None or before.end != item.start or second.core[0] != item.start or first.core[1] != before.end:
        return None
    if (first.entry.valence > 5) != (second.entry.valence > 5) or (first.entry.valence < 5) != (second.entry.valence < 5):
        return None
    core = first.core[0], second.core[1]
    return item._replace(start=before.start, word=text[before.start : item.end], phrase=replace(first, core=core))


def _asserted(units: Sequence[Unit], k: int, plain: bool, grammar: Grammar) -> bool:
    """Whether opinion word k says something here.

    小籠包 熱湯 老店: a one-character adjective before its noun, with nothing before it, names a kind. 可惜沒位子: a word that is an
    adverb here. 經典 古早味: words that judge only with a degree word. 很多人: a quantity before its noun.
    """
    unit = units[k]
    after = units[k + 1] if k + 1 < len(units) and units[k + 1].start == unit.end else None
    if unit.word in grammar.adverbial and after is not None and after.symbol in ("vrADNnupmHP" if plain else "v"):
        return False
    if unit.word in grammar.quantities and after is not None and after.symbol in "ntm" and (plain or after.word[0] not in NUMERALS):
        return False
    if not plain:
        return True
    if unit.word in grammar.gradable:
        return False
    if k and units[k - 1].symbol == "A" and units[k - 1].end == unit.start:  # 湯濃麵硬: said of the aspect it touches
        return True
    return not (len(unit.word) == 1 and unit.word not in grammar.bare and after is not None and after.symbol in "nAtjmv")


def _kind_of_place(units: Sequence[Unit], k: int, lexicon: Lexicon, grammar: Grammar) -> bool:
    """麻辣食堂, 酸辣口味: a taste word right before an aspect that is no food names a kind of it."""
    unit, after = units[k], units[k + 1] if k + 1 < len(units) else None
    if after is None or after.start != unit.end or after.symbol != "A" or (k and units[k - 1].symbol == "A"):
        return False
    return lexicon.opinions[unit.word.lower()].category.startswith(grammar.naming) and not lexicon.aspects[
        after.word.lower()
    ].cls.startswith(("food", "drink", "quality"))


def _plain(unit: Unit, lexicon: Lexicon) -> Item:
    start, end, word, symbol, _, last = unit
    if symbol == "A":
        entry = lexicon.aspects[word.lower()]
        return Item(
            start, end, symbol, word, last, None, Term(entry.cls, _owner(unit, lexicon) if entry.cls.startswith("quality.") else None)
        )
    return Item(start, end, "j" if symbol == "O" else symbol, word, last)


def _owner(unit: Unit, lexicon: Lexicon) -> Span | None:
    """The owner inside an entry that is written with it: 餐點 in 餐點口感."""
    for cut in range(2, len(unit.word) - 1):
        owner, attribute = lexicon.aspects.get(unit.word[:cut]), lexicon.aspects.get(unit.word[cut:])
        if owner and attribute and not owner.cls.startswith("quality.") and attribute.cls.startswith("quality."):
            return unit.start, unit.start + cut
    return None


def _left_edge(units: Sequence[Unit], k: int, taken: int, grammar: Grammar) -> int:
    """Index of the first unit of the phrase around opinion k.

    Degree words and negators that touch it (非常的香 too), and negators behind a few fillers: 沒有想像中好吃 is one phrase,
    覺得好吃 is not.
    """
    edge = k
    while edge > taken:
        before = units[edge - 1].symbol
        if before in "ND":
            edge -= 1
        elif before == "d" and edge - 1 > taken and units[edge - 2].symbol == "D":
            edge -= 2
        else:
            j = edge - 1
            while j >= taken and edge - j <= grammar.gap and (units[j].word in grammar.fillers or units[j].symbol == "D"):
                j -= 1
            if j < taken or units[j].symbol != "N" or edge - j > grammar.gap + 1:
                break
            edge = j
    return edge


def _terms(listed: list[Item], text: str, lexicon: Lexicon, grammar: Grammar) -> list[Item]:
    """Join neighbouring parts of one aspect, attach owners, and take what 、 和 跟 coordinate with an aspect for one."""
    out: list[Item] = []
    for item in [_cut(item, grammar) for item in listed] if grammar.heads else listed:
        joined = _join(out, item, text, lexicon, grammar) if out and (item.term or out[-1].term) else None
        if joined is None:
            out.append(item)
            continue
        method = lexicon.morphemes.get(out[-1].word) == "method"
        out[-joined[0] :] = [joined[1]]
        if method and _touching_dishes(out):  # 水蓮炒肉絲: what stands before the method belongs to the name
            out[-2:] = [_joined(out[-2], out[-1], text, None)]
    return _listed_nouns(out)


def _touching_dishes(out: Sequence[Item]) -> bool:
    """Whether the last two items are food and touch."""
    return len(out) > 1 and out[-2].end == out[-1].start and all(one.term and one.term.cls.startswith("food") for one in out[-2:])


def _join(out: Sequence[Item], item: Item, text: str, lexicon: Lexicon, grammar: Grammar) -> tuple[int, Item] | None:
    """How many of the last items of `out` the new item joins, and the item they become; None if it stands alone."""
    before = out[-1]
    if before.term and before.end == item.start and item.symbol in "nvxk" and _suffix(before.term, item.word, lexicon, grammar):
        return 1, before._replace(end=item.end, word=text[before.start : item.end], last=item.last)
    if item.term is None:
        return None
    attribute = item.term.cls.startswith(grammar.attributes)
    if (
        before.symbol == "A"
        and before.term
        and before.end == item.start
        and (before.word in grammar.wholes or not grammar.separate(before.term.cls, item.term.cls))
    ):
        owner = (before.start, before.end) if attribute else before.term.owner
        return 1, _joined(before, item, text, owner)
    if before.symbol == "d" and attribute and len(out) > 1 and out[-2].symbol == "A" and out[-2].term and item.start == before.end:
        return 2, _joined(out[-2], item, text, (out[-2].start, out[-2].end))
    touches = len(out) > 1 and out[-2].symbol == "A" and out[-2].end == before.start
    if grammar.compounds and (_modifies(before, item, lexicon) or (not touches and _names_a_kind(before, item, grammar))):
        return 1, _joined(before, item, text, None)
    return None


def _suffix(term: Term, word: str, lexicon: Lexicon, grammar: Grammar) -> bool:
    """Whether a word belongs to the aspect it touches: a suffix of any, or the head of a dish (麵, 湯, 鍋)."""
    return word in grammar.suffixes or (term.cls.startswith("food") and lexicon.morphemes.get(word) == "head")


def _cut(item: Item, grammar: Grammar) -> Item:
    """The aspect's head alone where the convention wants it so."""
    if item.term is None or item.term.cls.startswith(("food", "drink", "staff")):
        return item
    head = next((item.word[i:] for i in range(1, len(item.word) - 1) if item.word[i:] in grammar.heads), None)
    return item if head is None else item._replace(start=item.end - len(head), word=head, term=Term(item.term.cls))


def _joined(first: Item, last: Item, text: str, owner: Span | None) -> Item:
    assert last.term is not None
    return last._replace(start=first.start, word=text[first.start : last.end], term=Term(last.term.cls, owner))


def _modifies(before: Item, item: Item, lexicon: Lexicon) -> bool:
    """Whether a word no lexicon calls an aspect is the first part of a dish name: a noun, or a part from food_morphemes."""
    if before.end != item.start or item.term is None:
        return False
    food = item.term.cls.startswith(("food", "drink"))
    if before.symbol == "n":
        return len(before.word) > 1
    return food and lexicon.morphemes.get(before.word, "") in ("ingredient", "method", "flavour") and before.symbol in "vjn"


def _names_a_kind(before: Item, item: Item, grammar: Grammar) -> bool:
    """甜菠菜, 濃厚雞白湯拉麵: a sensory word right before a dish, without a degree word, is part of the dish's name."""
    if before.end != item.start or item.term is None or not item.term.cls.startswith(("food", "drink")) or item.term.cls == "food.generic":
        return False
    if before.symbol == "j" and len(before.word) == 1:
        return True
    phrase = before.phrase
    if phrase is None or phrase.core != (before.start, before.end):
        return False
    return phrase.entry.category.startswith(grammar.absorbed) and phrase.entry.valence < PRAISE


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
    return 1 if touching and i and listed[i - 1].symbol == "A" and listed[i - 1].end == listed[i].start else 0
