"""Words of a clause become units: one symbol each, so that rules can be regular expressions over a clause.

In: the view's text, its tokens and one clause. Out: a list of `Unit`s that tile the clause's words, and their symbol string. The
lexicon decides first (longest match over token edges), the part of speech second.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from builder.lexicon.resources import Lexicon
from builder.records import Token

SYMBOLS: Mapping[str, str] = {
    "ASPECT": "A",
    "OPINION": "O",
    "NEG": "N",
    "DEG": "D",
    "POST": "Q",
    "IRREALIS": "I",
    "BLOCKED": "t",
    "NOUN": "n",
    "VERB": "v",
    "ADJ": "j",
    "ADV": "r",
    "PRON": "p",
    "NUM": "m",
    "CONJ": "c",
    "LIST": "l",
    "PREP": "P",
    "THAN": "b",
    "AUX": "u",
    "PART": "k",
    "DE": "d",
    "DEGREE_DE": "e",
    "COP": "S",
    "HAVE": "H",
    "OTHER": "x",
}
"""Names for rules -> one-character symbols. `CURRENT` (!) and `TARGET` belong to the pattern language (`patterns`)."""

_POS = {
    "NOUN": "n", "PROPN": "n", "VERB": "v", "ADJ": "j", "ADV": "r", "PRON": "p", "DET": "p", "NUM": "m", "CCONJ": "c", "CONJ": "c",
    "SCONJ": "r", "ADP": "P", "AUX": "u", "PART": "k", "INTJ": "k", "PUNCT": "x", "SYM": "x", "X": "x",
}  # fmt: skip
_WORDS = {
    "的": "d", "之": "d", "得": "e", "是": "S", "算是": "S", "算": "S", "屬於": "S", "有": "H", "帶有": "H", "帶": "H", "富有": "H", "附有": "H",
    "會有": "H", "帶點": "H", "帶著": "H", "帶些": "H", "具": "H", "具有": "H", "具備": "H", "富含": "H", "充滿": "H", "保有": "H", "有著": "H",
    "、": "l", "和": "c", "跟": "c", "與": "c", "及": "c", "以及": "c", "還有": "c", "或": "c", "或是": "c", "&": "c", "+": "c", "比": "b", "比起": "b",
    "了": "k", "著": "k", "過": "k", "啊": "k", "啦": "k", "喔": "k", "哦": "k", "呢": "k", "吧": "k", "欸": "k", "耶": "k",
}  # fmt: skip
_PARTS = {"method": "v", "flavour": "j", "ingredient": "n"}
"""Parts of dish names stay whole (鹽酥 溪蝦), also where they hold an opinion word."""
_LATIN = re.compile("[a-z]{3,}")
"""Names in Latin letters that no lexicon holds (espresso)."""
LONGEST_SPLIT = 6
"""Longest unknown word in characters that is taken apart into known ones."""
MAX_WORD = 12
"""Longest lexicon entry in characters that is looked for."""
_CACHE = 100_000
SMELL = "quality.smell"
"""Class of faults that are opinions of the dish (有腥味) unless something is said of them (腥味很重)."""
_TWO_ROLES, _DEGREES = frozenset("ONQ"), frozenset(("過", "帶點", "帶些"))
"""Symbols, and words besides, that `_resolve` may change."""
_LACKS = ("沒有", "沒", "無")
_MUCH = ("taste.salty", "taste.sour", "taste.spicy", "taste.sweet", "greasy", "cloying")
"""Categories of tastes that can be too much."""
_Part = tuple[int, int, str]


class Unit(NamedTuple):
    """A word (or several tokens that make one lexicon entry): [start, end) in the view, symbol, and the tokens it covers.

    A tuple because the engine makes millions: a frozen dataclass takes three times as long to make.
    """

    start: int
    end: int
    word: str
    symbol: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Every word with a role as word -> symbol; for each two first characters the length of the longest such word.

    `had`: whether a quality becomes an opinion behind a word of having. `pieces`: words that a convention reads apart (吃到飽 as 吃 到 飽), each as its parts. `splits` remembers how unknown words fall apart: most
    come again and again.
    """

    symbols: Mapping[str, str]
    reach: Mapping[str, int]
    had: bool = True
    pieces: Mapping[str, tuple[_Part, ...]] = field(default_factory=dict)
    splits: dict[str, tuple[_Part, ...]] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, lexicon: Lexicon, apart: Collection[str] = (), had: bool = True) -> Vocabulary:
        """Opinion before negator, degree word, aspect …; `_resolve` settles words with two roles. `apart` become `pieces`."""
        symbols = {word: _PARTS[role] for word, role in lexicon.morphemes.items() if len(word) > 1 and role in _PARTS}
        symbols |= {word: "t" if _POS.get(pos) == "n" else _POS.get(pos, "x") for word, pos in lexicon.general.items()}
        symbols |= dict.fromkeys(lexicon.not_aspects, "t") | dict.fromkeys(lexicon.irrealis, "I") | dict.fromkeys(lexicon.aspects, "A")
        symbols |= {word: "Q" if kind == "post" else "D" for word, kind in lexicon.degree.items()}
        lacking = {word for word, kind in lexicon.negators.items() if kind in ("fail", "short")}
        symbols |= dict.fromkeys(lexicon.negators, "N") | dict.fromkeys(lexicon.opinions.keys() - lacking, "O") | _WORDS
        reach: dict[str, int] = {}
        for word in symbols:
            reach[word[:2]] = max(reach.get(word[:2], 0), min(len(word), MAX_WORD))
        return cls(symbols, reach, had, {word: cut for word in apart if (cut := _longest_pieces(word, symbols))})


