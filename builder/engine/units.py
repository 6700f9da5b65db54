"""Words of a clause become units: one symbol each, so that rules can be regular expressions over a clause.

In: the view's text, its tokens and one clause. Out: a list of `Unit`s that tile the clause's words. The lexicon
decides first (longest match over token edges), the part of speech second.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from builder.engine.quoting import QUOTES
from builder.engine.roles import join_lacks, settle_roles
from builder.engine.symbols import NOUN, OPINION, OTHER, POST
from builder.engine.vocabulary import SYMBOL_OF_TAG, Unit, UnitVocabulary
from builder.lexicon.resources import Lexicon
from builder.records import Token

_LATIN = re.compile("[a-z]{3,}")
"""Names in Latin letters that no lexicon holds (espresso)."""


def read_units(
    text: str, tokens: Sequence[Token], first: int, stop: int, lexicon: Lexicon, vocabulary: UnitVocabulary
) -> list[Unit]:
    """Units of tokens[first:stop], which lie in one clause. `text` is lower case where that keeps its length."""
    out: list[Unit] = []
    known, reach = vocabulary.symbols, vocabulary.reach
    i = first
    while i < stop:
        start, end, pos, _, _ = tokens[i]
        if pos == "SPACE" or text[start] in QUOTES:
            i += 1
            continue
        j = i
        word = text[start:end]
        if start + reach.get(text[start : start + 2], 0) > end:
            j = _find_longest(text, tokens, i, stop, vocabulary)
            end = tokens[j].end
            word = text[start:end]
        if text[end - 1] == "到" and (cut := _cut_before_degree(text, tokens, start, j, stop, vocabulary)):
            out += cut
            j = cut[-1].last
        elif text[start] < "\x80" and (cut := _cut_behind_latin(text, tokens, start, j + 1, stop, vocabulary)):
            out += cut
            j += 1
        elif symbol := known.get(word):
            out.append(Unit(start, end, word, symbol, i, j))
        elif pieces := vocabulary.split(word):
            out += [Unit(start + a, start + b, word[a:b], symbol, i, i) for a, b, symbol in pieces]
        else:
            symbol = NOUN if pos == "X" and _LATIN.fullmatch(word) else SYMBOL_OF_TAG.get(pos, OTHER)
            out.append(Unit(start, end, word, symbol, i, i))
        i = j + 1
    return settle_roles(join_lacks(out, lexicon, vocabulary.rule), lexicon, vocabulary.rule, vocabulary.had)


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


def _cut_before_degree(
    text: str, tokens: Sequence[Token], start: int, j: int, stop: int, vocabulary: UnitVocabulary
) -> list[Unit]:
    """快到 不行 is 快 and 到不行: an opinion in one word with the first character of the degree behind it.

    Nothing if there is none.
    """
    known, at = vocabulary.symbols, tokens[j].end - 1
    if known.get(text[start:at]) != OPINION:
        return []
    for k in range(min(stop, j + 4) - 1, j, -1):
        if known.get(degree := text[at : tokens[k].end]) == POST:
            return [Unit(start, at, text[start:at], OPINION, j, j), Unit(at, tokens[k].end, degree, POST, j, k)]
    return []


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
