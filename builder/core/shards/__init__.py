"""Work in shards: one function over many tasks, the answers in order, by whoever is there to do it.

In: a `Job` (how a worker gets ready, what it does with a task) and tasks. Out: an answer for each task, in their
order. There are two crews: processes of this machine (`local`) and the workers of a dask cluster (`cluster`). Neither
changes an answer: a task is a shard of fixed size, its answer a function of job and task alone, and what a dead
worker had in hand is done again by another. Workers write nothing; who asks writes the database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from builder.core.errors import WorkerLost
from builder.core.shards.parcels import Parcel

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
