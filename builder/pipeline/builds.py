"""What a build is made from, and the memory of it that its working directory keeps for `resume`.

In: files of reviews, a working directory, settings. Out: a `Build`, checked before any work begins; the digests of
everything that it reads.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from builder.core.config import GONE, flat, resolve
from builder.core.errors import ConfigError, ReleaseError, WorkdirError
from builder.core.settings import Config
from builder.language.lexicon.packs import find_pack, list_packs
from builder.language.lexicon.resources import Lexicon, sample_dir
from builder.models import kinds
from builder.pipeline import layers
from builder.pipeline.dataset import Build, find_path, keep_path, named
from builder.pipeline.judging import digest_answers
from builder.pipeline.layers import taught_file
from builder.pipeline.splits import counts_triplets
from builder.reviews import sources
from builder.reviews.sources.opening import check_readable
from builder.store import db, pools, runs


def new_build(
    inputs: Sequence[Path],
    workdir: Path,
    out: Path,
    config: Path | None,
    settings: Mapping[str, object],
    preset: str = "",
) -> Build:
    """A build of review files, or of the shipped sample without any, by the preset of that name, by a TOML file, which
    goes before it, and by `settings`, which go before both.
    """
    if inputs:
        return named(Build(workdir, out, tuple(inputs), resolve(config, settings, preset)))
    sample = sample_dir()
    chosen = resolve(config, settings, preset).origin  # what the user's file says goes before the sample's own settings
    fitting = {
        "evaluate.gold": str(sample / "gold.jsonl"),
        "release.name": "sample-restaurant-aste",
        "release.licence": "CC-BY-4.0",
        "release.licences": ("builder sample=Apache-2.0",),
    }
    own = {key: value for key, value in fitting.items() if chosen[key] == "default"}
    return Build(workdir, out, (sample / "reviews.csv",), resolve(config, {**settings, **own}, preset))


def changed(build: Build, settings: Mapping[str, object]) -> Build:
    """The same build with other `settings`, by dotted key."""
    kept = {
        key: tuple(value) if isinstance(value, list) else value for key, value in flat(build.resolved.config).items()
    }
    return replace(build, resolved=resolve(options=kept | dict(settings)))


def remembered(workdir: Path, out: Path | None = None) -> Build:
    """The build that a working directory was made for: its inputs, settings and output.

    Args:
        out: where releases go from now on; as before if not given.

    Raises:
        WorkdirError: no build was begun there.
    """
    with db.reading(workdir) as connection:
        text = runs.setting(connection, "build")
    if text is None:
        raise WorkdirError("no build was begun here", where=str(workdir), fix="start one with `builder build`")
    kept = json.loads(text)
    options = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in kept["config"].items()
        if key not in GONE
    }
    try:
        resolved = resolve(options=options)
    except ConfigError as error:
        raise WorkdirError(
            f"begun by another version of builder ({error.what})",
            where=str(workdir),
            fix="build again, or use another --workdir",
        ) from error
    before = Path(kept.get("workdir", workdir))
    inputs = tuple(find_path(path, workdir, before) for path in kept["inputs"])
    known, own = (find_path(kept["out"], place) for place in (before, workdir))
    copied = before.resolve() != workdir.resolve() and (before / db.NAME).is_file()
    return Build(workdir, out or own, inputs, resolved, before if copied and not out and own == known else None)


def data_digests(build: Build, lexicon: Lexicon) -> dict[str, object]:
    """The digests of what a build reads beside the database, by the names that `Stage.data` uses."""
    config = build.resolved.config
    return {
        "inputs": [(path.name, sources.digest(path)) for path in build.inputs],
        "gold": [(name, sources.digest(path)) for name, path in layers.named_files(config.evaluate).items()],
        "labels": layers.digest_labels(build.workdir, config.evaluate),
        "lexicons": lexicon.digest,
        "rules": build.folders.rules_digest,
        "counted reviews": counts_triplets(config),
        "models": _backend_signature(config),
        "base": _base_digest(config),
        "pack model": build.folders.model_digest,
        "audit": _audit_digest(build.workdir),
        "answers": _answers_digest(build.workdir),
        "taught": _taught_digest(build.workdir),
    }


def file_states(build: Build) -> dict[str, object]:
    """The state of the files that a build reads more than once: an edit in the middle would mix two versions."""
    files = [*build.inputs, *layers.named_files(build.resolved.config.evaluate).values()]
    looks: dict[str, object] = {}
    for path in files:
        check_readable(path)
        state = path.stat()
        looks[str(path)] = state.st_size, state.st_mtime_ns, state.st_ino
    return looks | {"lexicons or rules": build.folders.files_digest}


def check_unchanged(began: Mapping[str, object], now: Mapping[str, object]) -> None:
    """Raise WorkdirError where a file changed since the build began."""
    if changed := [name for name in began if now.get(name) != began[name]]:
        raise WorkdirError(
            f"{', '.join(changed)} changed while the build ran", fix="`builder resume` runs again what depends on it"
        )


def check_build(build: Build) -> None:
    """Fail now what would fail after an hour: unreadable files, bad release settings, a folder that is not writable."""
    config = build.resolved.config
    for path in (*build.inputs, *layers.named_files(config.evaluate).values()):
        check_readable(path)
    layers.check_pools(build.workdir, config.evaluate)
    kinds.check(config)
    variants = config.self_train.variants
    if config.release.train_source and config.release.train_source not in variants:
        raise ConfigError(
            f"release.train_source is {config.release.train_source!r}, but self_train.variants are "
            f"{', '.join(variants)}",
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


def remember_build(connection: sqlite3.Connection, build: Build) -> None:
    """Keep inputs, output folder and config in the working directory."""
    config = flat(build.resolved.config)
    config |= {
        key: str(Path(str(config[key])).resolve())
        for key in ("evaluate.gold", "evaluate.silver", "annotate.models", "lexicons.dir", "rules.dir")
        if config[key] and not layers.is_pool(str(config[key]))
    }
    if (pack := find_pack(str(config["domain"]))) and pack.name not in list_packs():
        config["domain"] = str(pack.path.resolve())
    for key in ("encoder.base", "paper.base"):
        if config[key] and (base := Path(str(config[key]))).is_dir():
            config[key] = str(base.resolve())
    home = build.owner or build.workdir
    kept = {
        "workdir": str(home.resolve()),
        "inputs": [keep_path(path, home) for path in build.inputs],
        "out": keep_path(build.out, home),
        "config": config,
    }
    with db.atomic(connection):
        runs.set_setting(connection, "build", json.dumps(kept))


def _backend_signature(config: Config) -> str:
    from builder.language import nlp

    models = Path(config.annotate.models) if config.annotate.models else None
    return nlp.signature(config.annotate.backend, {}, models)


def _audit_digest(workdir: Path) -> str:
    """What people have said of the last release's sample: a release states it."""
    if not (workdir / db.NAME).is_file():
        return ""
    with db.reading(workdir) as connection:
        return pools.digest(connection)


def _answers_digest(workdir: Path) -> str:
    """What language models have answered about whole reviews; nothing where nobody was asked."""
    if not (workdir / db.NAME).is_file():
        return "[]"
    with db.reading(workdir) as connection:
        return digest_answers(connection)


def _taught_digest(workdir: Path) -> str:
    """The labels that the working directory was taught."""
    path = taught_file(workdir)
    return _sha(path) if path.is_file() else ""


def _base_digest(config: Config) -> object:
    """The base model of the profile: its name, or what its folder holds. The embedded profile has none."""
    source = kinds.base_of(config)
    if not source or not Path(source).is_dir():
        return source
    return [(path.name, path.stat().st_size, _sha(path)) for path in sorted(Path(source).iterdir()) if path.is_file()]


def _sha(content: bytes | Path) -> str:
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    with content.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
