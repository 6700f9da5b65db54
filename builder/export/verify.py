"""Is a release what it says it is? Checksums, files, counts, schema, spans, splits and polarities; every fault is named."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from builder.errors import ReleaseError
from builder.export.manifest import sha256
from builder.export.records import mismatch
from builder.records import POLARITIES


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
    """What the checksums cannot see: a release that was wrong when it was written."""
    try:
        manifest = json.loads((release / "manifest.json").read_text(encoding="utf-8"))
        files, splits = dict(manifest["files"]), dict(manifest["splits"])
    except (ValueError, KeyError, TypeError, OSError) as error:
        yield f"manifest.json: not a manifest: {error!r}"
        return
    for path, facts in files.items():
        if not (release / path).is_file() or (release / path).stat().st_size != facts["bytes"]:
            yield f"{path}: not as manifest.json says"
    seen: dict[str, str] = {}
    for split, facts in splits.items():
        counted: Counter[str] = Counter(dict.fromkeys(("reviews", "triplets", "POS", "NEG", "NEU"), 0))
        path = f"data/{split}.jsonl"
        if not (release / path).is_file():
            yield f"{path}: missing"
            continue
        for number, line in enumerate(_lines(release / path), start=1):
            try:
                yield from (f"{path}:{number}: {fault}" for fault in _row_faults(json.loads(line), f"{path}:{number}", seen, counted))
            except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
                yield f"{path}:{number}: no row of a release: {error!r}"
        said = facts.get("reviews"), facts.get("triplets")
        if said != (counted["reviews"], counted["triplets"]):
            yield f"{split}: {counted['reviews']} reviews and {counted['triplets']} triplets, manifest.json says {said[0]} and {said[1]}"
        polarities = {name: counted[name] for name in POLARITIES}
        if facts.get("polarities") != polarities:
            yield f"{split}: polarities {polarities}, manifest.json says {facts.get('polarities')}"


def _lines(path: Path) -> list[str]:
    """Lines as they end in a line feed: texts may hold other line separators."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return lines if lines[-1] else lines[:-1]


def _row_faults(row: dict[str, Any], where: str, seen: dict[str, str], counted: Counter[str]) -> Iterator[str]:
    """A text that stands twice, spans that do not match, an unknown polarity, one pair with two polarities."""
    counted["reviews"] += 1
    if row["text"] in seen:
        yield f"its text stands in {seen[row['text']]} too"
    seen[row["text"]] = where
    polarities: dict[str, str] = {}
    for one in row["triplets"]:
        counted["triplets"] += 1
        counted[one["polarity"]] += 1
        if one["polarity"] not in POLARITIES:
            yield f"unknown polarity {one['polarity']!r}"
        fault = mismatch(row["text"], one)
        if fault:
            yield fault
        pair = json.dumps([one["aspect"]["spans"], one["opinion"]["spans"]])
        if polarities.setdefault(pair, one["polarity"]) != one["polarity"]:
            yield f"{one['aspect']['text']} {one['opinion']['text']} is both {polarities[pair]} and {one['polarity']}"
