"""Releases read back: which there are, what their manifests say, and their rows.

All layouts of the manifest (`format` 1 to 3) are read, with rows as those of today.

The shape of manifest.json and metadata.json says which keys there are, and what kind of value each holds. In: a value
as json reads it. Out: the first thing that is not as it should be, with its path (`splits.train.reviews`), or None.
Whoever opens a release asks this first, so that nothing behind it meets a list where an object belongs. Pure.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builder.core.errors import ReleaseError
from builder.core.files import parse_json
from builder.core.wording import ANNOTATORS
from builder.release.export.native_rows import ReviewRow, completed

# ---- Shapes of manifest.json and metadata.json

Kind = str | list[Any] | dict[str, Any]
"""The name of a leaf; a list of one kind; an object with kinds by key (`key?` may lack, `*` is every other key)."""

_LARGEST = 1 << 53
_VERSION = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9}){2}")
_DEEPEST = 30


def is_bounded(number: float) -> bool:
    """Whether a number is one that every reader holds: not NaN, not infinite, of no more than 300 digits."""
    return -1e300 < number < 1e300


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and is_bounded(value)


def _is_tree(value: object) -> bool:
    """Whether a value is made of JSON's kinds with finite numbers, and not deep."""
    waiting = [(value, 0)]
    while waiting:
        part, depth = waiting.pop()
        if isinstance(part, dict | list) and depth < _DEEPEST:
            waiting += [(child, depth + 1) for child in (part.values() if isinstance(part, dict) else part)]
        elif not (part is None or isinstance(part, str | bool) or _is_number(part)):
            return False
    return True


_LEAVES: Mapping[str, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "MAJOR.MINOR.PATCH": lambda value: isinstance(value, str) and bool(_VERSION.fullmatch(value)),
    "text or null": lambda value: value is None or isinstance(value, str),
    "who labelled": lambda value: value in ("", *ANNOTATORS),
    "count": lambda value: type(value) is int and 0 <= value < _LARGEST,
    "number": _is_number,
    "number or null": lambda value: value is None or _is_number(value),
    "setting": lambda value: isinstance(value, str | bool) or _is_number(value) or isinstance(value, list),
    "JSON of finite numbers": _is_tree,
}
_TREE = "JSON of finite numbers"
_METRIC = {"system": "text", "split": "text", "metric": "text", "value": "number", "*": "number or null"}
_FIGURE = {"figure": "text", "of": "text", "by": "text", "value": "number", "*": "number or null"}
_LAYER = {
    "annotation": "text", "labelled_by": "text", "reviews": "count", "triplets": "count", "annotators?": "who labelled",
}  # fmt: skip
_SPLIT = {
    "source": "text",
    "annotation": "text",
    "reviews": "count",
    "triplets": "count",
    "polarities": {"*": "count"},
    "layers?": [_LAYER],
}
_FIRST: dict[str, Any] = {
    "name": "text",
    "version": "MAJOR.MINOR.PATCH",
    "parent": "text or null",
    "licence": "text",
    "builder": "text",
    "splits": {"*": _SPLIT},
    "files": {"*": {"bytes": "count", "sha256": "text"}},
    "dropped": {"*": "count"},
    "ingest": {"*": "count"},
    "signatures": {"*": "text"},
    "config": {"*": "setting"},
    "metrics": [_METRIC],
    "statistics?": {"*": {"*": _TREE}},
    "privacy?": {"masked?": {"*": "text"}, "*": _TREE},
    "augmentations?": {"*": {"split": "text", "rows": "count", "*": _TREE}},
    "*": _TREE,
}
_SECOND = _FIRST | {
    "change": "text",
    "reason": "text",
    "date": "text",
    "creator": "text",
    "url": "text",
    "statistics": {"*": {"*": _TREE}},
    "privacy": {"masked": {"*": "text"}, "not_released": ["text"], "*": _TREE},
}
_THIRD = _SECOND | {
    "contact": "text",
    "panel": "text",
    "quality": {"summary?": "text", "*": _TREE},
    "figures": [_FIGURE],
    "folders?": [{"*": "text"}],
    "licences?": {"*": "text"},
    "parent_name?": "text",
    "places?": {"*": "count"},
}
_LAYOUTS: Mapping[int, dict[str, Any]] = {1: _FIRST, 2: _SECOND, 3: _THIRD}
_CROISSANT: dict[str, Any] = {
    "@type": "text",
    "name": "text",
    "version": "text",
    "description": "text",
    "distribution": [{"@id": "text", "contentUrl": "text", "sha256": "text", "*": "text"}],
    "recordSet": [{"@id": "text", "name": "text", "field": [{"@id": "text", "name": "text", "*": _TREE}], "*": _TREE}],
    "*": _TREE,
}


