"""Opinion phrases: each opinion word of a clause with the degree words and negators that belong to it.

A phrase takes in its degree words and negators, also over the fillers between (沒有想像中好吃). In: a clause's units.
Out: `Constituent`s in text order: phrases, aspect entries, and every other word as it is. Pure; all word lists come
from the lexicons and from the rules' parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from builder.core.records import Span
from builder.engine.constituents import ATTRIBUTES, Constituent, Phrase, Term, Units
from builder.engine.matching import Line, Matcher, Refusal
from builder.engine.rows import WordTable
from builder.engine.symbols import ADJ, ASPECT, COP, DE, DEG, HAVE, NEG, OPINION, POST, STATEMENT_ENDS, symbol_set
from builder.engine.terms import PRAISE, find_leads
from builder.language.lexicon.resources import Lexicon, OpinionEntry

_STRENGTHENING = symbol_set("NEG DEG")
OVER = "over"
"""Kind of degree words of excess (太)."""
_GAP = 3
"""Words between a negator and its opinion at most."""
MODERATE = ("會", "至於")
"""Ends of negators that deny the excess behind them (不會 太濃), not a degree."""
UNHEDGED = "ordinary"
"""Category of opinions to which no hedge belongs (算 普通)."""


@dataclass(frozen=True, slots=True)
class JoinRule:
    """Parameters of a rule of kind `join`: which neighbouring opinions are one phrase.

    `merge`: opinions of one sign that touch are one where the shorter has so many characters at most, the second no
    more than two (香 甜; 親切 熱情 and 香 不錯喝 are two), but for the words and categories `apart`, which say
    something of their own, and `counted` ones with a degree (很多 便宜 的 小菜). `had`: whether a quality and the
    word of having before it are an opinion (帶有嚼勁).
    """

    merge: int = 0
    apart: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()
    had: bool = False


class PhraseReader:
    """What phrases are read by. `refusals`: where a word judges nothing. `denials`: what denies it from afar."""

    def __init__(self, lexicon: Lexicon, words: WordTable, join: JoinRule, refusals: Matcher, denials: Matcher) -> None:
        self._lexicon, self._words, self._join = lexicon, words, join
        self._leads = find_leads(lexicon, words.entries["WHOLES"])
        """How many characters of an aspect entry belong to `aspect_full` alone."""
        self._fillers, self._scope = frozenset(words.entries["FILLERS"]), words.entries["SCOPE"]
        self._refusals, self._denials = refusals, denials

    def read(self, units: Units, text: str, refused: list[Refusal] | None = None) -> list[Constituent]:
        """Make a phrase of each opinion with its degree words and negators. What rules refuse goes to `refused`."""
        out: list[Constituent] = []
        taken = 0
        line = self._refusals.read(units)
        for k, unit in enumerate(units):
            if unit.symbol != OPINION:
                continue
            if unit.word[-1] == "了":
                unit = self._drop_particle(unit, k > taken and units[k - 1].symbol == DEG)
            edges = self._find_edges(line, unit, k, taken, refused)
            if edges is None:
                continue
            begin, first, last, denier = edges
            phrase = self._make_phrase(unit, units[first:k], units[begin].start)
            out += [self._keep_word(u) for u in units[taken:first]]
            start = unit.start if first == k else self._find_start(units, first, k)
            end = unit.end if last == k else units[last].end
            if denier < first:  # 不覺得 雞排 好吃
                word, place = units[denier].word, units[denier].start
                span, kind = (place, place + self._count_negator(word)), self._lexicon.negators[word]
                phrase = phrase._replace(negators=(span, *phrase.negators), kinds=(kind, *phrase.kinds))
            item = Constituent(start, end, OPINION, text[start:end], unit.last, phrase)
            self._add_opinion(out, item, units[last + 1 : last + 2], text)
            taken = last + 1
        return out + [self._keep_word(u) for u in units[taken:]]

    def _drop_particle(self, unit: Constituent, graded: bool) -> Constituent:
        """太 多了, 冷掉了: the opinion without the particle, if that is one too; a longer one keeps its entry.

        少了 and 壞了 need theirs where no degree word stands in front (`graded`).
        """
        stem = unit.word[:-1]
        if stem not in self._lexicon.opinions or not (graded or len(stem) > 1):
            return unit
        phrase = unit.phrase if graded else Phrase((unit.start, unit.end), self._find_entry(unit))
        return unit._replace(end=unit.end - 1, word=stem, phrase=phrase)

    def _find_entry(self, unit: Constituent) -> OpinionEntry:
        """The entry of an opinion word: its own, or that of the lexicon."""
        return unit.entry or self._lexicon.opinions[unit.word.lower()]

    def _find_edges(
        self, line: Line, unit: Constituent, k: int, taken: int, refused: list[Refusal] | None
    ) -> tuple[int, int, int, int] | None:
        """The units on which the core and the phrase begin and the phrase ends around opinion word `unit` at k, and the
        one that denies it from afar, if it stands before the phrase; None if it judges nothing. 帶有嚼勁, 有苦味: a
        quality and the word of having before it are one core.
        """
        units, count = line.units, len(line.units)
        had = self._join.had and k > taken and units[k - 1].symbol == HAVE and units[k - 1].end == unit.start
        begin = k - 1 if had and unit.word in self._lexicon.aspects else k
        first = self._find_left_edge(units, begin, taken)
        denier, afar = self._denials.find_denier(line, first, k, taken)
        first = first if afar else denier
        refusals = self._refusals.find_all(line, first, k)
        if decides := next(refusals, None):
            if refused is not None:
                refused.append(Refusal(units[first].start, unit.end, (decides, *refusals)))
            return None
        last = k + 1 if k + 1 < count and units[k + 1].symbol == POST else k
        if last + 1 < count and units[last + 1].start == units[last].end:
            last += self._words.holds("TRAILING", units[last + 1].word)
        if last == k and k + 2 == count and is_doubled(units, k):
            last += 1
        return begin, first, last, denier

    def _find_left_edge(self, units: Units, k: int, taken: int) -> int:
        """Index of the first unit of the phrase around opinion k.

        Degree words and negators that touch it (非常的香 too), and negators behind a few fillers: 沒有想像中好吃 is one
        phrase, 覺得好吃 is not.
        """
        edge, fillers = k, self._fillers
        while edge > taken:
            before = units[edge - 1].symbol
            if before in _STRENGTHENING:
                edge -= 1
            elif before == DE and edge - 1 > taken and units[edge - 2].symbol == DEG:
                edge -= 2
            else:
                j = edge - 1
                while j >= taken and edge - j <= _GAP and (units[j].word in fillers or units[j].symbol == DEG):
                    j -= 1
                if j < taken or units[j].symbol != NEG:
                    break
                edge = j
        return edge

    def _find_start(self, units: Units, first: int, k: int) -> int:
        """Where in the view the phrase begins whose first unit is `first`.

        Behind adverbs of the clause (還 蠻好吃, 都還 可以) and words of level (這麼 好吃).
        """
        while first < k and (
            (units[first].word in self._scope and units[first + 1].symbol == DEG)
            or self._words.holds("LEVELS", units[first].word)
        ):
            first += 1
        return units[first].start + (self._count_lead(units[first].word) if first < k else 0)

    def _make_phrase(self, unit: Constituent, before: Units, begin: int) -> Phrase:
        """The opinion word `unit`, its core from `begin` on, with the units of its phrase that stand before it."""
        entry = self._find_entry(unit)
        if not before:
            return Phrase((unit.start, unit.end), entry)
        negators = [u for u in before if u.symbol == NEG]
        leads = [self._count_degree(u.word) or self._count_lead(u.word) for u in negators]
        cuts = [(lead, self._count_negator(u.word)) for u, lead in zip(negators, leads, strict=True)]
        spans = tuple([(u.start + lead, u.start + stop) for u, (lead, stop) in zip(negators, cuts, strict=True)])
        degrees = tuple([kind for u in before for kind in self._kinds_of_degree(u)])
        return Phrase(
            (begin, unit.end), entry, spans, tuple([self._lexicon.negators[u.word] for u in negators]), degrees
        )

    def _kinds_of_degree(self, unit: Constituent) -> Sequence[str]:
        """The kind of a degree word, or of the excess that a negator denies (不會太; 不太 denies a degree)."""
        degree = self._lexicon.degree
        if unit.symbol == DEG:
            return (degree.get(unit.word, ""),)
        count = self._count_negator(unit.word) if unit.symbol == NEG else 0
        return (OVER,) if unit.word[:count].endswith(MODERATE) and degree.get(unit.word[count:]) == OVER else ()

    def _count_lead(self, word: str) -> int:
        """How many characters of a degree word or negator are an adverb of the clause: 也蠻, 並不."""
        leads = word.startswith(self._scope) and not self._words.holds("UNDIVIDED", word)
        return int(leads and (word[1:] in self._lexicon.degree or word[1:] in self._lexicon.negators))

    def _count_degree(self, word: str) -> int:
        """How many characters of a negator are a degree word: 完全 of 完全沒有, which is no part of the opinion."""
        kinds, degree, cuts = self._lexicon.negators, self._lexicon.degree, range(len(word) - 1, 1, -1)
        return next((cut for cut in cuts if word[:cut] in degree and kinds.get(word[cut:]) == kinds[word]), 0)

    def _count_negator(self, word: str) -> int:
        """How many characters of a negator are no degree word or filler behind it: 不會 of 不會太, all of 不夠."""
        kinds, degree = self._lexicon.negators, self._lexicon.degree
        cuts = (cut for cut in range(1, len(word)) if kinds.get(word[:cut]) == kinds.get(word))
        return next((cut for cut in cuts if word[cut:] in degree or word[cut:] in self._fillers), len(word))

    def _add_opinion(self, out: list[Constituent], item: Constituent, after: Units, text: str) -> None:
        """Append an opinion to the clause, or make it one with the opinion before it. `after`: the unit behind it."""
        own, words = item.own_phrase, self._words
        amount = item.word if own.negators else own.entry.word  # 變淡 很多, 變淡 不少
        touches = bool(out) and out[-1].phrase is not None and out[-1].end == item.start
        if touches and words.holds("AMOUNTS", amount) and (not after or after[0].symbol in STATEMENT_ENDS):  # 便宜多了
            out[-1] = out[-1]._replace(end=item.end, word=text[out[-1].start : item.end])
        elif count := next((n for n in (1, 2) if len(out) > n and self._are_bridged(out[-n - 1], item, text)), 0):
            first = out[-count - 1]
            before = first.own_phrase
            decides = own if (own.entry.valence < 5 if own.kinds else own.entry.valence > 5) else before  # but 甜中帶苦
            phrase = before._replace(core=(before.core[0], own.core[1]), entry=decides.entry, kinds=decides.kinds)
            out[-count - 1 :] = [item._replace(start=first.start, word=text[first.start : item.end], phrase=phrase)]
        elif self._join.merge and out and (run := self._merge_praise(out[-1], item, text)) is not None:
            out[-1] = run
        else:
            out.append(item)

    def _are_bridged(self, before: Constituent, item: Constituent, text: str) -> bool:
        """軟中帶脆: whether an opinion has the one behind it in it; neither is denied, nor are they of opposite signs.

        軟而不爛: so are a quality and the fault denied that it is free of; 好看而不好吃 are two.
        """
        first, second = before.phrase, item.own_phrase
        if first is None or first.kinds or text[before.end : item.start] not in self._words.entries["BRIDGING"]:
            return False
        if second.kinds:
            return text[item.start - 1] == "而" and second.kinds == ("not",) and second.entry.valence < PRAISE
        return _sign(first.entry.valence) * _sign(second.entry.valence) >= 0

    def _merge_praise(self, before: Constituent, item: Constituent, text: str) -> Constituent | None:
        """香 濃郁: opinions of one sign that touch are one phrase if one is short, with the entry of the first."""
        first, second = before.phrase, item.phrase
        if first is None or second is None:
            return None
        if before.end != item.start or second.core[0] != item.start or first.core[1] != before.end:
            return None
        if min(len(first.entry.word), len(second.entry.word)) > self._join.merge or len(second.entry.word) > 2:
            return None
        counted = first.degrees and first.entry.category.startswith(self._join.counted)
        apart = second.entry.word in self._join.apart or second.entry.category.startswith(self._join.apart)
        if counted or apart or _sign(first.entry.valence) != _sign(second.entry.valence):
            return None
        core = first.core[0], second.core[1]
        return item._replace(start=before.start, word=text[before.start : item.end], phrase=first._replace(core=core))

    def _keep_word(self, unit: Constituent) -> Constituent:
        """A unit that is part of no opinion phrase: an aspect entry becomes a term."""
        if unit.symbol == OPINION:
            return unit._replace(symbol=ADJ, phrase=None)
        if unit.symbol != ASPECT:
            return unit
        entry = self._lexicon.aspects[unit.word.lower()]
        role = self._lexicon.classes.get(entry.cls, "")
        owner = self._find_owner(unit) if role in ATTRIBUTES else None
        return unit._replace(term=Term(entry.cls, owner, self._leads.get(unit.word, 0), role))

    def _find_owner(self, unit: Constituent) -> Span | None:
        """The owner inside an entry that is written with it: 餐點 in 餐點口感."""
        role = self._lexicon.role
        cuts = (cut for cut in range(2, len(unit.word) - 1) if role(unit.word[cut:]) in ATTRIBUTES)
        owned = (cut for cut in cuts if role(unit.word[:cut]) not in {*ATTRIBUTES, ""})
        return next(((unit.start, unit.start + cut) for cut in owned), None)


def is_doubled(units: Units, k: int) -> bool:
    """Whether the last unit of the clause is a 的 that belongs to the doubled predicate before it.

    麵條QQ的, 餅皮酥酥脆脆的; 湯頭是燙燙的 has 是 … 的.
    """
    word = units[k].word
    if len(word) < 2 or word[-1] != word[-2]:
        return False
    return units[k + 1].symbol == DE and units[k + 1].start == units[k].end and all(u.symbol != COP for u in units[:k])


def _sign(valence: float) -> int:
    return (valence > 5) - (valence < 5)
