"""What a build of so many reviews will cost in time, memory and disk, from what earlier ones took.

Predicting. In: what a build took on this machine. Out: a `BuildPlan`. Pure. Stages that the crew works on divide by the
workers, down to the time in which the coordinator writes their answers. One process does training and the rest.
Everything grows with the number of reviews.

Measuring. In: a working directory with a finished or half-finished build. Out: a `SampleMeasure`. A few seconds of work
are timed now, on samples of its reviews.
"""

from __future__ import annotations

import random
import sqlite3
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import cycle, islice, takewhile
from pathlib import Path
from typing import TypeVar

from builder.core.errors import WorkdirError
from builder.core.records import StoredTriplet
from builder.core.settings import Config
from builder.core.wording import counted
from builder.language.lexicon.folders import folders_in
from builder.pipeline import judging
from builder.pipeline.context import Context
from builder.pipeline.judging import list_examples
from builder.pipeline.release_rows import KNOWN
from builder.pipeline.splits import PLACED
from builder.reviews.dedup.assignment import HASH
from builder.reviews.dedup.near_duplicates import HELD, links, normal, room
from builder.reviews.dedup.rare_pairs import Texts
from builder.store import db, reviews, runs, triplets

# ---- Predicting a build

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
        out.append("what of discriminate is prediction was not measured: all of it counts as training")
    return (*out, "the network, machines of other speed and workers that wait for each other are left out")


# ---- Measuring earlier builds

Result = TypeVar("Result")
_LOOKED_AT = 2000
_PREDICTED = 200
_SEARCHED = 32_000
_MODELS = ("discriminate", "self_train")
"""Stages whose seconds say nothing where nothing judged."""


def measure(workdir: Path, config: Config, what: str) -> SampleMeasure:
    """What a finished or half-finished build took here; a few seconds are measured now.

    Raises:
        WorkdirError: the stage seed is not done.
    """
    process = _process(config)  # first: it looks at the most that this one ever held
    with db.reading(workdir) as connection:
        done = runs.runs(connection)
        if lacking := [stage for stage in ("ingest", *SPREAD) if stage not in done]:
            raise WorkdirError(
                f"{lacking[0]} is not done here",
                where=str(workdir),
                fix="`builder resume` it, or plan without --workdir",
            )
        judged = done["discriminate"].counts.get("judged") != 0 if "discriminate" in done else True
        seconds = {stage: run.seconds for stage, run in done.items() if judged or stage not in _MODELS}
        context = Context(connection, config, workdir, (), workdir, folders_in(workdir).load_lexicon(), (), "", {})
        count = reviews.count(connection)
        predicted, training = _time_prediction(context, count), _measure_training(context)
        sample = [normal(text) for *_, text in islice(reviews.distinct(connection), _LOOKED_AT)]
        fixed = _measure_near_duplicates(sample)
        memory = {"ingest": HELD + PLACED, "discriminate": training, "self_train": training, "release": HELD + KNOWN}
        most = {"discriminate": config.discriminate.most, "self_train": config.self_train.most}
        rest = {stage: process + memory.get(stage, 0.0) * min(count, most.get(stage, count)) for stage in seconds}
        held = {stage: max(0.0, peak - rest[stage]) for stage, peak in runs.memory(connection).items() if stage in rest}
        spread = {stage: seconds[stage] * config.workers for stage in SPREAD} | predicted
        release = Path(str(done["release"].counts["path"])) if "release" in done else None
        disk = {"database": _size(workdir, f"{db.NAME}*"), "models": _size(workdir / "models", "**/*")}
        if release is not None and release.is_dir():
            disk["release"] = _size(release, "**/*")
        disk["temporary"] = (
            (room(sample) + sum(len(text.encode()) + HASH for text in sample)) * count // max(1, len(sample))
        )
        written = _time_writing(connection, count)
    order = [
        stage
        for stage in ("ingest", "annotate", "seed", "discriminate", "self_train", "evaluate", "release")
        if stage in seconds
    ]
    spread = {stage: min(value, seconds[stage] * config.workers) for stage, value in spread.items() if stage in seconds}
    return SampleMeasure(
        what, count, config.workers, {stage: seconds[stage] for stage in order}, spread, written, disk, memory, process,
        most, {"ingest": fixed} | held,
    )  # fmt: skip


def _time_prediction(context: Context, count: int) -> dict[str, float]:
    """Seconds that one worker takes to read all reviews with the shipped model, by stage; empty where it judges not.

    Those with a triplet are read by discriminate, the others by self_train.
    """
    if not judging.has_shipped_judge(context):
        return {}
    from builder.models.shipped import load_model, on_one_thread

    model, stored = on_one_thread(load_model(judging.folder_of(context))), _list_stored(context)
    items = list_examples(context, stored)[:_PREDICTED]
    seconds = _timed(lambda: model.read(items)) / max(1, len(items))
    rules = triplets.source_id(context.connection, "rules")
    with_triplets = sum(
        1 for split in ("train", "valid", "test") for _ in reviews.ids_in_split(context.connection, split, rules)
    )
    return {"discriminate": seconds * with_triplets, "self_train": seconds * (count - with_triplets)}


