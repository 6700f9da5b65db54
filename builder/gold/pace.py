"""How fast a person labels. Pure.

In: when each label was given. Out: labels per hour of work, breaks left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

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
