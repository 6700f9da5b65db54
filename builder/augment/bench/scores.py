"""Scores of a cell in percent, and what many cells say together: mean, deviation, rank-sum test. Pure."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from builder.core.errors import ConfigError, install_command
from builder.core.records import Span, Triplet
from builder.gold.metrics import Answer, micro

MAIN = {"tc": "accuracy", "absc": "accuracy", "ate": "f1", "aste": "f1"}
"""The score that tests and curves are about."""
SHOWN = {"accuracy": "Acc", "macro_f1": "F1", "precision": "P", "recall": "R", "f1": "F1", "lenient_f1": "lenient F1"}


def classes(gold: Sequence[str], predicted: Sequence[str]) -> dict[str, float]:
    """Accuracy, and F1 averaged over all labels that are gold or told (scikit-learn's macro F1)."""
    each = []
    for label in sorted({*gold, *predicted}):
        right = sum(a == b == label for a, b in zip(gold, predicted, strict=True))
        each.append(2 * right / (gold.count(label) + predicted.count(label)))
    right = sum(a == b for a, b in zip(gold, predicted, strict=True))
    return {"accuracy": 100 * right / len(gold), "macro_f1": 100 * fmean(each)}


def collapsed(gold: Sequence[str], predicted: Sequence[str]) -> str:
    """A remark where a model gives every item one label though there are several."""
    return f"answers {predicted[0]!r} only" if len(set(predicted)) == 1 < len(set(gold)) else ""


def spans(gold: Sequence[Sequence[Span]], predicted: Sequence[Sequence[Span]]) -> dict[str, float]:
    """Micro precision, recall and F1 of exact spans."""
    right = sum(len(set(a) & set(b)) for a, b in zip(gold, predicted, strict=True))
    due, given = sum(len(set(own)) for own in gold), sum(len(set(own)) for own in predicted)
    f1 = 200 * right / (due + given) if due + given else 100.0
    return {"precision": 100 * right / given if given else 0.0, "recall": 100 * right / due if due else 0.0, "f1": f1}


def triplets(gold: Sequence[Sequence[Triplet]], predicted: Sequence[Sequence[Triplet]]) -> dict[str, float]:
    """Micro scores of builder.gold.metrics: exact with whole opinion phrases, and the lenient F1 with their cores."""
    exact = micro(_answers(gold, True), _answers(predicted, True), "exact", "triplet")
    lenient = micro(_answers(gold, False), _answers(predicted, False), "lenient", "triplet")
    return {"precision": exact.precision, "recall": exact.recall, "f1": exact.f1, "lenient_f1": lenient.f1}


def _answers(by_item: Sequence[Sequence[Triplet]], full: bool) -> dict[str, list[Answer]]:
    return {
        str(i): [
            (triplet.aspect.text, (triplet.opinion_full if full else triplet.opinion).text, triplet.polarity)
            for triplet in own
        ]
        for i, own in enumerate(by_item)
    }


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and standard deviation (of the sample; 0 for one value) of some values."""

    mean: float
    deviation: float
    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(fmean(values), stdev(values) if len(values) > 1 else 0.0, tuple(values))


def check_extra(shift: bool) -> None:
    """ConfigError now, not after hours of training, where a library of the extra is missing."""
    for name in ("sklearn", "shapely", "matplotlib") if shift else ("scipy", "matplotlib"):
        if importlib.util.find_spec(name) is None:
            raise ConfigError(f"`builder bench` needs {name}", fix=install_command("bench"))


def rank_sum(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The two-sided p value of Wilcoxon's rank-sum test (the Mann-Whitney U test); exact where no values tie. None
    with fewer than two values.
    """
    if min(len(first), len(second)) < 2:
        return None
    try:
        from scipy.stats import mannwhitneyu
    except ModuleNotFoundError as error:
        raise ConfigError(f"the rank-sum test needs {error.name}", fix=install_command("bench")) from error
    if len({*first, *second}) == 1:
        return 1.0
    return float(mannwhitneyu(first, second, alternative="two-sided", method="auto").pvalue)


def least_p(seeds: int) -> float:
    """The smallest p value that a two-sided rank-sum test of n against n values can have: 2 / C(2n, n)."""
    from math import comb

    return 2 / comb(2 * seeds, seeds)