def read_json(path: Path) -> Any:
    """A JSON file of a release; ValueError where it is none, whatever keeps it from being read as one."""
    if path.exists() and not path.is_file():  # a pipe would be waited for without end
        raise ValueError("not a regular file")
    return parse(path.read_text(encoding="utf-8"))


def parse(text: str | bytes) -> Any:
    """JSON of a release; ValueError where it is none, or holds half a character, which no file can."""
    content = text.decode() if isinstance(text, bytes) else text  # json itself would let such bytes pass
    value = parse_json(content)
    try:
        if "\\u" in content:  # an escape can bring one in as well
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return value


def manifest_fault(manifest: Any) -> str | None:
    """What keeps a value from being the manifest of its layout; of an unknown layout, only JSON is asked."""
    layout = manifest.get("format", 1) if isinstance(manifest, dict) else 1
    if type(layout) is not int:
        return _fault("format", "a count", layout)
    return next(_faults(manifest, _LAYOUTS.get(layout, {"*": _TREE}), ""), None)


def croissant_fault(metadata: Any, manifest: Mapping[str, Any]) -> str | None:
    """What keeps a value from being the Croissant description of a release with this manifest."""
    if fault := next(_faults(metadata, _CROISSANT, ""), None):
        return fault
    for key in ("name", "version"):
        if metadata[key] != manifest[key]:
            return f"`{key}` is {_short(metadata[key])}, manifest.json says {_short(manifest[key])}"
    for file in metadata["distribution"]:
        if manifest["files"].get(file["contentUrl"], {}).get("sha256") != file["sha256"]:
            return f"the checksum of {_short(file['contentUrl'])} is not that of manifest.json"
    return None


def _faults(value: Any, kind: Kind, path: str) -> Iterator[str]:
    """Everything in a value that is not of its kind."""
    if isinstance(kind, str):
        if not _LEAVES[kind](value):
            yield _fault(path, kind, value)
    elif isinstance(kind, list):
        if not isinstance(value, list):
            yield _fault(path, "a list", value)
            return
        for number, item in enumerate(value):
            yield from _faults(item, kind[0], f"{path}[{number}]")
    elif not isinstance(value, dict):
        yield _fault(path, "an object", value)
    else:
        yield from _object_faults(value, kind, path)


def _object_faults(value: Mapping[str, Any], kind: Mapping[str, Any], path: str) -> Iterator[str]:
    known = {key.removesuffix("?") for key in kind}
    for key in kind:
        if key != "*" and not key.endswith("?") and key not in value:
            yield f"`{_joined(path, key)}` is missing"
    for key, item in value.items():
        own = kind.get(key, kind.get(f"{key}?")) if key in known and key != "*" else kind.get("*")
        if own is None:
            yield f"`{_joined(path, key)}` is not known"
        else:
            yield from _faults(item, own, _joined(path, key))


def _joined(path: str, key: str) -> str:
    return f"{path}.{key[:60]}" if path else key[:60]


def _fault(path: str, expected: str, value: object) -> str:
    return f"`{path or 'the whole'}` is {_short(value)}, where {expected} belongs"


def _short(value: object) -> str:
    """A value as an error shows it: one line, not long, however large or deep it is."""
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    if isinstance(value, int) and abs(value) >= _LARGEST:
        return "a number of many digits"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


# ---- Reading

KEEP = "input.keep_columns"
"""The setting that names the columns of the input that pass through."""


def kept_columns(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of `columns` in each row, by the settings that a manifest states."""
    return tuple(dict.fromkeys(map(str, config.get(KEEP, ()))))


FORMAT = 3
"""The layout that is written. 1 had no `format` key, and neither Parquet, Croissant nor the gates of verify that came
with 2. Rows of 2 lacked where a review came from, confidence, verdict and categories; reviews without a triplet were
left out.
"""
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Of a split: it becomes a part of file names, and a stranger's manifest may say anything."""
_NAMED_VERSION = re.compile(r"v(\d+)\.(\d+)\.(\d+)")


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
    match = _NAMED_VERSION.fullmatch(f"v{version.removeprefix('v')}")
    if not match:
        raise ReleaseError(f"{version!r} is no MAJOR.MINOR.PATCH", fix='write it like "0.1.0"')
    major, minor, patch = map(int, match.groups())
    return major, minor, patch


def versions(out: Path) -> list[tuple[int, int, int]]:
    """The versions that directories under `out` bear, whatever is in them, in order."""
    return sorted(parsed(path.name) for path in out.glob("v*") if _NAMED_VERSION.fullmatch(path.name))


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
        fix = "copy the release with its files in place of links (`cp -rL`)"
        raise ReleaseError("leads out of the release", where=str(path), fix=fix)
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
