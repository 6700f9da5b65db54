"""Weights of the rules' decision (builder.engine.deciding) moved towards a user's labels. In: opinions with their
candidates, of which some are right, and the shipped weights. Out: the weights that are likeliest by both.

The decision is a conditional log-linear model; its shipped weights are the mean of a Gaussian prior, so that few
labels move them little. Pure: plain gradient descent on a convex loss, the same bytes everywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

PRIOR = 10.0
"""How firmly the shipped weights hold; chosen on whole reviews (docs/results/rules.md)."""
LEAST = 5
"""How many candidates a feature without a shipped weight holds of that gets one."""
_STEPS = 400
Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class WeighedOpinion:
    """An opinion: the features of each candidate, and which candidates are right, that there is none at the end."""

    features: tuple[tuple[str, ...], ...]
    right: tuple[bool, ...]


def adapt_weights(
    opinions: Sequence[WeighedOpinion], shipped: Mapping[str, float], fixed: Callable[[str], bool] | None = None
) -> dict[str, float]:
    """The weights after the labels; those shipped where there is no opinion.

    That a rule proposes a candidate never counts against it. Features that are `fixed` keep their shipped weight.
    """
    counts = Counter(name for opinion in opinions for own in opinion.features for name in set(own))
    names = sorted({name for name, count in counts.items() if count >= LEAST} | set(shipped))
    if not opinions:
        return dict(shipped)
    before = np.array([shipped.get(name, 0.0) for name in names])
    free = np.array([not (fixed and fixed(name)) for name in names], float)
    least = np.array([0.0 if name.startswith("rule ") else -np.inf for name in names])
    problem = _Problem.of(opinions, {name: i for i, name in enumerate(names)}, before)
    weights, speed, rate = before.copy(), before.copy(), 1.0 / PRIOR
    loss, slope = problem.loss(weights)
    for step in range(_STEPS):
        ahead = weights + step / (step + 3) * (weights - speed)
        here, slope = problem.loss(ahead)
        while True:
            moved = np.maximum(ahead - rate * slope * free, least)
            loss, _ = problem.loss(moved)
            if loss <= here + float(slope @ (moved - ahead)) + float((moved - ahead) @ (moved - ahead)) / (2 * rate):
                break
            rate /= 2
        speed, weights = weights, moved
    return {name: round(float(weight), 2) for name, weight in zip(names, weights, strict=True) if abs(weight) >= 0.05}


@dataclass(frozen=True, slots=True)
class _Problem:
    """The loss of weights: rows of `held` are the candidates of all opinions, none last, columns are features."""

    held: Numbers
    starts: NDArray[np.int64]
    opinion: NDArray[np.int64]
    right: Numbers
    before: Numbers

    @classmethod
    def of(cls, opinions: Sequence[WeighedOpinion], column: Mapping[str, int], before: Numbers) -> _Problem:
        options = [own for opinion in opinions for own in (*opinion.features, ())]
        held = np.zeros((len(options), len(column)))
        for row, own in enumerate(options):
            for name in own:
                if name in column:
                    held[row, column[name]] += 1
        sizes = [len(opinion.right) for opinion in opinions]
        starts = np.cumsum([0, *sizes[:-1]])
        right = np.array([good for opinion in opinions for good in opinion.right], float)
        return cls(held, starts, np.repeat(np.arange(len(opinions)), sizes), right, before)

    def loss(self, weights: Numbers) -> tuple[float, Numbers]:
        """Minus the log of the posterior, and its slope."""
        scores = self.held @ weights
        chance = np.exp(scores - np.maximum.reduceat(scores, self.starts)[self.opinion])
        chance /= np.add.reduceat(chance, self.starts)[self.opinion]
        good = np.add.reduceat(chance * self.right, self.starts) + 1e-12
        away = weights - self.before
        slope = chance * self.right / good[self.opinion] - chance
        return PRIOR * float(away @ away) / 2 - float(np.log(good).sum()), PRIOR * away - self.held.T @ slope
