"""Opinion phrases: each opinion word of a clause with the degree words and negators that belong to it.

In: a clause's units. Out: `Constituent`s in text order: phrases, aspect entries, and every other word as it is. Pure;
all word lists come from the lexicons and from the rules' parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from builder.core.records import Span
from builder.engine.constituents import ATTRIBUTES, Constituent, Phrase, Term
from builder.engine.extent import (
    MODERATE,
    OVER,
    ExtentRule,
    count_degree,
    count_lead,
    find_left_edge,
    find_start,
    is_doubled,
    strip_negator,
)
from builder.engine.matching import Line, Matcher, Refusal
from builder.engine.symbols import ADJ, ASPECT, DEG, HAVE, NEG, OPINION, POST, STATEMENT_ENDS, symbol_set
from builder.engine.terms import PRAISE
from builder.engine.vocabulary import Unit, entry_of
from builder.language.lexicon.resources import Lexicon


@dataclass(frozen=True, slots=True)
class JoinRule:
    """Parameters of a rule of kind `join`: which neighbouring opinions are one phrase.

    `merge`: opinions of one sign that touch are one where the shorter has so many characters at most, the second no
    more than two (香 甜; 親切 熱情 and 香 不錯喝 are two), but for the words and categories `apart`, which say
    something of their own, and `counted` ones with a degree (很多 便宜 的 小菜). `bridging`: what stands between two of
    which the first has the second in it (軟中帶脆). `amounts`: words that say by how much (好吃很多). `joining`: words
    between two opinions of one aspect (又脆又香), a class that rules share. `had`: whether a quality and the word of
    having before it are an opinion (帶有嚼勁). `openers`: aspects with which an opinion begins (料多實在) that are
    aspects of their own where none stands before them.
    """

    merge: int = 0
    apart: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()
    bridging: frozenset[str] = frozenset()
    amounts: frozenset[str] = frozenset()
    joining: frozenset[str] = frozenset()
    had: bool = False
    openers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PhraseGrammar:
    """All rules that phrases are read by. `refusals`: where an opinion word judges nothing. `denials`: by what
    negator at a distance its phrase begins; `far_denials`: by which one apart from the phrase it is denied. `leads`:
    how many characters of an aspect entry belong to `aspect_full` alone.
    """

    extent: ExtentRule
    refusals: Matcher
    denials: Matcher
    far_denials: Matcher
    join: JoinRule
    leads: Mapping[str, int]


def read_phrases(
    units: Sequence[Unit], text: str, lexicon: Lexicon, grammar: PhraseGrammar, refused: list[Refusal] | None = None
) -> list[Constituent]:
    """Join each opinion word with the degree words and negators that stand before it, and a post degree word behind.

    Those that rules refuse are added to `refused`.
    """
    out: list[Constituent] = []
    taken = 0
    units = open_clause(units, lexicon, grammar.join.openers)
    line = grammar.refusals.read(units)
    for k, unit in enumerate(units):
        if unit.symbol != OPINION:
            continue
        if unit.word[-1] == "了":
            unit = _drop_particle(unit, k > taken and units[k - 1].symbol == DEG, lexicon)
        edges = _find_edges(units, line, unit, k, taken, lexicon, grammar, refused)
        if edges is None:
            continue
        begin, first, last = edges
        far = grammar.far_denials.find_denier(line, first, k, taken)
        phrase = _make_phrase(unit, units[first:k], units[begin].start, lexicon, grammar.extent)
        out += [_keep_word(u, lexicon, grammar.leads) for u in units[taken:first]]
        start = unit.start if first == k else find_start(units, first, k, lexicon, grammar.extent)
        end = unit.end if last == k else units[last].end
        if far < first:  # 不覺得 雞排 好吃
            span, kind = _read_negator(units[far], lexicon, grammar.extent), lexicon.negators[units[far].word]
            phrase = phrase._replace(negators=(span, *phrase.negators), kinds=(kind, *phrase.kinds))
        item = Constituent(start, end, OPINION, text[start:end], unit.last, phrase)
        _add_opinion(out, item, units[last + 1 : last + 2], text, grammar.join)
        taken = last + 1
    return out + [_keep_word(u, lexicon, grammar.leads) for u in units[taken:]]


def _drop_particle(unit: Unit, graded: bool, lexicon: Lexicon) -> Unit:
    """太 多了, 冷掉了: the opinion without the particle, if that is one too; a longer one keeps its entry.

    少了 and 壞了 need theirs where no degree word stands in front (`graded`).
    """
    stem = unit.word[:-1]
    if stem not in lexicon.opinions or not (graded or len(stem) > 1):
        return unit
    entry = unit.entry if graded else entry_of(unit, lexicon)
    return unit._replace(end=unit.end - 1, word=stem, entry=entry)


def _find_edges(
    units: Sequence[Unit],
    line: Line,
    unit: Unit,
    k: int,
    taken: int,
    lexicon: Lexicon,
    grammar: PhraseGrammar,
    refused: list[Refusal] | None,
) -> tuple[int, int, int] | None:
    """The units on which the core and the phrase begin and the phrase ends around opinion word `unit` at k; None if it
    judges nothing. 帶有嚼勁, 有苦味: a quality and the word before it that says that a thing has it are one core.
    """
    extent, count = grammar.extent, len(units)
    had = grammar.join.had and k > taken and units[k - 1].symbol == HAVE and units[k - 1].end == unit.start
    begin = k - 1 if had and unit.word in lexicon.aspects else k
    first = find_left_edge(units, begin, taken, extent)
    first = grammar.denials.find_denier(line, first, k, taken)
    refusals = grammar.refusals.find_all(line, first, k)
    if decides := next(refusals, None):
        if refused is not None:
            refused.append(Refusal(units[first].start, unit.end, (decides, *refusals)))
        return None
    last = k + 1 if k + 1 < count and units[k + 1].symbol == POST else k
    if last + 1 < count and units[last + 1].start == units[last].end and units[last + 1].word in extent.trailing:
        last += 1
    if last == k and k + 2 == count and is_doubled(units, k):
        last += 1
    return begin, first, last


def _make_phrase(unit: Unit, before: Sequence[Unit], begin: int, lexicon: Lexicon, extent: ExtentRule) -> Phrase:
    """The opinion word `unit`, its core from `begin` on, with the units of its phrase that stand before it."""
    entry = entry_of(unit, lexicon)
    if not before:
        return Phrase((unit.start, unit.end), entry, (), (), ())
    negators = [u for u in before if u.symbol == NEG]
    spans = [
        (
            u.start + (count_degree(u.word, lexicon) or count_lead(u.word, lexicon, extent)),
            u.start + len(strip_negator(u.word, lexicon, extent.fillers)),
        )
        for u in negators
    ]
    return Phrase(
        core=(begin, unit.end),
        entry=entry,
        negators=tuple(spans),
        kinds=tuple([lexicon.negators[u.word] for u in negators]),
        degrees=tuple([kind for u in before for kind in _kinds_of_degree(u, lexicon, extent)]),
    )


def _kinds_of_degree(unit: Unit, lexicon: Lexicon, extent: ExtentRule) -> Sequence[str]:
    """The kind of a degree word, or of the excess that a negator denies (不會太; 不太 denies a degree)."""
    if unit.symbol == DEG:
        return (lexicon.degree.get(unit.word, ""),)
    denied = strip_negator(unit.word, lexicon, extent.fillers) if unit.symbol == NEG else ""
    excess = denied.endswith(MODERATE) and lexicon.degree.get(unit.word[len(denied) :]) == OVER
    return (OVER,) if excess else ()


def _read_negator(unit: Unit, lexicon: Lexicon, extent: ExtentRule) -> Span:
    """A negator without the degree word or filler that it ends in."""
    return unit.start, unit.start + len(strip_negator(unit.word, lexicon, extent.fillers))


def _add_opinion(out: list[Constituent], item: Constituent, after: Sequence[Unit], text: str, rule: JoinRule) -> None:
    """Append an opinion to the clause so far, or make it one with the opinion before it. `after`: the unit behind it,
    if any.
    """
    own = item.own_phrase
    amount = item.word if own.negators else own.entry.word  # 變淡 很多, 變淡 不少
    touches = bool(out) and out[-1].phrase is not None and out[-1].end == item.start
    if touches and amount in rule.amounts and (not after or after[0].symbol in STATEMENT_ENDS):  # 好吃很多, 便宜多了
        out[-1] = out[-1]._replace(end=item.end, word=text[out[-1].start : item.end])
    elif count := next((n for n in (1, 2) if len(out) > n and _are_bridged(out[-n - 1], item, text, rule)), 0):
        first = out[-count - 1]
        before = first.own_phrase
        decides = own if (own.entry.valence < 5 if own.kinds else own.entry.valence > 5) else before  # but 甜中帶苦
        phrase = before._replace(core=(before.core[0], own.core[1]), entry=decides.entry, kinds=decides.kinds)
        out[-count - 1 :] = [item._replace(start=first.start, word=text[first.start : item.end], phrase=phrase)]
    elif rule.merge and out and (run := _merge_praise(out[-1], item, text, rule)) is not None:
        out[-1] = run
    else:
        out.append(item)


def _are_bridged(before: Constituent, item: Constituent, text: str, rule: JoinRule) -> bool:
    """軟中帶脆: whether an opinion has the one behind it in it; neither is denied, nor are they of opposite signs.

    軟而不爛: so are a quality and the fault denied that it is free of; 好看而不好吃 are two.
    """
    first, second = before.phrase, item.own_phrase
    if first is None or text[before.end : item.start] not in rule.bridging or first.kinds:
        return False
    if second.kinds:
        return text[item.start - 1] == "而" and second.kinds == ("not",) and second.entry.valence < PRAISE
    return _sign(first.entry.valence) * _sign(second.entry.valence) >= 0


def _merge_praise(before: Constituent, item: Constituent, text: str, rule: JoinRule) -> Constituent | None:
    """香 濃郁: opinions of one sign that touch are one phrase where one is short, read with the first one's entry."""
    first, second = before.phrase, item.phrase
    if first is None or second is None:
        return None
    if before.end != item.start or second.core[0] != item.start or first.core[1] != before.end:
        return None
    if min(len(first.entry.word), len(second.entry.word)) > rule.merge or len(second.entry.word) > 2:
        return None
    if first.degrees and first.entry.category.startswith(rule.counted):
        return None
    if second.entry.word in rule.apart or second.entry.category.startswith(rule.apart):
        return None
    if _sign(first.entry.valence) != _sign(second.entry.valence):
        return None
    core = first.core[0], second.core[1]
    return item._replace(start=before.start, word=text[before.start : item.end], phrase=first._replace(core=core))


