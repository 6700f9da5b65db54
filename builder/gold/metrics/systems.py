"""Every metric of a system with intervals, and the paired comparison with another: what `builder gold score` and the
report show. Pure.

Bootstrap intervals and paired tests over the tallies of `scores`, vectorised: one matrix product for all samples.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from builder.gold.metrics.complete import CompleteGold, tally_complete
from builder.gold.metrics.scores import Answers, Metric, Mode, Tally, signature, tally

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
    """One system's value less the other's (points), its 95% interval by the paired bootstrap, and the p value of a
    two-sided paired permutation test (approximate randomisation: the systems of a review are swapped by a coin).
    """

    value: float
    low: float
    high: float
    p: float


def names(metric: Metric) -> Names:
    """The values of a metric, the one that tests compare last."""
    if metric.part == "polarity":
        return ("accuracy",)
    return ("accuracy", "precision", "recall", "f1") if metric.match == "paper" else ("precision", "recall", "f1")


def estimates(
    tallies: Sequence[Tally], metrics: Sequence[Metric], samples: int, seed: int
) -> list[dict[str, Estimate]]:
    """Each value of each metric with its interval; all metrics see the same draws. `tallies`: of the same reviews, one
    a metric.
    """
    matrices = [_matrix(tally, metric) for tally, metric in zip(tallies, metrics, strict=True)]
    drawn = _resampled(matrices, samples, seed) if samples and matrices and len(matrices[0]) else None
    out = []
    for number, (counts, metric) in enumerate(zip(matrices, metrics, strict=True)):
        whole = _values(counts.sum(axis=0)[None], metric, len(counts))[0]
        made = {name: Estimate(float(value)) for name, value in zip(names(metric), whole, strict=True)}
        if drawn is not None:
            low, high = np.percentile(_values(drawn[number], metric, len(counts)), [2.5, 97.5], axis=0)
            made = {
                name: Estimate(estimate.value, float(a), float(b))
                for (name, estimate), a, b in zip(made.items(), low, high, strict=True)
            }
        out.append(made)
    return out


def differences(
    ours: Sequence[Tally], theirs: Sequence[Tally], metrics: Sequence[Metric], samples: int, seed: int
) -> list[Difference]:
    """For each metric its last value (F1; accuracy of polarity) of one system less that of another, over the same
    reviews.
    """
    first = [_matrix(tally, metric) for tally, metric in zip(ours, metrics, strict=True)]
    second = [_matrix(tally, metric) for tally, metric in zip(theirs, metrics, strict=True)]
    assert {len(matrix) for matrix in first} == {len(matrix) for matrix in second}, "tallies of the same reviews"
    possible = samples and first and len(first[0])
    drawn = _resampled([*first, *second], samples, seed) if possible else []
    moved = _swapped([b - a for a, b in zip(first, second, strict=True)], samples, seed) if possible else []
    out = []
    for number, metric in enumerate(metrics):
        a, b = first[number].sum(axis=0), second[number].sum(axis=0)
        observed = float(_gap(a[None], b[None], metric, len(first[number]))[0])
        if not possible:
            out.append(Difference(observed, observed, observed, 1.0))
            continue
        low, high = np.percentile(
            _gap(drawn[number], drawn[len(first) + number], metric, len(first[number])), [2.5, 97.5]
        )
        chance = _gap(a + moved[number], b - moved[number], metric, len(first[number]))
        # the observed order counts as one of the samples, so that p is never 0 (Phipson and Smyth 2010)
        p = (1 + int((np.abs(chance) >= abs(observed) - 1e-9).sum())) / (samples + 1)
        out.append(Difference(observed, float(low), float(high), p))
    return out


def _gap(ours: Floats, theirs: Floats, metric: Metric, reviews: int) -> Floats:
    """The last value of each row of sums, of one less the other."""
    gap: Floats = _values(ours, metric, reviews)[:, -1] - _values(theirs, metric, reviews)[:, -1]
    return gap


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
    return np.stack(
        [precision, recall, np.divide(2 * precision * recall, total, out=np.zeros_like(total), where=total > 0)], axis=1
    )


def _share(part: Floats, whole: Floats, other: Floats) -> Floats:
    """`scores.share` for arrays."""
    return np.divide(100 * part, whole, out=np.where(other > 0, 0.0, 100.0), where=whole > 0)


def _resampled(matrices: Sequence[Floats], samples: int, seed: int) -> list[Floats]:
    """Sums over reviews drawn with replacement (samples, columns): how often each review is drawn, times its counts."""
    n = len(matrices[0])

    def drawn(words: NDArray[np.uint64]) -> Floats:
        rows = len(words)
        at = ((words >> np.uint64(32)) * np.uint64(n) >> np.uint64(32)).astype(np.int64)
        at += np.arange(rows)[:, None] * n
        return np.bincount(at.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)

    return _products(drawn, matrices, samples, seed)


def _swapped(gaps: Sequence[Floats], samples: int, seed: int) -> list[Floats]:
    """Sums of the gaps of the reviews whose systems a coin swaps (samples, columns)."""
    return _products(lambda words: (words >> np.uint64(63)).astype(np.float64), gaps, samples, seed + 1)


def _products(
    weights: Callable[[NDArray[np.uint64]], Floats], matrices: Sequence[Floats], samples: int, seed: int
) -> list[Floats]:
    """`weights` of a word for each review and sample, times each matrix, some samples at a time."""
    words, counts = np.random.PCG64(seed), np.hstack(list(matrices))
    step = max(1, _CELLS // len(counts))
    parts = [
        weights(words.random_raw((min(step, samples - at), len(counts)))) @ counts for at in range(0, samples, step)
    ]
    edges = np.cumsum([matrix.shape[1] for matrix in matrices])[:-1]
    return list(np.split(np.concatenate(parts), edges, axis=1))


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

    def rounded(self) -> Iterator[tuple[str, float, float | None, float | None]]:
        """P, R and F1 with value and interval, to four places."""
        for name, part in (("precision", "P"), ("recall", "R"), ("f1", "F1")):
            value, *ends = astuple(self.values[name])
            low, high = (None if end is None else round(end, 4) for end in ends)
            yield part, round(value, 4), low, high


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
