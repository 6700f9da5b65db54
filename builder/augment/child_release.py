"""A child release: the parent's files as they are, an augmentation layer, and what is to be said about both.

The parent is another dataset (its name, version and digest are in the manifest); the child has a name and numbers of
its own, in a directory of its own, for a build's next release must not take it for its parent.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from builder import __version__
from builder.errors import ReleaseError
from builder.release import layers, package, writing
from builder.release.diff import bumped
from builder.release.figures import of_manifest
from builder.release.layers import LayerRow
from builder.release.manifest import Content, Facts, SplitFacts, stored
from builder.release.reading import FORMAT, Existing, existing, parsed, rows, versions
from builder.release.statistics import statistics
from builder.release.verify import verify

_KEPT = ("data/", "parquet/", "paper/", "bio/", "rejected/")


def digest(release: Path) -> str:
    """What identifies a release's data: the checksum lines of its data/."""
    return package.digest(
        {path.relative_to(release).as_posix(): stored(path) for path in sorted((release / "data").glob("*"))}
    )


def write(
    out: Path,
    version: str,
    parent: Existing,
    split: str,
    layer: str,
    listed: Sequence[LayerRow],
    rejected: bytes,
    about: Mapping[str, object],
) -> tuple[Path, bool]:
    """The child's directory under `out`, and whether it held just this before. ReleaseError where a version holds
    something else.
    """
    with writing.building(out) as folder:
        content = (
            _content(parent, folder)
            | package.layer(split, layer, listed)
            | {f"rejected/{split}-{layer}.jsonl": rejected}
        )
        return _written(out, folder, version, parent, content, _facts(parent, layer, about))


def _written(
    out: Path, folder: Path, version: str, parent: Existing, content: package.Files, facts: Facts
) -> tuple[Path, bool]:
    for one in existing(out, facts.name):
        told = str(one.manifest["version"])
        if version in ("", told) and _holds(
            one.path, _files(replace(facts, version=told, date=str(one.manifest["date"])), content, parent)
        ):
            return one.path, True
    number = version or _next(out)
    target = out / f"v{number}"
    if target.exists():
        raise ReleaseError(
            "this version exists with other content",
            where=str(target),
            fix="a release is immutable: choose another --version",
        )
    writing.write(folder, target, _files(replace(facts, version=".".join(map(str, parsed(number)))), content, parent))
    return target, False


def _next(out: Path) -> str:
    taken = versions(out)
    return ".".join(map(str, bumped(taken[-1], "minor"))) if taken else "0.1.0"


def _content(parent: Existing, folder: Path) -> package.Files:
    """The parent's data in every format; what is of an older format is made anew in `folder`."""
    found = {
        path.relative_to(parent.path).as_posix(): path for path in sorted(parent.path.rglob("*")) if path.is_file()
    }
    if parent.layout == FORMAT:
        return {name: stored(path) for name, path in found.items() if name.startswith(_KEPT)}
    content = package.data(folder, {split: rows(parent.path, split) for split in parent.splits})
    for layer, about in parent.manifest.get("augmentations", {}).items():
        lines = (parent.path / layers.path(about["split"], layer)).read_bytes().split(b"\n")
        content |= package.layer(
            about["split"], layer, [layers.completed_layer(json.loads(line)) for line in lines if line]
        )
    return content | {name: stored(path) for name, path in found.items() if name.startswith("rejected/")}


def _facts(parent: Existing, layer: str, about: Mapping[str, object]) -> Facts:
    """What the parent says of itself, under the child's name."""
    told: Mapping[str, Any] = parent.manifest
    name = str(told["name"])
    return Facts(
        name=name if told.get("augmentations") else f"{name}-augmented",
        version="", parent=str(told["version"]), parent_name=name, licence=str(told.get("licence", "")), licences=told.get("licences", {}), builder=__version__,
        splits=[SplitFacts(split, one["source"], one["annotation"], one["reviews"], one["triplets"], one["polarities"]) for split, one in told["splits"].items()],
        signatures=dict(told.get("signatures", {})), config=dict(told.get("config", {})), ingest=dict(told.get("ingest", {})),
        dropped=dict(told.get("dropped", {})),
        metrics=[(one["system"], one["split"], one["metric"], one["value"], one.get("low"), one.get("high")) for one in told.get("metrics", ())],
        date=_today(), creator=str(told.get("creator", "")), url=str(told.get("url", "")), contact=str(told.get("contact", "")), change="minor",
        quality=dict(told.get("quality", {})), figures=of_manifest(told.get("figures", ())), panel=str(told.get("panel", "")),
        statistics=told["statistics"] if parent.layout == FORMAT else statistics({split: rows(parent.path, split) for split in parent.splits}),
        augmentations={**told.get("augmentations", {}), layer: dict(about)},
    )  # fmt: skip


def _today() -> str:
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    return datetime.fromtimestamp(int(epoch) if epoch else time.time(), UTC).date().isoformat()


def _files(facts: Facts, content: Mapping[str, Content], parent: Existing) -> package.Files:
    layer, about = list(facts.augmentations.items())[-1]
    head = "# Changes\n\n"
    changes = (
        f"{head}## {facts.name} {facts.version} ({facts.date}): augmentation of {facts.parent_name} {facts.parent}\n\n"
        f"The layer `{layer}` came to {about['split']}: {about['rows']} rows by {about['method']}. Everything else is as it was.\n"
    )
    before = parent.path / "CHANGES.md"
    if before.is_file():
        changes += "\n" + before.read_text(encoding="utf-8").removeprefix(head)
    return package.whole(facts, content, changes)


def _holds(target: Path, files: package.Files) -> bool:
    """Whether an existing release is this very one; a damaged one is an error."""
    if not (target / "SHA256SUMS").is_file() or (target / "SHA256SUMS").read_bytes() != files["SHA256SUMS"]:
        return False
    if faults := verify(target):
        raise ReleaseError(
            f"this release is damaged: {faults[0]}", where=str(target), fix="remove it, and run the command again"
        )
    return True
