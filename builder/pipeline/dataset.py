"""What a build is made from, and which dataset it makes: its name, what its working directory holds, and the shelf of
its releases.

In: a `Build`. Out: the same with a name; a line of refusal where it would mix two datasets. A name that nobody gave is
that of the working directory or of the file, and never that of other reviews.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from builder.core.config import Resolved
from builder.core.errors import ReleaseError, WorkdirError
from builder.core.settings import DEFAULT_WORKDIR
from builder.language.lexicon.folders import Folders, find_folders
from builder.pipeline.stages.ingest import columns_of
from builder.release.reading import existing, rows, shelf_of
from builder.reviews import sources
from builder.reviews.dedup.assignment import norm_hash
from builder.reviews.dedup.near_duplicates import normal
from builder.reviews.sources.cells import RawReview
from builder.store import db, runs


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
    """What a working directory holds once its reviews are read: the name of the dataset, its files, and the place from
    which these are named.
    """
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
    """ReleaseError where a build whose name nobody gave would become the next version of releases that were made
    elsewhere, of other reviews.
    """
    releases = existing(shelf, build.name)
    if has_given_name(build) or not releases or _released_into(build, shelf):
        return
    last = releases[-1]
    wanted = {norm_hash(normal(row["text"])) for split in last.splits for row in rows(last.path, split)}
    missing, settings = set(wanted), build.resolved.config.input
    for path in build.inputs:
        for row in sources.read(path, columns_of(settings), settings.encoding or None, sheet=settings.sheet or None):
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
