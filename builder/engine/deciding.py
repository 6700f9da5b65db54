"""Which aspect an opinion is about where no construction is certain: all candidates and "none" are weighed together.

In: a scene, what the first rule proposes, and the clauses before. Out: the candidates with scores, the best first.

Each candidate is described by features that a person can read; each may have a weight. Its score is the sum of these
weights, and "none" has the score 0. A rule of kind `decision` holds the weights; `tests/measure/decision.py` chooses
them. Describing is pure.
"""

from __future__ import annotations

import math
from bisect import bisect_right, insort_left
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice

from builder.engine.constituents import AspectCandidate, Constituent, Scene, Units, is_thing
from builder.engine.params import compile_pairs
from builder.engine.symbols import ASPECT, spell_symbols, symbol_set


@dataclass(frozen=True, slots=True)
class DecisionRule:
    """Parameters of a rule of kind `decision`.

    `sure`: rules whose aspect stands as it is. `clauses`: how many clauses back candidates are looked for. `opinions`:
    group -> opinion categories, `aspects`: group -> aspect classes, both prefixes of which the longest counts.
    `fitting` and `unfitting`: group of opinions -> groups of aspects that they are usually, or hardly ever, said of.
    `general`: groups of aspects that name what is reviewed, or the house, in general. `viewing`: verbs whose
    subject holds the opinion behind them and is not what it is about (我 覺得 很 特別). `nearby`: "category class"
    pairs, both prefixes, that hold within a clause alone (座位很多，很飽).
    `weights`: feature of a candidate -> what it adds to the score; a feature without a weight adds nothing.
    """

    sure: frozenset[str]
    clauses: int
    opinions: Mapping[str, tuple[str, ...]]
    aspects: Mapping[str, tuple[str, ...]]
    weights: Mapping[str, float]
    fitting: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unfitting: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    general: frozenset[str] = frozenset()
    viewing: frozenset[str] = frozenset()
    nearby: tuple[str, ...] = ()


class Decision:
    """A `DecisionRule` made ready: its name, and what it says of categories, classes and groups."""

    def __init__(self, name: str, rule: DecisionRule) -> None:
        self.name, self.rule = name, rule
        self.opinion_group, self.aspect_group = _compile_groups(rule.opinions), _compile_groups(rule.aspects)
        pairs = (("fits", rule.fitting), ("does not fit", rule.unfitting))
        self.fits = {(own, about): fit for fit, table in pairs for own, groups in table.items() for about in groups}
        self.is_near = compile_pairs(rule.nearby)
        """Whether an opinion of a category is about no aspect of a class in an earlier clause."""


def find_candidates(scene: Scene, proposed: Constituent | None, reach: int) -> list[AspectCandidate]:
    """The aspects of the clauses in text order, from `reach` clauses back on.

    What a rule proposes may be no constituent of its clause: a noun, or the owner of an attribute. It may stand
    further back, too.
    """
    number, own = scene.number, scene.clauses[scene.number].sentence
    first = max(0, number - reach)
    out = [
        AspectCandidate(item, clause.items, number - at, own - clause.sentence)
        for at, clause in enumerate(scene.clauses[first : number + 1], first)
        for item in clause.items
        if item.term is not None and (proposed is None or (item.start, item.end) != (proposed.start, proposed.end))
    ]
    if proposed is not None:
        at = bisect_right(scene.clauses, proposed.start, hi=number + 1, key=lambda clause: clause.items[0].start) - 1
        clause = scene.clauses[at]
        candidate = AspectCandidate(proposed, clause.items, number - at, own - clause.sentence)
        insort_left(out, candidate, key=lambda other: other.aspect.start)
    return out


def _compile_groups(groups: Mapping[str, tuple[str, ...]]) -> Callable[[str], str]:
    """The group of a category or class by the longest prefix that it begins with; `other` if there is none."""
    pairs = [(prefix, group) for group, members in groups.items() for prefix in members]
    prefixes = sorted(pairs, key=lambda pair: -len(pair[0]))

    @cache
    def find_group(name: str) -> str:
        if not name:
            return "none listed"
        return next((group for prefix, group in prefixes if name.startswith(prefix)), "other")

    return find_group


# ---- Features of a candidate

