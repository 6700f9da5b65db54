"""Work in shards: one function over many tasks, the answers in order, by whoever is there to do it.

In: a `Job` (how a worker gets ready, what it does with a task) and tasks. Out: an answer for each task, in their
order. There are two crews: processes of this machine (`local`) and the workers of a dask cluster (`cluster`). Neither
changes an answer: a task is a shard of fixed size, its answer a function of job and task alone, and what a dead
worker had in hand is done again by another. Workers write nothing; who asks writes the database.

What workers may not have on a disk of their own are folders of small files: a `Parcel` names every file with its
sha256, `pack` reads and checks the bytes to send, `unpack` writes them.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from builder.core.errors import ResourceError, WorkerLost

__all__ = ["ENGINES", "Crew", "Job", "Parcel", "WorkerLost", "opened"]

State = TypeVar("State")
Task = TypeVar("Task")
Answer = TypeVar("Answer")
TRIES = 3
"""So many workers may die over one task before it is given up."""


@dataclass(frozen=True, slots=True)
class Job(Generic[State, Task, Answer]):
    """`prepare(*arguments)` once a worker, `work(state, task)` for each task: both functions of a module, so that
    they travel by name.

    Arguments are small, hashable and travel with every task; whatever is large is a `Parcel`, which `prepare` is
    given as a folder.
    """

    prepare: Callable[..., State]
    arguments: tuple[object, ...]
    work: Callable[[State, Task], Answer]

    def __post_init__(self) -> None:
        """A script's own functions are refused here: its workers would die of them, one after the other."""
        scripts = [step.__qualname__ for step in (self.prepare, self.work) if step.__module__ == "__main__"]
        assert not scripts, f"no worker can import {', '.join(scripts)} of a script: put them into a module"


class Crew(Protocol):
    """Who does the work."""

    def map(self, job: Job[State, Task, Answer], tasks: Iterable[Task]) -> Iterator[Answer]:
        """`work(state, task)` for each task, in order; few are in flight. WorkerLost where workers keep dying."""
        ...

    def rest(self) -> None:
        """Let go of processes of this machine that wait, with all that they hold; the next job starts others."""
        ...


def _local(workers: int, scheduler: str) -> AbstractContextManager[Crew]:
    from builder.core.shards.local import LocalCrew

    return LocalCrew(workers)


def _dask(workers: int, scheduler: str) -> AbstractContextManager[Crew]:
    from builder.core.shards.cluster import DaskCrew

    return DaskCrew(workers, scheduler)


ENGINES: dict[str, Callable[[int, str], AbstractContextManager[Crew]]] = {"local": _local, "dask": _dask}


def opened(engine: str, workers: int, scheduler: str = "") -> AbstractContextManager[Crew]:
    """The crew of an engine. Processes start, and a cluster is called, with the first job that is worth it."""
    return ENGINES[engine](workers, scheduler)


# ---- Parcels


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
    """Write a parcel below `store` under its digest, whole or not at all; returns its folder. Whoever reads it checks
    it: words, rules and models have digests of their own.
    """
    place = folder_of(parcel, store)
    if place.is_dir():
        return place
    beside = place.parent.with_name(f".{parcel.digest}.{os.getpid()}")
    try:
        for name, content in packed.items():
            path = beside / parcel.name / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
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
