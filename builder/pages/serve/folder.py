"""The folder of a server's copy of the database: gone when the server ends, or when the next one starts.

A server that is killed cannot clean up, and its copy holds all reviews. Each folder has a file that the living server
holds locked; a folder whose lock is free is nobody's any more.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PREFIX = "builder-serve-"
_LOCK = "lock"


@contextmanager
def folder_of_server() -> Iterator[Path]:
    """A folder that this user alone reads, removed at the end; what killed servers left is removed first."""
    parent = Path(tempfile.gettempdir())
    for path in parent.glob(f"{_PREFIX}*"):
        _remove_if_left(path)
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as name:
        draft = Path(name) / "lock.new"  # named `lock` once it is locked, so that nobody takes the folder for left
        with draft.open("wb") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            draft.rename(Path(name) / _LOCK)
            yield Path(name)


def _remove_if_left(path: Path) -> None:
    """Remove a folder of ours whose server has ended."""
    try:
        if path.is_symlink() or path.stat().st_uid != os.getuid():
            return
        with (path / _LOCK).open("rb") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
    except OSError:  # it is in use, or another server that starts is removing it
        return
