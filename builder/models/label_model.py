"""How much labellers beside the build are worth, by agreement without labels, and what they make of each candidate.

In: candidates with the chance that the build gives them (None: the build does not propose them), who else proposes
them, and what people say where they spoke. Out: the chance that each is right.

A labeller's two rates, how often it names what is right and what is wrong, are estimated by expectation maximisation
as in Dawid and Skene (1979): the class of a candidate is hidden, its prior is the build's own calibrated chance, and
labellers err independently of each other given the class. What only labellers propose is weighed as in
capture-recapture: the build misses a known share of what is right, and a labeller names of that what it names
elsewhere. Rates are those of a category, drawn towards the rates of all. Judged candidates count with their class.

One labeller beside one build leaves open how often both make the same error; SHARED_ERROR is assumed then.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

PRECISION, RECALL = 0.85, 0.69
"""Of the rules' triplets on whole reviews (docs/results/rules.md): the chance of one that no judge has scored, and
the share of what is right that the build holds.
"""
_BY_MARGIN = ((0.5, 0.5), (1.0, 0.6), (1.5, 0.7), (2.0, 0.85), (math.inf, 0.9))
"""Margin below which -> share of the rules' triplets on whole reviews that are right."""
SHARED_ERROR = 0.5
"""How often a labeller repeats what the build has wrong, before anything is known of it."""
NAMED = 0.6
"""How often a labeller names what is right, before anything is known of it."""
HARDER = 0.8
"""What the build misses is harder for others too: they name so much less of it."""
_PRIOR, _CATEGORY, _JUDGED = 20.0, 50.0, 20.0
_ROUNDS, _SUREST = 100, 0.98
Votes = tuple[bool | None, ...]
"""What each labeller says of a candidate: proposes it, does not, or was not asked (None)."""


@dataclass(frozen=True, slots=True)
class VotedCandidate:
    """A candidate triplet: the build's chance for it (None: not proposed), its category, the labellers' votes, and
    whether it is right where people judged it.
    """

    chance: float | None
    category: str
    votes: Votes
    right: bool | None = None


@dataclass(frozen=True, slots=True)
class LabellerRates:
    """How often a labeller names what is right (`named`), and what the build has wrong (`repeated`)."""

    named: float
    repeated: float


@dataclass(frozen=True, slots=True)
class LabelModel:
    """Rates of each labeller by category ("" for all), and the chance of what only labellers propose by category and
    votes.
    """

    rates: Mapping[str, tuple[LabellerRates, ...]]
    alone: Mapping[tuple[str, Votes], float]

    def chance(self, candidate: VotedCandidate) -> float:
        """How likely the candidate is right."""
        if candidate.chance is None:
            votes = candidate.votes
            return self.alone.get((candidate.category, votes), self.alone.get(("", votes), 0.0))
        rates = self.rates.get(candidate.category, self.rates[""])
        return _posterior(candidate.chance, candidate.votes, rates)


def chance_by_margin(margin: float) -> float:
    """How likely a rule triplet is right that no judge has scored, by `Triplet.margin`."""
    return next((share for below, share in _BY_MARGIN if 0 <= margin < below), PRECISION)


def fit_label_model(candidates: Sequence[VotedCandidate], labellers: int) -> LabelModel:
    """The rates of so many labellers by what they say of the candidates."""
    start = tuple(LabellerRates(NAMED, SHARED_ERROR) for _ in range(labellers))
    by_category: dict[str, list[VotedCandidate]] = defaultdict(list)
    for candidate in candidates:
        by_category[candidate.category].append(candidate)
    rates = {"": _estimate(candidates, start, _PRIOR)}
    for category, own in by_category.items():
        if category:
            rates[category] = _estimate(own, rates[""], _CATEGORY)
    alone = _weigh_alone(candidates, rates[""], {}, "")
    for category, own in by_category.items():
        if category:
            alone |= _weigh_alone(own, rates[category], alone, category)
    return LabelModel(rates, alone)


def _estimate(
    candidates: Iterable[VotedCandidate], before: tuple[LabellerRates, ...], weight: float
) -> tuple[LabellerRates, ...]:
    """The likeliest rates given `before` as so many candidates of each class."""
    patterns = Counter((round(c.chance, 2), c.votes, c.right) for c in candidates if c.chance is not None)
    rates = before
    for _ in range(_ROUNDS):
        named = [[rate.named * weight, weight] for rate in before]
        repeated = [[rate.repeated * weight, weight] for rate in before]
        for (chance, votes, right), count in patterns.items():
            good = _posterior(chance, votes, rates) if right is None else float(right)
            for labeller, vote in enumerate(votes):
                if vote is not None:
                    named[labeller][0] += count * good * vote
                    named[labeller][1] += count * good
                    repeated[labeller][0] += count * (1 - good) * vote
                    repeated[labeller][1] += count * (1 - good)
        rates = tuple(
            LabellerRates(hits / of, errors / wrong)
            for (hits, of), (errors, wrong) in zip(named, repeated, strict=True)
        )
    return rates


def _posterior(chance: float, votes: Votes, rates: tuple[LabellerRates, ...]) -> float:
    right, wrong = chance, 1 - chance
    for vote, rate in zip(votes, rates, strict=True):
        if vote is not None:
            right *= rate.named if vote else 1 - rate.named
            wrong *= rate.repeated if vote else 1 - rate.repeated
    return right / max(right + wrong, 1e-12)


def _weigh_alone(
    candidates: Iterable[VotedCandidate],
    rates: tuple[LabellerRates, ...],
    before: Mapping[tuple[str, Votes], float],
    category: str,
) -> dict[tuple[str, Votes], float]:
    """The chance of what only labellers propose, by their votes: as many are right as they should name of what the
    build misses. Judged ones say it directly, as far as they go.
    """
    missed: dict[tuple[bool, ...], float] = defaultdict(float)
    proposed: Counter[Votes] = Counter()
    judged: dict[Votes, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for c in candidates:
        if c.chance is None:
            proposed[c.votes] += 1
            if c.right is not None:
                judged[c.votes][0] += c.right
                judged[c.votes][1] += 1
        else:
            asked = tuple(vote is not None for vote in c.votes)
            missed[asked] += _posterior(c.chance, c.votes, rates) * (1 - RECALL) / RECALL
    out = {}
    for votes, number in proposed.items():
        expected = missed[tuple(vote is not None for vote in votes)]
        for vote, rate in zip(votes, rates, strict=True):
            if vote is not None:
                expected *= rate.named * HARDER if vote else 1 - rate.named * HARDER
        wide = before.get(("", votes))
        estimate = expected / number if wide is None else (expected + wide * _CATEGORY) / (number + _CATEGORY)
        right, of = judged[votes]
        chance = (right + min(_SUREST, estimate) * _JUDGED) / (of + _JUDGED)
        out[category, votes] = min(_SUREST, chance)
    return out
