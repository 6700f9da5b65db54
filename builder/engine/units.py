"""Words of a clause become units: one symbol each, so that rules can be regular expressions over a clause.

In: the view's text, its tokens and one clause. Out: a list of `Unit`s that tile the clause's words, and their symbol string. The
lexicon decides first (longest match over token edges), the part of speech second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from builder.records import Token
from builder.resources import Lexicon

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
    "、": "l", "和": "c", "跟": "c", "與": "c", "及": "c", "以及": "c", "還有": "c", "或": "c", "或是": "c", "&": "c", "+": "c", "比": "b", "比起": "b",
    "了": "k", "著": "k", "過": "k", "啊": "k", "啦": "k", "喔": "k", "哦": "k", "呢": "k", "吧": "k", "欸": "k", "耶": "k",
}  # fmt: skip
MAX_WORD = 12
"""Longest lexicon entry in characters that is looked for."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A word (or several tokens that make one lexicon entry): [start, end) in the view, symbol, and the tokens it covers."""

    start: int
    end: int
    word: str
    symbol: str
    first: int
    last: int


def units(text: str, tokens: Sequence[Token], first: int, stop: int, lexicon: Lexicon) -> list[Unit]:
    """Units of tokens[first:stop], which lie in one clause."""
    out: list[Unit] = []
    i = first
    while i < stop:
        if tokens[i].pos == "SPACE":
            i += 1
            continue
        j, symbol = _longest(text, tokens, i, stop, lexicon)
        start, end = tokens[i].start, tokens[j].end
        out.append(Unit(start, end, text[start:end], symbol, i, j))
        i = j + 1
    return _resolve(out, lexicon)


def _longest(text: str, tokens: Sequence[Token], i: int, stop: int, lexicon: Lexicon) -> tuple[int, str]:
    """The last token and the symbol of the longest entry that starts at token i, or of the token itself."""
    start = tokens[i].start
    reach = i
    while reach + 1 < stop and tokens[reach + 1].end - start <= MAX_WORD:
        reach += 1
    for j in range(reach, i - 1, -1):
        symbol = _lookup(text[start : tokens[j].end].lower(), lexicon)
        if symbol:
            return j, symbol
    return i, _POS.get(tokens[i].pos, "x")


def _lookup(word: str, lexicon: Lexicon) -> str:
    """The symbol the lexicons give a word, empty if none knows it. Opinion before aspect; `_resolve` settles the rest."""
    if word in _WORDS:
        return _WORDS[word]
    if word in lexicon.opinions:
        return "O"
    if word in lexicon.negators:
        return "N"
    if word in lexicon.degree:
        return "Q" if lexicon.degree[word] == "post" else "D"
    if word in lexicon.aspects:
        return "A"
    if word in lexicon.irrealis:
        return "I"
    if word in lexicon.not_aspects:
        return "t"
    if word in lexicon.general:
        symbol = _POS.get(lexicon.general[word], "x")
        return "t" if symbol == "n" else symbol
    return ""


def _resolve(listed: list[Unit], lexicon: Lexicon) -> list[Unit]:
    """Words with two roles take the one their neighbours ask for.

    Opinion or degree (特別, 好): degree before an opinion or another adjective. Opinion or aspect (特色, 服務): an opinion only
    where a degree word or negator stands before it. Degree words with nothing to strengthen are plain adverbs, POST words that
    follow no opinion likewise.
    """
    out = list(listed)
    for i in range(len(out) - 1, -1, -1):
        unit = out[i]
        after = out[i + 1].symbol if i + 1 < len(out) else ""
        before = out[i - 1].symbol if i else ""
        word = unit.word.lower()
        symbol = unit.symbol
        if symbol == "O" and word in lexicon.degree and lexicon.degree[word] != "post" and after and after in "ODNj":
            symbol = "D"
        elif symbol == "O" and word in lexicon.aspects and before not in ("D", "N"):
            symbol = "A"
        elif symbol == "Q" and before != "O":
            symbol = "r"
        if symbol != unit.symbol:
            out[i] = Unit(unit.start, unit.end, unit.word, symbol, unit.first, unit.last)
    return out


def symbols(listed: Sequence[Unit]) -> str:
    return "".join(unit.symbol for unit in listed)
