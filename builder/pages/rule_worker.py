"""A process that runs the rules which a person edits, so that a pattern that never ends can be stopped.

In: questions for a `RuleBook`, by the name of its method. Out: its answers. A question that takes longer than its time
ends the process; the next question starts another one, and what was saved is on the disk.
"""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from time import monotonic
from typing import Any

from builder.core.errors import BuilderError, ResourceError
from builder.core.shards.local import begin_worker, main_left_alone

Json = dict[str, Any]
SECONDS = 60.0
"""How long a question may take; comparing reviews takes seconds, and loading as many again."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What is being done, how many reviews are done, and of how many."""

    doing: str = ""
    done: int = 0
    of: int = 0


class RuleWorker:
    """Answers one question after another. `progress` may be read at any time."""

    def __init__(self, workdir: Path, reviews: int, seconds: float = SECONDS) -> None:
        self.progress = Progress()
        self._workdir, self._reviews, self._seconds = workdir, reviews, seconds
        self._lock = threading.Lock()
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None

    def ask(self, question: str, *given: str) -> Json:
        """The answer to a question. BuilderError where there is none, or none in time."""
        with self._lock:
            try:
                return self._ask(question, given)
            finally:
                self.progress = Progress()

    def close(self) -> None:
        """End the process."""
        if self._process is not None and self._pipe is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._process = self._pipe = None

    def _ask(self, question: str, given: tuple[str, ...]) -> Json:
        pipe = self._pipe or self._start()
        end = monotonic() + self._seconds
        try:
            pipe.send((question, given))
            while pipe.poll(max(0.0, end - monotonic())):
                kind, *answer = pipe.recv()
                if kind == "progress":
                    self.progress = Progress(*answer)
                elif kind == "error":
                    what, where, fix = answer
                    raise ResourceError(what, where=where, fix=fix)
                else:
                    return dict(answer[0])
        except (EOFError, ConnectionError) as error:
            self.close()
            raise ResourceError("the process that runs the rules ended", fix="try again") from error
        self.close()
        message = f"no answer within {self._seconds:g} seconds"
        raise ResourceError(message, fix="a pattern that repeats a repetition, such as (WORD*)*, may take for ever")

    def _start(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_answer, args=(theirs, self._workdir, self._reviews), daemon=True)
        with main_left_alone():
            self._process.start()
        theirs.close()
        return self._pipe


def _answer(pipe: Connection, workdir: Path, reviews: int) -> None:
    """Answer questions until the other side is gone."""
    from builder.pages.rule_book import RuleBook

    begin_worker()
    book: RuleBook | None = None
    while True:
        try:
            question, given = pipe.recv()
        except EOFError:
            return
        try:
            book = book or RuleBook(workdir, reviews)
            pipe.send(("answer", _questions(book, pipe)[question](*given)))
        except BuilderError as error:
            pipe.send(("error", error.what, error.where, error.fix))


def _questions(book: Any, pipe: Connection) -> Mapping[str, Callable[..., Json]]:
    def compare(text: str) -> Json:
        return book.compare(text, lambda *parts: pipe.send(("progress", *parts)))  # type: ignore[no-any-return]

    return {
        "list": book.list_rules,
        "open": book.open_rule,
        "try": book.try_rule,
        "compare": compare,
        "save": book.save_rule,
        "drop": book.drop_rule,
    }
