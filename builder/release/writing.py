"""Writing a release as a whole or not at all: beside its place, verified, on the disk, then renamed."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from builder.core.errors import ReleaseError
from builder.core.files import sync
from builder.core.shards import Crew
from builder.release.manifest import Content, Stored
from builder.release.verify import Seen, verify


@contextmanager
def building(out: Path) -> Iterator[Path]:
    """A folder beside the releases in which one is made, by one process at a time;
    what is left of it in the end goes.
    """
    out.mkdir(parents=True, exist_ok=True)
    held = os.open(out, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems lock nothing
            _locked(held, out)
        folder = out / ".release.building"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            yield folder
        except OSError as error:
            error.filename = error.filename or str(out)  # the error of a full disk names no file
            raise
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(held)


def write(
    folder: Path,
    target: Path,
    files: Mapping[str, Content],
    crew: Crew | None = None,
    apart: Mapping[str, str] | None = None,
    seen: Seen | None = None,
) -> None:
    """A release from the folder it is made in; ReleaseError with the first fault if it does not verify, which `crew`
    finds out. `apart` and `seen` are as in `verify`.
    """
    for path, content in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(content, Stored):
            place.write_bytes(content)
        elif content.path != place:
            shutil.copyfile(content.path, place)
        sync(place)
    faults = verify(folder, crew, apart, seen)
    if faults:
        raise ReleaseError(
            f"the release does not verify: {faults[0]}" + (f" and {len(faults) - 1} more" if len(faults) > 1 else ""),
            where=str(folder),
        )
    for inner in {folder, *(path.parent for path in folder.rglob("*"))}:
        sync(inner)
    os.rename(folder, target)
    sync(target.parent)


def _locked(held: int, out: Path) -> None:
    """ReleaseError where another process makes a release in the same place: both would take the same number."""
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ReleaseError(
            "another process makes a release here", where=str(out), fix="wait for it, or use another --out"
        ) from error
