"""A model's pair of spans by the rules' arithmetic: lexicon, negation, degree and context decide its polarity
wherever the lexicon speaks.

In: the opinions and terms that the engine reads in a document, and a triplet that a model proposes. Out: the triplet
with trimmed spans, its negators in the opinion, and the polarity that the rules would give the pair; None where the
words state nothing or cannot be a triplet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from builder.core.edges import shared, tidied
from builder.core.reasons import Reasons
from builder.core.records import Element, Triplet, polarity_of
from builder.engine.constituents import Constituent, Phrase, Term
from builder.engine.elements import cut_out
from builder.engine.symbols import symbol_set

NO_NAME = symbol_set("OPINION NEG DEG ADV CONJ BUT IRREALIS AUX PART PREP THAN LIST COP")
"""Units that no aspect holds."""
LONGEST_GAP = 6
"""Characters that an opinion's parts may lie apart: models join parts of two opinions over more."""
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
    items: Sequence[Constituent]


def weigh(text: str, read: Read, triplet: Triplet, valued: Valued) -> Triplet | None:
    """A triplet of a model, with the valence and polarity that the rules give its words.

    Args:
        text: the view that the triplet's offsets count in.
        read: the same text as the engine read it.
        triplet: what the model proposes; its polarity stands where the rules do not know the opinion.
        valued: gives valence and reasons of a phrase about an aspect; None where it has none.

    Returns:
        None for what the rules know to be no triplet: aspects that name too much or are interrupted (待人 of 接待的人),
        opinions that are not asserted, of emoji alone, or in parts too far apart.
    """
    tidy = tidied(text, triplet)
    if tidy is None or _names_too_much(read, tidy.aspect_full) or _is_torn(tidy):
        return None
    judging = _judging(read, tidy.opinion)
    if judging is None:
        return tidy
    item, opinion, opinion_full = judging
    if item.start in read.unstated:
        return None
    assert item.phrase is not None
    weight = valued(item.phrase, *_described(read, tidy.aspect))
    if weight is None or shared(tidy.aspect, opinion):
        return tidy
    value, reasons = weight
    if item.start <= tidy.opinion.start and tidy.opinion.end <= item.end:
        whole = cut_out(text, opinion_full, (tidy.aspect.start, tidy.aspect.end))
        tidy = replace(tidy, opinion=opinion, opinion_full=whole)
    return replace(tidy, polarity=polarity_of(value), valence=round(value, 2), reasons=reasons)


def _is_torn(triplet: Triplet) -> bool:
    """Whether an aspect is interrupted, or an opinion by too much."""
    gaps = (behind[0] - before[1] for before, behind in pairwise(triplet.opinion.spans))
    return len(triplet.aspect.spans) > 1 or any(gap > LONGEST_GAP for gap in gaps)


def _names_too_much(read: Read, aspect: Element) -> bool:
    """Whether an aspect runs over an opinion or a word that is part of no name:
    划算漢堡 of 雞翅划算漢堡好吃, 但服務, 往往拿東西, 的口感.
    """
    if "的" in (aspect.text[0], aspect.text[-1]):
        return True
    return any(item.symbol in NO_NAME and item.start < aspect.end and aspect.start < item.end for item in read.items)


def _judging(read: Read, opinion: Element) -> tuple[Constituent, Element, Element] | None:
    """The phrase whose core shares most characters with the model's opinion; the first of equals."""
    best, most = None, 0
    for item, *elements in read.opinions:
        assert item.phrase is not None
        start, end = item.phrase.core
        both = sum(max(0, min(end, b) - max(start, a)) for a, b in opinion.spans)
        if both > most:
            best, most = (item, elements[0], elements[1]), both
    return best


def _described(read: Read, aspect: Element) -> tuple[Term, str]:
    """The term that ends where the aspect ends, with its word: heads come last in Chinese. A noun that no lexicon
    knows has no class.
    """
    for item in read.items:
        if item.term is not None and item.end == aspect.end:
            return item.term, item.word
    return Term(""), aspect.text
