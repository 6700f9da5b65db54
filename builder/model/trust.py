"""What variant E may do by its judge. In: how far a panel is trusted, from 0 to 1, or the limits that a model ships.
Out: the limits for dropping, adding and lengthening. No torch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

DROP = 0.1
"""A rule triplet that a panel of full trust gives less is left out."""
FIRM = 0.6
"""It stays all the same where the rules give its aspect so much more than any other (`Triplet.margin`)."""
ADD = 0.9
"""A proposal of at least this much is taken in."""
WIDEN = 0.5
"""A proposal of at least this much, even odds, may lengthen the aspect of a rule triplet."""


@dataclass(frozen=True, slots=True)
class TrustLimits:
    """What a judge may do: drop a rule triplet that it gives less than `drop`, unless the rules give its aspect `firm`
    more than any other; add a proposal of at least `add`, lengthen by one of at least `widen`.
    """

    drop: float
    add: float
    widen: float
    firm: float = FIRM

    @classmethod
    def of(cls, trust: float) -> TrustLimits:
        """Nothing at trust 0. Any trust adds and lengthens, and drops in proportion.

        A panel that has read less is as often right in what it proposes; it misses more of what is right.
        """
        return cls(round(DROP * trust, 3), ADD, WIDEN) if trust else cls(0.0, math.inf, math.inf)

    @property
    def least(self) -> float:
        """A proposal below this changes nothing."""
        return min(self.add, self.widen)

    def is_firm(self, margin: float, convention: str) -> bool:
        """Whether the rules are so sure of an aspect that the judge cannot drop the triplet. Only the convention
        `natural` weighs candidates; of the others nothing is firm.
        """
        return convention == "natural" and margin >= self.firm
