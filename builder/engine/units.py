"""Units of a clause, and the scene in which a pairing rule sees an opinion.

Words become units with one symbol each, so that rules can be regular expressions over a clause. In: the view's text,
its tokens and one clause. Out: a list of `Unit`s that tile the clause's words. The lexicon decides first (longest match
over token edges), the part of speech second.

A `Scene` is the question put to a pairing rule, an `AspectChoice` its answer. In: the constituents of a clause and what
was paired before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from builder.core.records import Token
from builder.engine.constituents import Constituent
from builder.engine.matching import Matcher, Refusal
from builder.engine.symbols import (
    ADV,
    ASPECT,
    DE,
    DEG,
    JUDGING,
    NEG,
    NOUN,
    OPINION,
    OTHER,
    POST,
    SYMBOL_OF_TAG,
    symbol_set,
)
from builder.engine.vocabulary import FunctionWordRule, Unit, UnitVocabulary
from builder.language.lexicon.resources import Lexicon

# ---- Scenes


class Topic(NamedTuple):
    """What an earlier clause was about: the aspects last paired there (or merely named, if `named`).

    `whole`: where those are attributes or parts (口感, 外皮), the dish or drink named before them. `is_list`: their
    clause lists them and holds nothing else (服務、環境，). `label`: a colon stands behind them.
    """

    aspects: tuple[Constituent, ...]
    named: bool
    whole: Constituent | None = None
    is_list: bool = False
    label: bool = False


class Scene(NamedTuple):
    """One opinion to be paired: its clause, its place there, the tokens, the topic carried over, and, where rules
    ask for them, all aspects of its sentence (`named`).

    `symbols` are those of the clause, `marked` the same with CURRENT for the opinion.
    """

    items: Sequence[Constituent]
    symbols: str
    marked: str
    at: int
    tokens: Sequence[Token]
    topic: Topic | None
    named: Sequence[Constituent] = ()

    @property
    def opinion(self) -> Constituent:
        """The opinion to be paired."""
        return self.items[self.at]


class AspectChoice(NamedTuple):
    """The aspects (one, or several of a coordination carried over) and the detail for the story of the triplet."""

    aspects: tuple[Constituent, ...]
    detail: str


Pairer = Callable[[Scene], AspectChoice | None]
"""A rule made ready: the aspects of a scene's opinion, or None where the rule does not apply."""


# ---- Units

QUOTES = frozenset('「」『』“”"《》【】')
"""Marks around a name (推薦「牛肉麵」) that part no clause from what is said of it."""
_LATIN = re.compile("[a-zß-öø-ɏ]{3,}")
"""Names in Latin letters that no lexicon holds (espresso)."""
_LATIN_WORD = re.compile("[a-zß-öø-ɏ]+")
_LONGEST_NAME = 4
"""Words of a name in Latin letters (fish and chips): more of them are a sentence."""


def read_units(
    text: str,
    tokens: Sequence[Token],
    place: tuple[int, int],
    lexicon: Lexicon,
    vocabulary: UnitVocabulary,
    readings: Matcher,
    refused: list[Refusal] | None = None,
) -> list[Unit]:
    """Units of the tokens of a place [first, stop), which lie in one clause; `readings`: rules of kind `read-as`.

    `text` is lower case where that keeps its length.
    """
    i, stop = place
    out: list[Unit] = []
    known, reach = vocabulary.symbols, vocabulary.reach
    while i < stop:
        start, end, pos, _, _ = tokens[i]
        if pos == "SPACE" or text[start] in QUOTES:
            i += 1
            continue
        j = i
        if start + reach.get(text[start : start + 2], 0) > end:
            j = _find_longest(text, tokens, i, stop, vocabulary)
            end = tokens[j].end
        word = text[start:end]
        if text[start] < "\x80" and (cut := _cut_behind_latin(text, tokens, start, j + 1, stop, vocabulary)):
            out += cut
            j += 1
        elif symbol := known.get(word):
            out.append(Unit(start, end, word, symbol, i, j))
        elif pos != "X" and (pieces := vocabulary.split(word)):
            out += [Unit(start + a, start + b, word[a:b], symbol, i, i) for a, b, symbol in pieces]
        else:
            j = _find_latin_name(text, tokens, i, stop, known)
            word = text[start : tokens[j].end]
            name = j > i or (pos == "X" and _LATIN.fullmatch(word))
            out.append(Unit(start, tokens[j].end, word, NOUN if name else SYMBOL_OF_TAG.get(pos, OTHER), i, i))
        i = j + 1
    return settle_roles(out, lexicon, vocabulary, readings, refused)