def _list_stored(context: Context) -> list[StoredTriplet]:
    source = triplets.source_id(context.connection, "rules")
    assert source is not None, "seed is done"
    return list(islice(triplets.proposed(context.connection, source, "train"), 4 * _PREDICTED))


def _measure_training(context: Context) -> float:
    """Bytes a review that training holds in memory; 0 for a build that trains nothing."""
    config, stored = context.config, _list_stored(context)
    trains = config.discriminate.mode == "paper" or set(config.self_train.variants) != {"E"}
    if not trains or not stored:
        return 0.0
    made, size = _peak(lambda: _training_data(context, stored))
    return size / len(made)


def _training_data(context: Context, stored: list[StoredTriplet]) -> Sequence[object]:
    """What training holds of the train split: the examples, the YN and NX that are made of them, and the windows that
    a tagger learns from.
    """
    from builder.learning.task import TaggerConfig
    from builder.models.negatives import discriminator_data
    from builder.models.network import CharacterFoundation
    from builder.models.tagger import learnable

    made = list_examples(context, stored)
    judged = [discriminator_data(example, context.config.seed) for example in made]
    settings = TaggerConfig()
    encoder = CharacterFoundation.of((example.text for example in made), 1).make_encoder(settings)
    return list(zip(made, judged, [learnable(example, encoder, settings) for example in made], strict=True))


def _measure_near_duplicates(texts: Sequence[str]) -> float:
    """Bytes that looking for near-duplicates holds for any number of reviews, beside HELD of each.

    Of so many texts as a search takes in parts: those at hand, each again and again with its characters shuffled, so
    that few are alike.
    """
    draw = random.Random(0)

    def search() -> int:
        with Texts("".join(draw.sample(text, len(text))) for text in islice(cycle(texts), _SEARCHED)) as drawn:
            return len(links(drawn))

    return max(0.0, _peak(search)[1] - HELD * _SEARCHED)


def _time_writing(connection: sqlite3.Connection, count: int) -> dict[str, float]:
    """Seconds to write the answers of annotate and seed for all reviews: a sample of them, written again elsewhere."""
    sample = reviews.annotated(connection, 0, _LOOKED_AT)
    source = triplets.source_id(connection, "rules")
    assert source is not None, "seed is done"
    last = sample[-1][0].id
    everything = [triplets.proposed(connection, source, split) for split in ("train", "valid", "test")]
    proposals = [
        (stored.review, stored.triplet)
        for proposed in everything
        for stored in takewhile(lambda stored: stored.review <= last, proposed)
    ]
    with tempfile.TemporaryDirectory() as folder, db.writing(Path(folder)) as other:
        with db.atomic(other):
            reviews.insert(
                other,
                [
                    (r.key, r.text, None, None, None, "", i, r.script, "", str(i), str(i))
                    for i, (r, _) in enumerate(sample)
                ],
            )
            made = dict(
                zip(
                    (r.id for r, _ in sample),
                    sorted(reviews.ids(other, [r.key for r, _ in sample]).values()),
                    strict=True,
                )
            )
            backend = reviews.begin_annotations(other, "plan", "plan", "", anew=False)
            rules = triplets.source(other, "rules", "rules", "")
        words = [(made[review.id], text) for review, text in sample]
        kept = [(made[review], triplet) for review, triplet in proposals if review in made]
        annotate = _timed(lambda: _write(other, lambda: reviews.annotate(other, backend, words)))
        seed = _timed(lambda: _write(other, lambda: triplets.propose(other, rules, kept)))
    return {"annotate": annotate / len(sample) * count, "seed": seed / len(sample) * count}


def _write(connection: sqlite3.Connection, step: Callable[[], object]) -> None:
    with db.atomic(connection):
        step()


def _timed(step: Callable[[], object]) -> float:
    """Seconds of this process: others may keep the machine busy."""
    started = time.process_time()
    step()
    return time.process_time() - started


def _peak(step: Callable[[], Result]) -> tuple[Result, int]:
    """What a step gives, and the most bytes that it held at once."""
    tracemalloc.start()
    try:
        return step(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _process(config: Config) -> float:
    """Bytes of a process with the backend loaded: this one, once it has done so."""
    import resource

    from builder.language import nlp

    nlp.load(config.annotate.backend, {}, Path(config.annotate.models) if config.annotate.models else None)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def _size(folder: Path, pattern: str) -> int:
    return sum(path.stat().st_size for path in folder.glob(pattern) if path.is_file())
