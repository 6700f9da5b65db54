"""A child release: the parent's files as they are, plus an augmentation layer and what is said about both.

The rejected candidates are in rejected/SPLIT-LAYER.jsonl. The parent is another dataset, named in the manifest; the
child has a name and versions of its own, in a directory of its own, or a build's next release would take it for its
parent.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from builder import __version__
from builder.augment.candidates import Method
from builder.augment.catalogue import relevant_settings
from builder.augment.run import AugmentOptions, Judgement, Rejected
from builder.augment.views import Keep, View
from builder.core.errors import ReleaseError
from builder.release import augmentation_layers, package
from builder.release.augmentation_layers import LayerRow
from builder.release.diff import bumped
from builder.release.manifest import Content, Facts, LayerFacts, SplitFacts, of_manifest, stored
from builder.release.shelf import FORMAT, Existing, existing, parsed, rows, versions
from builder.release.statistics import statistics

# ---- The options and the outcome

TRAIN = "train"
"""The split that is augmented: the others are for measuring."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseOptions(AugmentOptions):
    """`judge`: a working directory whose models are asked which labels survived."""

    release: Path
    out: Path
    view: View = "triplets"
    keep: Keep = "aspect+opinion"
    layer: str = ""
    version: str = ""
    judge: Path | None = None

    @property
    def named(self) -> str:
        return self.layer or self.method.replace("+", "-")


# ---- The child release

_KEPT = ("data/", "parquet/", "paper/", "bio/", "rejected/")


def digest(release: Path) -> str:
    """What identifies a release's data: the checksum lines of its data/."""
    return package.digest(
        {path.relative_to(release).as_posix(): stored(path) for path in sorted((release / "data").glob("*"))}
    )


def write(
    options: ReleaseOptions,
    parent: Existing,
    layer_rows: Sequence[LayerRow],
    rejected: Sequence[Rejected],
    about: Mapping[str, object],
) -> tuple[Path, bool]:
    """The child's directory, and whether it held just this before. ReleaseError where a version is taken."""
    layer, out, version = options.named, options.out, options.version
    facts = _facts(parent, layer, about)
    with package.building(out) as folder:
        content = _content(parent, folder) | package.layer(TRAIN, layer, layer_rows)
        content |= {f"rejected/{TRAIN}-{layer}.jsonl": write_rejected(rejected)}
        return _written(out, folder, version, parent, content, facts)


def _written(
    out: Path, folder: Path, version: str, parent: Existing, content: package.Files, facts: Facts
) -> tuple[Path, bool]:
    for release in existing(out, facts.name):
        release_version = str(release.manifest["version"])
        if version in ("", release_version) and package.holds(
            release.path,
            _files(replace(facts, version=release_version, date=str(release.manifest["date"])), content, parent),
            "run the command again",
        ):
            return release.path, True
    number = version or _next(out)
    target = out / f"v{number}"
    if target.exists():
        raise ReleaseError(
            "this version exists with other content",
            where=str(target),
            fix="a release is immutable: choose another --version",
        )
    package.write(folder, target, _files(replace(facts, version=".".join(map(str, parsed(number)))), content, parent))
    return target, False


def _next(out: Path) -> str:
    taken = versions(out)
    return ".".join(map(str, bumped(taken[-1], "minor"))) if taken else "0.1.0"


def _content(parent: Existing, folder: Path) -> package.Files:
    """The parent's data in every format; what is of an older format is made anew in `folder`."""
    paths = {
        path.relative_to(parent.path).as_posix(): path for path in sorted(parent.path.rglob("*")) if path.is_file()
    }
    if parent.layout == FORMAT:
        return {name: stored(path) for name, path in paths.items() if name.startswith(_KEPT)}
    content = package.data(folder, {split: map(package.write_row, rows(parent.path, split)) for split in parent.splits})
    for layer, about in parent.manifest.get("augmentations", {}).items():
        lines = (parent.path / augmentation_layers.path(about["split"], layer)).read_bytes().split(b"\n")
        content |= package.layer(
            about["split"], layer, [augmentation_layers.completed_layer(json.loads(line)) for line in lines if line]
        )
    return content | {name: stored(path) for name, path in paths.items() if name.startswith("rejected/")}


