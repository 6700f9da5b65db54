"""Atomic writes: a file is there as a whole or not at all, and on the disk before its name is."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(path: Path, content: bytes) -> None:
    """Write `content` to `path`, over what was there; an error leaves the old file as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    building = path.with_name(f".{path.name}.building")
    try:
        with building.open("wb") as handle:
            handle.write(content)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(building, path)
    except BaseException:
        building.unlink(missing_ok=True)
        raise


def sync(path: Path) -> None:
    """A file, or the names in a folder, on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
