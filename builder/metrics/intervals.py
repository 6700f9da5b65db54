"""Bootstrap intervals and paired tests over the tallies of `scores`, vectorised: one matrix product for all samples.

Reviews are the units that are drawn (Koehn 2004; Berg-Kirkpatrick et al. 2012): the triplets of a review are not independent. The draws
are the raw words of a seeded PCG64, whose stream numpy promises to keep, so that an interval is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from builder.metrics.scores import Metric, Tally

Floats = NDArray[np.float64]
Names = tuple[str, ...]
_CELLS = 4_000_000
"""At most so many draws at once (32 MB), whatever the number of reviews and samples."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value in percent and its 95% interval (percentiles of the bootstrap); no interval without samples."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """One system's value less the other's (points), its 95% interval by the paired bootstrap, and the p value of a two-sided
    paired permutation test (approximate randomisation: the systems of a review are swapped by a coin)."""

    value: float
    low: float
    high: float
    p: float


def names(metric: Metric) -> Names:
    """The values of a metric, the one that tests compare last."""
    if metric.part == "polarity":
        return ("accuracy",)
    return ("accuracy", "precision", "recall", "f1") if metric.match == "paper" else ("precision", "recall", "f1")


def estimates(tally: Tally, metric: Metric, samples: int, seed: int) -> dict[str, Estimate]:
    """Each value of a metric with its interval."""
    counts = _matrix(tally, metric)
    whole = _values(counts.sum(axis=0)[None], metric, len(counts))[0]
    if not samples or not len(counts):
        return {name: Estimate(float(value)) for name, value in zip(names(metric), whole, strict=True)}
    drawn = _values(_resampled(counts, samples, seed), metric, len(counts))
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    return {name: Estimate(float(value), float(a), float(b)) for name, value, a, b in zip(names(metric), whole, low, high, strict=True)}


def difference(one: Tally, other: Tally, metric: Metric, samples: int, seed: int) -> Difference:
    """The last value of a metric (F1; accuracy of polarity) of `one` less that of `other`, over the same reviews in the same order."""
    ours, theirs = _matrix(one, metric), _matrix(other, metric)
    assert ours.shape == theirs.shape, f"tallies of {len(ours)} and {len(theirs)} reviews"
    n = len(ours)

    def last(sums: Floats) -> Floats:
        return _values(sums, metric, n)[:, -1]

    observed = float((last(ours.sum(axis=0)[None]) - last(theirs.sum(axis=0)[None]))[0])
    if not n or not samples:
        return Difference(observed, observed, observed, 1.0)
    both = _resampled(np.hstack([ours, theirs]), samples, seed)
    low, high = np.percentile(last(both[:, : ours.shape[1]]) - last(both[:, ours.shape[1] :]), [2.5, 97.5])
    moved = _swapped(theirs - ours, samples, seed)
    chance = last(ours.sum(axis=0) + moved) - last(theirs.sum(axis=0) - moved)
    # the observed order counts as one of the samples, so that p is never 0 (Phipson and Smyth 2010)
    p = (1 + int((np.abs(chance) >= abs(observed) - 1e-9).sum())) / (samples + 1)
    return Difference(observed, float(low), float(high), p)


def _matrix(tally: Tally, metric: Metric) -> Floats:
    width = 2 if metric.part == "polarity" else 4 if metric.match == "paper" else 3
    return np.asarray(tally, dtype=np.float64).reshape(-1, width)


def _values(sums: Floats, metric: Metric, reviews: int) -> Floats:
    """Sums of tallies (samples, columns) as values in percent (samples, names)."""
    if metric.match == "paper":
        return 100 * sums / max(1, reviews)
    if metric.part == "polarity":
        return _share(sums[:, 0], sums[:, 1], np.zeros(len(sums)))[:, None]
    precision, recall = _share(sums[:, 0], sums[:, 1], sums[:, 2]), _share(sums[:, 0], sums[:, 2], sums[:, 1])
    total = precision + recall
    return np.stack([precision, recall, np.divide(2 * precision * recall, total, out=np.zeros_like(total), where=total > 0)], axis=1)


def _share(part: Floats, whole: Floats, other: Floats) -> Floats:
    """`scores.share` for arrays."""
    return np.divide(100 * part, whole, out=np.where(other > 0, 0.0, 100.0), where=whole > 0)


def _resampled(counts: Floats, samples: int, seed: int) -> Floats:
    """Sums over reviews drawn with replacement (samples, columns): how often each review is drawn, times its counts."""
    n = len(counts)

    def drawn(words: NDArray[np.uint64]) -> Floats:
        rows = len(words)
        at = ((words >> np.uint64(32)) * np.uint64(n) >> np.uint64(32)).astype(np.int64)
        at += np.arange(rows)[:, None] * n
        return np.bincount(at.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)

    return np.concatenate(list(_products(drawn, counts, samples, seed)))


def _swapped(gap: Floats, samples: int, seed: int) -> Floats:
    """Sums of the gaps of the reviews whose systems a coin swaps (samples, columns)."""
    return np.concatenate(list(_products(lambda words: (words >> np.uint64(63)).astype(np.float64), gap, samples, seed + 1)))


def _products(weights: Callable[[NDArray[np.uint64]], Floats], counts: Floats, samples: int, seed: int) -> Iterator[Floats]:
    """`weights` of a word for each review and sample, times `counts`, some samples at a time."""
    words = np.random.PCG64(seed)
    step = max(1, _CELLS // max(1, len(counts)))
    for start in range(0, samples, step):
        rows = min(step, samples - start)
        yield weights(words.random_raw((rows, len(counts)))) @ counts
