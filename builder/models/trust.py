"""What variant E may do by its judge, and how likely its triplets are right. No torch.

Limits: what a shipped model may drop and add.

Calibration: from its score to the probability that a triplet is right, as it was measured before it was shipped, and by
labelled reviews where there are some; a curve for each way in which rules and judge stand to a triplet.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Literal, get_args

from builder.core.errors import ModelError
from builder.core.files import read_settings, write_atomically
from builder.core.records import Polarity

Standing = Literal["shared", "spared", "rejected", "model"]
"""How rules and judge stand to a triplet. shared: both find it; spared: the judge doubts it, but may not drop it;
rejected: it drops it; model: the judge alone finds it.
"""
STANDINGS: tuple[Standing, ...] = get_args(Standing)
Placed = tuple[Standing, float]
"""How the judge leaves a triplet of the rules, and its score."""


@dataclass(frozen=True, slots=True)
class TrustLimits:
    """What a judge may do: add a proposal of at least `limit`, and drop a rule triplet that it gives less than
    `dropped`.

    It never drops a neutral one, of which it finds fewer than the rules. `judged`: the rules whose triplets it may
    drop, since it is right more often than they are where it rejects one.
    """

    limit: float
    dropped: float
    judged: tuple[str, ...]

    @classmethod
    def read(cls, kept: Mapping[str, Any]) -> TrustLimits:
        """Limits from what a file holds of them; KeyError, TypeError or ValueError where it holds none."""
        limit, judged = float(kept["limit"]), kept["judged"]
        dropped = float(kept.get("dropped", limit))
        if not (math.isfinite(limit) and math.isfinite(dropped)):
            raise ValueError(f"a limit is no number: {limit}, {dropped}")
        if not isinstance(judged, list) or not all(isinstance(rule, str) for rule in judged):
            raise ValueError(f"'judged' is no list of rules: {judged!r}")
        return cls(limit, dropped, tuple(judged))

    @property
    def least(self) -> float:
        """A proposal below this changes nothing."""
        return min(self.limit, self.dropped)

    def place(self, score: float, rule: str, polarity: Polarity) -> Standing:
        """How the judge's score leaves a triplet that `rule` found."""
        if score >= self.dropped:
            return "shared"
        return "spared" if polarity == "NEU" or rule not in self.judged else "rejected"


LEAST = 100
"""Triplets on gold reviews from which gold moves the curve."""
_FILE = "confidence.json"
_STEPS, _FLATTEST = 50, 0.1


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


@dataclass(frozen=True, slots=True)
class Calibration:
    """A curve for each standing of a triplet; `source` says what they were measured on."""

    curves: Mapping[Standing, Curve]
    source: str

    @classmethod
    def of(cls, curve: Curve) -> Calibration:
        """One curve for all standings."""
        return cls(dict.fromkeys(STANDINGS, curve), curve.source)

    def rate(self, standing: Standing, score: float) -> float:
        """The calibrated probability of a score."""
        return self.curves[standing](score)


def fitted(judged: Sequence[tuple[Standing, float, bool]], before: Calibration) -> Calibration:
    """`before` moved to agree with `judged` (standing, score, right) by a slope and an offset of its log-odds; `before`
    itself where they are few.

    A prior of LEAST triplets that agree with `before` keeps a small gold set from bending it.
    """
    if len(judged) < LEAST:
        return before
    odds = [_odds(before.rate(standing, score)) for standing, score, _ in judged]
    weight = LEAST / len(judged)
    right = [float(good) for *_, good in judged]
    slope, offset = 1.0, 0.0
    for _ in range(_STEPS):
        slope, offset = _newton(odds, right, weight, slope, offset)
    if slope < _FLATTEST:  # a surer score is never worth less
        slope = _FLATTEST
        for _ in range(_STEPS):
            offset = _newton(odds, right, weight, slope, offset, level=True)[1]
    source = f"{len(judged)} triplets on gold reviews"

    def move(curve: Curve) -> Curve:
        knots = tuple((score, round(_share(slope * _odds(chance) + offset), 4)) for score, chance in curve.knots)
        return Curve(knots, source)

    return Calibration({standing: move(curve) for standing, curve in before.curves.items()}, source)


def _newton(
    odds: Sequence[float], right: Sequence[float], weight: float, slope: float, offset: float, *, level: bool = False
) -> tuple[float, float]:
    """One step towards the likeliest slope and offset (`level`: the offset alone), given `right` and, with `weight`
    each, what the curve before says of the same triplets.
    """
    first = second = 0.0
    h11 = h12 = h22 = 1e-9
    for x, y in zip(odds, right, strict=True):
        p = _share(slope * x + offset)
        missed = (y - p) + weight * (_share(x) - p)
        curved = (1 + weight) * p * (1 - p)
        first, second = first + missed * x, second + missed
        h11, h12, h22 = h11 + curved * x * x, h12 + curved * x, h22 + curved
    if level:
        return slope, offset + _short(second / h22)
    det = h11 * h22 - h12 * h12
    if det <= 1e-12:
        return slope, offset
    return slope + _short((h22 * first - h12 * second) / det), offset + _short((h11 * second - h12 * first) / det)


def _short(step: float) -> float:
    """Newton's step, no longer than half: far from the goal it leads astray."""
    return max(-0.5, min(0.5, step))


def _odds(chance: float) -> float:
    sure = min(max(chance, 1e-3), 1 - 1e-3)
    return math.log(sure / (1 - sure))


def _share(odds: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))


def save_calibration(calibration: Calibration | None, folder: Path) -> None:
    """Write it beside the model it belongs to; None: nothing was rated."""
    kept = None if calibration is None else to_kept(calibration)
    write_atomically(folder / _FILE, (json.dumps(kept) + "\n").encode())


def to_kept(calibration: Calibration) -> dict[str, Any]:
    """A calibration as a file holds it."""
    curves = {standing: [list(knot) for knot in curve.knots] for standing, curve in calibration.curves.items()}
    return {"curves": curves, "source": calibration.source}


def read_calibration(kept: Mapping[str, Any]) -> Calibration:
    """A calibration from what a file holds of it; KeyError, TypeError or ValueError where it holds none."""
    source = str(kept["source"])

    def read_curve(knots: Sequence[tuple[float, float]]) -> Curve:
        read = tuple((float(score), float(chance)) for score, chance in knots)
        if not read or not all(map(math.isfinite, chain(*read))):
            raise ValueError("a curve has no knots, or one that is no number")
        if wrong := [chance for _, chance in read if not 0 <= chance <= 1]:
            raise ValueError(f"a curve has a chance outside 0 to 1: {wrong[0]}")
        if fallen := [pair for pair in pairwise(read) if pair[0][0] >= pair[1][0] or pair[0][1] > pair[1][1]]:
            raise ValueError(f"the knots of a curve do not rise: {fallen[0]}")
        return Curve(read, source)

    return Calibration({standing: read_curve(kept["curves"][standing]) for standing in STANDINGS}, source)


def load_calibration(folder: Path) -> Calibration | None:
    """The calibration in a model's folder; ModelError where it cannot be read."""
    path = folder / _FILE
    try:
        kept = json.loads(read_settings(path))
        return None if kept is None else read_calibration(kept)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelError(
            f"no readable calibration: {error!r}", where=str(path), fix="`builder run self_train --force`"
        ) from error
