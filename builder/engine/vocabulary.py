"""Every word that has a role for the engine, with the symbol of the unit that it becomes.

In: a lexicon and the rule that names function words. Out: `UnitVocabulary`, in which `units` looks words up and takes
unknown ones apart. The lexicon decides a symbol first, function words override it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from builder.core.errors import ResourceError
from builder.engine.symbols import (
    ADJ,
    ASPECT,
    BLOCKED,
    DEG,
    IRREALIS,
    JUDGING,
    NEG,
    NOUN,
    OPINION,
    OTHER,
    POST,
    SYMBOL_OF_TAG,
    SYMBOLS,
    VERB,
)
from builder.language.lexicon.resources import Lexicon, OpinionEntry
from builder.language.lexicon.rules import Rule

_SYMBOL_OF_MORPHEME = {"verb": VERB, "adjective": ADJ, "noun": NOUN}
"""Parts of names stay whole (鹽酥 溪蝦), also where they hold an opinion word."""
LONGEST_SPLIT = 6
"""Longest unknown word in characters that is taken apart into known ones."""
MAX_WORD = 12
"""Longest lexicon entry in characters that is looked for."""
_CACHE = 100_000
Piece = tuple[int, int, str]
"""Start, end and symbol of a part of a word."""


class Unit(NamedTuple):
    """A word (or several tokens that make one lexicon entry): [start, end) in the view, symbol, and the tokens it
    covers. `entry`: that of an opinion which a construction makes (`engine.predicates`); others are looked up.

    A tuple because the engine makes millions: a frozen dataclass takes three times as long to make.
    """

    start: int
    end: int
    word: str
    symbol: str
    first: int
    last: int
    entry: OpinionEntry | None = None


@dataclass(frozen=True, slots=True)
class FunctionWordRule:
    """Parameters of a rule of kind `function-words`.

    `units`: name of a unit -> the words that are it whatever their part of speech. `judged`: words that are aspects
    only before an opinion (冰 很好吃). `praising`: words that give a degree (好 多人) only where no degree word or
    negator stands before them (很 好 很 快). `passing`: crowds and queues, which are no topic.
    """

    units: Mapping[str, tuple[str, ...]]
    judged: frozenset[str] = frozenset()
    praising: frozenset[str] = frozenset()
    passing: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class UnitVocabulary:
    """Every word with a role as word -> symbol; for each two first characters the length of the longest such word.

    `had`: whether a quality becomes an opinion behind a word of having. `pieces`: words that a convention reads apart
    (吃到飽 as 吃 到 飽), each as its parts. `splits` remembers how unknown words fall apart: most come again and again.
    """

    symbols: Mapping[str, str]
    reach: Mapping[str, int]
    rule: FunctionWordRule
    had: bool = True
    pieces: Mapping[str, tuple[Piece, ...]] = field(default_factory=dict)
    splits: dict[str, tuple[Piece, ...]] = field(default_factory=dict, compare=False)

    @classmethod
    def of(
        cls, lexicon: Lexicon, rule: FunctionWordRule, apart: Collection[str] = (), had: bool = True
    ) -> UnitVocabulary:
        """Opinion before negator, degree word, aspect …; `roles` settles words with two roles.
        `apart` become `pieces`.
        """
        morphemes = lexicon.morphemes.items()
        symbols = {
            word: _SYMBOL_OF_MORPHEME[role] for word, role in morphemes if len(word) > 1 and role in _SYMBOL_OF_MORPHEME
        }
        tagged = {word: SYMBOL_OF_TAG.get(pos, OTHER) for word, pos in lexicon.general.items()}
        symbols |= {word: BLOCKED if symbol == NOUN else symbol for word, symbol in tagged.items()}
        symbols |= dict.fromkeys(lexicon.not_aspects, BLOCKED)
        symbols |= dict.fromkeys(lexicon.irrealis, IRREALIS)
        symbols |= dict.fromkeys(lexicon.aspects, ASPECT)
        symbols |= {word: POST if kind == "post" else DEG for word, kind in lexicon.degree.items()}
        symbols |= dict.fromkeys(lexicon.negators, NEG)
        lacking = {word for word, kind in lexicon.negators.items() if kind in ("fail", "short")}
        symbols |= dict.fromkeys(lexicon.opinions.keys() - lacking, OPINION)
        symbols |= {word: SYMBOLS[name] for name, words in rule.units.items() for word in words}
        longest = {word[:2]: word for word in sorted(symbols, key=len)}
        reach = {head: min(len(word), MAX_WORD) for head, word in longest.items()}
        pieces = {word: cut for word in apart if (cut := _cut_longest_first(word, symbols))}
        return cls(symbols, reach, rule, had, pieces)

    def split(self, word: str) -> tuple[Piece, ...]:
        """偏甜 太乾 皮脆肉嫩: the parts of a word that no lexicon holds.

        Only of one that falls apart into known words: with an opinion among them, or an aspect and a degree word
        (肉超 of 肉超好吃); else nothing.
        """
        if pieces := self.pieces.get(word):
            return pieces
        if not 2 <= len(word) <= LONGEST_SPLIT:
            return ()
        pieces = self.splits.get(word)
        if pieces is None:
            pieces = _cut_into_fewest(word, self.symbols)
            if len(self.splits) < _CACHE:
                self.splits[word] = pieces
        return pieces


def entry_of(unit: Unit, lexicon: Lexicon) -> OpinionEntry:
    """The entry of an opinion unit: its own, or that of the lexicon."""
    return unit.entry or lexicon.opinions[unit.word.lower()]


def check_units(rule: Rule, function_words: FunctionWordRule) -> FunctionWordRule:
    """The parameters, if every name in `units` is one of a unit; ResourceError with the line otherwise."""
    for name in function_words.units:
        if name not in SYMBOLS:
            fix = "known: " + ", ".join(sorted(SYMBOLS))
            raise ResourceError(f"rule {rule.name!r}: unknown unit {name!r}", where=rule.at("units"), fix=fix)
    return function_words


def _cut_longest_first(word: str, symbols: Mapping[str, str]) -> tuple[Piece, ...]:
    """`word` as the longest known words from the left, other characters as they are; nothing if that finds no aspect
    or opinion.
    """
    out: list[Piece] = []
    at = 0
    while at < len(word):
        stop = next((s for s in range(len(word), at + 1, -1) if word[at:s] in symbols and word[at:s] != word), at + 1)
        out.append((at, stop, symbols.get(word[at:stop], OTHER)))
        at = stop
    return tuple(out) if any(symbol in JUDGING for _, _, symbol in out) else ()


def _cut_into_fewest(word: str, symbols: Mapping[str, str]) -> tuple[Piece, ...]:
    """The fewest known words that make up `word`; nothing if none of them is an opinion, or an aspect with a degree
    word behind it.
    """
    best: list[list[Piece] | None] = [[]] + [None] * len(word)
    for stop in range(1, len(word) + 1):
        for at in range(stop):
            before, known = best[at], best[stop]
            symbol = symbols.get(word[at:stop], "")
            usable = before is not None and symbol and symbol != BLOCKED
            if usable and before is not None and (known is None or len(before) + 1 < len(known)):
                best[stop] = [*before, (at, stop, symbol)]
    pieces = best[-1] or []
    kinds = [symbol for _, _, symbol in pieces]
    return tuple(pieces) if OPINION in kinds or kinds == [ASPECT, DEG] else ()
