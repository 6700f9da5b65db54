"""From a phrase and the aspect it describes to valence and polarity (paper, section 3.2.4), with the reasons.

Base valence: the context lexicon for this aspect, else the word's category. Then excess (太 鹹), then negation, which turns
positive to negative, negative to positive and neutral to negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from builder.engine.items import Phrase, Term
from builder.lexicon.resources import Lexicon

NEGATED_NEUTRAL, LACK = 4.0, 3.0
CONTEXT_ONLY = "context.only"
"""Category of words that say nothing of themselves (重, 近, 新): they are read where context.tsv has a row for the aspect."""


@dataclass(frozen=True, slots=True)
class Excess:
    """Parameters of rules/30_polarity.toml: after a degree word of `kinds`, words of `categories` have the valence `value`.

    Words of less than `least` (unless said, `value`) keep their own; words of `below` or more praise even then (太好吃). `aspects`: the classes
    of which it is so, all unless said.
    """

    kinds: tuple[str, ...]
    categories: tuple[str, ...]
    least: float
    below: float
    value: float
    aspects: tuple[str, ...] = ("",)


@dataclass(frozen=True, slots=True)
class Denial:
    """To deny a positive word of `categories` with a negator of `kinds` says that a degree is not reached (不多), and blames nothing."""

    kinds: tuple[str, ...]
    categories: tuple[str, ...]


def valence(
    phrase: Phrase, term: Term, aspect: str, lexicon: Lexicon, excess: Sequence[Excess], denials: Sequence[Denial]
) -> tuple[float, list[tuple[str, str]]]:
    """Valence in 1..10 and the evidence for it."""
    base, evidence = _base(phrase, term, aspect, lexicon)
    good = base >= 5  # 沒有太多 denies that there is much, not that it is too much
    for rule in excess if phrase.degrees else ():
        if (
            any(kind in rule.kinds for kind in phrase.degrees)
            and phrase.entry.category.startswith(rule.categories)
            and rule.least <= base < rule.below
            and term.cls.startswith(rule.aspects)
        ):
            base = rule.value
            evidence.append(("excess", f"{'/'.join(phrase.degrees)} before {phrase.entry.category}"))
            break
    if not phrase.kinds:
        return base, evidence
    if "short" in phrase.kinds:  # whoever finds 冷氣 不夠 冷 wants it colder, whatever 冷 is worth; 並非 不夠 冷
        return LACK if len(phrase.kinds) % 2 else negated(LACK), [*evidence, ("negation", "lack")]
    if any(kind in ("fail", "without") for kind in phrase.kinds):
        return LACK if base >= 5 else negated(base), [*evidence, ("negation", "lack")]
    if good and any(
        phrase.kinds == (kind,) and phrase.entry.category.startswith(rule.categories) for rule in denials for kind in rule.kinds
    ):
        return 5.0, [*evidence, ("negation", "a degree denied")]
    if len(phrase.kinds) % 2:
        return negated(base), [*evidence, ("negation", "flip")]
    return base, evidence


def negated(value: float) -> float:
    """Mirror a valence at the middle of the scale; not bad is milder than good. Neutral becomes negative (data facts)."""
    if value > 5:
        return max(2.0, 11 - value)
    return NEGATED_NEUTRAL if value == 5 else min(7.0, 11 - value)


def context_row(word: str, term: Term, aspect: str, lexicon: Lexicon) -> tuple[str, float] | None:
    """The row of context.tsv for an opinion of an aspect: a literal word beats a class, the longer of two wins (高 CP值, 高 @price).

    A word of one character must end the aspect: 多 沙 is not about 沙拉.
    """
    best: tuple[int, str, float] | None = None
    rows = lexicon.context.get(word)
    if rows is None:
        return None
    for target, value in rows:
        literal = target[0] != "@"
        if (target in aspect if len(target) > 1 else aspect.endswith(target)) if literal else term.cls and term.cls.startswith(target[1:]):
            rank = len(target) + (100 if literal else 0)
            if best is None or rank > best[0]:
                best = rank, target, value
    return None if best is None else best[1:]


def _base(phrase: Phrase, term: Term, aspect: str, lexicon: Lexicon) -> tuple[float, list[tuple[str, str]]]:
    entry = phrase.entry
    evidence = [("opinion", f"{entry.word} {entry.category} {entry.valence:g} ({entry.where})")]
    row = context_row(entry.word, term, aspect, lexicon)
    if row is None:
        return entry.valence, evidence
    return row[1], [*evidence, ("context", f"{entry.word} of {row[0]} {row[1]:g}")]
