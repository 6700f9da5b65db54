"""What the line of a stage says: what happens in it, and how long the rest of the build takes.

In: the settings, what finished stages took and counted, and what stages took here the last time. Out: words, and
seconds, or None where nothing can be said. Pure. A first build is compared with a reference build, stage by stage, at
the pace that its own stages show: those with models by the pace of models, once one has run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from builder.core.settings import Config
from builder.language.lexicon.folders import find_folders
from builder.pipeline.pipeline import Done

JudgeKind = Literal["none", "shipped", "trained"]
"""Who judges the triplets: nobody, the model that comes with builder, or one that the build trains."""


def find_judge(config: Config) -> JudgeKind:
    """Who judges in a build with these settings."""
    if config.profile == "rules":
        return "none"
    if config.discriminate.mode == "paper":
        return "trained"
    folders = find_folders(config.lexicons, config.rules, domain=config.domain)
    return "shipped" if config.rules.convention == "natural" and folders.model else "none"


def describe_stage(name: str, config: Config) -> str:
    """What happens in a stage, for people who know no name of ours."""
    judge = find_judge(config)
    if name == "discriminate":
        return {"none": "no model judges them", "shipped": "judging them by the model", "trained": "training a judge"}[
            judge
        ]
    if name == "self_train":
        trains = judge != "none" and set(config.self_train.variants) != {"E"}
        adds = "keeping what the rules found" if judge == "none" else "adding what the model finds"
        return "training on them, in rounds" if trains else adds
    if name == "evaluate":
        labelled = config.evaluate.gold or config.evaluate.silver
        compared = "no labels to score by" if judge == "none" else "comparing rules and model"
        return "scoring by the labels given" if labelled else compared
    return _DESCRIBED[name]


_DESCRIBED = {
    "ingest": "reading the reviews",
    "annotate": "finding words and grammar",
    "seed": "finding triplets by rules",
    "release": "writing the dataset",
}
WIDTH = 28
"""Characters of the longest description."""

# ---- How long the rest takes

_REFERENCE = 47_850
"""Distinct reviews of the reference build; its seconds grow with their number."""
_RULES = {"ingest": 15.0, "annotate": 26.0, "seed": 29.0, "evaluate": 1.0, "release": 27.0}
_MODELS: Mapping[JudgeKind, Mapping[str, float]] = {
    "shipped": {"discriminate": 155.0, "self_train": 40.0},
    "none": {"discriminate": 2.5, "self_train": 2.5},
}
"""Seconds of its stages. Those with models by who judges."""
_START = {"ingest": 0.6, "annotate": 2.0, "seed": 0.8, "release": 1.7}
_START_OF_MODELS = {"discriminate": 8.0, "self_train": 4.5}
"""Seconds that stages take however few the reviews: processes start, and libraries and the shipped model are loaded."""


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
        words = self._pace(reference, ("ingest", "annotate", "seed"), 1.0)
        models = self._pace(reference, ("discriminate",), words)
        return sum(reference[stage] * (models if stage in _MODELS["none"] else words) for stage in coming)

    def _pace(self, reference: Mapping[str, float], stages: Sequence[str], otherwise: float) -> float:
        """How many times as long as in the reference build those of the stages took that ran."""
        ran = [stage for stage in self.done if stage.ran and stage.stage in stages]
        return sum(stage.seconds for stage in ran) / sum(reference[stage.stage] for stage in ran) if ran else otherwise

    def _is_like_the_reference(self) -> bool:
        """Whether it trains what the reference trained, or nothing."""
        config = self.config
        alike = config.discriminate.mode != "paper" and tuple(config.self_train.variants) == ("E",)
        return config.profile == "rules" or (config.profile == "embedded" and alike)

    def _reference(self) -> dict[str, float] | None:
        """Seconds of each stage in the reference build, had it as many reviews; None where this one trains others."""
        counts = {stage.stage: stage.counts for stage in self.done}
        if "ingest" not in counts or not self._is_like_the_reference():
            return None
        number = int(counts["ingest"]["reviews"])
        judge = find_judge(self.config)
        start = _START | (_START_OF_MODELS if judge == "shipped" else {})
        seconds = _RULES | dict(_MODELS[judge])
        return {stage: start.get(stage, 0.0) + number / _REFERENCE * seconds[stage] for stage in seconds}
