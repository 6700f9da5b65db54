"""The build as one table: what each stage reads, writes and depends on; running, resuming and showing it.

A stage's completion key is the hash of its inputs: the keys of the stages whose tables it reads, its part of the
config, the digests of its data, and its code. A stage whose key is the one it finished under is skipped; a changed
key reruns it and all that read from it.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from builder.core import shards
from builder.core.code import code_digest
from builder.core.config import flat
from builder.core.errors import ConfigError, did_you_mean
from builder.core.machine import give_back
from builder.language.lexicon.resources import Lexicon
from builder.pipeline import builds
from builder.pipeline.builds import Build
from builder.pipeline.context import Context
from builder.release.shelf import shelf_of
from builder.store import db, runs


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of the build.

    `reads` and `writes` are tables, `settings` config keys or their prefixes, `data` names of what else goes in. Its
    code is builder/pipeline/stages/NAME.py and all that this module imports: an edit of any of it makes the stage
    stale.
    """

    name: str
    about: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    settings: tuple[str, ...]
    data: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        return f"builder.pipeline.stages.{self.name}"


STAGES: tuple[Stage, ...] = (
    Stage(
        name="ingest",
        about="files of reviews, checked, hashed, split",
        reads=(),
        writes=("reviews", "rejected"),
        settings=("input.", "ingest."),
        data=("inputs", "gold"),
    ),
    Stage(
        name="annotate",
        about="words, parts of speech, dependencies",
        reads=("reviews",),
        writes=("annotations",),
        settings=("annotate.",),
        data=("lexicons", "models"),
    ),
    Stage(
        name="seed",
        about="the rule engine's triplets",
        reads=("annotations",),
        writes=("proposals:rules",),
        settings=("rules.",),
        data=("lexicons", "rules", "counted reviews"),
    ),
    Stage(
        name="discriminate",
        about="the YY / YN / NX judge and its verdicts",
        reads=("proposals:rules",),
        writes=("verdicts",),
        settings=("discriminate.", "seed", "threads", "shard", "profile", "device", "encoder.", "paper."),
        data=("base", "pack model"),
    ),
    Stage(
        name="self_train",
        about="Algorithm 1, variants A to E",
        reads=("proposals:rules", "verdicts"),
        writes=("training_sets", "proposals:models", "rounds"),
        settings=("self_train.", "seed", "threads", "shard", "profile", "device", "encoder.", "paper."),
        data=("base", "taught"),
    ),
    Stage(
        name="evaluate",
        about="scores against gold",
        reads=("proposals:rules", "proposals:models"),
        writes=("metrics",),
        settings=("evaluate.",),
        data=("gold", "labels"),
    ),
    Stage(
        name="release",
        about="an immutable, versioned dataset",
        reads=("training_sets", "metrics"),
        writes=("releases",),
        settings=("release.",),
        data=("audit",),
    ),
)
_FILES = (
    "evaluate.gold", "evaluate.silver", "annotate.models", "paper.base", "encoder.base", "lexicons.dir",
    "lexicons.mode", "rules.dir", "rules.mode", "domain",
)  # fmt: skip
"""Settings that name files or pools, whose digests go into the keys in their place."""
_BY_NAME = {stage.name: stage for stage in STAGES}


@dataclass(frozen=True, slots=True)
class Done:
    """A stage after a run: its counts, its seconds, and whether it had to run."""

    stage: str
    counts: runs.Counts
    seconds: float
    ran: bool


def run(
    build: Build,
    until: str = STAGES[-1].name,
    force: Sequence[str] = (),
    report: Callable[[str], None] = lambda line: None,
    overwrite: bool = False,
    progress: Callable[[int, int, str], None] = lambda finished, total, note: None,
    ended: Callable[[Done], None] = lambda stage: None,
) -> list[Done]:
    """Run what is not done up to the stage `until`, and `force` in any case. Holds the build lock.

    `report` is called with a line for each stage that runs; `progress` with how many are finished, how many there are
    and which one begins; `ended` with each stage that is done, at once. WorkdirError where the working directory holds
    another dataset, unless `overwrite` allows to replace it.
    """
    for name in (until, *force):
        known_stage(name)
    build = builds.named(build)
    builds.check_build(build)
    lexicon, rules = build.folders.load_lexicon(), build.folders.load_rules()
    config = build.resolved.config
    due = STAGES[: 1 + [stage.name for stage in STAGES].index(until)]
    out_folder = shelf_of(build.out, build.name)
    if due[-1] is STAGES[-1]:
        builds.refuse_other_shelf(build)
        builds.refuse_taken_name(build, out_folder)
    with (
        db.lock(build.workdir),
        db.writing(build.workdir) as connection,
        shards.opened(config.engine, config.workers, config.scheduler) as crew,
    ):
        if not overwrite:
            builds.refuse_other_dataset(build)
        builds.remember_build(connection, build)
        began, keys = builds.file_states(build), stage_keys(build, lexicon)
        finished: list[Done] = []
        for stage in due:
            progress(len(finished), len(due), stage.name)
            before = runs.runs(connection).get(stage.name)
            if before is not None and stage.name not in force and _is_done(stage, before, keys, out_folder):
                finished.append(Done(stage.name, before.counts, before.seconds, ran=False))
            else:
                report(f"{stage.name}: {stage.about}")
                words, key = (lexicon, rules), keys[stage.name]
                places = build.workdir, build.inputs, out_folder
                context = Context(connection, config, *places, *words, key, crew, build.folders)
                forced = stage.name in force
                finished.append(
                    _run(stage, context, forced, lambda: builds.check_unchanged(began, builds.file_states(build)))
                )
            if stage is STAGES[0]:
                with db.atomic(connection):
                    runs.set_setting(connection, "dataset", json.dumps(builds.dataset_of(build)))
            ended(finished[-1])
    progress(len(due), len(due), "done")
    return finished


