"""Scores against gold in which two annotators gave every triplet of a review, each part with a shortest and a longest
form; pure.

In: per review the triplets of both annotators. Out: `Complete` gold, and counts per review for `intervals`. Triplets
that both gave are required; those that one alone gave are optional: a prediction that hits one counts neither as right
nor as wrong. A prediction fits a part when it lies between the core and the full form, as character subsequences; one
modifier beyond the full form and more than half of the core also fit. Brackets and spaces are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from builder.gold.metrics.scores import Answer, Answers, Tally

_IGNORED = re.compile(r"[\[\]「」\s]")
_MODIFIER = 3
"""Characters that a prediction may have beyond the core although no annotator gave them."""


@dataclass(frozen=True, slots=True)
class Ranged:
    """A gold triplet whose parts may be as short as the core form and as long as the full one."""

    aspect: str
    aspect_full: str
    opinion: str
    opinion_full: str
    polarity: str

    @property
    def core(self) -> Answer:
        """The triplet in its core forms."""
        return self.aspect, self.opinion, self.polarity


@dataclass(frozen=True, slots=True)
class Complete:
    """The gold of a review: `required` triplets both annotators gave, `optional` ones only one of them."""

    required: tuple[Ranged, ...]
    optional: tuple[Ranged, ...]


CompleteGold = Mapping[str, Complete]
"""Per review id."""


def merge(first: Sequence[Ranged], second: Sequence[Ranged]) -> Complete:
    """What two annotators say of a review. Of a triplet that both gave the shortest cores and the longest full forms
    count.
    """
    left = list(second)
    required, optional = [], []
    for triplet in first:
        other = next((other for other in left if _agree(triplet, other)), None)
        if other is None:
            optional.append(triplet)
        else:
            left.remove(other)
            required.append(_widest(triplet, other))
    return Complete(tuple(required), (*optional, *left))


def agreement(gold: CompleteGold) -> float:
    """F1 in percent of one annotator against the other."""
    both = 2 * sum(len(review.required) for review in gold.values())
    alone = sum(len(review.optional) for review in gold.values())
    return 100.0 * both / (both + alone) if both + alone else 100.0


def tally_complete(gold: CompleteGold, predicted: Answers, polarity: bool = True) -> Tally:
    """(right, predicted, required) of each review. Predictions that hit an optional triplet are left out of
    `predicted`; `polarity` must be equal too.
    """
    return [_count(review, predicted.get(key, ()), polarity) for key, review in gold.items()]


def count_optional(gold: CompleteGold, predicted: Answers) -> int:
    """How many predictions hit an optional triplet."""
    rows = tally_complete(gold, predicted)
    return sum(len(set(predicted.get(key, ()))) for key in gold) - int(sum(row[1] for row in rows))


def _count(review: Complete, predicted: Sequence[Answer], polarity: bool) -> tuple[int, int, int]:
    """Each prediction takes the first required triplet left that it fits; then each of the rest the first
    optional one.
    """
    distinct = list(dict.fromkeys(predicted))
    rest = _unmatched(distinct, review.required, polarity)
    wrong = _unmatched(rest, review.optional, polarity)
    right = len(distinct) - len(rest)
    return right, right + len(wrong), len(review.required)


def _unmatched(predicted: Sequence[Answer], gold: Sequence[Ranged], polarity: bool) -> list[Answer]:
    left, rest = list(gold), []
    for answer in predicted:
        hit = next((triplet for triplet in left if _hits(answer, triplet, polarity)), None)
        if hit is None:
            rest.append(answer)
        else:
            left.remove(hit)
    return rest


def _hits(answer: Answer, triplet: Ranged, polarity: bool = True) -> bool:
    if polarity and answer[2] != triplet.polarity:
        return False
    return _fits(answer[0], triplet.aspect, triplet.aspect_full) and _fits(
        answer[1], triplet.opinion, triplet.opinion_full
    )


def _fits(predicted: str, core: str, full: str) -> bool:
    predicted, core, full = (_IGNORED.sub("", text) for text in (predicted, core, full))
    if not predicted:
        return False
    if _is_subsequence(core, predicted) and _is_subsequence(predicted, full):
        return True
    if core in predicted and len(predicted) <= len(core) + _MODIFIER:
        return True
    return _is_subsequence(predicted, core) and 2 * len(predicted) > len(core)


def _is_subsequence(part: str, whole: str) -> bool:
    rest = iter(whole)
    return all(char in rest for char in part)


def _agree(first: Ranged, second: Ranged) -> bool:
    return _hits(first.core, second) or _hits(second.core, first)


def _widest(first: Ranged, second: Ranged) -> Ranged:
    """Of forms of equal length the first annotator's."""
    return Ranged(
        min(first.aspect, second.aspect, key=len),
        max(first.aspect_full, second.aspect_full, key=len),
        min(first.opinion, second.opinion, key=len),
        max(first.opinion_full, second.opinion_full, key=len),
        first.polarity,
    )
