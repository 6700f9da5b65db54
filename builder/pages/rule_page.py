"""The page on which a person reads the rules, edits a copy of one, and sees what that changes before it is saved.

In: a `RuleWorker`. Out: a `LabelSite`.

The worker is a process of its own, so that a pattern that never ends can be stopped. In: questions for a `RuleBook`, by
the name of its method. Out: its answers. A question that takes longer than its time ends the process. The next question
starts another one, and what was saved is on the disk.
"""

from __future__ import annotations

import multiprocessing
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from time import monotonic
from typing import Any

from builder.core.errors import BuilderError, ResourceError
from builder.core.shards.local import begin_worker, main_left_alone
from builder.gold.server import LabelSite

# ---- The process that runs the rules

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


# ---- The site

_LINE = re.compile(r"(?:^the rule|/([\w-]+)\.toml):(\d+)$")
_PLACE = re.compile(r"^(.*/)?(rules/)")


def rule_site(worker: RuleWorker) -> LabelSite:
    """The page over the rules of a working directory."""

    def progress(user: str, query: Mapping[str, str]) -> Json:
        return asdict(worker.progress)

    def asking(question: str, *names: str) -> Callable[[str, Json], Json]:
        def ask(user: str, given: Json) -> Json:
            values = [given[name] for name in names]
            if not all(isinstance(value, str) for value in values):
                raise ValueError("a rule is a text")
            try:
                return worker.ask(question, *values)
            except BuilderError as error:
                return {"fault": _describe(error), "line": _find_line(error)}

        return ask

    writes = {
        "/api/list": asking("list"),
        "/api/open": asking("open", "name"),
        "/api/try": asking("try", "text"),
        "/api/compare": asking("compare", "text"),
        "/api/save": asking("save", "text"),
        "/api/drop": asking("drop", "name"),
    }
    return LabelSite(
        "rules.html", ("text.js", "rules.js", "page.css", "rules.css"), {"/api/progress": progress}, writes,
        frozenset(writes),
    )  # fmt: skip


def _describe(error: BuilderError) -> str:
    """One line: where, what, how to fix. A folder that was made for the moment is not named."""
    line = _find_line(error)
    where = f"line {line}" if line else _PLACE.sub(r"\2", error.where)
    return ": ".join(part for part in (where, error.what) if part) + (f"; {error.fix}" if error.fix else "")


def _find_line(error: BuilderError) -> int | None:
    """The line of the edited text that an error is about."""
    place = _LINE.search(error.where)
    return int(place[2]) if place else None
