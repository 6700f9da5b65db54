"""What a build is made from, what its working directory remembers for `resume`, and which dataset it makes.

In: files of reviews, a working directory, settings. Out: a `Build` with a name, checked before any work begins, and the
digests of everything that it reads; a line of refusal where it would mix two datasets. A name that nobody gave is that
of the working directory or of the file, and never that of other reviews.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from builder.core.config import GONE, Resolved, flat, resolve
from builder.core.errors import ConfigError, ReleaseError, WorkdirError
from builder.core.files import digest_file
from builder.core.settings import DEFAULT_WORKDIR, Config
from builder.language.lexicon.folders import Folders, find_folders
from builder.language.lexicon.packs import find_pack, list_packs
from builder.language.lexicon.resources import Lexicon, sample_dir
from builder.models import kinds
from builder.pipeline import layers
from builder.pipeline.layers import taught_file
from builder.pipeline.splits import counts_triplets
from builder.release.shelf import existing, rows, shelf_of
from builder.reviews import sources
from builder.reviews.assignment import norm_hash
from builder.reviews.near_duplicates import normal
from builder.reviews.sources.cells import RawReview
from builder.reviews.sources.opening import check_readable
from builder.store import db, pools, runs

# ---- A build


@dataclass(frozen=True, slots=True)
class Build:
    """What a build is made from; `inputs` and `config` are kept in the working directory for `resume`.

    `owner`: the working directory whose releases `out` holds, where this one is a copy of it and no other folder was
    named.
    """

    workdir: Path
    out: Path
    inputs: tuple[Path, ...]
    resolved: Resolved
    owner: Path | None = None

    @property
    def name(self) -> str:
        """The name of its dataset."""
        return self.resolved.config.release.name

    @property
    def folders(self) -> Folders:
        """The folders of its words and rules."""
        config = self.resolved.config
        return find_folders(config.lexicons, config.rules, self.workdir, config.domain)


# ---- Paths that move with a working directory


def keep_path(path: Path, workdir: Path) -> str:
    """A path as a working directory remembers it: relative to it where both stand in one folder and may move as one."""
    path, home = path.resolve(), workdir.resolve()
    return os.path.relpath(path, home) if path.is_relative_to(home.parent) else str(path)


def find_path(kept: str, workdir: Path, before: Path | None = None) -> Path:
    """A path that was kept; where nothing is there, as it was seen from where the working directory stood `before`."""
    path = (workdir.resolve() / kept).resolve()
    return path if before is None or path.exists() else (before / kept).resolve()


def _shorten(path: Path) -> Path:
    """A path as one types it: relative to the current directory where it stands in there, unless that is the root."""
    here = Path.cwd()
    return path.relative_to(here) if here.name and path.is_relative_to(here) else path


# ---- The name of a dataset

_NAMED_AFTER = "named after "
"""How the origin of a name begins that nobody gave."""


def named(build: Build) -> Build:
    """The same build with a name for its dataset: the one given; else the one that its working directory has for such
    files; else that of the directory or, where that is the default one, of the first file.
    """
    if build.resolved.config.release.name:
        return build
    place = build.workdir.resolve()
    name, origin = place.name, "the working directory"
    if place.name in ("", DEFAULT_WORKDIR.name):
        name, origin = build.inputs[0].name.partition(".")[0], build.inputs[0].name
    if (kept := _kept_dataset(build)) and _shares_files(kept, build):
        name, origin = kept["name"], "the last build"
    config, name = build.resolved.config, re.sub(r"[^\w.-]+", "-", name).strip("-.") or "reviews"
    config = replace(config, release=replace(config.release, name=name))
    origins = {**build.resolved.origin, "release.name": _NAMED_AFTER + origin}
    return replace(build, resolved=Resolved(config, origins))


def dataset_of(build: Build) -> dict[str, Any]:
    """What a working directory holds: the name of the dataset, its files, and the place from which these are named."""
    inputs = [keep_path(path, build.workdir) for path in build.inputs]
    return {"name": build.name, "inputs": inputs, "workdir": str(build.workdir.resolve())}


def _kept_dataset(build: Build) -> dict[str, Any] | None:
    """What the working directory holds, as `dataset_of` describes it; None where no reviews were read yet."""
    if not db.is_begun(build.workdir):
        return None
    with db.reading(build.workdir) as connection:
        before, begun = runs.setting(connection, "dataset"), json.loads(runs.setting(connection, "build") or "{}")
        if not begun or "ingest" not in runs.runs(connection):
            return None
    kept: dict[str, Any] = {"workdir": begun.get("workdir", str(build.workdir)), "inputs": begun["inputs"]}
    return kept | (json.loads(before) if before else {"name": begun["config"].get("release.name")})


def _shares_files(kept: Mapping[str, Any], build: Build) -> bool:
    """Whether one of a build's files was read before. Files may come and go as long as one stays."""
    places = (build.workdir, Path(kept["workdir"]))
    read = {str(find_path(path, place)) for path in kept["inputs"] for place in places}
    return bool(read & {str(path.resolve()) for path in build.inputs})


