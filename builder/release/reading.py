"""Reading releases back: which there are, what their manifests say, their rows. All layouts of the manifest (`format`
1 to 3), with rows as those of today.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builder.core.errors import ReleaseError
from builder.release.export.records import ReviewRow, completed
from builder.release.shape import manifest_fault, parse, read_json

FORMAT = 3
"""The layout that is written. 1 had no `format` key, and neither Parquet, Croissant nor the gates of verify that came
with 2. Rows of 2 lacked where a review came from, confidence, verdict and categories; reviews without a triplet were
left out.
"""
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Of a split: it becomes a part of file names, and a stranger's manifest may say anything."""
_VERSION = re.compile(r"v(\d+)\.(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class Existing:
    """A release on disk, by what its manifest says."""

    path: Path
    manifest: Mapping[str, Any]

    @property
    def version(self) -> tuple[int, int, int]:
        return parsed(str(self.manifest["version"]))

    @property
    def layout(self) -> int:
        """The `format` of the manifest."""
        return int(self.manifest.get("format", 1))

    @property
    def splits(self) -> list[str]:
        return list(self.manifest["splits"])

    @property
    def layers(self) -> list[str]:
        """The augmentation layers as they are named beside their split: train-synonym."""
        return [
            f"{description['split']}-{layer}" for layer, description in self.manifest.get("augmentations", {}).items()
        ]


def parsed(version: str) -> tuple[int, int, int]:
    """(1, 2, 3) of "1.2.3" or "v1.2.3"."""
    match = _VERSION.fullmatch(f"v{version.removeprefix('v')}")
    if not match:
        raise ReleaseError(f"{version!r} is no MAJOR.MINOR.PATCH", fix='write it like "0.1.0"')
    major, minor, patch = map(int, match.groups())
    return major, minor, patch


def versions(out: Path) -> list[tuple[int, int, int]]:
    """The versions that directories under `out` bear, whatever is in them, in order."""
    return sorted(parsed(path.name) for path in out.glob("v*") if _VERSION.fullmatch(path.name))


def existing(out: Path, name: str = "") -> list[Existing]:
    """The releases under `out` in order of version; those of one `name` alone if it is given. What has no manifest is
    left out.
    """
    releases = []
    for version in versions(out):
        try:
            release = opened(out / f"v{'.'.join(map(str, version))}")
        except ReleaseError:
            continue
        if not name or release.manifest.get("name") == name:
            releases.append(release)
    return releases


def shelf_of(out: Path, name: str) -> Path:
    """Where the releases of the dataset `name` go: `out` itself, or a folder of its name there where `out` holds
    another dataset.

    Versions count the releases of one dataset, so two of them never share a row of directories.
    """
    names = {str(release.manifest.get("name")) for release in existing(out)}
    return out if not names or name in names else out / re.sub(r"[^\w.-]+", "-", name)


def opened(release: Path) -> Existing:
    """A release by its directory; ReleaseError if it has no manifest that can be read."""
    path = release / "manifest.json"
    try:
        manifest = read_json(path)
        if fault := manifest_fault(manifest):
            raise ValueError(fault)
        existing_release = Existing(release, manifest)
        if strange := [name for name in existing_release.splits if not NAME.fullmatch(name)]:
            raise ValueError(f"a split is called {strange[0]!r}")
    except OSError as error:
        raise ReleaseError(
            "no manifest.json here", where=str(release), fix="name the directory of a release, such as releases/v0.1.0"
        ) from error
    except ValueError as error:
        raise ReleaseError(f"not a manifest: {error}", where=str(path), fix="`builder verify` tells more") from error
    return existing_release


def inside(release: Path, path: Path) -> Path:
    """`path`, if neither its name nor a link leads out of the release and it is no pipe or device; ReleaseError
    otherwise.
    """
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(release)):  # resolve() raises on a loop
        raise ReleaseError(
            "leads out of the release",
            where=str(path),
            fix="copy the release with its files in place of links (`cp -rL`)",
        )
    if path.exists() and not path.is_file():
        raise ReleaseError("is not a regular file", where=str(path), fix="`builder verify` tells more")
    return path


def rows(release: Path, split: str) -> Iterator[ReviewRow]:
    """The reviews of a split, in order; ReleaseError with the line of one that cannot be read."""
    return (row for _, row in sized(release, split))


def sized(release: Path, split: str) -> Iterator[tuple[int, ReviewRow]]:
    """The same, each with the bytes that its line takes."""
    path = rows_path(release, split)
    try:
        with path.open("rb") as handle:  # a line ends in a line feed: texts may hold every other line separator
            for number, line in enumerate(handle, start=1):
                yield len(line), row(line, f"{path}:{number}")
    except OSError as error:
        raise ReleaseError(f"cannot be read: {error}", where=str(path), fix="`builder verify` tells more") from error


def rows_path(release: Path, split: str) -> Path:
    """The file that holds the reviews of a split or layer."""
    return inside(release, release / "data" / f"{split}.jsonl")


def row(line: bytes, where: str) -> ReviewRow:
    """A line of a release's data; ReleaseError if it is none."""
    try:
        review: dict[str, Any] = parse(line)
        assert isinstance(review, dict) and isinstance(review["text"], str) and isinstance(review["triplets"], list)
        assert isinstance(review["id"], str) and review["id"]
        return completed(review)
    except (ValueError, KeyError, TypeError, AssertionError) as error:
        raise ReleaseError(f"no row of a release: {error!r}", where=where, fix="`builder verify` tells more") from error
