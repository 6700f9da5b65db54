"""What variant E may do by a panel that is trusted so far. In: trust from 0 to 1. Out: the limits for dropping,
adding and lengthening. No torch.
"""

from __future__ import annotations

from dataclasses import dataclass

DROP = 0.3
"""A rule triplet that a panel of full trust gives less is left out."""
ADD = 0.7
"""A proposal of at least this much is taken in by full trust."""
WIDEN = 0.5
"""A proposal of at least this much, even odds, may lengthen the aspect of a rule triplet by full trust."""


@dataclass(frozen=True, slots=True)
class TrustLimits:
    """What a panel may do: drop a rule triplet that it gives less than `drop`, add a proposal of at least `add`,
    lengthen by one of at least `widen`.
    """

    drop: float
    add: float
    widen: float

    @classmethod
    def of(cls, trust: float) -> TrustLimits:
        """From nothing at trust 0 to DROP, ADD and WIDEN at trust 1."""
        return cls(round(DROP * trust, 3), round(1 - (1 - ADD) * trust, 3), round(1 - (1 - WIDEN) * trust, 3))
