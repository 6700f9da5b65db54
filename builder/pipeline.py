"""The build as one table: what each stage reads, writes and depends on; running, resuming and showing it.

A stage's completion key is the hash of its inputs: the keys of the stages whose tables it reads, its part of the
config, the digests of its data, and its code. A stage whose key is the one it finished under is skipped; a changed
key reruns it and all that read from it.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from builder import shards, sources
from builder.code import code_digest
from builder.config import Resolved, flat, resolve
from builder.errors import ConfigError, ReleaseError, WorkdirError
from builder.lexicon.resources import Lexicon, load_lexicon, overlays, sample_dir
from builder.lexicon.rules import files_digest, load_rules, rules_digest
from builder.model import kinds
from builder.release.reading import shelf_of
from builder.settings import Config
from builder.shards import footprint
from builder.sources.opening import check_readable
from builder.stages.context import Context
from builder.store import audits, db, runs


@dataclass(frozen=True, slots=True)
class Stage:
    """`reads` and `writes` are tables, `settings` config keys or their prefixes, `data` what else goes in, by name.

    Its code is builder/stages/NAME.py and all that this module imports: an edit of any of it makes the stage stale.
    """

    name: str
    about: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    settings: tuple[str, ...]
    data: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        return f"builder.stages.{self.name}"


STAGES: tuple[Stage, ...] = (
    Stage(
        name="ingest",
        about="files of reviews, checked, hashed, split",
        reads=(),
        writes=("reviews", "rejected"),
        settings=("input.", "ingest.", "evaluate."),
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
        data=("lexicons", "rules"),
    ),
    Stage(
        name="discriminate",
        about="the YY / YN / NX judge and its verdicts",
        reads=("proposals:rules",),
        writes=("verdicts",),
        settings=("discriminate.", "seed", "threads", "shard", "profile", "paper."),
        data=("base",),
    ),
    Stage(
        name="self_train",
        about="Algorithm 1, variants A to E",
        reads=("proposals:rules", "verdicts"),
        writes=("training_sets", "proposals:models", "rounds"),
        settings=("self_train.", "seed", "threads", "shard", "profile", "paper."),
        data=("base",),
    ),
    Stage(
        name="evaluate",
        about="scores against gold",
        reads=("proposals:rules", "proposals:models"),
        writes=("metrics",),
        settings=("evaluate.",),
        data=("gold",),
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
_BY_NAME = {stage.name: stage for stage in STAGES}


@dataclass(frozen=True, slots=True)
class Build:
    """What a build is made from; `inputs` and `config` are kept in the working directory for `resume`."""

    workdir: Path
    out: Path
    inputs: tuple[Path, ...]
    resolved: Resolved


@dataclass(frozen=True, slots=True)
class Done:
    """A stage after a run: its counts, its seconds, and whether it had to run."""

    stage: str
    counts: runs.Counts
    seconds: float
    ran: bool


def new_build(
    inputs: Sequence[Path], workdir: Path, out: Path, config: Path | None, settings: Mapping[str, object]
) -> Build:
    """A build of review files, or of the shipped sample without any, by a TOML file and by `settings`, which go
    before it.
    """
    if inputs:
        return Build(workdir, out, tuple(inputs), resolve(config, settings))
    sample = sample_dir()
    chosen = resolve(config, settings).origin  # what the user's file says goes before the sample's own settings
    fitting = {
        "evaluate.gold": str(sample / "gold.jsonl"),
        "release.name": "sample-restaurant-aste",
        "release.licence": "CC-BY-4.0",
    }
    own = {key: value for key, value in fitting.items() if chosen[key] == "default"}
    return Build(workdir, out, (sample / "reviews.csv",), resolve(config, {**settings, **own}))


def run(
    build: Build,
    until: str = STAGES[-1].name,
    force: Sequence[str] = (),
    report: Callable[[str], None] = lambda line: None,
    overwrite: bool = False,
    progress: Callable[[int, int, str], None] = lambda finished, total, note: None,
) -> list[Done]:
    """Run what is not done up to the stage `until`, and `force` in any case. Holds the build lock.

    `told` hears a line of each stage that runs. `progress` hears of all: how many are finished, how many there are,
    which one begins. WorkdirError where the working directory holds another dataset, unless `overwrite` allows to
    replace it.
    """
    for name in (until, *force):
        if name not in _BY_NAME:
            raise ConfigError(f"unknown stage {name!r}", fix="stages: " + ", ".join(_BY_NAME))
    _check(build)
    lexicon, rules = load_lexicon(overlays=overlays(build.workdir)), load_rules()
    out: list[Done] = []
    config = build.resolved.config
    with (
        db.lock(build.workdir),
        db.writing(build.workdir) as connection,
        shards.opened(config.engine, config.workers, config.scheduler) as crew,
    ):
        if not overwrite:
            _refuse_other_dataset(connection, build)
        _remember(connection, build)
        out_folder = shelf_of(build.out, config.release.name)
        began = _looked_at(build)
        keys = stage_keys(build, lexicon)
        total = 1 + [stage.name for stage in STAGES].index(until)
        for stage in STAGES[:total]:
            progress(len(out), total, stage.name)
            before = runs.runs(connection).get(stage.name)
            if (
                before is not None
                and before.key == keys[stage.name]
                and stage.name not in force
                and _intact(stage, before, out_folder)
            ):
                out.append(Done(stage.name, before.counts, before.seconds, ran=False))
            else:
                report(f"{stage.name}: {stage.about}")
                context = Context(
                    connection,
                    config,
                    build.workdir,
                    build.inputs,
                    out_folder,
                    lexicon,
                    rules,
                    keys[stage.name],
                    keys,
                    crew,
                )
                out.append(_run(stage, context, stage.name in force, lambda: _check_same(began, _looked_at(build))))
            if stage is STAGES[0]:
                with db.atomic(connection):
                    runs.set_setting(connection, "dataset", json.dumps(_dataset(build)))
    progress(total, total, "done")
    return out


def changed(build: Build, settings: Mapping[str, object]) -> Build:
    """The same build with other `settings`, by dotted key."""
    kept = {
        key: tuple(value) if isinstance(value, list) else value for key, value in flat(build.resolved.config).items()
    }
    return replace(build, resolved=resolve(options=kept | dict(settings)))


def remembered(workdir: Path, out: Path | None = None) -> Build:
    """The build that a working directory was made for."""
    with db.reading(workdir) as connection:
        text = runs.setting(connection, "build")
    if text is None:
        raise WorkdirError("no build was begun here", where=str(workdir), fix="start one with `builder build`")
    kept = json.loads(text)
    options = {key: tuple(value) if isinstance(value, list) else value for key, value in kept["config"].items()}
    try:
        resolved = resolve(options=options)
    except ConfigError as error:
        raise WorkdirError(
            f"begun by another version of builder ({error.what})",
            where=str(workdir),
            fix="build again, or use another --workdir",
        ) from error
    return Build(workdir, out or Path(kept["out"]), tuple(map(Path, kept["inputs"])), resolved)


def status(workdir: Path) -> list[tuple[Stage, str, runs.Run | None]]:
    """Each stage with `done`, `stale` (its inputs, config or code have changed since) or `due`."""
    build = remembered(workdir)
    with db.reading(workdir) as connection:
        done = runs.runs(connection)
    keys = (
        stage_keys(build, load_lexicon(overlays=overlays(workdir)))
        if all(path.is_file() for path in build.inputs)
        else {}
    )
    return [
        (
            s,
            "due" if s.name not in done else "done" if done[s.name].key == keys.get(s.name) else "stale",
            done.get(s.name),
        )
        for s in STAGES
    ]


def stage_keys(build: Build, lexicon: Lexicon) -> dict[str, str]:
    """The completion key of every stage, in order."""
    config = flat(build.resolved.config)
    gold = build.resolved.config.evaluate.gold
    digests: dict[str, object] = {
        "inputs": [(path.name, sources.digest(path)) for path in build.inputs],
        "gold": sources.digest(Path(gold)) if gold else "",
        "lexicons": lexicon.digest,
        "rules": rules_digest(),
        "models": _models(build.resolved.config),
        "base": _base(build.resolved.config),
        "audit": _audit(build.workdir),
    }
    keys: dict[str, str] = {}
    for stage in STAGES:
        upstream = [keys[other.name] for other in STAGES if other.name in keys and set(stage.reads) & set(other.writes)]
        settings = {key: value for key, value in config.items() if key.startswith(stage.settings)}
        settings = {
            key: value
            for key, value in settings.items()
            if key not in ("evaluate.gold", "annotate.models", "paper.base")
        }
        parts = [
            stage.name,
            upstream,
            settings,
            code_digest(stage.module),
            {name: digests[name] for name in stage.data},
        ]
        keys[stage.name] = _sha(json.dumps(parts, sort_keys=True).encode())[:16]
    return keys


def _run(stage: Stage, context: Context, forced: bool, check: Callable[[], None]) -> Done:
    """Run one stage; what reads from it is no longer done from now on. It is done if `check` then finds nothing to
    object to.
    """
    started, connection = time.monotonic(), context.connection
    module = importlib.import_module(stage.module)
    footprint.begin()
    # The first stage is one transaction, this included: a file that turns out to be unusable voids nothing that was made before.
    with db.atomic(connection) if stage is STAGES[0] else nullcontext():
        with db.atomic(connection):
            for name in _downstream(stage):
                runs.forget(connection, name)
                if (
                    forced or name != stage.name
                ):  # what a later stage had done, or half done, stands on what is replaced now
                    runs.set_setting(connection, f"{name}.key", "")
        counts = module.run(context)
        check()
    seconds = time.monotonic() - started
    with db.atomic(connection):
        runs.finish(connection, stage.name, context.key, counts, seconds)
        runs.set_memory(connection, stage.name, footprint.peak())
    return Done(stage.name, counts, seconds, ran=True)


def _downstream(stage: Stage) -> Iterator[str]:
    """The stage and all that read, directly or not, what it writes."""
    touched = set(stage.writes)
    yield stage.name
    for other in STAGES[STAGES.index(stage) + 1 :]:
        if touched & set(other.reads):
            touched |= set(other.writes)
            yield other.name


def _looked_at(build: Build) -> dict[str, object]:
    """What a build reads again and again, as it is now: edited in the middle, it would be half of this and half of
    that.
    """
    gold = build.resolved.config.evaluate.gold
    files = [*build.inputs, *([Path(gold)] if gold else [])]
    looks: dict[str, object] = {}
    for path in files:
        check_readable(path)
        state = path.stat()
        looks[str(path)] = state.st_size, state.st_mtime_ns, state.st_ino
    return looks | {"lexicons or rules": files_digest(overlays(build.workdir))}


def _check_same(began: Mapping[str, object], now: Mapping[str, object]) -> None:
    if changed := [name for name in began if now.get(name) != began[name]]:
        raise WorkdirError(
            f"{', '.join(changed)} changed while the build ran", fix="`builder resume` runs again what depends on it"
        )


def _intact(stage: Stage, before: runs.Run, out: Path) -> bool:
    """A release that is not (any more) under `out` is due again; a table cannot go missing unnoticed."""
    if stage.name != "release":
        return True
    path = Path(str(before.counts["path"])).resolve()
    return path.is_dir() and path.parent == out.resolve()


def _check(build: Build) -> None:
    """What would fail a build after an hour fails it now: its files, what the release is to be, and where."""
    config = build.resolved.config
    for path in (*build.inputs, *([Path(config.evaluate.gold)] if config.evaluate.gold else [])):
        check_readable(path)
    kinds.check(config)
    variants = config.self_train.variants
    if config.release.train_source and config.release.train_source not in variants:
        raise ConfigError(
            f"release.train_source is {config.release.train_source!r}, but self_train.variants are {', '.join(variants)}",
            fix="choose one of them",
        )
    if not re.fullmatch(r"(\d+\.\d+\.\d+)?", config.release.version):
        raise ConfigError(
            f"release.version {config.release.version!r} is no MAJOR.MINOR.PATCH", fix='write it like "0.1.0"'
        )
    place = next(path for path in (build.out.resolve(), *build.out.resolve().parents) if path.exists())
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        raise ReleaseError(
            "releases cannot be written here", where=str(place), fix="check the permissions, or choose another --out"
        )


def _refuse_other_dataset(connection: sqlite3.Connection, build: Build) -> None:
    """A build of other files under another name would replace all that was made here. Files may come and go as long
    as one stays.
    """
    before, build_before = runs.setting(connection, "dataset"), runs.setting(connection, "build")
    if build_before is None or "ingest" not in runs.runs(connection):
        return
    begun = json.loads(build_before)  # what builders before 0.3 kept alone
    kept = json.loads(before) if before else {"name": begun["config"].get("release.name"), "inputs": begun["inputs"]}
    now = _dataset(build)
    named = now["name"] == kept["name"] and build.resolved.origin["release.name"] != "default"
    if named or set(kept["inputs"]) & set(now["inputs"]):
        return
    files = ", ".join(Path(path).name for path in kept["inputs"])
    raise WorkdirError(
        f"holds the build of another dataset ({kept['name']}, from {files})",
        where=str(build.workdir),
        fix="choose another --workdir, give both the same release.name, or replace it with --force",
    )


def _dataset(build: Build) -> dict[str, Any]:
    """What a working directory holds once its reviews are read: the dataset's name and its files."""
    return {"name": build.resolved.config.release.name, "inputs": [str(path.resolve()) for path in build.inputs]}


