"""Opinion phrases: each opinion word of a clause with the degree words and negators that belong to it.

In: a clause's units. Out: `Constituent`s in text order: phrases, aspect entries, and every other word as it is. Pure;
all word lists come from the lexicons and from the rules' parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from builder.core.records import Span
from builder.engine.constituents import ATTRIBUTES, Constituent, Phrase, Term
from builder.engine.extent import (
    OVER,
    ExtentRule,
    count_degree,
    count_lead,
    ends_in_bit,
    find_left_edge,
    find_start,
    is_doubled,
    strip_negator,
)
from builder.engine.matching import Line, Matcher, Refusal
from builder.engine.naming import PRAISE
from builder.engine.opening import open_clause
from builder.engine.symbols import ADJ, ASPECT, BLOCKED, DE, DEG, HAVE, IRREALIS, NEG, OPINION, POST, STATEMENT_ENDS
from builder.engine.vocabulary import Unit, entry_of
from builder.language.lexicon.resources import Lexicon

BIT = "bit"
"""Kind of degree of a word behind an opinion that says a bit too much (甜 了點)."""


@dataclass(frozen=True, slots=True)
class JoinRule:
    """Parameters of a rule of kind `join`: which neighbouring opinions are one phrase.

    `merge`: opinions of one sign that touch are one where the shorter has so many characters at most (香 甜; 親切
    熱情 are two), but for the words and categories `apart`, which say something of their own, and those that begin
    with one of `having`. `alone`: words and categories that are no part of what follows them (推薦 麻辣 鍋).
    `counted`: those that are none where they have a degree (很多 便宜 的 小菜). `bridging`: what stands between two
    of which the first has the second in it (軟中帶脆). `amounts`: words that say by how much (好吃很多). `had`:
    whether a quality and the word of having before it are an opinion (帶有嚼勁). `openers`: aspects with which an
    opinion begins (料多實在) that are aspects of their own where none stands before them. `alternatives`: words
    between two opinions, both of which a negator denies (不會 油膩 或 過鹹).
    """

    merge: int = 0
    apart: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()
    having: tuple[str, ...] = ()
    bridging: frozenset[str] = frozenset()
    amounts: frozenset[str] = frozenset()
    joining: frozenset[str] = frozenset()
    had: bool = False
    openers: tuple[str, ...] = ()
    alternatives: frozenset[str] = frozenset()


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
    line = grammar.refusals.read_units(units)
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
        kept = [*units[taken:far], *map(_bar_past, units[far:first])]
        out += [_keep_word(u, lexicon, grammar.leads) for u in kept]
        start = unit.start if first == k else find_start(units, first, k, lexicon, grammar.extent)
        end = unit.end if last == k else units[last].end
        if far < first:
            phrase = _deny_feeling(phrase, units[far], lexicon, grammar.extent)
        after = units[last + 1 : last + 2]
        if last > k and units[last].word in grammar.extent.bits and (not after or after[0].symbol in STATEMENT_ENDS):
            phrase = phrase._replace(degrees=(*phrase.degrees, BIT))
        _add_opinion(
            out, Constituent(start, end, OPINION, text[start:end], unit.last, phrase), after, text, grammar.join
        )
        taken = last + 1
    return out + [_keep_word(u, lexicon, grammar.leads) for u in units[taken:]]


def _bar_past(unit: Unit) -> Unit:
    """沒有 上次 口感 好: behind a negator the past is what the present is held against."""
    return unit._replace(symbol=BLOCKED) if unit.symbol == IRREALIS else unit


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
    """The units on which the core, the phrase begin and the phrase ends around opinion word `unit` at k; None if it
    judges nothing.
    """
    extent, count = grammar.extent, len(units)
    begin = (
        k - 1
        if k > taken and units[k - 1].symbol == HAVE and grammar.join.had and _is_had(units[k - 1], unit, lexicon)
        else k
    )
    first = find_left_edge(units, begin, taken, extent)
    first = grammar.denials.find_denier(line, first, k, taken)
    if grammar.refusals.find(line, first, k):
        if refused is not None:
            rules = tuple(grammar.refusals.find_all(line, first, k))
            refused.append(Refusal(units[first].start, unit.end, rules))
        return None
    last = k + 1 if k + 1 < count and units[k + 1].symbol == POST else k
    if last + 1 < count and units[last + 1].start == units[last].end and ends_in_bit(units, last + 1, extent):
        last += 1
    if last == k and k + 2 == count and is_doubled(units, k):
        last += 1
    return begin, first, last


def _is_had(before: Unit, unit: Unit, lexicon: Lexicon) -> bool:
    """帶有嚼勁, 有苦味: a quality and the word before it that says that a thing has it are one opinion."""
    return before.end == unit.start and unit.word in lexicon.aspects


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
    excess = denied.endswith(extent.moderate) and lexicon.degree.get(unit.word[len(denied) :]) == OVER
    return (OVER,) if excess else ()


def _deny_feeling(phrase: Phrase, negator: Unit, lexicon: Lexicon, extent: ExtentRule) -> Phrase:
    """The phrase with a negator that stands before what it is felt of (不覺得 雞排 好吃)."""
    span = negator.start, negator.start + len(strip_negator(negator.word, lexicon, extent.fillers))
    return phrase._replace(negators=(span, *phrase.negators), kinds=(lexicon.negators[negator.word], *phrase.kinds))


def _add_opinion(out: list[Constituent], item: Constituent, after: Sequence[Unit], text: str, rule: JoinRule) -> None:
    """Append an opinion to the clause so far, or make it one with the opinion before it. `after`: the unit behind it,
    if any.
    """
    own = item.own_phrase
    amount = item.word if own.negators else own.entry.word  # 變淡 很多, 變淡 不少
    if out and amount in rule.amounts and _touches_and_ends(out[-1], item, after):
        out[-1] = out[-1]._replace(end=item.end, word=text[out[-1].start : item.end])
    elif rule.merge and out and out[-1].word in rule.alternatives and (denied := _share_denial(out, item, text)):
        out[-2:] = [denied]
    elif rule.merge and out and (free := _share_excess(out, item, text)) is not None:
        out[-1:] = [free]
    elif rule.merge and len(out) > 1 and (free := _free_of_fault(out, item, text)) is not None:
        out[-2:] = [free]
    elif rule.bridging and (count := _count_bridge(out, item, text, rule.bridging)):
        first = out[-count - 1]
        before = first.own_phrase
        decides = own if own.entry.valence > 5 else before  # 軟中帶Q, but 甜中帶苦
        phrase = before._replace(core=(before.core[0], own.core[1]), entry=decides.entry)
        out[-count - 1 :] = [item._replace(start=first.start, word=text[first.start : item.end], phrase=phrase)]
    elif rule.merge and out and (run := _merge_praise(out[-1], item, text, rule)) is not None:
        out[-1] = run
    else:
        out.append(item)


def _touches_and_ends(before: Constituent, item: Constituent, after: Sequence[Unit]) -> bool:
    """好吃很多, 便宜多了: an amount that touches an opinion and ends the statement says how much better or worse."""
    touches = before.phrase is not None and before.end == item.start
    return touches and (not after or after[0].symbol in STATEMENT_ENDS)


def _share_denial(out: Sequence[Constituent], item: Constituent, text: str) -> Constituent | None:
    """不會油膩或過鹹: a negator denies both of two alternatives of one sign that touch; they are one opinion."""
    if len(out) < 2 or out[-2].end != out[-1].start or out[-1].end != item.start:
        return None
    first, second = out[-2].phrase, item.phrase
    if first is None or second is None or first.kinds != ("not",) or second.kinds:
        return None
    if _sign(first.entry.valence) != _sign(second.entry.valence) and not _are_faults(first, second):
        return None
    phrase = first._replace(core=(first.core[0], second.core[1]))
    return item._replace(start=out[-2].start, word=text[out[-2].start : item.end], phrase=phrase)


def _share_excess(out: Sequence[Constituent], item: Constituent, text: str) -> Constituent | None:
    """不會 太硬 太軟, 不會 很膩 很油: a negator denies two faults that touch and have the same degree; they are one. So
    are a fault and what it is like (不會 假假的 化學味).
    """
    first, second = out[-1].phrase, item.phrase
    if first is None or second is None or out[-1].end != item.start or first.kinds != ("not",) or second.kinds:
        return None
    degree, likened = text[item.start : second.core[0]], out[-1].word.endswith("的") and not second.degrees
    if not likened and (not second.degrees or not text[out[-1].start : first.core[0]].endswith(degree)):
        return None
    if not _are_faults(first, second):
        return None
    phrase = first._replace(core=(first.core[0], second.core[1]))
    return item._replace(start=out[-1].start, word=text[out[-1].start : item.end], phrase=phrase)


def _are_faults(first: Phrase, second: Phrase) -> bool:
    """Whether two phrases blame, by their words or by an excess of what is no praise (太甜)."""
    excess = OVER in first.degrees and OVER in second.degrees
    return max(first.entry.valence, second.entry.valence) < (PRAISE if excess else 5)


def _free_of_fault(out: Sequence[Constituent], item: Constituent, text: str) -> Constituent | None:
    """軟而不爛: a quality and the fault that it is free of are one opinion, which the fault denied decides; 濃而不稠
    denies none. 不會 有 怪怪 的 香精味: a fault and what it describes are denied together.

    好看而不好吃 are two: praise denied is blame.
    """
    if out[-2].end != out[-1].start or out[-1].end != item.start:
        return None
    first, second = out[-2].phrase, item.phrase
    if first is None or second is None:
        return None
    if out[-1].symbol == DE:
        free = first.kinds == ("not",) and not second.kinds and not second.degrees and _are_faults(first, second)
        decides = first if free else None
    else:
        free = out[-1].word == "而" and not first.kinds and second.kinds == ("not",) and second.entry.valence < PRAISE
        decides = second if second.entry.valence < 5 else first
    if not free or decides is None:
        return None
    negators = first.negators if out[-1].symbol == DE else ()
    phrase = decides._replace(core=(first.core[0], second.core[1]), negators=negators)
    return item._replace(start=out[-2].start, word=text[out[-2].start : item.end], phrase=phrase)


def _count_bridge(out: Sequence[Constituent], item: Constituent, text: str, bridging: frozenset[str]) -> int:
    """How many constituents of `out` are a bridge from the opinion before them to this one; 0 if there is none.

    軟中帶脆: neither is denied, and they are not of opposite signs.
    """
    second = item.phrase
    for count in range(1, min(3, len(out))):
        first = out[-count - 1]
        if first.phrase is None:
            continue
        if second is None or first.phrase.kinds or second.kinds or text[first.end : item.start] not in bridging:
            return 0
        return 0 if _sign(first.phrase.entry.valence) * _sign(second.entry.valence) < 0 else count
    return 0


def _merge_praise(before: Constituent, item: Constituent, text: str, rule: JoinRule) -> Constituent | None:
    """香 濃郁: opinions of one sign that touch are one phrase where one is short, read with the first one's entry.

    Longer ones (親切 熱情), a verdict on the whole and what a thing has say something of their own.
    """
    first, second = before.phrase, item.phrase
    if first is None or second is None:
        return None
    if before.end != item.start or second.core[0] != item.start or first.core[1] != before.end:
        return None
    word = second.entry.word
    if min(len(first.entry.word), len(word)) > rule.merge:
        return None
    if first.entry.word in rule.alone or first.entry.category.startswith(rule.alone):
        return None
    if word in rule.apart or second.entry.category.startswith(rule.apart):
        return None
    if first.degrees and first.entry.category.startswith(rule.counted):
        return None
    if word.startswith(rule.having) or len(word) > 2:
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