def _sign(valence: float) -> int:
    return (valence > 5) - (valence < 5)


def _keep_word(unit: Unit, lexicon: Lexicon, leads: Mapping[str, int]) -> Constituent:
    """A unit that is part of no opinion phrase, as a constituent: an aspect entry becomes a term."""
    start, end, word, symbol, _, last, _ = unit
    if symbol == ASPECT:
        entry = lexicon.aspects[word.lower()]
        role = lexicon.classes.get(entry.cls, "")
        owner = _find_owner(unit, lexicon) if role in ATTRIBUTES else None
        return Constituent(start, end, symbol, word, last, None, Term(entry.cls, owner, leads.get(word, 0), role))
    return Constituent(start, end, ADJ if symbol == OPINION else symbol, word, last)


def _find_owner(unit: Unit, lexicon: Lexicon) -> Span | None:
    """The owner inside an entry that is written with it: 餐點 in 餐點口感."""
    for cut in range(2, len(unit.word) - 1):
        owner, attribute = lexicon.role(unit.word[:cut]), lexicon.role(unit.word[cut:])
        if owner and owner not in ATTRIBUTES and attribute in ATTRIBUTES:
            return unit.start, unit.start + cut
    return None


# ---- Opinions that name their aspect (料多實在, 皮薄餡多)