def _remember(connection: sqlite3.Connection, build: Build) -> None:
    config = flat(build.resolved.config)
    config |= {
        key: str(Path(str(config[key])).resolve()) for key in ("evaluate.gold", "annotate.models") if config[key]
    }
    if config["paper.base"] and (base := Path(str(config["paper.base"]))).is_dir():
        config["paper.base"] = str(base.resolve())
    kept = {"inputs": [str(path.resolve()) for path in build.inputs], "out": str(build.out.resolve()), "config": config}
    with db.atomic(connection):
        runs.set_setting(connection, "build", json.dumps(kept))


def _models(config: Config) -> str:
    from builder import nlp

    return nlp.load(
        config.annotate.backend, {}, Path(config.annotate.models) if config.annotate.models else None
    ).signature


def _audit(workdir: Path) -> str:
    """What people have said of the last release's sample: a release states it."""
    if not (workdir / db.NAME).is_file():
        return ""
    with db.reading(workdir) as connection:
        return audits.digest(connection)


def _base(config: Config) -> object:
    """The base model of the profile `paper`: its name, or what its folder holds. The embedded profile has none."""
    base = Path(config.paper.base)
    if config.profile != "paper" or not base.is_dir():
        return config.paper.base if config.profile == "paper" else ""
    return [(path.name, path.stat().st_size, _sha(path)) for path in sorted(base.iterdir()) if path.is_file()]


def _sha(content: bytes | Path) -> str:
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    with content.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
