"""Opinion phrases: each opinion word of a clause with the degree words and negators that belong to it.

In: a clause's units. Out: `Item`s in text order: phrases, aspect entries, and every other word as it is. Pure; all word lists come from
the lexicons and from the rules' parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from builder.engine.comparing import held_to, standard
from builder.engine.items import Grammar, Item, Phrase, Term
from builder.engine.terms import PRAISE
from builder.engine.units import Unit
from builder.lexicon.resources import Lexicon
from builder.records import Span

NUMERALS = "一二兩三四五六七八九十半"
BIT = "bit"
"""Kind of degree of a word behind an opinion that tells a bit too much (甜 了點)."""
_MEETING = "吃喝嚐看見遇碰找"
_DOING = "加續"


def phrases(units: Sequence[Unit], text: str, lexicon: Lexicon, grammar: Grammar) -> list[Item]:
    """Join each opinion word with the degree words and negators that stand before it, and a post degree word behind."""
    out: list[Item] = []
    taken, count = 0, len(units)
    for k, unit in enumerate(units):
        if unit.symbol != "O":
            continue
        if unit.word[-1] == "了" and k > taken and units[k - 1].symbol == "D" and unit.word[:-1] in lexicon.opinions:  # 太 多了
            unit = unit._replace(end=unit.end - 1, word=unit.word[:-1])
        begin = k - 1 if k > taken and units[k - 1].symbol == "H" and grammar.had and _is_had(units[k - 1], unit, lexicon) else k
        first = _left_edge(units, begin, taken, grammar)
        if first == k and (at := standard(units, k, taken, grammar)) < k:
            if any(word in units[at].word for word in grammar.inferior):  # 不如 老店 好: what it says is 不如
                continue
            first = at if held_to(units, at, k, lexicon, grammar) else k
        if not _asserted(units, k, first == k, grammar) or (first == k and _kind_of_place(units, k, lexicon, grammar)):
            continue
        last = k + 1 if k + 1 < count and units[k + 1].symbol == "Q" else k
        if last + 1 < count and units[last + 1].word in grammar.trailing and units[last + 1].start == units[last].end:
            if _wished(unit, units[first:k], lexicon, grammar):
                continue
            last += 1
        if last == k and k + 2 == count and _doubled(units, k):
            last += 1
        out += [_plain(u, lexicon, grammar) for u in units[taken:first]]
        start = unit.start if first == k else _start(units, first, k, lexicon, grammar)
        end = unit.end if last == k else units[last].end
        phrase = _phrase(unit, units[first:k], units[begin].start, lexicon, grammar)
        if last > k and units[last].word in grammar.bits and (last + 1 == count or units[last + 1].symbol in "kcr"):
            phrase = phrase._replace(degrees=(*phrase.degrees, BIT))
        item = Item(start, end, "O", text[start:end], unit.last, phrase)
        if out and unit.word in grammar.amounts and _by_how_much(out[-1], item, units[last + 1 : last + 2]):
            out[-1] = out[-1]._replace(end=end, word=text[out[-1].start : end])
        elif grammar.merge and out and out[-1].word == "而" and (free := _free_of(out, item, text)) is not None:
            out[-2:] = [free]
        elif grammar.merge and out and (run := _one_run(out[-1], item, text, grammar)) is not None:
            out[-1] = run
        else:
            out.append(item)
        taken = last + 1
    return out + [_plain(u, lexicon, grammar) for u in units[taken:]]


def _doubled(units: Sequence[Unit], k: int) -> bool:
    """Whether the last unit of the clause is a 的 that belongs to the predicate before it: 麵條QQ的, 餅皮酥酥脆脆的; 湯頭是燙燙的 has 是 … 的."""
    word = units[k].word
    if len(word) < 2 or word[-1] != word[-2]:
        return False
    return units[k + 1].symbol == "d" and units[k + 1].start == units[k].end and all(u.symbol != "S" for u in units[:k])


def _wished(unit: Unit, before: Sequence[Unit], lexicon: Lexicon, grammar: Grammar) -> bool:
    """甜一點, 再大一些: praise by comparison alone is what one would like; 偏甜一點 and 貴一點 tell how it is."""
    return lexicon.opinions[unit.word.lower()].valence >= 5 and all(u.word in grammar.wishing for u in before)


def _start(units: Sequence[Unit], first: int, k: int, lexicon: Lexicon, grammar: Grammar) -> int:
    """Where the phrase begins whose first unit is `first`: behind adverbs of the clause (還 蠻好吃, 都還 可以) and words of level (這麼 好吃)."""
    while first < k and (
        (units[first].word in grammar.scope and units[first + 1].symbol == "D")
        or units[first].word in grammar.levels
        or units[first].symbol == "d"
    ):
        first += 1
    return units[first].start + (_lead(units[first].word, lexicon, grammar) if first < k else 0)


def _lead(word: str, lexicon: Lexicon, grammar: Grammar) -> int:
    """How many characters of a degree word or negator are an adverb of the clause: 也蠻, 並不."""
    leads = word.startswith(grammar.scope) and (word[1:] in lexicon.degree or word[1:] in lexicon.negators)
    return 1 if leads else 0


def _is_had(before: Unit, unit: Unit, lexicon: Lexicon) -> bool:
    """帶有嚼勁, 有苦味: a quality and the word before it that says that a thing has it are one opinion."""
    return before.end == unit.start and unit.word in lexicon.aspects


def _phrase(unit: Unit, before: Sequence[Unit], begin: int, lexicon: Lexicon, grammar: Grammar) -> Phrase:
    """The opinion word `unit`, its core from `begin` on, with the units of its phrase that stand before it."""
    entry = lexicon.opinions[unit.word.lower()]
    if not before:
        return Phrase((unit.start, unit.end), entry, (), (), ())
    negators = [u for u in before if u.symbol == "N"]
    return Phrase(
        core=(begin, unit.end),
        entry=entry,
        negators=tuple(
            [(u.start + _lead(u.word, lexicon, grammar), u.start + len(bare_negator(u.word, lexicon, grammar.fillers))) for u in negators]
        ),
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


def _by_how_much(before: Item, item: Item, after: Sequence[Unit]) -> bool:
    """好吃很多, 便宜多了: an amount that touches an opinion and ends the statement says how much better or worse."""
    phrase = item.phrase
    touches = before.phrase is not None and before.end == item.start and phrase is not None and not phrase.negators
    return touches and (not after or after[0].symbol in "kcr")


def _free_of(out: Sequence[Item], item: Item, text: str) -> Item | None:
    """軟而不爛: a quality and the fault that it is free of are one opinion, which the fault denied decides; 濃而不稠 denies none.

    好看而不好吃 are two: praise denied is blame.
    """
    if len(out) < 2 or out[-2].end != out[-1].start or out[-1].end != item.start:
        return None
    first, second = out[-2].phrase, item.phrase
    if first is None or second is None or first.kinds or second.kinds != ("not",) or second.entry.valence >= PRAISE:
        return None
    decides = second if second.entry.valence < 5 else first
    core = first.core[0], second.core[1]
    return item._replace(start=out[-2].start, word=text[out[-2].start : item.end], phrase=decides._replace(core=core, negators=()))


def _one_run(before: Item, item: Item, text: str, grammar: Grammar) -> Item | None:
    """親切熱情: opinions of one sign that touch are one phrase, read with the first one's entry.

    A verdict on the whole (軟嫩好吃), what a thing has (厚實有彈性) and a longer phrase (軟嫩不油膩) say something of their own.
    """
    first, second = before.phrase, item.phrase
    if first is None or second is None or before.end != item.start or second.core[0] != item.start or first.core[1] != before.end:
        return None
    if second.entry.category.startswith(grammar.apart) or second.entry.word[0] in grammar.having or len(second.entry.word) > 2:
        return None
    if (first.entry.valence > 5) != (second.entry.valence > 5) or (first.entry.valence < 5) != (second.entry.valence < 5):
        return None
    core = first.core[0], second.core[1]
    return item._replace(start=before.start, word=text[before.start : item.end], phrase=first._replace(core=core))


def _asserted(units: Sequence[Unit], k: int, plain: bool, grammar: Grammar) -> bool:
    """Whether opinion word k says something here.

    小籠包 熱湯 老店: a one-character adjective before its noun, with nothing before it, names a kind. 可惜沒位子: a word that is an
    adverb here. 經典 古早味: words that judge only with a degree word, some also as
    predicates (口感特別). 喜歡咖啡的朋友: what an eater likes. 很多人: a quantity before its noun. 還可以加湯, 多吃幾串: before a verb.
    比一般的店: what a thing is held against.
    """
    unit = units[k]
    after = units[k + 1] if k + 1 < len(units) and units[k + 1].start == unit.end else None
    if unit.word in grammar.adverbial and after is not None and after.symbol in ("vrADNnupmHP" if plain else "v"):
        return False
    if unit.word in grammar.quantities and after is not None and after.symbol in "ntm" and (plain or after.word[0] not in NUMERALS):
        return False
    if unit.word in grammar.verbal and after is not None and (after.symbol == "v" or after.word[0] in _DOING) and after.word != "到":
        return False
    if unit.word in grammar.common and k and units[k - 1].word in grammar.standards | grammar.companions:
        return False
    if unit.word.startswith(grammar.likings) and _of_the_eater(units, k, grammar):
        return False
    if not plain:
        return True
    touches = k > 0 and units[k - 1].symbol == "A" and units[k - 1].end == unit.start
    if unit.word in grammar.gradable:
        return touches and unit.word in grammar.predicates and k + 1 == len(units)
    if touches:  # 湯濃麵硬: said of the aspect it touches
        return True
    return not (len(unit.word) == 1 and unit.word not in grammar.bare and after is not None and after.symbol in "nAtjmv")


def _of_the_eater(units: Sequence[Unit], k: int, grammar: Grammar) -> bool:
    """喜歡 咖啡 的 朋友, 不 愛喝 湯 的 我: what somebody likes to have, or does not like to eat, is said of nothing that was served."""
    if units[k].word in grammar.gradable and k and units[k - 1].symbol == "N":
        return True
    return any(after.word in grammar.persons and before.symbol == "d" for before, after in pairwise(units[k + 1 :]))


def _kind_of_place(units: Sequence[Unit], k: int, lexicon: Lexicon, grammar: Grammar) -> bool:
    """麻辣食堂, 酸辣口味: a taste word right before an aspect that is no food names a kind of it."""
    unit, after = units[k], units[k + 1] if k + 1 < len(units) else None
    if after is None or after.start != unit.end or after.symbol != "A" or (k and units[k - 1].symbol == "A"):
        return False
    return lexicon.opinions[unit.word.lower()].category.startswith(grammar.naming) and not lexicon.aspects[
        after.word.lower()
    ].cls.startswith(("food", "drink", "quality"))


def _plain(unit: Unit, lexicon: Lexicon, grammar: Grammar) -> Item:
    start, end, word, symbol, _, last = unit
    if symbol == "A":
        entry = lexicon.aspects[word.lower()]
        owner = _owner(unit, lexicon) if entry.cls[:8] == "quality." else None
        return Item(start, end, symbol, word, last, None, Term(entry.cls, owner, grammar.leads.get(word, 0)))
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
    return _level(units, edge, taken, grammar) if edge < k or units[k - 1].word in grammar.levels else edge


def _level(units: Sequence[Unit], edge: int, taken: int, grammar: Grammar) -> int:
    """沒有網路上說的那麼好喝: where a word of level stands in front, the negator some words before it denies the opinion.

    好久沒有吃到這麼好喝的 denies that it was met before, not that it is good.
    """
    at = edge if units[edge].word in grammar.levels else edge - 1
    if at < taken or units[at].word not in grammar.levels:
        return edge
    for j in range(at - 1, max(taken, at - grammar.level_gap) - 1, -1):
        if units[j].word in grammar.unequal:
            return j
        if units[j].word[0] in _MEETING:
            break
    return edge
