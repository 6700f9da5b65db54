"""Is a release what it says it is? Checksums, files, counts, schema, spans, splits and polarities; every fault is named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from builder.errors import ReleaseError
from builder.export.manifest import sha256
from builder.export.records import mismatch

_ELEMENTS = ("aspect", "aspect_full", "opinion", "opinion_full")


def verify(release: Path) -> list[str]:
    """The faults of a release directory, none if it is sound; ReleaseError if it is no release at all."""
    sums = release / "SHA256SUMS"
    if not sums.is_file():
        raise ReleaseError("no SHA256SUMS here", where=str(release), fix="name the directory of a release, such as releases/v0.1.0")
    faults = list(_checksums(release, sums))
    if not faults:
        faults += _content(release)
    return faults


def _checksums(release: Path, sums: Path) -> Iterator[str]:
    listed: dict[str, str] = {}
    for number, line in enumerate(sums.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        digest, gap, path = line.partition("  ")
        if not gap or len(digest) != 64 or path in listed:
            yield f"SHA256SUMS:{number}: not a checksum line, or a second one for its file"
        listed[path] = digest
    found = {path.relative_to(release).as_posix(): path for path in release.rglob("*") if path.is_file() and path != sums}
    for path in sorted(listed.keys() - found.keys()):
        yield f"{path}: missing"
    for path in sorted(found.keys() - listed.keys()):
        yield f"{path}: not part of the release"
    for path in sorted(listed.keys() & found.keys()):
        if sha256(found[path].read_bytes()) != listed[path]:
            yield f"{path}: its bytes have changed"
    if "manifest.json" not in listed:
        yield "manifest.json: not listed in SHA256SUMS"


def _content(release: Path) -> Iterator[str]:
    manifest: dict[str, Any] = json.loads((release / "manifest.json").read_text(encoding="utf-8"))
    for path, facts in manifest["files"].items():
        if not (release / path).is_file() or (release / path).stat().st_size != facts["bytes"]:
            yield f"{path}: not as manifest.json says"
    seen: dict[str, str] = {}
    for split, facts in manifest["splits"].items():
        reviews = triplets = 0
        for number, row in _rows(release / "data" / f"{split}.jsonl"):
            where = f"data/{split}.jsonl:{number}"
            reviews, triplets = reviews + 1, triplets + len(row["triplets"])
            if row["text"] in seen:
                yield f"{where}: its text stands in {seen[row['text']]} too"
            seen[row["text"]] = where
            yield from (f"{where}: {fault}" for fault in _row_faults(row))
        if (reviews, triplets) != (facts["reviews"], facts["triplets"]):
            yield f"{split}: {reviews} reviews and {triplets} triplets, manifest.json says {facts['reviews']} and {facts['triplets']}"


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            yield number, json.loads(line)


def _row_faults(row: dict[str, Any]) -> Iterator[str]:
    """Spans that do not match, and one pair with two polarities."""
    polarities: dict[str, str] = {}
    for one in row["triplets"]:
        fault = mismatch(row["text"], one)
        if fault:
            yield fault
        pair = json.dumps([one["aspect"]["spans"], one["opinion"]["spans"]])
        if polarities.setdefault(pair, one["polarity"]) != one["polarity"]:
            yield f"{one['aspect']['text']} {one['opinion']['text']} is both {polarities[pair]} and {one['polarity']}"