def describe_dataset(build: Build) -> str:
    """In a sentence: the name of the dataset, where its releases lie, and the last of them."""
    shelf = shelf_of(build.out, build.name)
    last = [f"v{release.manifest['version']}" for release in existing(shelf, build.name)][-1:]
    hint = "" if has_given_name(build) else " (--name gives another name)"
    return f"Dataset {build.name}{hint} in {shelf}: {f'the last version is {last[0]}' if last else 'no version yet'}."


def has_given_name(build: Build) -> bool:
    """Whether its user named the dataset."""
    return not build.resolved.origin["release.name"].startswith(_NAMED_AFTER)


# ---- Refusals


def refuse_other_shelf(build: Build) -> None:
    """ReleaseError where a copy of a working directory would write into the releases of that one."""
    if build.owner is not None:
        raise ReleaseError(
            f"these are the releases of {build.owner}, of which {build.workdir} is a copy",
            where=str(build.out),
            fix="name a folder for this one with --out, or the same one if both shall share it",
        )


def refuse_other_dataset(build: Build) -> None:
    """A build of other files under another name would replace all that was made here."""
    kept = _kept_dataset(build)
    if kept is None or _shares_files(kept, build) or (has_given_name(build) and build.name == kept["name"]):
        return
    files = ", ".join(Path(path).name for path in kept["inputs"])
    raise WorkdirError(
        f"holds the build of another dataset ({kept['name']}, from {files})",
        where=str(build.workdir),
        fix="choose another --workdir, give both the same --name, or replace it with --force",
    )


def refuse_taken_name(build: Build, shelf: Path) -> None:
    """ReleaseError where an unnamed build would be the next version of releases made elsewhere, of other reviews."""
    releases = existing(shelf, build.name)
    if has_given_name(build) or not releases or _released_into(build, shelf):
        return
    last = releases[-1]
    wanted = {norm_hash(normal(row["text"])) for split in last.splits for row in rows(last.path, split)}
    missing = set(wanted)
    for path in build.inputs:
        for row in sources.read(path, build.resolved.config.input):
            if isinstance(row, RawReview):
                missing.discard(norm_hash(normal(row.text)))
    if len(missing) > len(wanted) / 2:
        raise ReleaseError(
            f"v{last.manifest['version']} of {build.name} is here, made of other reviews: this build has "
            f"{len(wanted) - len(missing):,} of its {len(wanted):,}",
            where=str(shelf),
            fix=f"name this dataset with --name, or say --name {build.name} for the next version of that one",
        )


def _released_into(build: Build, shelf: Path) -> bool:
    """Whether the working directory made its last release there."""
    if not db.is_begun(build.workdir):
        return False
    with db.reading(build.workdir) as connection:
        path = runs.last_release_path(connection)
    return path is not None and Path(path).resolve().parent == shelf.resolve()


# ---- The memory of a build


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
    return replace(build, resolved=resolve(options=flat(build.resolved.config) | dict(settings)))


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
    try:
        resolved = resolve(options={key: value for key, value in kept["config"].items() if key not in GONE})
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
    owner = before if copied and not out and own == known else None
    return Build(workdir, out or _shorten(own), inputs, resolved, owner)


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
        "taught": digest_file(taught) if (taught := taught_file(build.workdir)).is_file() else "",
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
    return nlp.load(config.annotate.backend, {}, models, "cpu").signature


def _audit_digest(workdir: Path) -> str:
    """What people have said of the last release's sample: a release states it."""
    if not (workdir / db.NAME).is_file():
        return ""
    with db.reading(workdir) as connection:
        return pools.digest(connection)


def _base_digest(config: Config) -> object:
    """The base model of the profile: its name, or what its folder holds. The embedded profile has none."""
    source = kinds.base_of(config)
    if not source or not Path(source).is_dir():
        return source
    return [
        (path.name, path.stat().st_size, digest_file(path)) for path in sorted(Path(source).iterdir()) if path.is_file()
    ]