def lower_case(text: str) -> str:
    """`text` in lower case, of equal length: a few capitals have a lower case of two characters and stay."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _find_longest(text: str, tokens: Sequence[Token], i: int, stop: int, vocabulary: UnitVocabulary) -> int:
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


def _find_latin_name(text: str, tokens: Sequence[Token], i: int, stop: int, known: Mapping[str, str]) -> int:
    """The last token of the name in Latin letters that token i begins (crème brûlée, fish and chips); i if none does.

    No word of it is one that judges or names something, its last one is in no lexicon, and no number follows.
    """
    words = [i]
    while _LATIN_WORD.fullmatch(text, tokens[words[-1]].start, tokens[words[-1]].end):
        after = words[-1] + 2
        if after >= stop or tokens[after - 1].pos != "SPACE" or len(words) > _LONGEST_NAME:
            break
        if known.get(text[tokens[after].start : tokens[after].end]) in JUDGING:
            return i
        words.append(after)
    else:
        if text[tokens[words.pop()].start].isdigit():  # a code (Novo Pro 14)
            return i
    if len(words) < 2 or len(words) > _LONGEST_NAME:
        return i
    last = words[-1]
    return i if text[tokens[last].start : tokens[last].end] in known else last


def _cut_behind_latin(
    text: str, tokens: Sequence[Token], start: int, j: int, stop: int, vocabulary: UnitVocabulary
) -> list[Unit]:
    """CP 值高 is CP值 and 高: an entry that begins with Latin letters and ends inside token j, whose rest is a known
    word.

    Nothing if there is none.
    """
    if j >= stop or tokens[j].start != tokens[j - 1].end:
        return []
    known, end = vocabulary.symbols, tokens[j].end
    at = next((k for k in range(end - 1, tokens[j].start, -1) if text[start:k] in known and text[k:end] in known), 0)
    words = [(start, at), (at, end)] if at else []
    return [Unit(a, b, text[a:b], known[text[a:b]], j, j) for a, b in words]


# ---- Words of two roles, which take the one that their neighbours ask for

_ADVERBIAL = symbol_set("ADV DEG NEG COP")
"""Between a fault and what is said of it."""
_TWO_ROLES = symbol_set("OPINION NEG POST")
_STRENGTHENED = symbol_set("OPINION DEG NEG ADJ")
"""What a degree word stands before."""
_JUDGED_BEHIND = symbol_set("DEG NEG")
_JUDGED_BEHIND_HAVING = symbol_set("DEG NEG HAVE")
"""What an opinion stands behind that may be an aspect as well."""
_LACK_ENDS = symbol_set("PART DE CONJ BUT")
"""What stands behind a lack that denies nothing (不夠)."""


def settle_roles(
    units: list[Unit], lexicon: Lexicon, vocabulary: UnitVocabulary, readings: Matcher, refused: list[Refusal] | None
) -> list[Unit]:
    """The units, changed in place from the last to the first. What a rule of `readings` takes for another kind of unit
    is added to `refused`.
    """
    rule, had = vocabulary.rule, vocabulary.had
    judged = _JUDGED_BEHIND_HAVING if had else _JUDGED_BEHIND
    for i in range(len(units) - 1, -1, -1):
        unit = units[i]
        reading = readings.find_reading(units, i)
        parts = reading.apart.get(unit.word) if reading else None
        if reading and (parts or reading.symbol):
            if refused is not None:
                refused.append(Refusal(unit.start, unit.end, (reading.rule,)))
            units[i : i + 1] = (
                _take_apart(unit, parts, lexicon, vocabulary) if parts else [unit._replace(symbol=reading.symbol)]
            )
            continue
        if unit.symbol not in _TWO_ROLES:
            continue
        symbol = _settle_role(units, i, lexicon, rule, judged)
        if symbol != unit.symbol:
            units[i] = Unit(unit.start, unit.end, unit.word, symbol, unit.first, unit.last)
    return units


def _take_apart(unit: Unit, parts: Sequence[str], lexicon: Lexicon, vocabulary: UnitVocabulary) -> list[Unit]:
    """人很多 as 人, 很 and 多: a unit as its parts, each of the kind that it is by itself, or a degree word (好)."""
    starts = accumulate(map(len, parts[:-1]), initial=unit.start)
    kinds = [DEG if part in lexicon.degree else vocabulary.symbols.get(part, OTHER) for part in parts]
    return [
        Unit(start, start + len(part), part, kind, unit.first, unit.last)
        for start, part, kind in zip(starts, parts, kinds, strict=True)
    ]


def _settle_role(
    units: Sequence[Unit], i: int, lexicon: Lexicon, rule: FunctionWordRule, judged: frozenset[str]
) -> str:
    """The symbol of unit i among its neighbours, of which those behind it are settled.

    Opinion or degree (特別, 好): degree before an opinion or another adjective, but an opinion where it is one of
    `praising` behind a degree word or negator (不 好 很 慢). Opinion or aspect (特色, 服務): an opinion only behind one
    of `judged`, a degree word, negator or word of having (帶有嚼勁). A lack (不夠) with nothing behind it is the
    opinion. Degree words with nothing to strengthen are plain adverbs, POST words that follow no opinion likewise.
    """
    word, symbol = units[i].word, units[i].symbol
    before = units[i - 1].symbol if i else ""
    after = units[i + 1].symbol if i + 1 < len(units) else ""
    if after == DE and i + 2 < len(units):  # 意外的好吃, 意外的不好吃
        denied = units[i + 2].symbol == NEG and i + 3 < len(units)
        after = OPINION if units[i + 2 + denied].symbol == OPINION else after
    degree = lexicon.degree.get(word) if symbol == OPINION else None
    if degree == "post":
        return POST if before == OPINION else OPINION
    if degree and after in _STRENGTHENED:
        return OPINION if word in rule.praising and before in _JUDGED_BEHIND else DEG
    if (
        symbol == OPINION
        and word in lexicon.aspects
        and before not in judged
        and _is_described(word, units, i, lexicon, rule)
    ):
        return ASPECT
    alone = not after or after in _LACK_ENDS or (before == DEG and word[-1] == "了")  # 太 少了
    if symbol == NEG and word in lexicon.opinions and alone:
        return OPINION
    return ADV if symbol == POST and before != OPINION else symbol


def _is_described(word: str, units: Sequence[Unit], i: int, lexicon: Lexicon, rule: FunctionWordRule) -> bool:
    """Whether word i of two roles is what an opinion is about: a fault (有腥味), and one of `judged`, only if one
    follows, over adverbs (腥味很重), or stands before 的 (很重的 腥味).
    """
    if lexicon.role(word) != "fault" and word not in rule.judged:
        return True
    if i > 1 and units[i - 1].symbol == DE and units[i - 2].word in lexicon.context:
        return True
    return next((unit.symbol for unit in units[i + 1 :] if unit.symbol not in _ADVERBIAL), "") == OPINION
