"""The aspects that an opinion may be about where no construction is certain, in the order of the text.

In: a scene, what a rule proposes, and the clauses before. Out: `AspectCandidate`s. Pure.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from builder.engine.constituents import Constituent
from builder.engine.units import Scene


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
    opinion_group: Callable[[str], str] = field(init=False, compare=False)
    aspect_group: Callable[[str], str] = field(init=False, compare=False)
    fits: Mapping[tuple[str, str], str] = field(init=False, compare=False)
    reaches: Callable[[str, str], bool] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "opinion_group", _compile_groups(self.opinions))
        object.__setattr__(self, "aspect_group", _compile_groups(self.aspects))
        pairs = (("fits", self.fitting), ("does not fit", self.unfitting))
        fits = {(group, about): name for name, table in pairs for group, groups in table.items() for about in groups}
        object.__setattr__(self, "fits", fits)
        object.__setattr__(self, "reaches", _compile_reach(self.nearby))


class Before(NamedTuple):
    """What stands before an opinion: all clauses of its text, each with its sentence and whether a colon ends it.

    `number`: which of them is the opinion's own. `described`: where the aspects start that have an opinion already.
    """

    clauses: Sequence[tuple[Sequence[Constituent], int, bool]]
    number: int
    described: Collection[int]


class AspectCandidate(NamedTuple):
    """An aspect with its clause, how many clauses back it stands and how many borders of sentences away."""

    aspect: Constituent
    clause: Sequence[Constituent]
    back: int
    borders: int


def find_candidates(
    scene: Scene, proposed: Constituent | None, before: Before, reach: int
) -> Iterator[AspectCandidate]:
    """The aspects of the clauses in text order, from `reach` clauses back on.

    What a rule proposes may be no constituent of its clause: a noun, or the owner of an attribute. It may stand
    further back, too.
    """
    first = max(0, before.number - reach)
    if proposed is not None and (far := _find_further_back(proposed, before, first)) is not None:
        yield far
        proposed = None
    own = before.clauses[before.number][1]
    seen = proposed is None
    for at in range(first, before.number + 1):
        clause, sentence, _ = before.clauses[at]
        for item in clause:
            if proposed is not None and item.start == proposed.start:
                seen = True
                yield AspectCandidate(proposed, clause, before.number - at, own - sentence)
                if item.end == proposed.end:
                    continue
            if item.term is not None:
                yield AspectCandidate(item, clause, before.number - at, own - sentence)
    if proposed is not None and not seen:
        yield AspectCandidate(proposed, scene.items, 0, 0)


def _find_further_back(proposed: Constituent, before: Before, first: int) -> AspectCandidate | None:
    """What is proposed, with its own clause, where that stands before clause `first`."""
    if not first or proposed.start >= before.clauses[first][0][0].start:
        return None
    at = bisect_right(before.clauses, proposed.start, hi=first, key=lambda clause: clause[0][0].start) - 1
    clause, sentence, _ = before.clauses[at]
    return AspectCandidate(proposed, clause, before.number - at, before.clauses[before.number][1] - sentence)


def _compile_groups(groups: Mapping[str, tuple[str, ...]]) -> Callable[[str], str]:
    """The group of a category or class by the longest prefix that it begins with; `other` if there is none."""
    prefixes = sorted(((prefix, group) for group, members in groups.items() for prefix in members), key=_by_length)

    @cache
    def find_group(name: str) -> str:
        if not name:
            return "none listed"
        return next((group for prefix, group in prefixes if name.startswith(prefix)), "other")

    return find_group


def _compile_reach(nearby: tuple[str, ...]) -> Callable[[str, str], bool]:
    """Whether an opinion of a category may be about an aspect of a class that stands in an earlier clause."""
    barred = [(category, cls) for category, _, cls in (pair.partition(" ") for pair in nearby)]

    @cache
    def reaches(category: str, cls: str) -> bool:
        return not any(category.startswith(one) and cls.startswith(about) for one, about in barred)

    return reaches


def _by_length(item: tuple[str, str]) -> tuple[int, str]:
    return -len(item[0]), item[0]