_CALLED = {
    "a noun": "NOUN BLOCKED",
    "a verb": "VERB",
    "a pronoun": "PRON",
    "的": "DE",
    "an opinion": "OPINION",
    "an aspect": "ASPECT",
    "a joiner": "CONJ LIST",
    "a contrast": "BUT",
    "a copula": "COP",
    "having": "HAVE",
    "a preposition": "PREP",
}
_NAMES = {symbol: name for name, units in _CALLED.items() for symbol in symbol_set(units)}
"""Unit -> what features call it."""
_SUBJECTS = symbol_set("NOUN BLOCKED VERB PRON ASPECT")
"""Units before an opinion that may be what it is about instead of an aspect of an earlier clause."""
_VIEWERS = symbol_set("BLOCKED PRON ADV BUT CONJ")
"""Units before a verb of viewing that say who views, and how."""
_NEAR = 3
_FAR = 5
_FURTHEST = 4
"""Clauses between an aspect and the opinion are counted so far."""
_IDIOM = 4
"""Characters of an idiom, which needs no degree word (原汁原味)."""
_SIDES = ("same clause", "behind the opinion")


def describe_opinion(scene: Scene, group: str) -> list[str]:
    """Features of the opinion itself, which tell how likely it is about anything that is named."""
    phrase = scene.opinion.own_phrase
    out = ["any", f"any {group}"]
    if not phrase.negators and not phrase.degrees:
        out.append("bare")
        if len(scene.opinion.word) == _IDIOM:
            out.append(f"four characters of {group}")
    if len(scene.opinion.word) == 1:
        out.append("one character")
    after = scene.symbols[scene.at + 1 : scene.at + 2]
    out.append(f"before {_NAMES.get(after, 'another unit')}" if after else "ends its clause")
    return out


def describe_clause(scene: Scene, group: str, viewing: Collection[str]) -> list[str]:
    """Features of the opinion's clause, which tell how likely it goes on about an earlier one.

    Who views it is no subject, nor is the word of `viewing` behind (我 覺得 很 特別).
    """
    out = ["clauses back 1", f"earlier clause of {group}"]
    first = _find_viewed(scene.items[: scene.at], viewing)
    return out + sorted(
        {f"behind {_NAMES[symbol]}" for symbol in scene.symbols[first : scene.at] if symbol in _SUBJECTS}
    )


def _find_viewed(before: Units, viewing: Collection[str]) -> int:
    """How many units before an opinion say who views something so: 但 我 覺得; 0 where none of `viewing` is there."""
    for i, item in enumerate(before):
        if item.word in viewing:
            return i + 1
        if item.symbol not in _VIEWERS:
            return 0
    return 0


def describe_earlier(candidate: AspectCandidate, *, is_general: bool, opens: bool) -> list[str]:
    """Features of an aspect that stands in an earlier clause than its opinion; one that counts twice stands twice.

    `is_general`: whether the aspect names what is reviewed, or the house, in general. `opens`: whether the opinion
    opens its clause (檸檬茶，好喝).
    """
    aspect, clause, back, borders = candidate.aspect, candidate.clause, candidate.back, candidate.borders
    out = ["further back"] * min(back - 1, _FURTHEST) + ["sentence border"] * min(borders, 2)
    if aspect is clause[-1]:
        out.append("ends its clause before")
        if opens and back == 1 and len(clause) == 1:
            out.append("a clause of its own")
    if is_general:
        out.append("general, earlier clause")
    if is_thing(aspect):
        out.append("thing, earlier clause")
    return out


def describe_same(scene: Scene, aspect: Constituent) -> list[str]:
    """Features of an aspect of the opinion's own clause: what stands between the two."""
    opinion = scene.opinion
    behind = aspect.start > opinion.start
    start, end = (opinion.end, aspect.start) if behind else (aspect.end, opinion.start)
    between = "".join([item.symbol for item in scene.items if start <= item.start < end])
    out = [*_describe_between(behind, between)]
    if start == end:
        out.append(f"{_SIDES[behind]}, touches")
        if not behind and scene.symbols[scene.at + 1 : scene.at + 2] == ASPECT:  # 湯濃肉硬青菜老
            out.append("touches, before an aspect")
    return out


@cache
def _describe_between(behind: bool, symbols: str) -> tuple[str, ...]:
    """Features of the units between an aspect and the opinion: which there are, and in what order."""
    side = _SIDES[behind]
    out = [side, *sorted({f"{side}, over {_NAMES[symbol]}" for symbol in symbols if symbol in _NAMES})]
    if len(symbols) <= _NEAR:
        out.append(f"{side}, over {spell_symbols(symbols)}" if symbols else f"{side}, over nothing")
    else:
        out += [f"{side}, over {spell_symbols(symbols[:2])} …", f"{side}, over … {spell_symbols(symbols[-2:])}"]
    if len(symbols) >= _FAR:
        out.append(f"{side}, far")
    return tuple(out)


