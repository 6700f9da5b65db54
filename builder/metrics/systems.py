"""Every metric of a system with intervals, and the paired comparison with another: what `builder score` and the report show. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from builder.metrics.intervals import Difference, Estimate, differences, estimates
from builder.metrics.matching import Answers
from builder.metrics.scores import Metric, Mode, Tally, signature, tally

Asked = Literal["all", "exact", "lenient", "paper"]
ALL: tuple[Metric, ...] = (
    Metric("exact", "triplet"), Metric("exact", "pair"), Metric("exact", "aspect"), Metric("exact", "opinion"), Metric("exact", "polarity"),
    Metric("lenient", "triplet"), Metric("lenient", "pair"), Metric("lenient", "aspect"), Metric("lenient", "opinion"),
    Metric("lenient", "polarity"),
    Metric("paper", "triplet"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Settings:
    """`samples` 0: no intervals. `seed` is that of the draws."""

    mode: Mode = "open"
    samples: int = 1000
    seed: int = 13


@dataclass(frozen=True, slots=True)
class Measured:
    """A metric of a system. `values` are percent: precision, recall, f1, accuracy, as far as the metric has them.

    `counts` are (right, predicted, gold), (right, matched) for polarity, and empty for the paper's metric. `ceiling`: what gold
    against itself reaches. `against`: this system less the other one.
    """

    metric: Metric
    values: dict[str, Estimate]
    counts: tuple[int, ...]
    ceiling: float
    signature: str
    against: Difference | None = None


def metrics(asked: Asked = "all", mode: Mode = "open") -> tuple[Metric, ...]:
    """The metrics of a name. Where the aspects are given, finding them is no score."""
    return tuple(one for one in ALL if asked in ("all", one.match) and not (mode == "given-aspects" and one.part == "aspect"))


def measure(
    gold: Answers, predicted: Answers, chosen: Iterable[Metric], settings: Settings, other: Answers | None = None
) -> list[Measured]:
    """Each of `chosen` of `predicted` over the reviews of `gold`; with `other`, its paired difference to that system."""
    more = {"gold": digest(gold)} | ({"bootstrap": settings.samples, "seed": settings.seed, "interval": 95} if settings.samples else {})
    listed = tuple(chosen)
    ours = [tally(gold, predicted, metric, settings.mode) for metric in listed]
    values = estimates(ours, listed, settings.samples, settings.seed)
    against: list[Difference | None] = [None] * len(listed)
    if other is not None:
        theirs = [tally(gold, other, metric, settings.mode) for metric in listed]
        against = list(differences(ours, theirs, listed, settings.samples, settings.seed))
    return [
        Measured(metric, values[i], _sums(ours[i], metric), ceiling(gold, metric), signature(metric, settings.mode, more), against[i])
        for i, metric in enumerate(listed)
    ]


def _sums(counts: Tally, metric: Metric) -> tuple[int, ...]:
    if metric.match == "paper":
        return ()
    return tuple(int(sum(column)) for column in zip(*counts, strict=True)) or ((0, 0) if metric.part == "polarity" else (0, 0, 0))


def ceiling(gold: Answers, metric: Metric) -> float:
    """What gold reaches against itself: 100, and in the paper's metric the share of reviews that say something."""
    if metric.match != "paper":
        return 100.0
    return 100.0 * sum(bool(answers) for answers in gold.values()) / max(1, len(gold))


def digest(gold: Answers) -> str:
    """Which gold it was: two scores compare only where this is the same."""
    text = json.dumps([[key, sorted(set(answers))] for key, answers in sorted(gold.items())], ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def together(signatures: Iterable[str]) -> list[str]:
    """Signatures that differ in the part only as one, micro-{triplet,pair}|…, for people to read."""
    parts: dict[tuple[str, str], list[str]] = {}
    for one in dict.fromkeys(signatures):
        name, _, rest = one.partition("|")
        kind, _, part = name.partition("-")
        parts.setdefault((kind, rest), []).append(part)
    return [f"{kind}-{said[0] if len(said) == 1 else '{' + ','.join(said) + '}'}|{rest}" for (kind, rest), said in parts.items()]
