"""From a panel's score to the probability that a triplet is right. In: raw scores, and triplets that people judged where there are some. Out: a curve.

A panel's score says how typical a triplet is of the rules' triplets, which are themselves right four times in five. The curve says how often
triplets of a score are right. Without gold it is the one measured on the development sets; gold moves it by Platt's method (1999), as far as
it has triplets to show.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from builder.errors import ModelError
from builder.files import write_atomically

MEASURED: tuple[tuple[float, float], ...] = (
    (0.0, 0.25), (0.3, 0.28), (0.55, 0.48), (0.65, 0.62), (0.85, 0.67), (0.9, 0.72), (0.93, 0.81), (0.95, 0.86), (0.965, 0.9), (0.98, 0.92),
    (0.988, 0.945), (1.0, 0.97),
)  # fmt: skip
"""Score -> share that is right on the development sets, between which the curve is straight (docs/results/models.md)."""
LEAST = 100
"""Triplets on gold reviews from which gold moves the curve."""
_FILE = "confidence.json"
_STEPS, _FLATTEST = 50, 0.1
"""Newton steps; and the least slope, so that a surer score is never worth less."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Knots (score, probability), rising in both; `source` says what they were measured on."""

    knots: tuple[tuple[float, float], ...]
    source: str

    def __call__(self, score: float) -> float:
        """The calibrated probability of a score."""
        at = bisect_right(self.knots, (score, 2.0))
        if at == 0:
            return round(self.knots[0][1], 4)
        if at == len(self.knots):
            return round(self.knots[-1][1], 4)
        (low, below), (high, above) = self.knots[at - 1], self.knots[at]
        return round(below + (above - below) * (score - low) / (high - low), 4)


STANDARD = Curve(MEASURED, "the development sets")


def fitted(judged: Sequence[tuple[float, bool]], before: Curve = STANDARD) -> Curve:
    """`before` moved to agree with `judged` (score, right) by a slope and an offset of its log-odds; `before` itself where they are few.

    A prior of LEAST triplets that agree with `before` keeps a small gold set from bending it.
    """
    if len(judged) < LEAST:
        return before
    odds = [_odds(before(score)) for score, _ in judged]
    weight = LEAST / len(judged)
    slope, offset = 1.0, 0.0
    for _ in range(_STEPS):
        slope, offset = _newton(odds, [float(right) for _, right in judged], weight, slope, offset)
        slope = max(slope, _FLATTEST)
    knots = tuple((score, round(_share(slope * _odds(chance) + offset), 4)) for score, chance in before.knots)
    return Curve(knots, f"{len(judged)} triplets on gold reviews")


def _newton(odds: Sequence[float], right: Sequence[float], weight: float, slope: float, offset: float) -> tuple[float, float]:
    """One step towards the likeliest slope and offset, given `right` and, with `weight` each, what the curve before says of the same triplets."""
    first = second = 0.0
    h11 = h12 = h22 = 1e-9
    for x, y in zip(odds, right, strict=True):
        p = _share(slope * x + offset)
        missed = (y - p) + weight * (_share(x) - p)
        curved = (1 + weight) * p * (1 - p)
        first, second = first + missed * x, second + missed
        h11, h12, h22 = h11 + curved * x * x, h12 + curved * x, h22 + curved
    det = h11 * h22 - h12 * h12
    if det <= 1e-12:
        return slope, offset
    return slope + (h22 * first - h12 * second) / det, offset + (h11 * second - h12 * first) / det


def _odds(chance: float) -> float:
    sure = min(max(chance, 1e-3), 1 - 1e-3)
    return math.log(sure / (1 - sure))


def _share(odds: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))


def save_curve(curve: Curve | None, folder: Path) -> None:
    """Write the curve beside the panel it belongs to; None: its scores are not calibrated, for it is not trusted."""
    kept = None if curve is None else {"knots": curve.knots, "source": curve.source}
    write_atomically(folder / _FILE, (json.dumps(kept) + "\n").encode())


def load_curve(folder: Path) -> Curve | None:
    """The curve of a panel's folder; ModelError where it cannot be read."""
    path = folder / _FILE
    try:
        kept = json.loads(path.read_text("utf-8"))
        return None if kept is None else Curve(tuple((float(a), float(b)) for a, b in kept["knots"]), str(kept["source"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"no readable calibration: {error!r}", where=str(path), fix="`builder run self_train --force`") from error
