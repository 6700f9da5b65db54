"""Every metric of a system with intervals, and the paired comparison with another: what `builder score` and the report
show. Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import Literal

from builder.gold.metrics.complete import CompleteGold, tally_complete
from builder.gold.metrics.intervals import Difference, Estimate, differences, estimates
from builder.gold.metrics.matching import Answers
from builder.gold.metrics.scores import Metric, Mode, Tally, signature, tally

Asked = Literal["all", "exact", "lenient", "paper", "complete"]
ALL: tuple[Metric, ...] = (
    Metric("exact", "triplet"), Metric("exact", "pair"), Metric("exact", "aspect"), Metric("exact", "opinion"),
    Metric("exact", "polarity"),
    Metric("lenient", "triplet"), Metric("lenient", "pair"), Metric("lenient", "aspect"), Metric("lenient", "opinion"),
    Metric("lenient", "polarity"),
    Metric("paper", "triplet"),
)  # fmt: skip
COMPLETE: tuple[Metric, ...] = (Metric("complete", "triplet"), Metric("complete", "pair"))
"""The metrics of gold by two annotators."""


@dataclass(frozen=True, slots=True)
class Settings:
    """`samples` 0: no intervals. `seed` is that of the draws."""

    mode: Mode = "open"
    samples: int = 1000
    seed: int = 13


@dataclass(frozen=True, slots=True)
class SystemScores:
    """A metric of a system. `values` are percent: precision, recall, f1, accuracy, as far as the metric has them.

    `counts` are (right, predicted, gold), (right, matched) for polarity, and empty for the paper's metric. `ceiling`:
    what gold against itself reaches. `against`: this system less the other one.
    """

    metric: Metric
    values: dict[str, Estimate]
    counts: tuple[int, ...]
    ceiling: float
    signature: str
    against: Difference | None = None


def metrics(asked: Asked = "all", mode: Mode = "open") -> tuple[Metric, ...]:
    """The metrics of a name. Where the aspects are given, finding them is no score."""
    return tuple(
        metric
        for metric in ALL
        if asked in ("all", metric.match) and not (mode == "given-aspects" and metric.part == "aspect")
    )


def measure(
    gold: Answers, predicted: Answers, chosen: Iterable[Metric], settings: Settings, other: Answers | None = None
) -> list[SystemScores]:
    """Each of `chosen` of `predicted` over the reviews of `gold`; with `other`, its paired difference to that
    system.
    """
    chosen_metrics = tuple(chosen)
    ours = [tally(gold, predicted, metric, settings.mode) for metric in chosen_metrics]
    theirs = None if other is None else [tally(gold, other, metric, settings.mode) for metric in chosen_metrics]
    return _measured(
        chosen_metrics, ours, theirs, [ceiling(gold, metric) for metric in chosen_metrics], digest(gold), settings
    )


def measure_complete(
    gold: CompleteGold, predicted: Answers, settings: Settings, other: Answers | None = None
) -> list[SystemScores]:
    """As `measure`, of triplets and pairs over gold by two annotators."""
    ours, theirs = (
        None if answers is None else [tally_complete(gold, answers, metric.part == "triplet") for metric in COMPLETE]
        for answers in (predicted, other)
    )
    assert ours is not None
    return _measured(COMPLETE, ours, theirs, [100.0] * len(COMPLETE), digest_complete(gold), settings)


def _measured(
    chosen_metrics: Sequence[Metric],
    ours: list[Tally],
    theirs: list[Tally] | None,
    ceilings: Sequence[float],
    gold: str,
    settings: Settings,
) -> list[SystemScores]:
    more = {"gold": gold} | (
        {"bootstrap": settings.samples, "seed": settings.seed, "interval": 95} if settings.samples else {}
    )
    values = estimates(ours, chosen_metrics, settings.samples, settings.seed)
    against: list[Difference | None] = [None] * len(chosen_metrics)
    if theirs is not None:
        against = list(differences(ours, theirs, chosen_metrics, settings.samples, settings.seed))
    return [
        SystemScores(
            metric, values[i], _sums(ours[i], metric), ceilings[i], signature(metric, settings.mode, more), against[i]
        )
        for i, metric in enumerate(chosen_metrics)
    ]


def _sums(counts: Tally, metric: Metric) -> tuple[int, ...]:
    if metric.match == "paper":
        return ()
    return tuple(int(sum(column)) for column in zip(*counts, strict=True)) or (
        (0, 0) if metric.part == "polarity" else (0, 0, 0)
    )


def ceiling(gold: Answers, metric: Metric) -> float:
    """What gold reaches against itself: 100, and in the paper's metric the share of reviews that say something."""
    if metric.match != "paper":
        return 100.0
    return 100.0 * sum(bool(answers) for answers in gold.values()) / max(1, len(gold))


def digest(gold: Answers) -> str:
    """Which gold it was: two scores compare only where this is the same."""
    return _digest([[key, sorted(set(answers))] for key, answers in sorted(gold.items())])


def digest_complete(gold: CompleteGold) -> str:
    """As `digest`, of gold by two annotators."""
    return _digest(
        [
            [key, *(sorted(map(astuple, part)) for part in (gold[key].required, gold[key].optional))]
            for key in sorted(gold)
        ]
    )


def _digest(rows: list[list[object]]) -> str:
    return hashlib.sha256(json.dumps(rows, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()[:8]


def together(signatures: Iterable[str]) -> list[str]:
    """Signatures that differ in the part only as one, micro-{triplet,pair}|…, for people to read."""
    parts: dict[tuple[str, str], list[str]] = {}
    for text in dict.fromkeys(signatures):
        name, _, rest = text.partition("|")
        kind, _, part = name.partition("-")
        parts.setdefault((kind, rest), []).append(part)
    return [
        f"{kind}-{names[0] if len(names) == 1 else '{' + ','.join(names) + '}'}|{rest}"
        for (kind, rest), names in parts.items()
    ]
