"""Units of a clause: every word with the role that it has for the engine.

Words become units with one symbol each, so that rules can be regular expressions over a clause. In: the view's text,
its tokens and one clause. Out: `Constituent`s that tile the clause's words. The lexicon decides first (longest match
over token edges), function words override it, and the part of speech comes last. Unknown words are taken apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from itertools import accumulate

from builder.core.records import Token
from builder.engine.constituents import Constituent, Units
from builder.engine.matching import Matcher, Refusal, UnitReading
from builder.engine.rows import Classes, WordTable
from builder.engine.symbols import (
    ADJ,
    ADV,
    ASPECT,
    BLOCKED,
    DE,
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
    symbol_set,
)
from builder.language.lexicon.resources import Lexicon

_SYMBOL_OF_MORPHEME = {"verb": VERB, "adjective": ADJ, "noun": NOUN}
"""Parts of names stay whole (鹽酥 溪蝦), also where they hold an opinion word."""
_LONGEST_SPLIT = 6
"""Longest unknown word in characters that is taken apart into known ones."""
MAX_WORD = 12
"""Longest lexicon entry in characters that is looked for."""
_CACHE = 100_000
_Piece = tuple[int, int, str]
"""Start, end and symbol of a part of a word."""
QUOTES = frozenset('「」『』“”"《》【】')
"""Marks around a name (推薦「牛肉麵」) that part no clause from what is said of it."""
_LATIN = re.compile("[a-zß-öø-ɏ]{3,}")
"""Names in Latin letters that no lexicon holds (espresso)."""
_LATIN_NAME = re.compile("[a-zß-öø-ɏ]++(?: [a-zß-öø-ɏ]++){1,3}+(?! ?[a-z0-9ß-öø-ɏ])")
"""A name of several words in Latin letters (fish and chips), up to four: more are a sentence, a code has a number."""
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


class UnitReader:
    """Every word with a role as word -> symbol; for each two first characters the length of the longest such word.

    `units`: name of a unit -> words that are it. `had`: whether a quality becomes an opinion behind a word of having.
    `apart`: words that a convention reads as their parts (吃到飽 as 吃 到 飽). `readings`: rules of kind `read-as`.
    """

    def __init__(
        self, lexicon: Lexicon, units: Classes, apart: Collection[str], had: bool, readings: Matcher, words: WordTable
    ) -> None:
        """Opinion before negator, degree word, aspect …; `readings` and roles settle words with two roles."""
        self._lexicon, self._readings, self._words = lexicon, readings, words
        self._judged = _JUDGED_BEHIND_HAVING if had else _JUDGED_BEHIND
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
        self._symbols = symbols | {word: SYMBOLS[name] for name, own in units.items() for word in own}
        longest = {word[:2]: word for word in sorted(self._symbols, key=len)}
        self._reach = {head: min(len(word), MAX_WORD) for head, word in longest.items()}
        self._apart = frozenset(apart)
        self._splits: dict[str, tuple[_Piece, ...]] = {}
        """How unknown words fall apart: most come again and again."""

    def read(
        self, text: str, tokens: Sequence[Token], place: tuple[int, int], refused: list[Refusal] | None = None
    ) -> list[Constituent]:
        """Units of the tokens of a place [first, stop) in one clause; `text` is in lower case where that keeps its
        length. What a rule takes for another kind of unit is added to `refused`.
        """
        i, stop = place
        out: list[Constituent] = []
        known, reach = self._symbols, self._reach
        while i < stop:
            start, end, pos, _, _ = tokens[i]
            if pos == "SPACE" or text[start] in QUOTES:
                i += 1
                continue
            j = i
            if start + reach.get(text[start : start + 2], 0) > end:
                j = self._find_longest(text, tokens, i, stop)
                end = tokens[j].end
            word = text[start:end]
            if text[start] < "\x80" and (cut := self._cut_behind_latin(text, tokens, start, j + 1, stop)):
                out += cut
                j += 1
            elif symbol := known.get(word):
                out.append(Constituent(start, end, symbol, word, j))
            elif pos != "X" and (pieces := self._split(word)):
                out += [Constituent(start + a, start + b, symbol, word[a:b], i) for a, b, symbol in pieces]
            else:
                j = self._find_latin_name(text, tokens, i, stop)
                name = j > i or (pos == "X" and _LATIN.fullmatch(word))
                symbol, end = NOUN if name else SYMBOL_OF_TAG.get(pos, OTHER), tokens[j].end
                out.append(Constituent(start, end, symbol, text[start:end], i))
            i = j + 1
        return self._settle_roles(out, refused)

    def _split(self, word: str) -> tuple[_Piece, ...]:
        """偏甜 太乾 皮脆肉嫩: the parts of a word that no lexicon holds.

        Only of one that falls apart into known words: with an opinion among them, or an aspect and a degree word
        (肉超 of 肉超好吃); else nothing.
        """
        apart, known = word in self._apart, self._symbols
        if not (2 <= len(word) <= _LONGEST_SPLIT or apart):
            return ()
        pieces = self._splits.get(word)
        if pieces is None:
            if apart:
                parts = cut_into_fewest(word, lambda part: part != word and (part in known or len(part) == 1))
            else:
                parts = cut_into_fewest(word, lambda part: known.get(part, BLOCKED) != BLOCKED)
            starts, kinds = accumulate(map(len, parts), initial=0), [known.get(part, OTHER) for part in parts]
            judges = OPINION in kinds or kinds == [ASPECT, DEG] or (apart and ASPECT in kinds)
            places = zip(starts, parts, kinds, strict=False)
            pieces = tuple((at, at + len(part), kind) for at, part, kind in places) if judges else ()
            if len(self._splits) < _CACHE:
                self._splits[word] = pieces
        return pieces

    def _find_longest(self, text: str, tokens: Sequence[Token], i: int, stop: int) -> int:
        """The last token of the longest entry that starts at token i; token i if none does."""
        start = tokens[i].start
        limit = start + self._reach.get(text[start : start + 2], 0)
        j = i
        while j + 1 < stop and tokens[j + 1].end <= limit:
            j += 1
        while j > i and text[start : tokens[j].end] not in self._symbols:
            j -= 1
        return j

    def _find_latin_name(self, text: str, tokens: Sequence[Token], i: int, stop: int) -> int:
        """The last token of the name of Latin words that token i begins (crème brûlée, fish and chips); i if none does.

        No word behind the first judges or names something, the last one is in no lexicon, and no number follows.
        """
        name = _LATIN_NAME.match(text, tokens[i].start, tokens[stop - 1].end)
        kinds = [self._symbols.get(word) for word in name[0].split(" ")[1:]] if name else []
        if name is None or kinds[-1] or not JUDGING.isdisjoint(kinds):
            return i
        return next((j for j in range(i, stop) if tokens[j].end == name.end()), i)

    def _cut_behind_latin(self, text: str, tokens: Sequence[Token], start: int, j: int, stop: int) -> list[Constituent]:
        """CP 值高 is CP值 and 高: an entry that ends inside token j, and its known rest; nothing if there is none."""
        if j >= stop or tokens[j].start != tokens[j - 1].end:
            return []
        known, end = self._symbols, tokens[j].end
        for at in range(end - 1, tokens[j].start, -1):
            if text[start:at] in known and text[at:end] in known:
                return [Constituent(a, b, known[text[a:b]], text[a:b], j) for a, b in ((start, at), (at, end))]
        return []

    # Words of two roles, which take the one that their neighbours ask for

    def _settle_roles(self, units: list[Constituent], refused: list[Refusal] | None) -> list[Constituent]:
        """The units, changed in place from the last to the first."""
        for i in range(len(units) - 1, -1, -1):
            unit = units[i]
            reading = self._readings.find_reading(units, i)
            parts = self._take_apart(unit, reading) if reading else []
            if reading and (parts or reading.symbol):
                if refused is not None:
                    refused.append(Refusal(unit.start, unit.end, (reading.rule,)))
                units[i : i + 1] = parts or [unit._replace(symbol=reading.symbol)]
            elif unit.symbol in _TWO_ROLES and (symbol := self._settle_role(units, i)) != unit.symbol:
                units[i] = unit._replace(symbol=symbol)
        return units

    def _take_apart(self, unit: Constituent, reading: UnitReading) -> list[Constituent]:
        """人很多 as 人, 很 and 多, 料多實在 as 料, 多 and 實在: each part of the kind that it is by itself, or a degree
        word before another one. Nothing where a word does not fall apart.
        """
        opinions, heads = self._lexicon.opinions, reading.heads
        parts = reading.apart.get(unit.word, ())
        if heads and not parts:
            parts = cut_into_fewest(unit.word, lambda w: w in heads or (w in opinions and not w.startswith(heads)))
            if len(parts) < 2 or parts[1] in heads or parts[0] not in self._lexicon.aspects:
                return []
        out, at = [], unit.start
        for part in parts:
            degree = part in self._lexicon.degree and at + len(part) < unit.end
            kind = DEG if degree else self._symbols.get(part, OTHER)
            out.append(Constituent(at, at + len(part), kind, part, unit.last))
            at += len(part)
        return out

    def _settle_role(self, units: Units, i: int) -> str:
        """The symbol of unit i among its neighbours, of which those behind it are settled.

        Opinion or degree (特別, 好): degree before an opinion or another adjective, but an opinion where it is one of
        PRAISING behind a degree word or negator (不 好 很 慢). Opinion or aspect (特色, 服務): an opinion only behind
        one of `_JUDGED_BEHIND`, a degree word, negator or word of having (帶有嚼勁). A lack (不夠) with nothing behind
        it is the opinion. Degree words with nothing to strengthen are plain adverbs, POST words that follow no
        opinion likewise.
        """
        word, symbol = units[i].word, units[i].symbol
        before = units[i - 1].symbol if i else ""
        after = units[i + 1].symbol if i + 1 < len(units) else ""
        if after == DE and i + 2 < len(units):  # 意外的好吃, 意外的不好吃
            denied = units[i + 2].symbol == NEG and i + 3 < len(units)
            after = OPINION if units[i + 2 + denied].symbol == OPINION else after
        degree = self._lexicon.degree.get(word) if symbol == OPINION else None
        if degree == "post":
            return POST if before == OPINION else OPINION
        if degree and after in _STRENGTHENED:
            return OPINION if self._words.holds("PRAISING", word) and before in _JUDGED_BEHIND else DEG
        if (
            symbol == OPINION
            and word in self._lexicon.aspects
            and before not in self._judged
            and self._is_described(word, units, i)
        ):
            return ASPECT
        alone = not after or after in _LACK_ENDS or (before == DEG and word[-1] == "了")  # 太 少了
        if symbol == NEG and word in self._lexicon.opinions and alone:
            return OPINION
        return ADV if symbol == POST and before != OPINION else symbol

    def _is_described(self, word: str, units: Units, i: int) -> bool:
        """Whether word i of two roles is what an opinion is about: a fault (有腥味), and one of JUDGED, only if one
        follows, over adverbs (腥味很重), or stands before 的 (很重的 腥味).
        """
        if self._lexicon.role(word) != "fault" and not self._words.holds("JUDGED", word):
            return True
        if i > 1 and units[i - 1].symbol == DE and units[i - 2].word in self._lexicon.context:
            return True
        return next((unit.symbol for unit in units[i + 1 :] if unit.symbol not in _ADVERBIAL), "") == OPINION


def lower_case(text: str) -> str:
    """`text` in lower case, of equal length: a few capitals have a lower case of two characters and stay."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def cut_into_fewest(word: str, is_known: Callable[[str], bool]) -> tuple[str, ...]:
    """The fewest known words that make up `word`; nothing if none do."""
    best: list[tuple[str, ...] | None] = [(), *[None] * len(word)]
    for stop in range(1, len(word) + 1):
        for at in range(stop):
            before, known = best[at], best[stop]
            if before is not None and (known is None or len(before) + 1 < len(known)) and is_known(word[at:stop]):
                best[stop] = (*before, word[at:stop])
    return best[-1] or ()
