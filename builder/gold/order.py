"""In which order a pool is labelled, and how fast a person labels. Pure.

In: a pool, and by how much the rules' choice of each candidate's aspect was ahead. Out: its reviews in order. The order
of the pool is chance, so what is labelled first is a sample; `uncertain` is none, but each label says more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from builder.core.records import Candidate, Pool, PoolReview

Margins = Mapping[int, float]
"""Candidate id -> by how much the rules' choice of its aspect was ahead (`Triplet.margin`)."""


def order_reviews(pool: Pool, order: str, margins: Margins) -> tuple[PoolReview, ...]:
    """The reviews of a pool in the order of this name, which `ORDERS` has."""
    return ORDERS[order](pool, margins)


def uncertainty(candidate: Candidate, systems: int, margin: float = math.inf) -> float:
    """How unsure the systems are of a candidate, from 0 to 1: 1 where all that is known of it says fifty-fifty.

    What is known are the share of the systems that propose it, their confidences, and the rules' margin as a
    probability (the logistic of it).
    """
    known = [confidence for _, confidence in candidate.sources if confidence is not None]
    known += [len(candidate.sources) / systems] if systems > 1 else []
    known += [1 / (1 + math.exp(-margin))] if math.isfinite(margin) else []
    likely = sum(known) / len(known) if known else 1.0
    return 1 - abs(2 * likely - 1)


def _by_chance(pool: Pool, margins: Margins) -> tuple[PoolReview, ...]:
    return pool.reviews


def _uncertain_first(pool: Pool, margins: Margins) -> tuple[PoolReview, ...]:
    """Reviews by their most uncertain candidate, candidates of a review by their own; reviews without one last."""
    proposed = pool.config.get("sources")
    systems = len(proposed) if isinstance(proposed, Mapping) else 1

    def doubt(candidate: Candidate) -> float:
        return uncertainty(candidate, systems, margins.get(candidate.id, math.inf)) if candidate.n is not None else -1

    reviews = [
        replace(review, candidates=tuple(sorted(review.candidates, key=lambda candidate: -doubt(candidate))))
        for review in pool.reviews
    ]
    return tuple(sorted(reviews, key=lambda review: -max(map(doubt, review.candidates), default=-1)))


ORDERS: dict[str, Callable[[Pool, Margins], tuple[PoolReview, ...]]] = {
    "pool": _by_chance,
    "uncertain": _uncertain_first,
}


BREAK = 300.0
"""Seconds without a label after which a person is taken to have paused."""
_LEAST = 5
"""Fewer labels than this in a row say nothing of the pace."""


def labels_per_hour(moments: Sequence[float]) -> int | None:
    """The pace over all stretches of work; None while there are too few labels, or no time has passed.

    Args:
        moments: seconds, in order. Labels that came in one go, as an import brings them, count as one.
    """
    gaps = [later - earlier for earlier, later in pairwise(moments) if 0 < later - earlier <= BREAK]
    return round(3600 * len(gaps) / sum(gaps)) if len(gaps) >= _LEAST else None