def _facts(parent: Existing, layer: str, about: Mapping[str, object]) -> Facts:
    """What the parent says of itself, under the child's name."""
    manifest: Mapping[str, Any] = parent.manifest
    name = str(manifest["name"])
    if parent.layout == FORMAT:
        figures = manifest["statistics"]
    else:
        figures = statistics({split: rows(parent.path, split) for split in parent.splits})
    same: dict[str, Any] = {
        **{key: dict(manifest.get(key, {})) for key in ("signatures", "config", "ingest", "dropped", "quality")},
        **{key: str(manifest.get(key, "")) for key in ("licence", "creator", "url", "contact", "panel")},
    }
    places = manifest.get("places", {})
    return Facts(
        name=name if manifest.get("augmentations") else f"{name}-augmented",
        version="",
        parent=str(manifest["version"]),
        parent_name=name,
        licences=manifest.get("licences", {}),
        builder=__version__,
        splits=[_split_facts(split, facts) for split, facts in manifest["splits"].items()],
        metrics=[_metric(metric) for metric in manifest.get("metrics", ())],
        date=_today(),
        change="minor",
        figures=of_manifest(manifest.get("figures", ())),
        places=places.get("named", 0),
        places_apart=places.get("in_several_splits", 0),
        statistics=figures,
        augmentations={**manifest.get("augmentations", {}), layer: dict(about)},
        **same,
    )


def _split_facts(split: str, facts: Mapping[str, Any]) -> SplitFacts:
    counts = facts["reviews"], facts["triplets"], facts["polarities"]
    layers = tuple(LayerFacts(**layer) for layer in facts.get("layers", ()))
    return SplitFacts(split, facts["source"], facts["annotation"], *counts, layers)


def _metric(metric: Mapping[str, Any]) -> tuple[str, str, str, float, float | None, float | None]:
    name = metric["system"], metric["split"], metric["metric"]
    return *name, metric["value"], metric.get("low"), metric.get("high")


def _today() -> str:
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    return datetime.fromtimestamp(int(epoch) if epoch else time.time(), UTC).date().isoformat()


def _files(facts: Facts, content: Mapping[str, Content], parent: Existing) -> package.Files:
    layer, about = list(facts.augmentations.items())[-1]
    head = "# Changes\n\n"
    changes = (
        f"{head}## {facts.name} {facts.version} ({facts.date}): augmentation of {facts.parent_name} {facts.parent}\n\n"
        f"The layer `{layer}` came to {about['split']}: {about['rows']} rows by {about['method']}. "
        "Everything else is as it was.\n"
    )
    before = parent.path / "CHANGES.md"
    if before.is_file():
        changes += "\n" + before.read_text(encoding="utf-8").removeprefix(head)
    return package.whole(facts, content, changes)


# ---- The entry of the new layer


def describe_layer(
    options: ReleaseOptions,
    parent: Existing,
    method: Method,
    taken: Mapping[str, object],
    judged: Judgement,
) -> dict[str, object]:
    """The layer's entry in the manifest: all that decided it, and what was measured."""
    return {
        "split": TRAIN,
        "rows": len(judged.kept),
        "sources": len(options.settings.given.sentences),
        "view": options.view,
        "keep": options.keep,
        "method": options.method,
        "signature": method.signature,
        "model_digest": getattr(method, "digest", None),
        "seed": options.seed,
        "copies": options.copies,
        "candidates": options.candidates,
        "limit": options.limit,
        "config": relevant_settings(options.settings, options.method),
        "parent": {
            "name": parent.manifest["name"],
            "version": parent.manifest["version"],
            "digest": digest(parent.path),
        },
        "rejected": judged.reasons,
        "measures": dict(taken),
    }


def write_rejected(rejected: Sequence[Rejected]) -> bytes:
    """The lines of rejected/SPLIT-LAYER.jsonl; what shows personal data goes without its words."""
    rows = ({"sentence": one.source, "reason": one.reason, "edits": _shown_edits(one)} for one in rejected)
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _shown_edits(rejection: Rejected) -> list[list[object]]:
    if rejection.reason == "personal-data":
        return []
    return [[edit.start, edit.end, edit.text] for edit in rejection.edits]
