"""By how much the rules preferred the aspect of a triplet. In: a step of its evidence. Out: the margin."""

from __future__ import annotations

import math


def margin_of(aspect: str, candidates: str) -> float:
    """The margin of an aspect among `candidates`, a step of a triplet's evidence such as "湯頭 3.7, none 0.0"; that of
    the best where the aspect, joined by coordination, is not among them.
    """
    scores = [
        (word, float(score)) for word, _, score in (part.rpartition(" ") for part in candidates.split(", ")) if word
    ]
    if len(scores) < 2:
        return math.inf
    own = next((i for i, (word, _) in enumerate(scores) if word == aspect), 0)
    return scores[own][1] - max(score for i, (_, score) in enumerate(scores) if i != own)