@cache
def describe_fit(category: str, cls: str) -> str:
    """What kind of opinion is said of what kind of aspect: `speed of service`."""
    return f"{category.partition('.')[0]} of {cls.partition('.')[0] or 'no class'}"


# ---- The decision

_MANY = 3
"""Aspects between a candidate and the opinion are counted so far."""
_MOST = 40
"""Candidates that are weighed: the nearest ones, so that a text that names hundreds without a mark costs no more."""
_SHOWN = 5
"""Candidates that the reasons of a triplet name at most, "none" among them."""


def weigh_candidates(
    scene: Scene, proposal: tuple[str, Constituent] | None, fits: Callable[[Constituent], bool], decision: Decision
) -> list[AspectCandidate]:
    """All candidates that the opinion can describe, the best first; of equals the later one.

    `proposal`: a rule and the aspect that it finds.
    """
    rule, category = decision.rule, scene.opinion.own_phrase.entry.category
    group = decision.opinion_group(category)
    proposing, proposed = proposal or ("", None)
    candidates = find_candidates(scene, proposed, rule.clauses)
    candidates = _keep_nearest(candidates, scene.opinion.start, proposed)
    shared, carried = describe_opinion(scene, group), describe_clause(scene, group, rule.viewing)
    starts = [candidate.aspect.start for candidate in candidates]
    out = []
    for number, candidate in enumerate(candidates):
        aspect, cls = candidate.aspect, candidate.aspect.own_term.cls
        if (aspect is not proposed and not fits(aspect)) or (candidate.back and decision.is_near(category, cls)):
            continue
        about = decision.aspect_group(cls)
        features = [*shared, describe_fit(category, cls)]
        if fitting := decision.fits.get((group, about)):
            features.append(fitting)
        if aspect is proposed:
            features.append(f"rule {proposing}")
        low, high = sorted((aspect.start, scene.opinion.start))
        features += ["aspect between"] * min(_MANY, sum(low < start < high for start in starts))
        if candidate.back:
            general, opens = about in rule.general, scene.at == 0
            features += carried + describe_earlier(candidate, is_general=general, opens=opens)
        else:
            features += describe_same(scene, aspect)
        if number == 0 and scene.number <= rule.clauses:
            features.append("first aspect of the text")
        features += _describe_place(candidate, scene.described)
        score = sum([rule.weights.get(name, 0.0) for name in features])
        out.append(candidate._replace(score=score, features=tuple(features)))
    return sorted(out, key=lambda candidate: (-candidate.score, -candidate.aspect.start))


def _keep_nearest(candidates: list[AspectCandidate], at: int, proposed: Constituent | None) -> list[AspectCandidate]:
    """The candidates nearest to a place, and what a rule proposes."""
    if len(candidates) <= _MOST:
        return candidates
    farthest = sorted(abs(candidate.aspect.start - at) for candidate in candidates)[_MOST]
    return [item for item in candidates if abs(item.aspect.start - at) < farthest or item.aspect is proposed]


def _describe_place(candidate: AspectCandidate, described: Collection[int]) -> list[str]:
    """Features of a candidate among the others."""
    start = candidate.aspect.start
    out = ["described before"] if start in described else []
    terms = list(islice((item for item in candidate.clause if item.term is not None), 2))
    if terms and start == terms[0].start:
        out.append("first of its clause" if len(terms) > 1 else "only one of its clause")
    return out


def rank_candidates(
    weighed: Sequence[AspectCandidate], chosen: Constituent
) -> tuple[tuple[tuple[str, float], ...], float]:
    """The best candidates with their scores, the best first, and by how much `chosen` is ahead of the next of them.

    An aspect that is not among them was joined to the best, and is as far ahead as that. Nothing is ahead of nothing.
    """
    if not weighed:
        return (), math.inf
    scores: list[tuple[float, Constituent | None]] = [(candidate.score, candidate.aspect) for candidate in weighed]
    best = sorted([*scores, (0.0, None)], key=lambda pair: -pair[0])[:_SHOWN]
    ranked = [(aspect.word if aspect else "none", round(score, 1)) for score, aspect in best]
    own = next((i for i, (_, aspect) in enumerate(best) if aspect is chosen), 0)
    rivals = [score for i, (_, score) in enumerate(ranked) if i != own]
    return tuple(ranked), ranked[own][1] - max(rivals)
