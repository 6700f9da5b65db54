"""Processes of this machine. One that dies is replaced, and what it had in hand is done again."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from multiprocessing import get_context, resource_tracker
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Generic

from builder.core.errors import WorkerLost
from builder.core.machine import choose_kernels, collect_seldom
from builder.core.shards import TRIES, Answer, Job, Parcel, State, Task, put_in_place

_held: dict[Job[Any, Any, Any], Any] = {}
"""In a worker: the job it is ready for, and its state."""
_busy = threading.Lock()


def perform(job: Job[State, Task, Answer], task: Task, where: Callable[[Parcel], Path]) -> Answer:
    """In a worker: get ready if it is not, then work. One task at a time: states are not made for several threads."""
    with _busy:
        if job not in _held:
            _held.clear()
            _held[job] = job.prepare(*put_in_place(job.arguments, where))
        answer: Answer = job.work(_held[job], task)
        return answer


def here(parcel: Parcel) -> Path:
    """Where a process of this machine finds a parcel: where it is."""
    return Path(parcel.root)


@dataclass(slots=True)
class _Flight(Generic[Task, Answer]):
    """A task, and its answer to be once somebody has it in hand."""

    task: Task
    future: Future[Answer] | None = None


class LocalCrew:
    """`workers` processes.

    One worker, or a single task, is this process: the answers are the same, only without the seconds that others take
    to start.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._pool: ProcessPoolExecutor | None = None
        self._born: set[BaseProcess] = set()

    def __enter__(self) -> LocalCrew:
        return self

    def __exit__(self, *error: object) -> None:
        self.rest()

    def map(self, job: Job[State, Task, Answer], tasks: Iterable[Task]) -> Iterator[Answer]:
        """See `Crew`. Nothing in hand is cancelled: Python's pool fails over a cancelled task of a killed worker."""
        queue = iter(tasks)
        head = list(islice(queue, 2))
        waiting = chain(head, queue)
        if self._workers <= 1 or len(head) < 2:
            if head:
                state = job.prepare(*put_in_place(job.arguments, here))
                yield from (job.work(state, task) for task in waiting)
            return
        flying: deque[_Flight[Task, Answer]] = deque(_Flight(task) for task in islice(waiting, self._workers + 2))
        deaths = 0
        while flying:
            try:
                answer = self._first(job, flying)
            except BrokenProcessPool as error:
                deaths += 1
                if deaths > TRIES:
                    raise WorkerLost(
                        f"worker processes were killed {deaths} times over one task",
                        fix="is there enough memory? use fewer --workers, then `builder resume` (`builder augment`: "
                        "the same command)",
                    ) from error
                self.rest()
                for flight in flying:
                    flight.future = flight.future if flight.future is not None and _answered(flight.future) else None
                continue
            deaths = 0
            flying.popleft()
            flying.extend(_Flight(task) for task in islice(waiting, 1))
            yield answer

    def _first(self, job: Job[State, Task, Answer], flying: deque[_Flight[Task, Answer]]) -> Answer:
        """Hand out what nobody has in hand, and wait for the first."""
        with undisturbed(), main_left_alone():
            others = set(multiprocessing.active_children())
            if self._pool is None:
                self._pool = ProcessPoolExecutor(
                    self._workers, mp_context=get_context("spawn"), initializer=begin_worker
                )
            try:
                for flight in flying:
                    if flight.future is None:
                        flight.future = self._pool.submit(perform, job, flight.task, here)
            finally:  # a pool that breaks meanwhile refuses a task after it has begun a process for another
                self._born |= set(multiprocessing.active_children()) - others
        assert flying[0].future is not None
        return flying[0].future.result()

    def rest(self) -> None:
        """See `Crew`. All processes end: nobody waits for a task whose answer nobody wants.

        Where one has died, Python's pool asks the others to end with SIGTERM, which they do not hear, and waits for
        them for ever; so they are killed, whether it has noticed a death or not. Then it is waited for, because
        Python fails where it ends in the midst of that.
        """
        if self._pool is not None:
            for process in self._born:
                process.kill()
            answers: Any = self._pool._result_queue
            answers._writer.close()  # the rest of an answer that a killed worker was sending is waited for, else
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
            self._born.clear()


def _answered(future: Future[Answer]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


@contextmanager
def undisturbed() -> Iterator[None]:
    """Workers are born whole: Ctrl-C and SIGTERM wait until the block is done.

    Workers inherit the mask: Ctrl-C goes to the whole process group, and stopping is this process's decision. The
    mask alone does not keep this thread: another one takes the signal, and Python runs the handler here, between a
    worker's birth and its first orders.
    """
    resource_tracker.ensure_running()  # when it starts, Python takes the mask off again
    waiting: list[int] = []
    both = (signal.SIGINT, signal.SIGTERM)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, both)
    mine = threading.current_thread() is threading.main_thread()
    before = (
        {number: signal.signal(number, lambda number, frame: waiting.append(number)) for number in both} if mine else {}
    )
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for taken in waiting[:1]:
            os.kill(os.getpid(), taken)


@contextmanager
def main_left_alone() -> Iterator[None]:
    """Workers do not run the user's script again, as Python has them do to find its functions: a job's functions are
    the package's own.

    So a script of five lines may ask for workers without `if __name__ == "__main__"`.
    """
    main = sys.modules["__main__"]
    kept = {name: getattr(main, name) for name in ("__file__", "__spec__") if hasattr(main, name)}
    try:
        for name in kept:
            setattr(main, name, None)
        yield
    finally:
        for name, value in kept.items():
            setattr(main, name, value)


def begin_worker() -> None:
    """What every worker process does first: it leaves Ctrl-C to its parent, and ends with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    choose_kernels()
    collect_seldom()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for tasks for ever, with all its memory."""
    parent = multiprocessing.parent_process()
    assert parent is not None, "only worker processes begin here"
    parent.join()
    os._exit(1)
