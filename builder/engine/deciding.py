"""Which aspect an opinion is about where no construction is certain: all candidates and "none" are weighed together.

In: a scene, what the first rule proposes, and the clauses before. Out: the `Weighed` candidates, the best first. The
score of a candidate is a sum of weights, those of its features (`describing`), and "none" has the score 0. A rule of
kind `decision` holds the weights; `tests/measure/decision.py` chooses them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple

from builder.engine.candidates import Before, DecisionRule, find_candidates
from builder.engine.constituents import Constituent
from builder.engine.describing import describe_clause, describe_earlier, describe_fit, describe_opinion, describe_same
from builder.engine.scene import AspectChoice, Scene

_MANY = 3
"""Aspects between a candidate and the opinion are counted so far."""
_MOST = 40
"""Candidates that are weighed: the nearest ones, so that a text that names hundreds without a mark costs no more."""


_SHOWN = 5
"""Candidates that the reasons of a triplet name at most, "none" among them."""


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


def weigh_candidates(
    scene: Scene,
    proposal: tuple[str, AspectChoice] | None,
    before: Before,
    fits: Callable[[Constituent], bool],
    rule: DecisionRule,
    is_on_the_whole: bool = False,
) -> list[Weighed]:
    """All candidates that the opinion can describe, the best first; of equals the later one. One that `is_on_the_whole`
    describes nothing in particular that was named before its clause.
    """
    opinion, weights = scene.opinion, rule.weights
    assert opinion.phrase is not None
    group = rule.opinion_group(opinion.phrase.entry.category)
    proposed = proposal[1].aspects[0] if proposal else None
    candidates = list(find_candidates(scene, proposed, before, rule.clauses))
    if not candidates:
        return []
    if len(candidates) > _MOST:
        distances = [abs(candidate.aspect.start - opinion.start) for candidate in candidates]
        farthest = sorted(distances)[_MOST]
        nearby = zip(candidates, distances, strict=True)
        candidates = [item for item, distance in nearby if distance < farthest or item.aspect is proposed]
    shared = describe_opinion(scene, group)
    carried = describe_clause(scene, group, rule.viewing)
    starts = [candidate.aspect.start for candidate in candidates]
    out = []
    for number, candidate in enumerate(candidates):
        aspect = candidate.aspect
        if aspect is not proposed and not fits(aspect):
            continue
        assert aspect.term is not None
        if candidate.back and not rule.reaches(opinion.phrase.entry.category, aspect.term.cls):
            continue
        if candidate.back and rule.missing and before.described.get(aspect.start, "").startswith(rule.missing):
            continue
        about = rule.aspect_group(aspect.term.cls)
        if candidate.back and is_on_the_whole and about not in rule.general:
            continue
        features = [*shared, describe_fit(opinion.phrase.entry.category, aspect.term.cls)]
        fitting = rule.fits.get((group, about))
        if fitting:
            features.append(fitting)
        if aspect is proposed and proposal:
            features.append(f"rule {proposal[0]}")
        if len(starts) > 1:
            if aspect.start > opinion.start:
                between = (start for start in reversed(starts[:number]) if opinion.start < start)
            else:
                between = (start for start in starts[number + 1 :] if aspect.start < start < opinion.start)
            features += ["aspect between" for _ in islice(between, _MANY)]
        if candidate.back:
            general, opens = about in rule.general, scene.at == 0
            features += carried + describe_earlier(candidate, before, is_general=general, opens=opens)
        else:
            features += describe_same(scene, aspect)
        if number == 0 and before.number <= rule.clauses:
            features.append("first aspect of the text")
        if len(candidates) == 1:
            features.append("only candidate")
        if aspect.start in before.described:
            features.append("described before")
        terms = list(islice((item for item in candidate.clause if item.term is not None), 2))
        if terms and aspect.start == terms[0].start:
            features.append("first of its clause" if len(terms) > 1 else "only one of its clause")
        score = sum([weights.get(name, 0.0) for name in features])
        choice = proposal if aspect is proposed else None
        out.append(Weighed(score, aspect, candidate.clause, tuple(features), *(choice or ("", None))))
    return sorted(out, key=lambda candidate: (-candidate.score, -candidate.aspect.start))


def rank_candidates(weighed: Sequence[Weighed], chosen: Constituent) -> tuple[tuple[tuple[str, float], ...], float]:
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
