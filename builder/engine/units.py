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
from typing import NamedTuple

from builder.core.records import Token
from builder.engine.constituents import Constituent
from builder.engine.matching import Matcher, Refusal
from builder.engine.quoting import QUOTES
from builder.engine.roles import settle_roles
from builder.engine.symbols import JUDGING, NOUN, OTHER
from builder.engine.vocabulary import SYMBOL_OF_TAG, Unit, UnitVocabulary
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
    first, stop = place
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