def known_stage(name: str) -> str:
    """The name of a stage; ConfigError for another one."""
    if name not in _BY_NAME:
        hint = did_you_mean(name.replace("-", "_"), _BY_NAME)
        raise ConfigError(f"unknown stage {name!r}", fix=f"{hint}stages: " + ", ".join(_BY_NAME))
    return name


def status(workdir: Path) -> list[tuple[Stage, str, runs.Run | None]]:
    """Each stage with `done`, `stale` (its inputs, config or code have changed since) or `due`."""
    build = builds.remembered(workdir)
    with db.reading(workdir) as connection:
        done = runs.runs(connection)
    keys = stage_keys(build, build.folders.load_lexicon()) if all(path.is_file() for path in build.inputs) else {}
    states = {name: "done" if run.key == keys.get(name) else "stale" for name, run in done.items()}
    return [(stage, states.get(stage.name, "due"), done.get(stage.name)) for stage in STAGES]


def stage_keys(build: Build, lexicon: Lexicon) -> dict[str, str]:
    """The completion key of every stage, by name and in order.

    A key is the hash of the keys before it, the stage's settings and data, and the source of every module that it
    imports. A stage whose stored key differs is stale.
    """
    config = flat(build.resolved.config)
    digests = builds.data_digests(build, lexicon)
    keys: dict[str, str] = {}
    for stage in STAGES:
        upstream = [keys[other.name] for other in STAGES if other.name in keys and set(stage.reads) & set(other.writes)]
        settings = {key: value for key, value in config.items() if key.startswith(stage.settings)}
        settings = {key: value for key, value in settings.items() if key not in _FILES}
        parts = [
            stage.name,
            upstream,
            settings,
            code_digest(stage.module),
            {name: digests[name] for name in stage.data},
        ]
        keys[stage.name] = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
    return keys


def _run(stage: Stage, context: Context, forced: bool, check: Callable[[], None]) -> Done:
    """Run one stage, which undoes what reads from it. It is done if `check` then finds nothing to object to."""
    started, connection = time.monotonic(), context.connection
    module = importlib.import_module(stage.module)
    # The first stage is one transaction, this included: a file that turns out to be unusable voids nothing that was
    # made before.
    with db.atomic(connection) if stage is STAGES[0] else nullcontext():
        with db.atomic(connection):
            for name in _downstream(stage):
                runs.forget(connection, name)
                if (
                    forced or name != stage.name
                ):  # what a later stage had done, or half done, stands on what is replaced now
                    runs.set_setting(connection, f"{name}.key", "")
        counts = module.run(context)
        give_back()
        check()
    seconds = time.monotonic() - started
    with db.atomic(connection):
        runs.finish(connection, stage.name, context.key, counts, seconds)
    return Done(stage.name, counts, seconds, ran=True)


def _downstream(stage: Stage) -> Iterator[str]:
    """The stage and all that read, directly or not, what it writes."""
    touched = set(stage.writes)
    yield stage.name
    for other in STAGES[STAGES.index(stage) + 1 :]:
        if touched & set(other.reads):
            touched |= set(other.writes)
            yield other.name


def _is_done(stage: Stage, before: runs.Run, keys: Mapping[str, str], out: Path) -> bool:
    """Whether a stage finished under the same key. A release that is not (any more) under `out` is due again."""
    if before.key != keys[stage.name] or stage.name != "release":
        return before.key == keys[stage.name]
    path = Path(str(before.counts["path"])).resolve()
    return path.is_dir() and path.parent == out.resolve()
