"""From a phrase and the aspect it describes to valence and polarity (paper, section 3.2.4), with the reasons.

Base valence: the context lexicon for this aspect, else the word's category. Then excess (太 鹹), then negation, which
turns positive to negative, negative to positive and neutral to negative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from builder.core.records import ReadWord, Reasons, Step
from builder.engine.constituents import Constituent, Phrase, Term
from builder.language.lexicon.resources import AspectEntry, Lexicon, OpinionEntry

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
