"""What every stage is handed: the database, the settings, the data, and a way to show progress."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

from tqdm import tqdm

from builder.config import Config
from builder.records import Element, Triplet
from builder.resources import Lexicon, Rule
from builder.store import db, runs
from builder.text import View

Task = TypeVar("Task")
Answer = TypeVar("Answer")
Stored = Callable[[sqlite3.Connection], None]


@dataclass(frozen=True, slots=True)
class Context:
    """One build. `key` is the completion key of the stage that runs: what it keeps of a broken-off run must bear the same key."""

    connection: sqlite3.Connection
    config: Config
    workdir: Path
    inputs: tuple[Path, ...]
    out: Path
    lexicon: Lexicon
    rules: tuple[Rule, ...]
    key: str
    keys: Mapping[str, str]

    @property
    def models(self) -> Path:
        return self.workdir / "models"


def begin(context: Context, stage: str, clear: Stored) -> int:
    """Where a stage that commits in chunks goes on: the last item done under the same key, or 0 after clearing old output."""
    connection = context.connection
    if runs.setting(connection, f"{stage}.key") == context.key:
        return int(runs.setting(connection, f"{stage}.at") or 0)
    with db.atomic(connection):
        clear(connection)
        runs.set_setting(connection, f"{stage}.key", context.key)
        runs.set_setting(connection, f"{stage}.at", "0")
    return 0


def advance(connection: sqlite3.Connection, stage: str, at: int) -> None:
    """Note, inside the chunk's transaction, that everything up to item `at` is done."""
    runs.set_setting(connection, f"{stage}.at", str(at))


def bar(total: int | None, note: str, unit: str = " reviews") -> tqdm[None]:
    """A progress bar on stderr, silent where that is no terminal."""
    return tqdm(total=total, desc=note, unit=unit, disable=None, leave=False, dynamic_ncols=True, unit_scale=unit == "B")


class ModelBar:
    """Shows a model's progress; gives the model package its `Progress` without handing it a terminal."""

    def __init__(self, note: str, unit: str = " chars") -> None:
        self._note = note
        self._bar = bar(None, note, unit=unit)

    def __call__(self, done: int, total: int, note: str) -> None:
        if self._bar.total != total or done < self._bar.n:
            self._bar.reset(total)
        self._bar.set_description(f"{self._note}: {note}", refresh=False)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        self._bar.close()


def sharded(
    work: Callable[[Task], Answer], tasks: Iterable[Task], workers: int, prepare: Callable[..., None], arguments: tuple[object, ...]
) -> Iterator[Answer]:
    """`work(task)` for each task, in order, in `workers` processes that `prepare(*arguments)` once; few tasks in flight.

    One worker, or a single task, runs here: the answers are the same, only without the seconds that processes take to start.
    """
    queue = iter(tasks)
    head = list(islice(queue, 2))
    if workers <= 1 or len(head) < 2:
        prepare(*arguments)
        yield from map(work, head)
        yield from map(work, queue)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_begin_worker, initargs=(prepare, arguments)) as pool:

        def submit(ready: Iterable[Task]) -> list[Future[Answer]]:
            with _undisturbed():
                return [pool.submit(work, task) for task in ready]

        flying = submit(head) + submit(islice(queue, workers))
        try:
            while flying:
                answer = flying.pop(0).result()
                flying += submit(islice(queue, 1))
                yield answer
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Workers are born whole: Ctrl-C and SIGTERM wait until the block is done.

    Workers inherit the mask: Ctrl-C goes to the whole process group, and stopping is this process's decision. The mask alone does not keep
    this thread: another one takes the signal, and Python runs the handler here, between a worker's birth and its first orders.
    """
    waiting: list[int] = []
    both = (signal.SIGINT, signal.SIGTERM)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, both)
    mine = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, lambda number, frame: waiting.append(number)) for number in both} if mine else {}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for taken in waiting[:1]:
            os.kill(os.getpid(), taken)


def _begin_worker(prepare: Callable[..., None], arguments: tuple[object, ...]) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    prepare(*arguments)


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for tasks for ever, with all its memory."""
    parent = multiprocessing.parent_process()
    assert parent is not None, "only worker processes begin here"
    parent.join()
    os._exit(1)


def to_stored(triplet: Triplet, view: View, text: str) -> Triplet:
    """A triplet with offsets into a view as one with offsets into the stored text."""
    if view.unshortened and view.text == text:
        return triplet

    def moved(element: Element) -> Element:
        return view.element(element.spans, text)

    return Triplet(
        moved(triplet.aspect),
        moved(triplet.aspect_full),
        moved(triplet.opinion),
        moved(triplet.opinion_full),
        triplet.polarity,
        triplet.valence,
        moved(triplet.owner) if triplet.owner else None,
        triplet.source,
        triplet.rules,
        triplet.confidence,
        triplet.evidence,
    )
