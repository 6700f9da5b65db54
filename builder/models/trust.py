"""What variant E may do by its judge. In: how far a panel is trusted, from 0 to 1, or the limits that a model ships.
Out: the limits for dropping, adding and lengthening. No torch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from builder.core.records import Polarity, Verdict

DROP = 0.1
"""A rule triplet that a panel of full trust gives less is left out."""
FIRM = 0.6
"""It stays all the same where the rules give its aspect so much more than any other (`Triplet.margin`)."""
ADD = 0.9
"""A proposal of at least this much is taken in."""
WIDEN = 0.5
"""A proposal of at least this much, even odds, may lengthen the aspect of a rule triplet."""


Standing = Literal["shared", "disputed", "spared", "rejected", "model"]
"""How rules and judge stand to a triplet. shared: both find it; disputed: the judge doubts its polarity alone; spared:
the judge finds no pair, but may not drop it; rejected: it drops it; model: the judge alone finds it.
"""
STANDINGS: tuple[Standing, ...] = get_args(Standing)


@dataclass(frozen=True, slots=True)
class TrustLimits:
    """What a judge may do: drop a rule triplet that it gives less than `drop`, add a proposal of at least `add`,
    lengthen by one of at least `widen`.

    It never drops a triplet for its polarity, nor one that the rules prefer by `firm` or more to any other, nor a
    neutral one, of which it finds fewer than the rules. `judged`: the rules whose triplets it may drop, since it is
    right more often than they are where it rejects one; None: all. `add_unread`: as `add`, for opinions that the rules
    do not read.
    """

    drop: float
    add: float
    widen: float
    firm: float = FIRM
    add_unread: float = ADD
    judged: tuple[str, ...] | None = None

    @classmethod
    def of(cls, trust: float) -> TrustLimits:
        """Nothing at trust 0. Any trust adds and lengthens, and drops in proportion.

        A panel that has read less is as often right in what it proposes; it misses more of what is right.
        """
        return cls(round(DROP * trust, 3), ADD, WIDEN) if trust else cls(0.0, math.inf, math.inf, add_unread=math.inf)

    @classmethod
    def read(cls, kept: Mapping[str, Any]) -> TrustLimits:
        """Limits from what a file holds of them; KeyError, TypeError or ValueError where it holds none."""
        judged = kept["judged"]
        return cls(
            **{name: float(kept[name]) for name in ("drop", "add", "widen", "firm", "add_unread")},
            judged=None if judged is None else tuple(map(str, judged)),
        )

    @property
    def least(self) -> float:
        """A proposal below this changes nothing."""
        return min(self.add, self.add_unread, self.widen)

    def place(self, verdict: Verdict | None, score: float, rule: str, polarity: Polarity, margin: float) -> Standing:
        """How the judge's verdict and score leave a triplet that `rule` found. `margin`: `Triplet.margin`; 0 under a
        convention that weighs no candidates.
        """
        if verdict == "YN":
            return "disputed"
        if score >= self.drop:
            return "shared"
        by_rules = polarity == "NEU" or (self.judged is not None and rule not in self.judged)
        weighed = self.judged is None or margin < math.inf  # a rule that weighs nothing is sure of everything
        return "spared" if by_rules or (weighed and margin >= self.firm) else "rejected"
