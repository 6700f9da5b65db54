"""What is asked of the augmentation of a release, and what comes out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from builder.augment.settings import AugmentSettings
from builder.augment.views import Keep, View

TRAIN = "train"
"""The split that is augmented: the others are for measuring."""


@dataclass(frozen=True, slots=True)
class AugmentPlan:
    """What is asked for. `candidates` are proposed a sentence, up to `copies` kept; `limit` takes so many sentences
    by chance (0: all). `judge`: a working directory whose models are asked which labels survived.
    """

    method: str
    release: Path
    out: Path
    workdir: Path
    settings: AugmentSettings
    view: View = "triplets"
    keep: Keep = "aspect+opinion"
    copies: int = 4
    candidates: int = 4
    seed: int = 13
    limit: int = 0
    workers: int = 1
    engine: str = "local"
    scheduler: str = ""
    layer: str = ""
    version: str = ""
    judge: Path | None = None

    @property
    def named(self) -> str:
        return self.layer or self.method.replace("+", "-")


@dataclass(frozen=True, slots=True)
class ChildRelease:
    """A child release: where, whether it was there before, its layer's rows, why candidates were rejected, what was
    measured.
    """

    path: Path
    before: bool
    layer: str
    rows: int
    reasons: Mapping[str, int]
    measures: Mapping[str, object] = field(default_factory=dict)