_OTHERS = symbol_set("DE OPINION")
"""Behind such an opinion: what tells that it describes more than the aspect it names (料多又好喝, 料多實在的滷味)."""


def open_clause(units: Sequence[Unit], lexicon: Lexicon, openers: tuple[str, ...]) -> Sequence[Unit]:
    """The units with the first opinion taken apart that begins with an aspect, if no aspect stands before it.

    Only other opinions may stand before it, side by side (好喝 料足).
    """
    if not openers:
        return units
    for k, unit in enumerate(units):
        if unit.symbol == ASPECT:
            return units
        if unit.symbol != OPINION:
            continue
        opens = unit.word.startswith(openers)
        if unit.entry is None and not opens and units[k + 1 : k + 2] and units[k + 1].symbol == OPINION:
            continue  # 好喝 料足
        if unit.entry is not None or not opens or (k and units[k - 1].symbol == HAVE):
            return units
        behind = takewhile(lambda after: after.symbol != ASPECT, units[k + 1 :])  # 料多實在價格便宜
        if any(after.symbol in _OTHERS for after in behind):
            return units
        parts = _take_apart(unit.word, lexicon, openers)
        return [*units[:k], *_make_units(unit, parts), *units[k + 1 :]] if parts else units
    return units


def _take_apart(word: str, lexicon: Lexicon, openers: tuple[str, ...]) -> list[tuple[str, str]]:
    """料多實在 as 料, 多, 實在 with their symbols; nothing if it is not made of aspects, each with its opinions."""
    for opener in openers:
        if word.startswith(opener) and opener in lexicon.aspects:
            opinions = _take_opinions(word[len(opener) :], lexicon, openers)
            return [(opener, ASPECT), *opinions] if opinions else []
    return []


def _take_opinions(word: str, lexicon: Lexicon, openers: tuple[str, ...]) -> list[tuple[str, str]]:
    """The longest opinion that `word` begins with, and what stands behind it; nothing if either is no known word."""
    for stop in range(len(word), 0, -1):
        if word[:stop] in lexicon.opinions:
            behind = word[stop:]
            rest = _take_apart(behind, lexicon, openers) or _take_opinions(behind, lexicon, openers)
            if rest or not behind:
                return [(word[:stop], OPINION), *rest]
    return []


def _make_units(unit: Unit, parts: Sequence[tuple[str, str]]) -> list[Unit]:
    out, at = [], unit.start
    for word, symbol in parts:
        out.append(Unit(at, at + len(word), word, symbol, unit.first, unit.last))
        at += len(word)
    return out
