"""The cross-fitted judge: no triplet is judged by a model that was trained on it. In: triplets of reviews. Out: YY,
YN, NX or nothing.

There are k folds of reviews; a member of the panel is a tagger, trained without one of them, and judges just that one:
would it have found the pair by itself, and with this polarity? A review that none was trained on is judged by all. A
triplet is rejected where its probability is lower than that of the share of the rules' triplets that confident
learning (Northcutt et al. 2021) takes for noise; between that and even odds the panel abstains. A discriminator that
is shown the pair (section 3.3.2) orders the rules' triplets no better (docs/results/models.md), and is not asked.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from builder.core.edges import clashes
from builder.core.errors import ModelError
from builder.core.files import read_settings, write_atomically
from builder.core.records import VERDICTS, Triplet, Verdict
from builder.learning.task import Example, JudgedReview, Progress
from builder.models.combiner import Combiner
from builder.models.cotrain import Taggers, load_taggers
from builder.models.tagger import Proposal
from builder.models.trust import Calibration, TrustLimits, read_calibration, to_kept

UNSURE, SURE = 0.46, 0.58
"""What a panel gives the rules' triplets on average that is not trusted at all, and one that is trusted fully
(docs/results/models.md).
"""
YY, YN, NX = (VERDICTS.index(verdict) for verdict in ("YY", "YN", "NX"))
Shares = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """The taggers by the fold they were trained without; `cut` is the probability of YY below which a triplet is
    rejected.

    `trust`, from 0 to 1, is how far variant E follows it: 0 where the panel has learnt too little (see `trusted`).
    `own_limits`, `own_calibration` and `combiner` are those of a model that was measured before it was shipped.
    """

    taggers: Taggers
    cut: float
    trust: float
    own_limits: TrustLimits | None = None
    own_calibration: Calibration | None = None
    combiner: Combiner | None = None

    @property
    def limits(self) -> TrustLimits:
        """What variant E may do by it."""
        return self.own_limits or TrustLimits.of(self.trust)

    @property
    def digest(self) -> str:
        own = [asdict(self.own_limits)] if self.own_limits else []
        own += [self.combiner.kept] if self.combiner else []
        return hashlib.sha256(json.dumps([self.taggers.digest, self.cut, self.trust, *own]).encode()).hexdigest()[:16]

    def classify(
        self, items: Sequence[Example], progress: Progress | None = None
    ) -> list[tuple[tuple[Verdict | None, float], ...]]:
        """The verdicts of all members together, for reviews that none was trained on."""
        return [self.verdicts(shares) for shares, _ in self.read(items, progress)]

    def read(self, items: Sequence[Example], progress: Progress | None = None) -> list[tuple[Shares, list[Proposal]]]:
        """Of each item's triplets the probabilities of YY, YN, NX [n, 3], and what all members propose beside them."""
        texts, triplets = [item.text for item in items], [item.triplets for item in items]
        if self.combiner is None:
            proposals = self.taggers.proposals(texts, progress)
            return list(zip(map(seen, triplets, proposals), proposals, strict=True))
        each = zip(*self.taggers.each(texts, progress), strict=True)
        return list(map(self.combiner.read_review, triplets, each))

    def apart(
        self, items: Sequence[Example], progress: Progress | None = None
    ) -> list[tuple[tuple[Verdict | None, float], ...]]:
        """Each item's verdicts from the member that was not trained on it."""
        return [self.verdicts(shares) for shares in unseen(self.taggers, items, progress)]

    def verdicts(self, shares: Shares) -> tuple[tuple[Verdict | None, float], ...]:
        """What the panel says of triplets to which its members give `shares` [n, 3]."""
        return tuple((self._label(row), round(float(row[YY]), 4)) for row in shares)

    def _label(self, row: Shares) -> Verdict | None:
        if row[YY] < self.cut:
            return "YN" if row[YN] > row[NX] else "NX"
        return "YY" if row[YY] >= 0.5 else None


def unseen(taggers: Taggers, items: Sequence[Example], progress: Progress | None = None) -> list[Shares]:
    """The probabilities of YY, YN, NX of each item's triplets by the member that was not trained on the item."""
    proposals = taggers.apart([item.id for item in items], [item.text for item in items], progress)
    return [seen(item.triplets, proposed) for item, proposed in zip(items, proposals, strict=True)]


@dataclass(frozen=True, slots=True)
class Noise:
    """What a panel says of the triplets given as YY: the share it takes for noise, the probability of YY below which
    that share of them lies (even odds at most), and their mean probability.
    """

    share: float
    cut: float
    mean: float


