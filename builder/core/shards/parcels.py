"""What workers need and may not have on a disk of their own: folders of small files, known by their digest.

In: a folder. Out: a `Parcel`, which names every file with its sha256; `pack` reads the bytes to send, `unpack` writes
and checks them.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from builder.core.errors import ResourceError


@dataclass(frozen=True, slots=True)
class Parcel:
    """A folder `root` and its files (relative path, sha256) as they were when the parcel was made."""

    root: str
    files: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, root: Path, *patterns: str) -> Parcel:
        """The files under `root` that match one of `patterns` (all, if none is given)."""
        paths = sorted({path for pattern in patterns or ("**/*",) for path in root.glob(pattern) if path.is_file()})
        return cls(
            str(root.resolve()), tuple((path.relative_to(root).as_posix(), _sha(path.read_bytes())) for path in paths)
        )

    @property
    def name(self) -> str:
        """The name of the folder."""
        return Path(self.root).name

    @property
    def digest(self) -> str:
        """The digest of the folder's name and of its files."""
        return _sha(json.dumps([self.name, self.files]).encode())[:16]


def pack(parcel: Parcel) -> dict[str, bytes]:
    """The files' bytes; ResourceError where one is no longer what it was."""
    packed = {}
    for name, digest in parcel.files:
        path = Path(parcel.root) / name
        try:
            packed[name] = path.read_bytes()
        except OSError as error:
            raise ResourceError(
                f"cannot be read: {error.strerror}", where=str(path), fix="put it back, then `builder resume`"
            ) from error
        if _sha(packed[name]) != digest:
            raise ResourceError(
                "changed while the build ran", where=str(path), fix="`builder resume` runs what depends on it again"
            )
    return packed


def unpack(parcel: Parcel, packed: Mapping[str, bytes], store: Path) -> Path:
    """Write a parcel below `store` under its digest, whole or not at all, and check every file; returns its folder."""
    place = folder_of(parcel, store)
    if place.is_dir():
        return place
    beside = place.parent.with_name(f".{parcel.digest}.{os.getpid()}")
    try:
        for name, digest in parcel.files:
            target = PurePosixPath(name)
            if target.is_absolute() or ".." in target.parts:
                raise ResourceError(f"a parcel may not hold {name!r}", where=parcel.name)
            if _sha(packed[name]) != digest:
                raise ResourceError(
                    "arrived damaged", where=f"{parcel.name}/{name}", fix="check the network and start again"
                )
            path = beside / parcel.name / target
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(packed[name])
        (beside / parcel.name).mkdir(parents=True, exist_ok=True)
        beside.replace(place.parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return place


def folder_of(parcel: Parcel, store: Path) -> Path:
    """Where `unpack` writes a parcel below `store`; its last part is the name of the parcel's root."""
    return store / parcel.digest / parcel.name


def put_in_place(arguments: Sequence[object], where: Callable[[Parcel], Path]) -> tuple[object, ...]:
    """Arguments with a folder for each parcel among them, in tuples too."""

    def put(argument: object) -> object:
        if isinstance(argument, Parcel):
            return where(argument)
        return tuple(map(put, argument)) if isinstance(argument, tuple) else argument

    return tuple(map(put, arguments))


def parcels_in(arguments: Sequence[object]) -> list[Parcel]:
    """The parcels among arguments."""
    out: list[Parcel] = []
    for argument in arguments:
        if isinstance(argument, Parcel):
            out.append(argument)
        elif isinstance(argument, tuple):
            out += parcels_in(argument)
    return out


def _sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
