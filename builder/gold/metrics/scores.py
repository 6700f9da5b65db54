"""Scores of predictions against gold, and shares estimated from samples with their intervals. Pure.

A metric counts per review (a tally); sums of tallies give precision, recall, F1 and accuracy. A tally row is (right,
predicted, gold) for micro metrics and (right, matched) for polarity. For the paper's it is (accuracy, precision,
recall, F1) of one review. Keeping the reviews apart is what lets `intervals` draw them again. Matching says when a
predicted triplet, pair, aspect or opinion counts as the gold one.

A `Share` has a 95% interval that stays honest near 0 and 100 percent. In: counts of a stratified sample, or of whole
reviews. Out: `Share` in percent. The interval is Wilson's score interval (Wilson 1927) at the effective sample size of
the design. That size is share * (1 - share) / variance (Korn and Graubard 1998). Franco et al. (2019) find it to cover
best among those of complex samples. The variance of a stratified share is the usual sum over strata (Cochran 1977,
5.3). One right and one wrong answer are added to each stratum, so that a stratum without an error does not count as
certain. There is no correction for finite populations: the intervals are a little wide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from builder import __version__
from builder.core.records import Triplet

# ---- Shares with intervals

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


# ---- Tallies and metrics

Answer = tuple[str, str, str]
"""aspect, opinion, polarity (POS, NEG, NEU)"""
Answers = Mapping[str, Sequence[Answer]]


def name_answer(triplet: Triplet) -> Answer:
    """What is scored of a triplet."""
    return triplet.aspect.text, triplet.opinion.text, triplet.polarity


Match = Literal["exact", "lenient"]
Part = Literal["triplet", "pair", "aspect", "opinion"]

_CUTS: Mapping[Part, Callable[[Answer], Answer]] = {
    "triplet": lambda a: a,
    "pair": lambda a: (a[0], a[1], ""),
    "aspect": lambda a: (a[0], "", ""),
    "opinion": lambda a: ("", a[1], ""),
}
_BARE = str.maketrans("", "", "[] ")


def distinct(answers: Iterable[Answer], part: Part) -> list[Answer]:
    """The answers cut to `part`, each once, in order."""
    return list(dict.fromkeys(map(_CUTS[part], answers)))


def right(gold: Sequence[Answer], predicted: Sequence[Answer], match: Match) -> int:
    """How many of `predicted` have a gold answer of their own; both sides distinct. Greedy: each takes the
    first left.
    """
    if match == "exact":
        return len(set(gold) & set(predicted))
    meets = MEETS[match]
    left, hits = [_bare(answer) for answer in gold], 0
    for answer in map(_bare, predicted):
        at = next((i for i, due in enumerate(left) if meets(due, answer)), None)
        if at is not None:
            del left[at]
            hits += 1
    return hits


def polarities(gold: Sequence[Answer], predicted: Sequence[Answer], match: Match) -> tuple[int, int]:
    """(right, matched): predicted pairs that have a gold pair, and those of them that share a polarity with it.

    A pair with several polarities is one pair. Each takes the first pair left that shares its polarity, else the first
    left at all.
    """
    meets, seen = MEETS[match], _SEEN[match]
    left, hits, matched = [(seen(pair), names) for pair, names in _by_pair(gold).items()], 0, 0
    for pair, names in _by_pair(predicted).items():
        shown = seen(pair)
        near = [i for i, (other, _) in enumerate(left) if meets(other, shown)]
        if near:
            best = next((i for i in near if left[i][1] & names), near[0])
            hits += bool(left[best][1] & names)
            matched += 1
            del left[best]
    return hits, matched


def asked(gold: Sequence[Answer], predicted: Iterable[Answer], match: Match) -> list[Answer]:
    """The predictions about one of the gold aspects: what a system that is given the aspects would be asked for."""
    meets, seen = MEETS[match], _SEEN[match]
    aspects = [seen((aspect, "", "")) for aspect in dict.fromkeys(answer[0] for answer in gold)]
    return [answer for answer in predicted if any(meets(aspect, seen((answer[0], "", ""))) for aspect in aspects)]


def near_label(gold: Iterable[Answer], predicted: Answer) -> str:
    """YY, YN or NX of a triplet by the gold of its review (`lenient`): right, its pair only, or nothing near it."""
    shown = _bare(predicted)
    due = [_bare(answer) for answer in gold]
    if any(_lenient(answer, shown) for answer in due):
        return "YY"
    return "YN" if any(_lenient((answer[0], answer[1], shown[2]), shown) for answer in due) else "NX"


def _bare(answer: Answer) -> Answer:
    """Without brackets and spaces, which near matches ignore."""
    return answer[0].translate(_BARE), answer[1].translate(_BARE), answer[2]


def _by_pair(answers: Iterable[Answer]) -> dict[Answer, set[str]]:
    """Pair -> its polarities."""
    pairs: dict[Answer, set[str]] = {}
    for aspect, opinion, polarity in answers:
        pairs.setdefault((aspect, opinion, ""), set()).add(polarity)
    return pairs


def _exact(due: Answer, answer: Answer) -> bool:
    return due == answer


def _lenient(due: Answer, answer: Answer) -> bool:
    return due[2] == answer[2] and _within(due[0], answer[0]) and _near(due[1], answer[1])


MEETS: Mapping[Match, Callable[[Answer, Answer], bool]] = {"exact": _exact, "lenient": _lenient}
"""By name; both answers are as `_SEEN` shows them."""
_SEEN: Mapping[Match, Callable[[Answer], Answer]] = {"exact": lambda a: a, "lenient": _bare}


def _within(first: str, second: str) -> bool:
    return first == second or (bool(first and second) and (first in second or second in first))


def _near(first: str, second: str) -> bool:
    """The shorter is a subsequence of the longer; an empty part (`aspect` score) equals an empty part only."""
    if not first or not second:
        return first == second
    short, long = sorted((first, second), key=len)
    rest = iter(long)
    return all(char in rest for char in short)


Mode = Literal["open", "given-aspects"]
"""What the system was given: the text alone, or the gold aspects too (as the released questions of the paper do)."""
Tally = list[tuple[float, ...]]
"""A row a gold review, in the order of gold."""


@dataclass(frozen=True, slots=True)
class Metric:
    """`match` of `part`; the paper's example-based metric is ("paper", "triplet"), its match is exact. `complete` is
    that of builder.gold.metrics.complete.
    """

    match: Match | Literal["paper", "complete"]
    part: Part | Literal["polarity"]


@dataclass(frozen=True, slots=True)
class Score:
    """Precision, recall and F1 in percent with the counts behind them (-1 where the metric has no counts).

    `accuracy`: the paper metric's |P∩G| / |P∪G|; None elsewhere.
    """

    precision: float
    recall: float
    f1: float
    right: int
    predicted: int
    gold: int
    signature: str
    accuracy: float | None = None


def micro(gold: Answers, predicted: Answers, match: Match = "exact", part: Part = "triplet") -> Score:
    """Micro-averaged over the reviews of `gold`; a review that `predicted` lacks counts as empty, other ids are left
    out.
    """
    metric = Metric(match, part)
    sums = [int(sum(column)) for column in zip(*tally(gold, predicted, metric), strict=True)] or [0, 0, 0]
    hits, claimed, due = sums
    precision, recall = share(hits, claimed, due), share(hits, due, claimed)
    return Score(precision, recall, f1(precision, recall), hits, claimed, due, signature(metric))


def paper(gold: Answers, predicted: Answers) -> Score:
    """Mean over reviews of accuracy, precision, recall and F1 (paper, section 4.2.2; both sides empty: 0)."""
    metric = Metric("paper", "triplet")
    sums = [sum(column) for column in zip(*tally(gold, predicted, metric), strict=True)] or [0.0] * 4
    accuracy, precision, recall, mean = (100 * value / max(1, len(gold)) for value in sums)
    return Score(precision, recall, mean, -1, -1, -1, signature(metric), accuracy)


def tally(gold: Answers, predicted: Answers, metric: Metric, mode: Mode = "open") -> Tally:
    """The counts of each gold review. `given-aspects` leaves out what is predicted about no gold aspect."""
    assert metric.match != "complete", "gold of that kind is counted by builder.gold.metrics.complete"
    match: Match = "exact" if metric.match == "paper" else metric.match
    out: Tally = []
    for review, due in gold.items():
        answers = predicted.get(review, ())
        if mode == "given-aspects":
            answers = asked(due, answers, match)
        if metric.match == "paper":
            out.append(_example(set(due), set(answers)))
        elif metric.part == "polarity":
            out.append(polarities(due, answers, match))
        else:
            ours, theirs = distinct(due, metric.part), distinct(answers, metric.part)
            out.append((right(ours, theirs, match), len(theirs), len(ours)))
    return out


def signature(metric: Metric, mode: Mode = "open", more: Mapping[str, object] | None = None) -> str:
    """What was counted, key by key (as sacreBLEU signs its scores); `more` adds how the interval was made and on what
    data.
    """
    name, match = ("paper-example", "exact") if metric.match == "paper" else (f"micro-{metric.part}", metric.match)
    given = {} if mode == "open" and more is None else {"input": mode}
    parts = (
        {"match": match, "duplicates": "once", "null": "excluded"} | given | dict(more or {}) | {"version": __version__}
    )
    return "|".join([name, *(f"{key}:{value}" for key, value in parts.items())])


def share(part: float, whole: float, other: float) -> float:
    """Percent; of nothing it is 0, or 100 where the other side has nothing either."""
    if whole:
        return 100.0 * part / whole
    return 0.0 if other else 100.0


def f1(precision: float, recall: float) -> float:
    """The harmonic mean; 0 where both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _example(due: set[tuple[str, str, str]], predicted: set[tuple[str, str, str]]) -> tuple[float, ...]:
    both = len(due & predicted)
    if not both:
        return 0.0, 0.0, 0.0, 0.0
    precision, recall = both / len(predicted), both / len(due)
    return both / len(due | predicted), precision, recall, 2 * precision * recall / (precision + recall)