def noise(judged: Sequence[JudgedReview], predicted: Sequence[Shares]) -> Noise:
    """Confident learning: a triplet counts as a class if its probability reaches the mean probability among those
    given as that class; of several the most probable. In: the discriminator's training data with its made YN and NX,
    and what `unseen` says of each item.
    """
    shares = np.concatenate([np.empty((0, 3)), *predicted])
    given = np.array([VERDICTS.index(label) for review in judged for _, label in review.verdicts], dtype=np.int64)
    if not (given == YY).any():
        return Noise(0.0, 0.0, 0.0)
    means = np.array([shares[given == j, j].mean() if (given == j).any() else 2.0 for j in range(3)])
    reached = np.where(shares >= means, shares, -1.0)
    counted = (reached.max(1) >= 0) & (given == YY)
    wrong = counted & (reached.argmax(1) != YY)
    share = float(wrong.sum() / max(1, counted.sum()))
    return Noise(share, min(0.5, float(np.quantile(shares[given == YY, YY], share))), float(means[YY]))


def trusted(taggers: Taggers, measured: Noise) -> Panel:
    """The panel with its thresholds. One that has read little doubts what is right as often as what is wrong, and
    gives the rules' triplets less on average: from SURE down to UNSURE it is trusted in proportion less, below that
    not at all. What a trusted panel drops it also rejects.
    """
    trust = round(min(1.0, max(0.0, (measured.mean - UNSURE) / (SURE - UNSURE))), 3)
    return Panel(taggers, max(measured.cut, TrustLimits.of(trust).drop), trust)


def seen(triplets: Sequence[Triplet], proposals: Sequence[Proposal]) -> Shares:
    """[n, 3] as a tagger sees it: NX = 1 - P(pair), YY = P(pair) P(this polarity);
    a pair it does not propose is NX.
    """
    out = np.zeros((len(triplets), 3))
    for row, triplet in enumerate(triplets):
        near = [(chance, other) for chance, other in proposals if clashes(triplet, other)]
        chance, other = max(near, key=lambda pair: pair[0], default=(0.0, None))
        sure = min(1.0, (other.confidence or 0.0) / max(chance, 1e-9)) if other else 0.5
        same = sure if other is None or other.polarity == triplet.polarity else (1 - sure) / 2
        out[row] = chance * same, chance * (1 - same), 1 - chance
    return out


def save_panel(panel: Panel, folder: Path) -> None:
    """Write what holds the members together; they lie beside it, in `taggers`, since they were trained."""
    settings = {"cut": panel.cut, "trust": panel.trust, "drop": panel.limits.drop, "digest": panel.digest}
    if panel.own_limits:
        settings["limits"] = asdict(panel.own_limits)
    if panel.own_calibration:
        settings["calibration"] = to_kept(panel.own_calibration)
    if panel.combiner:
        settings["combiner"] = panel.combiner.kept
    write_atomically(folder / "panel.json", (json.dumps(settings, sort_keys=True) + "\n").encode())


def load_members(folder: Path, device: str = "auto") -> Panel:
    """A panel's members without its thresholds: what lies in `folder` before `save_panel`."""
    return Panel(load_taggers(folder / "taggers", device), 0.0, 0.0)


def load_panel(folder: Path, device: str = "auto") -> Panel:
    """The panel of `folder`, whose encoders run on `device`; ModelError where a part is missing or another's."""
    path, fix = folder / "panel.json", "`builder run discriminate --force`"
    try:
        settings = json.loads(read_settings(path))
        cut, trust, digest = float(settings["cut"]), float(settings["trust"]), settings["digest"]
        limits = TrustLimits.read(settings["limits"]) if "limits" in settings else None
        calibration = read_calibration(settings["calibration"]) if "calibration" in settings else None
        combiner = Combiner.read(settings["combiner"]) if "combiner" in settings else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelError(f"no readable panel: {error!r}", where=str(path), fix=fix) from error
    members = load_members(folder, device)
    panel = replace(members, cut=cut, trust=trust, own_limits=limits, own_calibration=calibration, combiner=combiner)
    if panel.digest != digest:
        raise ModelError("the members are not those of this panel", where=str(folder), fix=fix)
    return panel


def on_one_thread(panel: Panel) -> Panel:
    """The same panel, whose members read on one thread each: how many there are may change the last digit of what
    they say.
    """
    taggers = tuple(replace(member, config=replace(member.config, threads=1)) for member in panel.taggers.members)
    return replace(panel, taggers=replace(panel.taggers, members=taggers))