def _longest_pieces(word: str, symbols: Mapping[str, str]) -> tuple[_Part, ...]:
    """`word` as the longest known words from the left, other characters as they are; nothing if that finds no aspect or opinion."""
    out: list[_Part] = []
    at = 0
    while at < len(word):
        stop = next((s for s in range(len(word), at + 1, -1) if word[at:s] in symbols and word[at:s] != word), at + 1)
        out.append((at, stop, symbols.get(word[at:stop], "x")))
        at = stop
    return tuple(out) if any(symbol in "OA" for _, _, symbol in out) else ()


def units(text: str, tokens: Sequence[Token], first: int, stop: int, lexicon: Lexicon, vocabulary: Vocabulary) -> list[Unit]:
    """Units of tokens[first:stop], which lie in one clause. `text` is lower case where that keeps its length."""
    out: list[Unit] = []
    known, reach = vocabulary.symbols, vocabulary.reach
    i = first
    while i < stop:
        start, end, pos, _, _ = tokens[i]
        if pos == "SPACE":
            i += 1
            continue
        j = i
        word = text[start:end]
        if start + reach.get(text[start : start + 2], 0) > end:
            j = _longest(text, tokens, i, stop, vocabulary)
            end = tokens[j].end
            word = text[start:end]
        if text[start] < "\x80" and (cut := _cut_behind_latin(text, tokens, start, j + 1, stop, vocabulary)):
            out += cut
            j += 1
        elif symbol := known.get(word):
            out.append(Unit(start, end, word, symbol, i, j))
        elif parts := _parts(word, vocabulary):
            out += [Unit(start + a, start + b, word[a:b], role, i, i) for a, b, role in parts]
        else:
            out.append(Unit(start, end, word, "n" if pos == "X" and _LATIN.fullmatch(word) else _POS.get(pos, "x"), i, i))
        i = j + 1
    return _resolve(_denied_whole(out, lexicon), lexicon, "DNH" if vocabulary.had else "DN")


def _denied_whole(listed: list[Unit], lexicon: Lexicon) -> list[Unit]:
    """根本沒有 味道 is 根本 沒有味道: a negator of several words gives its last one to the aspect behind it where an opinion is made of both."""
    out = listed
    for i in range(len(listed) - 2, -1, -1):
        negator, after = listed[i], listed[i + 1]
        if negator.symbol != "N" or after.symbol not in "An" or negator.end != after.start:
            continue
        tail = next((one for one in _LACKS if negator.word.endswith(one) and one + after.word.lower() in lexicon.opinions), "")
        if tail and (at := len(negator.word) - len(tail)):
            adverb = Unit(
                negator.start, negator.start + at, negator.word[:at], "D" if negator.word[:at] in lexicon.degree else "r", *negator[4:]
            )
            whole = Unit(adverb.end, after.end, tail + after.word, "O", negator.last, after.last)
            out = [*out[:i], adverb, whole, *out[i + 2 :]]
    return out


