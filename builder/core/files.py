"""Atomic writes: a file is there as a whole or not at all, and on the disk before its name is.

In: a path and its content, at once or piece by piece. Out: the file. Whatever goes wrong on the way leaves the old
file as it was, and no file that is half written. An error of the system is an `OutputError` that names the file.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from builder.core.errors import OutputError

PathLike = str | os.PathLike[str]
"""A path as callers of the Python API may give it."""


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A handle for the new content of `path`, which takes its place when the block ends without an error.

    The folder is made if need be. Several processes may write the same path: the last one wins, and none sees a
    mixture.

    Raises:
        OutputError: the file system refuses.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.building")
    try:
        with refusals(path, draft):
            path.parent.mkdir(parents=True, exist_ok=True)
            with draft.open("wb") as handle:
                yield handle
                handle.flush()
                os.fsync(handle.fileno())
            os.replace(draft, path)
            sync(path.parent)
    finally:
        with suppress(NotADirectoryError):
            draft.unlink(missing_ok=True)


def write_atomically(path: Path, content: bytes) -> None:
    """Write `content` to `path`, over what was there; OutputError where the file system refuses."""
    with replacing(path) as handle:
        handle.write(content)


def replace_folder(draft: Path, folder: Path) -> None:
    """Put a finished folder in the place of an older one, or of a link: where that leads, nothing is changed."""
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(draft, folder)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


_LARGEST_SETTINGS = 1 << 28


def read_settings(path: Path) -> str:
    """The text of a small file that a stranger may have made; OSError for a device or a pipe, which have no end, and
    for a file that is far too large.
    """
    check_regular(path)
    if (size := path.stat().st_size) > _LARGEST_SETTINGS:
        raise OSError(f"{path.name} has {size:,} bytes, more than any file of settings")
    return path.read_text(encoding="utf-8")


def check_regular(path: Path) -> None:
    """OSError for what is there and is no file: nobody waits for a pipe, and no memory holds a device."""
    if path.exists() and not path.is_file():
        raise OSError(f"{path.name} is not a regular file")


@contextmanager
def refusals(path: Path, draft: Path | None = None) -> Iterator[None]:
    """What the file system refuses about `path` inside the block, as an `OutputError`; errors about other files pass
    through.
    """
    try:
        yield
    except OSError as error:
        place = path if error.filename in (None, str(draft)) else Path(error.filename)
        if place not in (path, *path.parents):
            raise
        fix = "check the path, the permissions and the free space"
        raise OutputError(f"cannot write: {error.strerror or error}", where=str(place), fix=fix) from error
