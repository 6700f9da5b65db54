"""Shares estimated from samples, with 95% intervals that stay honest near 0 and 100 percent; pure.

In: counts of a stratified sample, or of whole reviews. Out: `Share` in percent. The interval is Wilson's score
interval (Wilson 1927) at the effective sample size of the design, share * (1 - share) / variance (Korn and Graubard
1998), which Franco et al. (2019) find to cover best among those of complex samples. The variance of a stratified share
is the usual sum over strata (Cochran 1977, 5.3), with one right and one wrong answer added to each stratum, so that a
stratum without an error does not count as certain. No correction for finite populations: the intervals are a little
wide.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Z = 1.959963984540054
"""The normal quantile of 95%."""


@dataclass(frozen=True, slots=True)
class Share:
    """A share in percent with the ends of its 95% interval, and the answers that it stands on."""

    value: float
    low: float
    high: float
    answers: int


@dataclass(frozen=True, slots=True)
class Stratum:
    """`size` items in the population, of which `answers` were judged and `right` found right."""

    size: int
    answers: int
    right: int


def wilson(share: float, n: float) -> tuple[float, float]:
    """The score interval of a `share` (0 to 1) seen in `n` answers; `n` may be an effective size."""
    middle = share + Z * Z / (2 * n)
    half = Z * math.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    return max(0.0, (middle - half) / (1 + Z * Z / n)), min(1.0, (middle + half) / (1 + Z * Z / n))


def stratified_share(strata: Iterable[Stratum]) -> Share | None:
    """The share in the population, each stratum weighted by its size. Strata without an answer are left out; None where
    none has one.
    """
    answered = [stratum for stratum in strata if stratum.answers and stratum.size]
    if not answered:
        return None
    whole = sum(stratum.size for stratum in answered)
    weights = [stratum.size / whole for stratum in answered]
    share = sum(w * s.right / s.answers for w, s in zip(weights, answered, strict=True))
    careful = [(s.right + 1) / (s.answers + 2) for s in answered]
    middle = sum(w * p for w, p in zip(weights, careful, strict=True))
    variance = sum(w * w * p * (1 - p) / s.answers for w, p, s in zip(weights, careful, answered, strict=True))
    low, high = wilson(share, middle * (1 - middle) / variance)
    return Share(100 * share, 100 * low, 100 * high, sum(stratum.answers for stratum in answered))


def ratio_share(rows: Sequence[tuple[int, int]]) -> Share | None:
    """The share sum(right) / sum(due) over reviews (right, due) that were drawn as wholes; None where nothing is due.

    What stands in one review is alike: the variance is that of a ratio over clusters (Cochran 1977, 6.4). Without any
    spread it is that of single answers.
    """
    due = sum(row[1] for row in rows)
    if not due:
        return None
    share, n = sum(row[0] for row in rows) / due, len(rows)
    spread = sum((right - share * total) ** 2 for right, total in rows)
    effective = float(due)
    if n > 1 and spread:
        effective = min(effective, share * (1 - share) * due * due * (n - 1) / (n * spread))
    low, high = wilson(share, effective)
    return Share(100 * share, 100 * low, 100 * high, due)
