"""How long a build of so many reviews would take, and how much memory and disk.

In: what a build took on this machine (`measuring`). Out: a `BuildPlan`. Pure. Stages that the crew works on divide by
the workers, down to the time in which the coordinator writes their answers; one process does training and the rest.
Everything grows with the number of reviews.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from builder.core.wording import counted

SPREAD = ("annotate", "seed")
"""Stages that the crew does nearly all of; of the others it does the prediction."""


@dataclass(frozen=True, slots=True)
class SampleMeasure:
    """What was measured on a build of `reviews` distinct reviews with `workers`; mappings are by stage, or kind of
    file.

    Attributes:
        seconds: time of a stage.
        spread: seconds of it that one worker would need for what the crew does.
        writing: seconds in which the coordinator writes the answers.
        disk: bytes by kind of file.
        memory: bytes for each review.
        process: bytes of a process with a backend.
        most: reviews that a stage trains on at most.
        fixed: bytes that a stage holds whatever the number of reviews.
    """

    what: str
    reviews: int
    workers: int
    seconds: Mapping[str, float]
    spread: Mapping[str, float]
    writing: Mapping[str, float]
    disk: Mapping[str, int]
    memory: Mapping[str, float]
    process: float
    most: Mapping[str, int] = field(default_factory=dict)
    fixed: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StagePlan:
    """Seconds and peak bytes of memory of the coordinator; `by`: who does it."""

    stage: str
    seconds: float
    memory: float
    by: str


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """The prediction: stages in order, bytes on disk by kind, bytes of memory of each worker, what it rests on, and
    what it leaves out.
    """

    reviews: int
    workers: int
    stages: tuple[StagePlan, ...]
    disk: Mapping[str, float]
    worker_memory: float
    measured: SampleMeasure
    notes: tuple[str, ...]

    @property
    def seconds(self) -> float:
        return sum(stage.seconds for stage in self.stages)

    @property
    def memory(self) -> float:
        return max(stage.memory for stage in self.stages)

    def as_json(self) -> dict[str, object]:
        return asdict(self) | {"seconds": self.seconds, "memory": self.memory}


def predict(measured: SampleMeasure, count: int, workers: int) -> BuildPlan:
    """The plan for `count` reviews by `workers`. Pure. With what was measured it gives what was measured."""
    grown = count / measured.reviews
    stages = []
    for stage, seconds in measured.seconds.items():
        spread = measured.spread.get(stage, 0.0)
        most = measured.most.get(stage, max(count, measured.reviews))
        held, before = min(count, most), min(measured.reviews, most)
        alone = max(0.0, seconds - spread / measured.workers) * held / before
        fixed = measured.process + measured.fixed.get(stage, 0.0)
        spread_seconds = max(spread / workers, min(measured.writing.get(stage, 0.0), seconds)) if spread else 0.0
        by = (
            f"{counted(workers, 'worker')}"
            if stage in SPREAD
            else f"one process, prediction by {counted(workers, 'worker')}"
            if spread
            else "one process"
        )
        stages.append(
            StagePlan(stage, alone + grown * spread_seconds, fixed + held * measured.memory.get(stage, 0.0), by)
        )
    disk = {kind: float(size) * (1.0 if kind == "models" else grown) for kind, size in measured.disk.items()}
    return BuildPlan(count, workers, tuple(stages), disk, measured.process, measured, _notes(measured, count))


def _notes(measured: SampleMeasure, count: int) -> tuple[str, ...]:
    out = [
        f"measured: {measured.what}, {counted(measured.reviews, 'distinct review')} with "
        f"{counted(measured.workers, 'worker')}"
    ]
    if count > 20 * measured.reviews:
        out.append(
            f"{count / measured.reviews:,.0f} times as many: a rule of three over such a distance may be off by half"
        )
    if "discriminate" not in measured.seconds:
        lacking = "training and prediction" if "release" in measured.seconds else "training, prediction and release"
        large = " that has a judge" if "release" in measured.seconds else ""
        out.append(f"{lacking} were not measured: finish a build{large} and name it with --workdir")
    elif not measured.spread.get("discriminate"):
        out.append("what of discriminate is prediction was not measured (no panel): all of it counts as training")
    return (*out, "the network, machines of other speed and workers that wait for each other are left out")
