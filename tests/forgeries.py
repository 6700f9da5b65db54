"""Forged releases: one value changed somewhere in what a release says, and every checksum made anew over it.

In: a folder with a release, a source of random choices. Out: the same folder, forged, and what was forged. A
forgery of any kind must be answered by faults or one clear error, never a traceback.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

DEEP = json.loads("[" * 60 + "]" * 60)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 10**30, -(10**30), 0.5, 1e308, float("nan"), float("inf")),
    *("", "x", "\x00", "\x1b[2J\n", "\u202e", "\ud800", "../../x", "/etc/passwd", "很" * 2_000),
    *([], [0], ["x"], [[]], [None], {}, {"x": 0}, {"": []}, DEEP),
)
"""What stands in place of a value; most are of the wrong type wherever they stand."""
CONTENTS: tuple[bytes, ...] = (
    *(b"", b"[" * 100_000, b'{"a":' * 100_000, b"null", b"0", b"[]", b"{}", b'"x"'),
    *(b"\xff\xfe", b"\x00", b"9" * 10_000, b"1e999", b"NaN", b"{"),
)
"""What stands in place of a file, or of one of its lines."""
Place = tuple[Any, Any]
"""A container of JSON and a key of it."""


def forge(release: Path, draw: random.Random) -> str:
    """Forge one thing in a release and seal it again; returns what was done, for the message of a test."""
    kind = draw.choice(("manifest", "manifest", "metadata", "row", "row", "line", "file", "parquet"))
    if kind in ("manifest", "metadata"):
        path = release / f"{kind}.json"
        if not path.exists():
            path = release / "manifest.json"
        body = json.loads(path.read_text(encoding="utf-8"))
        done = change(body, draw)
        path.write_text(json.dumps(body), encoding="utf-8")
    else:
        path = draw.choice(
            sorted(release.glob("parquet/*" if kind == "parquet" else "data/*")) or [release / "README.md"]
        )
        done = _forge_file(path, kind, draw)
    seal(release)
    return f"{path.relative_to(release)}: {done}"


def _forge_file(path: Path, kind: str, draw: random.Random) -> str:
    content = draw.choice(CONTENTS)
    if kind in ("file", "parquet"):
        path.write_bytes(content)
        return f"the whole file is {content[:20]!r}"
    lines = path.read_bytes().splitlines()
    number = draw.randrange(len(lines)) if lines else 0
    if kind == "line" or not lines:
        done = f"line {number + 1} is {content[:20]!r}"
    else:
        row = json.loads(lines[number])
        done = f"line {number + 1}: {change(row, draw)}"
        content = json.dumps(row).encode()
    lines[number : number + 1] = [content]
    path.write_bytes(b"\n".join(lines) + b"\n")
    return done


def change(body: Any, draw: random.Random) -> str:
    """Set, remove or add one value somewhere in JSON, all depths alike."""
    by_depth: dict[int, list[Place]] = {}
    for depth, place in _places(body, 0):
        by_depth.setdefault(depth, []).append(place)
    container, key = draw.choice(by_depth[draw.choice(sorted(by_depth))])
    deed, value = draw.choice(("set", "set", "set", "remove", "add")), draw.choice(VALUES)
    if deed == "remove":
        del container[key]
    elif deed == "add" and isinstance(container, dict):
        container["x"] = value
    elif deed == "add":
        container.append(value)
    else:
        container[key] = value
    return f"{deed} {key!r} {'' if deed == 'remove' else repr(value)[:40]}"


def _places(body: Any, depth: int) -> Iterator[tuple[int, Place]]:
    items: Sequence[tuple[Any, Any]] = list(body.items() if isinstance(body, dict) else enumerate(body))
    for key, value in items:
        yield depth, (body, key)
        if isinstance(value, dict | list):
            yield from _places(value, depth + 1)


def seal(release: Path) -> None:
    """Make the digests of manifest.json and SHA256SUMS true again, as far as the manifest still holds any."""
    path = release / "manifest.json"
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        for name, facts in manifest["files"].items():
            if (release / name).is_file():
                facts |= {"bytes": (release / name).stat().st_size, "sha256": _sha256(release / name)}
        path.write_text(json.dumps(manifest), encoding="utf-8")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass  # the forgery is in the manifest itself
    present = [file for file in release.rglob("*") if file.is_file() and file.name != "SHA256SUMS"]
    names = sorted(file.relative_to(release).as_posix() for file in present)
    sums = "".join(f"{_sha256(release / name)}  {name}\n" for name in names)
    (release / "SHA256SUMS").write_text(sums, encoding="utf-8")


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
