"""The elements of a triplet with their spans, its valence, and a model's proposal weighed by both. Pure.

In: constituents and phrases. Out: `Element`s in offsets of the view, a valence with its reasons, and a proposal with
trimmed spans, its negators in the opinion, and the polarity of the rules wherever the lexicon speaks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from builder.core.edges import shared, tidied
from builder.core.records import Element, ReadWord, Reasons, Span, Step, Triplet, polarity_of
from builder.engine.constituents import Constituent, Phrase, Term, Units
from builder.engine.phrases import OVER, UNHEDGED
from builder.engine.rows import WordTable
from builder.engine.symbols import BLOCKED, DE, symbol_set
from builder.language.lexicon.resources import AspectEntry, Lexicon, OpinionEntry
from builder.language.lexicon.rules import Rule

# ---- Elements

_MODIFIERS = symbol_set("PRON NUM NOUN ADJ")
"""What belongs to `aspect_full` right in front of an aspect."""
_OWNERS = symbol_set("PRON NOUN ASPECT BLOCKED")
"""What belongs to it before 的 (他們家的牛肉麵)."""
_REACH = 6
"""Units before a phrase among which a comparison may begin that belongs to it."""
_STANDARDS = symbol_set("ASPECT NOUN PRON NUM BLOCKED OTHER PREP")
"""What the first word of what a thing is compared with may be."""


def find_full_start(clause: Units, aspect: Constituent, determiners: tuple[str, ...]) -> int:
    """Where an aspect begins with its determiners, numbers and nouns, and owners before 的 (他們家的牛肉麵)."""
    at = 0
    while at < len(clause) and clause[at] is not aspect:
        at += 1
    if at == len(clause):
        return aspect.start
    while at > 0 and clause[at - 1].end == clause[at].start:
        before = clause[at - 1]
        if before.symbol in _MODIFIERS or (before.symbol == BLOCKED and before.word.startswith(determiners)):
            at -= 1
        elif before.symbol == DE and at > 1 and clause[at - 2].symbol in _OWNERS and clause[at - 2].end == before.start:
            at -= 2
        else:
            break
    return clause[at].start


def make_opinion(
    text: str, clause: Units, index: int, words: WordTable, aspect: Constituent | None = None
) -> tuple[Element, Element]:
    """The opinion at `index`, its core with its negators, and the whole stretch.

    Words of stance that touch it belong to the stretch (應該 很好), particles behind an excess (太重 了), what one
    calls it (很好 的選擇) and, where the rule says so, what it is compared with (比 上一代 輕).
    """
    item, first = clause[index], index
    phrase = item.own_phrase
    stance = words.entries["STANCE"]
    if phrase.core == (item.start, item.end) and not phrase.entry.category.startswith(UNHEDGED):
        stance += words.entries["HEDGES"]
    while first and clause[first - 1].word in stance and clause[first - 1].end == clause[first].start:
        first -= 1
    if words.entries["COMPARED"]:
        first = find_comparison(clause, first, aspect, words)
    start = min([clause[first].start, *(negator[0] for negator in phrase.negators[:1])])
    tails = (words.entries["FINALS"] if OVER in phrase.degrees else ()) + words.entries["CHOICES"]
    end = item.end + next((len(tail) for tail in tails if text.startswith(tail, item.end)), 0)
    full = make_element(text, ((start, end),))
    return make_core(text, phrase), full


def make_core(text: str, phrase: Phrase) -> Element:
    """An opinion as its core and its negators."""
    return make_element(text, (*phrase.negators, phrase.core))


def find_comparison(clause: Units, first: int, aspect: Constituent | None, words: WordTable) -> int:
    """Where the comparison begins that ends in front of the opinion at `first` (比 上一代 輕); `first` if none does.

    What is judged is no part of it, and something that is named stands behind its first word.
    """
    for at in range(first - 1, max(-1, first - 1 - _REACH), -1):
        if clause[at].phrase is not None or clause[at] is aspect:
            break
        if words.holds("COMPARED", clause[at].word):
            return at if clause[at + 1].symbol in _STANDARDS else first
    return first


def cut_out(text: str, element: Element, part: Span) -> Element:
    """The element without a stretch inside it: 沒有 上次 … 好 of 沒有 上次 味道 好, without the aspect 味道."""
    first, last = part
    if not any(first < end and start < last for start, end in element.spans):
        return element
    cut = [piece for start, end in element.spans for piece in ((start, min(end, first)), (max(start, last), end))]
    return make_element(text, list(dict.fromkeys(piece for piece in cut if piece[0] < piece[1])))


def make_element(text: str, spans: Sequence[Span]) -> Element:
    """The element of `text` that covers `spans` ([start, end) in code points); spans that touch become one."""
    if len(spans) == 1:  # nearly all of them
        start, end = spans[0]
        return Element(text[start:end], (spans[0],))
    merged: list[Span] = []
    for start, end in spans:
        if merged and merged[-1][1] == start:
            merged[-1] = merged[-1][0], end
        else:
            merged.append((start, end))
    return Element.at(text, merged)


# ---- Valence (paper, section 3.2.4): that of the context or the word, then excess (太 鹹), then negation

NEUTRAL, NEGATED_NEUTRAL, LACK = 5.0, 4.0, 3.0
CONTEXT_ONLY = "context.only"
"""Category of words that say nothing of themselves (重, 近, 新):
they are read where context.tsv has a row for the aspect.
"""


@dataclass(frozen=True, slots=True)
class ValenceRule:
    """Parameters of a rule of kind `valence`: words of `categories` about `aspects` are worth `value` behind a degree
    word of `kinds` (太鹹), or behind a negator of `kinds` alone, which denies a degree and blames nothing (不算便宜).

    Words of less than `least` (`value`, if not given) keep their own; words of `below` or more praise even then
    (太好吃). Categories and classes are prefixes, and all of them if not given. `without_context`: so read are also
    words that elsewhere need a row of context.tsv (口袋 太 淺).
    """

    kinds: tuple[str, ...]
    below: float
    value: float
    least: float | None = None
    categories: tuple[str, ...] = ("",)
    aspects: tuple[str, ...] = ("",)
    without_context: bool = False

    def applies(self, base: float, phrase: Phrase, term: Term, kinds: Sequence[str]) -> bool:
        """Whether the rule changes the valence `base` of a phrase about a term, by its words of `kinds`."""
        least = self.value if self.least is None else self.least
        return (
            any(kind in self.kinds for kind in kinds)
            and phrase.entry.category.startswith(self.categories)
            and least <= base < self.below
            and term.cls.startswith(self.aspects)
        )


def judge_valence(
    phrase: Phrase, term: Term, aspect: str, lexicon: Lexicon, rules: Sequence[ValenceRule]
) -> tuple[float, Reasons]:
    """The valence of an opinion about an aspect, and how it came about.

    The lexicon gives the value (paper, section 3.2.4), context and degree words may change it, and a negator mirrors it
    at the middle of the scale. What is lacking (不夠冷) is negative whatever it is worth.

    Valences go from 1 (bad) to 10 (good). The reasons name the word and what changed its value, in that order.
    """
    row = find_context_row(phrase.entry.word, term, aspect, lexicon)
    base = phrase.entry.valence if row is None else row[1]
    changes: list[Step] = [] if row is None else [("context", f"{phrase.entry.word} of {row[0]} {base:g}")]
    excess = next((rule for rule in rules if rule.applies(base, phrase, term, phrase.degrees)), None)
    denied = phrase.kinds if len(phrase.kinds) == 1 else ()
    denial = next((rule for rule in rules if rule.applies(base, phrase, term, denied)), None)
    if excess and not (phrase.kinds and excess.value == NEUTRAL):  # 比較不會苦 denies the blame, not the comparison
        base = excess.value
        changes.append(("excess", f"{'/'.join(phrase.degrees)} before {phrase.entry.category}"))
    value, negation = _apply_negators(base, phrase.kinds)
    if denial:  # 沒有太多 denies that there is much, not that it is too much
        value, negation = denial.value, "a degree denied"
    changes += [("negation", negation)] if negation else []
    return value, Reasons(read_opinion(phrase.entry), tuple(changes))


def _apply_negators(base: float, kinds: Sequence[str]) -> tuple[float, str]:
    """What a value is behind negators, and what they do to it; "" where they do nothing."""
    if "short" in kinds:  # whoever finds 冷氣 不夠 冷 wants it colder, whatever 冷 is worth; 並非 不夠 冷
        return LACK if len(kinds) % 2 else negate(LACK), "lack"
    if any(kind in ("fail", "without") for kind in kinds):
        return LACK if base >= 5 else negate(base), "lack"
    return (negate(base), "flip") if len(kinds) % 2 else (base, "")


def negate(value: float) -> float:
    """A valence mirrored at the middle of the scale. Not bad is milder than good, and not neutral blames."""
    if value > 5:
        return max(2.0, 11 - value)
    return NEGATED_NEUTRAL if value == 5 else min(7.0, 11 - value)


def find_context_row(word: str, term: Term, aspect: str, lexicon: Lexicon) -> tuple[str, float] | None:
    """The row of context.tsv for an opinion of an aspect: a word beats a class, the longer of two wins."""
    rows = lexicon.context.get(word)
    if rows is None:
        return None
    own = [row for row in rows if _is_about(row[0], term, aspect)]
    return max(own, key=lambda row: (row[0][0] != "@", len(row[0])), default=None)


def _is_about(target: str, term: Term, aspect: str) -> bool:
    """Whether a row is about an aspect. A word of one character must end the aspect: 多 沙 is not about 沙拉."""
    if target[0] == "@":
        return bool(term.cls) and term.cls.startswith(target[1:])
    return target in aspect if len(target) > 1 else aspect.endswith(target)


def read_aspect(aspect: Constituent, entries: Mapping[str, AspectEntry]) -> ReadWord:
    """An aspect with its class and, if a lexicon holds it, the line there."""
    entry = entries.get(aspect.word.lower())
    return ReadWord(aspect.word, (aspect.term and aspect.term.cls) or None, entry.where if entry else None)


def read_opinion(entry: OpinionEntry) -> ReadWord:
    """An opinion as its lexicon has it."""
    return ReadWord(entry.word, entry.category, entry.where, entry.valence)


# ---- Proposed triplets

NO_NAME = symbol_set("OPINION NEG DEG ADV CONJ BUT IRREALIS AUX PART PREP THAN LIST COP")
"""Units that no aspect holds."""
Valued = Callable[[Phrase, Term, str], tuple[float, Reasons] | None]
"""Phrase, term and word of the aspect -> valence and reasons as the rules have them; None where the lexicon does not
speak.
"""


@dataclass(frozen=True, slots=True)
class Read:
    """What the engine reads in a document: its opinions with their elements (opinion, opinion_full), those of them
    that state nothing (a wish, a question), by place, and all items in order.
    """

    opinions: Sequence[tuple[Constituent, Element, Element]]
    unstated: frozenset[int]
    items: Units


def weigh(text: str, read: Read, triplet: Triplet, valued: Valued) -> Triplet | None:
    """A triplet that a model proposes for a view, with the valence and polarity that the rules give its words.

    Its own polarity stands where the rules do not know the opinion. None for what the rules know to be no triplet:
    aspects that name too much, opinions that are not asserted, or of emoji alone.
    """
    tidy = tidied(text, triplet)
    if tidy is None or _names_too_much(read, tidy.aspect_full):
        return None
    judging = _judging(read, tidy.opinion)
    if judging is None:
        return tidy
    item, opinion, opinion_full = judging
    if item.start in read.unstated:
        return None
    weight = valued(item.own_phrase, *_described(read, tidy.aspect))
    if weight is None or shared(tidy.aspect, opinion):
        return tidy
    value, reasons = weight
    if item.start <= tidy.opinion.start and tidy.opinion.end <= item.end:
        whole = cut_out(text, opinion_full, (tidy.aspect.start, tidy.aspect.end))
        tidy = replace(tidy, opinion=opinion, opinion_full=whole)
    return replace(tidy, polarity=polarity_of(value), valence=round(value, 2), reasons=reasons)


def _names_too_much(read: Read, aspect: Element) -> bool:
    """Whether an aspect runs over an opinion or a word of no name: 划算漢堡 of 雞翅划算漢堡好吃, 但服務, 的口感."""
    return "的" in (aspect.text[0], aspect.text[-1]) or any(
        item.symbol in NO_NAME and item.start < aspect.end and aspect.start < item.end for item in read.items
    )


def _judging(read: Read, opinion: Element) -> tuple[Constituent, Element, Element] | None:
    """The phrase whose core shares most characters with the model's opinion; the first of equals."""
    best, most = None, 0
    for judging in read.opinions:
        start, end = judging[0].own_phrase.core
        both = sum(max(0, min(end, b) - max(start, a)) for a, b in opinion.spans)
        if both > most:
            best, most = judging, both
    return best


def _described(read: Read, aspect: Element) -> tuple[Term, str]:
    """The term that ends where the aspect ends, with its word: heads come last. An unknown noun has no class."""
    for item in read.items:
        if item.term is not None and item.end == aspect.end:
            return item.term, item.word
    return Term(""), aspect.text


# ---- Excepted pairs

Exceptions = Mapping[str, frozenset[str]]
"""Opinion -> the aspects that it is never said of."""


@dataclass(frozen=True, slots=True)
class ExceptionRule:
    """`pairs`: `aspect|opinion`, as triplets show them: the opinion with its negator."""

    pairs: tuple[str, ...]


def compile_exceptions(rules: Iterable[tuple[Rule, ExceptionRule]]) -> Exceptions:
    """Opinion -> the aspects it is never said of. ResourceError where a pair is none."""
    aspects: dict[str, set[str]] = {}
    for rule, params in rules:
        for pair in params.pairs:
            aspect, _, opinion = pair.partition("|")
            if not aspect or not opinion or "|" in opinion:
                raise rule.fault("pairs", f"{pair!r} is no pair", 'write "aspect|opinion"')
            aspects.setdefault(opinion, set()).add(aspect)
    return {opinion: frozenset(words) for opinion, words in aspects.items()}
