"""Writing a directory or a file as a whole or not at all: beside its place, verified, on the disk, then renamed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from builder.errors import ReleaseError
from builder.export.verify import verify


def write(target: Path, files: Mapping[str, bytes]) -> None:
    """A release; ReleaseError with the first fault if it does not verify."""
    building = target.parent / f".{target.name}.building"
    shutil.rmtree(building, ignore_errors=True)
    try:
        for path, content in files.items():
            (building / path).parent.mkdir(parents=True, exist_ok=True)
            with open(building / path, "wb") as handle:
                handle.write(content)
                handle.flush()
                os.fsync(handle.fileno())
        faults = verify(building)
        if faults:
            raise ReleaseError(
                f"the release does not verify: {faults[0]}" + (f" and {len(faults) - 1} more" if len(faults) > 1 else ""),
                where=str(building),
            )
        for folder in {building, *(path.parent for path in building.rglob("*"))}:
            _sync(folder)
        os.rename(building, target)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    _sync(target.parent)


def replace(path: Path, content: bytes) -> None:
    """A single file, over what was there."""
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


def _sync(folder: Path) -> None:
    """The names in a folder, on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
