"""How long the rest of a running build takes.

In: what its finished stages took and counted, and what stages took here the last time. Out: seconds, or None where
nothing can be said. Pure. A first build is compared with a reference build, stage by stage, at this machine's pace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from builder.core.settings import Config
from builder.language.lexicon.folders import find_folders
from builder.pipeline.pipeline import Done

_REFERENCE = 47_850
"""Distinct reviews of the reference build (docs/results/models.md); it grows with their number."""
_RULES = {"ingest": 8.0, "annotate": 67.0, "seed": 22.0, "evaluate": 1.0, "release": 30.0}
_MODELS = {"discriminate": 346.0, "self_train": 106.0}
_SHIPPED = {"discriminate": 96.0, "self_train": 45.0}
_NO_JUDGE = {"discriminate": 5.0, "self_train": 5.0}
"""Seconds of its stages. Of the stages with models: with a judge that is trained, with the shipped model,
and with none.
"""
_START = {"annotate": 4.0, "seed": 0.5, "release": 0.5}
"""Seconds that stages take however few the reviews: processes start, and libraries are loaded."""
_WITH_TRIPLETS = 0.83
"""Share of reviews with triplets, before the rules have said it."""


@dataclass(slots=True)
class RemainingTime:
    """Estimates of one build. `before`: seconds that each stage took in this working directory before."""

    config: Config
    before: Mapping[str, float]
    done: list[Done] = field(default_factory=list)

    def seconds(self, coming: Sequence[str]) -> float | None:
        """Seconds that the stages in `coming` will take; None where neither this build nor an earlier one says."""
        if all(stage in self.before for stage in coming):
            return sum(self.before[stage] for stage in coming)
        reference = self._reference()
        if reference is None or not all(stage in reference for stage in coming):
            return None
        ran = [stage for stage in self.done if stage.ran and stage.stage in ("annotate", "seed")]
        pace = sum(stage.seconds for stage in ran) / sum(reference[stage.stage] for stage in ran) if ran else 1.0
        return pace * sum(reference[stage] for stage in coming)

    def _is_like_the_reference(self) -> bool:
        """Whether it trains what the reference trained, or nothing."""
        config = self.config
        alike = config.discriminate.mode != "paper" and tuple(config.self_train.variants) == ("E",)
        return config.profile == "rules" or (config.profile == "embedded" and alike)

    def _models(self, reviews: float) -> dict[str, float]:
        """Seconds of the stages with models in the reference build, by the judge that this one has."""
        config = self.config
        if config.profile != "embedded":
            return _NO_JUDGE
        folders = find_folders(config.lexicons, config.rules, domain=config.domain)
        if config.discriminate.mode == "auto" and config.rules.convention == "natural" and folders.model:
            return _SHIPPED
        return _MODELS if reviews >= config.discriminate.least else _NO_JUDGE

    def _reference(self) -> dict[str, float] | None:
        """Seconds of each stage in the reference build, had it as many reviews; None where this one trains others."""
        counts = {stage.stage: stage.counts for stage in self.done}
        if "ingest" not in counts or not self._is_like_the_reference():
            return None
        number = int(counts["ingest"]["reviews"])
        share = int(counts["seed"]["reviews"]) / max(1, number) if "seed" in counts else _WITH_TRIPLETS
        scale = number / _REFERENCE
        seconds = _RULES | self._models(int(counts["ingest"]["train"]) * share)
        return {stage: _START.get(stage, 0.0) + scale * seconds[stage] for stage in seconds}
