"""Which aspect an opinion is about where no construction is certain: all candidates and "none" are weighed together.

In: a scene, what the first rule proposes, and the clauses before. Out: the `Weighed` candidates, the best first. The
score of a candidate is a sum of weights, those of its few readable features, and "none" has the score 0. A rule of
kind `decision` holds the weights; `tests/measure/decision.py` chooses them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from builder.engine.constituents import Constituent
from builder.engine.scene import AspectChoice, Scene
from builder.engine.symbols import ASPECT, BLOCKED, NOUN, PRON, VERB, symbol_set

_BEHIND: Mapping[str, str] = {
    NOUN: "behind a noun",
    BLOCKED: "behind a noun",
    VERB: "behind a verb",
    PRON: "behind a pronoun",
    ASPECT: "behind an aspect",
}
"""Unit that stands before the opinion in its clause -> the feature of candidates of other clauses."""
_WORDS = symbol_set("ADJ VERB NOUN ADV BLOCKED")
_MANY = 3
"""Aspects between a candidate and the opinion are counted so far."""
_BORDERS = 2
"""Borders of sentences are counted so far."""


@dataclass(frozen=True, slots=True)
class DecisionRule:
    """Parameters of a rule of kind `decision`.

    `sure`: rules whose aspect stands as it is. `clauses`: how many clauses back candidates are looked for. `opinions`:
    group -> opinion categories, `aspects`: group -> aspect classes, both prefixes of which the longest counts.
    `weights`: feature of a candidate -> what it adds to the score; a feature without a weight adds nothing.
    """

    sure: frozenset[str]
    clauses: int
    opinions: Mapping[str, tuple[str, ...]]
    aspects: Mapping[str, tuple[str, ...]]
    weights: Mapping[str, float]
    opinion_group: Callable[[str], str] = field(init=False, compare=False)
    aspect_group: Callable[[str], str] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "opinion_group", _compile_groups(self.opinions))
        object.__setattr__(self, "aspect_group", _compile_groups(self.aspects))


class Weighed(NamedTuple):
    """A candidate with its features and score, and the clause it stands in.

    `rule` and `choice`: the rule that proposes it and its answer; "" and None where none does.
    """

    score: float
    aspect: Constituent
    clause: Sequence[Constituent]
    features: tuple[str, ...]
    rule: str
    choice: AspectChoice | None


class Before(NamedTuple):
    """What stands before the clause of an opinion: its own clause last, each with its sentence and whether a colon
    ends it.

    `described`: where the aspects start that have an opinion already.
    """

    clauses: Sequence[tuple[Sequence[Constituent], int, bool]]
    described: Collection[int]


def weigh_candidates(
    scene: Scene,
    proposal: tuple[str, AspectChoice] | None,
    before: Before,
    fits: Callable[[Constituent], bool],
    rule: DecisionRule,
) -> list[Weighed]:
    """All candidates that the opinion can describe, the best first; of equals the later one."""
    opinion, weights = scene.opinion, rule.weights
    assert opinion.phrase is not None
    group = rule.opinion_group(opinion.phrase.entry.category)
    proposed = proposal[1].aspects[0] if proposal else None
    candidates = list(_find_candidates(scene, proposed, before))
    surroundings = _describe_clause(scene)
    topics = [aspect.start for aspect in scene.topic.aspects] if scene.topic else []
    out = []
    for number, (aspect, clause, back, borders) in enumerate(candidates):
        if aspect is not proposed and not fits(aspect):
            continue
        assert aspect.term is not None
        features = ["any", f"{group} of {rule.aspect_group(aspect.term.cls)}"]
        if aspect is proposed and proposal:
            features.append(f"rule {proposal[0]}")
        if aspect.start > opinion.start:
            features.append("behind the opinion")
            between = sum(1 for other, *_ in candidates if opinion.start < other.start < aspect.start)
        else:
            between = len(candidates) - number - 1
            between -= sum(1 for other, *_ in candidates[number + 1 :] if other.start > opinion.start)
        features += ["aspect between"] * min(between, _MANY)
        if back:
            if back == 1 and before.clauses[-2][2] and aspect is clause[-1]:
                features.append("label of the clause")
            features += [f"clauses back {back}", *surroundings, *(["sentence border"] * min(borders, _BORDERS))]
        elif aspect.start < opinion.start:
            features.append("same clause")
        if aspect.start in before.described:
            features.append("described before")
        if aspect.start in topics:
            features.append("topic")
        if aspect is next((item for item in clause if item.term is not None), None):
            features.append("first of its clause")
        score = sum(weights.get(name, 0.0) for name in features)
        choice = proposal if aspect is proposed else None
        out.append(Weighed(score, aspect, clause, tuple(features), *(choice or ("", None))))
    return sorted(out, key=lambda candidate: (-candidate.score, -candidate.aspect.start))


def _find_candidates(
    scene: Scene, proposed: Constituent | None, before: Before
) -> Iterator[tuple[Constituent, Sequence[Constituent], int, int]]:
    """The aspects of the clauses in text order, with their clause, how many clauses back and how many borders away.

    What a rule proposes may be no constituent of its clause: a noun, or the owner of an attribute.
    """
    own = before.clauses[-1][1]
    last = len(before.clauses) - 1
    seen = False
    for at, (clause, sentence, _) in enumerate(before.clauses):
        for item in clause:
            if proposed is not None and item.start == proposed.start:
                seen = True
                yield proposed, clause, last - at, own - sentence
                if item.end == proposed.end:
                    continue
            if item.term is not None:
                yield item, clause, last - at, own - sentence
    if proposed is not None and not seen:
        yield proposed, scene.items, 0, 0


def _describe_clause(scene: Scene) -> list[str]:
    """Features of the opinion's clause, which tell how likely it goes on about an earlier one."""
    if len(scene.symbols) == 1:
        return ["alone in its clause"]
    out = sorted({_BEHIND[symbol] for symbol in scene.symbols[: scene.at] if symbol in _BEHIND})
    after = scene.symbols[scene.at + 1 : scene.at + 2]
    if after == ASPECT:
        out.append("before an aspect")
    elif after:
        out.append("before a word" if after in _WORDS else "before another unit")
    return out


def _compile_groups(groups: Mapping[str, tuple[str, ...]]) -> Callable[[str], str]:
    """The group of a category or class by the longest prefix that it begins with; `other` if there is none."""
    prefixes = sorted(((prefix, group) for group, members in groups.items() for prefix in members), key=_by_length)

    @cache
    def find_group(name: str) -> str:
        if not name:
            return "none listed"
        return next((group for prefix, group in prefixes if name.startswith(prefix)), "other")

    return find_group


def _by_length(item: tuple[str, str]) -> tuple[int, str]:
    return -len(item[0]), item[0]