def lower(text: str) -> str:
    """`text` in lower case, of equal length: a few capitals have a lower case of two characters and stay."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _longest(text: str, tokens: Sequence[Token], i: int, stop: int, vocabulary: Vocabulary) -> int:
    """The last token of the longest entry that starts at token i; token i if none does."""
    start = tokens[i].start
    limit = start + vocabulary.reach.get(text[start : start + 2], 0)
    j = i
    while j + 1 < stop and tokens[j + 1].end <= limit:
        j += 1
    known = vocabulary.symbols
    while j > i and text[start : tokens[j].end] not in known:
        j -= 1
    return j


def _cut_behind_latin(text: str, tokens: Sequence[Token], start: int, j: int, stop: int, vocabulary: Vocabulary) -> list[Unit]:
    """CP 值高 is CP值 and 高: an entry that begins with Latin letters and ends inside token j, whose rest is a known word; else nothing."""
    if j >= stop or tokens[j].start != tokens[j - 1].end:
        return []
    known, end = vocabulary.symbols, tokens[j].end
    at = next((k for k in range(end - 1, tokens[j].start, -1) if text[start:k] in known and text[k:end] in known), 0)
    words = [(start, at), (at, end)] if at else []
    return [Unit(a, b, text[a:b], known[text[a:b]], j, j) for a, b in words]


def _parts(word: str, vocabulary: Vocabulary) -> tuple[_Part, ...]:
    """偏甜 太乾 皮脆肉嫩: a word that no lexicon holds but that falls apart into known ones, an opinion among them; else nothing."""
    if apart := vocabulary.pieces.get(word):
        return apart
    if not 2 <= len(word) <= LONGEST_SPLIT:
        return ()
    found = vocabulary.splits.get(word)
    if found is None:
        found = _split(word, vocabulary.symbols)
        if len(vocabulary.splits) < _CACHE:
            vocabulary.splits[word] = found
    return found


def _split(word: str, symbols: Mapping[str, str]) -> tuple[_Part, ...]:
    """The fewest known words that make up `word` as (start, end, symbol) of each."""
    best: list[list[_Part] | None] = [[]] + [None] * len(word)
    for stop in range(1, len(word) + 1):
        for at in range(stop):
            before, known = best[at], best[stop]
            symbol = symbols.get(word[at:stop], "")
            if before is not None and symbol and symbol != "t" and (known is None or len(before) + 1 < len(known)):
                best[stop] = [*before, (at, stop, symbol)]
    parts = best[-1] or []
    return tuple(parts) if any(symbol == "O" for _, _, symbol in parts) else ()


def _resolve(listed: list[Unit], lexicon: Lexicon, judging: str) -> list[Unit]:
    """Words with two roles take the one their neighbours ask for.

    Opinion or degree (特別, 好): degree before an opinion or another adjective. Opinion or aspect (特色, 服務): an opinion only
    where one of `judging` stands before it, a degree word, negator or word of having (帶有嚼勁). A lack (不夠) with nothing behind it is the opinion.
    帶點 is a degree word before an adjective that ends its phrase (口味帶點甜). 過 before an opinion says too much of it unless a verb stands before
    it, and 不過 between an aspect and its only opinion denies that if it is a taste (紅豆 不過 甜). Degree words with nothing to strengthen are plain
    adverbs, POST words that follow no opinion likewise.
    """
    out = listed
    for i in range(len(out) - 1, -1, -1):
        unit = out[i]
        if unit.symbol not in _TWO_ROLES and unit.word not in _DEGREES:
            continue
        after = out[i + 1].symbol if i + 1 < len(out) else ""
        if after == "d" and i + 2 < len(out) and out[i + 2].symbol == "O":  # 意外的好吃
            after = "O"
        before = out[i - 1].symbol if i else ""
        word = unit.word
        symbol = unit.symbol
        degree = lexicon.degree.get(word) if symbol == "O" else None
        if degree == "post":
            symbol = "Q" if before == "O" else "O"
        elif degree and after and after in "ODNj":
            symbol = "D"
        elif symbol == "O" and word in lexicon.aspects and (not before or before not in judging) and _described(word, out, i, lexicon):
            symbol = "A"
        elif (
            symbol == "N"
            and word in lexicon.opinions
            and (not after or after in "kd" or (after in "Ac" and before == "A" and word[-1] != "了"))
        ):
            symbol = "O"
        elif symbol == "Q" and before != "O":
            symbol = "r"
        elif word in _DEGREES and after == "O" and _tells_degree(out, i, lexicon):
            symbol = "D"
        elif word == "不過" and not (before == "A" and after == "O" and _denies_much(out, i, lexicon)):
            symbol = "r"
        if symbol != unit.symbol:
            out[i] = Unit(unit.start, unit.end, unit.word, symbol, unit.first, unit.last)
    return out


def _tells_degree(listed: Sequence[Unit], i: int, lexicon: Lexicon) -> bool:
    """炒得 過 硬, but not 吃 過 好吃的; 口味 帶點 甜, but not 帶點 濃郁的香味 nor a quality (帶點 嚼勁)."""
    word, before = listed[i].word, listed[i - 1] if i else None
    if word == "過":
        return before is None or before.symbol != "v" or before.word[-1] == "得"
    ends = i + 2 == len(listed) or listed[i + 2].symbol not in "dAn"
    return ends and listed[i + 1].word not in lexicon.aspects


def _denies_much(listed: Sequence[Unit], i: int, lexicon: Lexicon) -> bool:
    """紅豆 不過 甜: of a taste that may be too much, where nothing was said before; but not 停車 不過 方便."""
    told = lexicon.opinions.get(listed[i + 1].word)
    return told is not None and told.category.startswith(_MUCH) and all(unit.symbol != "O" for unit in listed[:i])


def _described(word: str, listed: Sequence[Unit], i: int, lexicon: Lexicon) -> bool:
    """Whether word i of two roles is what an opinion is about: a smell only if one follows, over adverbs, or stands before 的 (很重的 腥味)."""
    if lexicon.aspects[word].cls != SMELL:
        return True
    if i > 1 and listed[i - 1].symbol == "d" and listed[i - 2].word in lexicon.context:
        return True
    return next((listed[k].symbol for k in range(i + 1, len(listed)) if listed[k].symbol not in "rDNS"), "") == "O"
