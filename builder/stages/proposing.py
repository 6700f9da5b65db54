"""Words and proposals of sentences, in chunks that are kept: files under the working directory, each whole or not there.

A chunk's folder bears the hash of all that its content depends on, so that nothing stale is ever read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from builder import __version__, nlp
from builder.augment import methods
from builder.augment.records import Candidate, Changed, Edit, Method, Sentence
from builder.augment.settings import Settings
from builder.augment.views import Unit, cut
from builder.errors import WorkerLost
from builder.export import writing
from builder.export.manifest import sha256
from builder.records import Span
from builder.resources import Lexicon, load_lexicon
from builder.shards import Crew, Job
from builder.shards.local import LocalCrew
from builder.stages.context import bar
from builder.text import view

CHUNK = 256
State = TypeVar("State")
Task = TypeVar("Task")
Answer = TypeVar("Answer")


def worded(units: Sequence[Unit], workdir: Path, workers: int) -> list[Unit]:
    """The same units, their sentences with words by the embedded segmenter, cut at the marks."""
    texts = list(dict.fromkeys(one.sentence.text for one in units))
    folder = workdir / "augment" / f"words-{_sha([reader()[1].signature, texts])}"
    found = kept(folder, _chunks(texts), Job(reader, (), _words), LocalCrew(workers), "words", " sentences")
    by_text = dict(zip(texts, (words for chunk in found for words in chunk), strict=True))
    return [
        replace(one, sentence=replace(one.sentence, words=tuple(cut(map(_span, by_text[one.sentence.text]), one.sentence.marks))))
        for one in units
    ]


def proposals(
    name: str, settings: Settings, method: Method, sentences: Sequence[Sentence], copies: int, seed: int, workdir: Path, workers: int
) -> Iterator[tuple[Candidate, ...]]:
    """The candidates of each sentence, in order; `method` is `name` loaded with `settings`, as each worker loads it."""
    key = _sha([__version__, method.signature, copies, seed, [asdict(one) for one in sentences]])
    folder = workdir / "augment" / f"{name}-{key}"
    tasks = [(chunk, copies, seed) for chunk in _chunks(sentences)]
    crew = _Readied(workers) if workers > 1 else LocalCrew(1)
    job = Job(_prepare, (name, settings, method if workers <= 1 else None), _propose)
    for chunk in kept(folder, tasks, job, crew, name, " sentences"):
        yield from map(_candidates, chunk)


def kept(
    folder: Path, tasks: Sequence[Task], job: Job[State, Task, list[Any]], crew: AbstractContextManager[Crew], note: str, unit: str
) -> Iterator[list[Any]]:
    """The answer of each task as JSON has it: read where a file holds it, else worked out and written. In order."""
    files = [folder / f"{number:06d}.json" for number in range(len(tasks))]
    before = [_read(path) for path in files]
    due = [task for task, found in zip(tasks, before, strict=True) if found is None]
    with crew as working, bar(len(tasks) * CHUNK, note, unit) as shown:
        answers = working.map(job, due)
        for path, found in zip(files, before, strict=True):
            if found is None:
                (found,) = islice(answers, 1)
                writing.replace(path, json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))
            shown.update(CHUNK)
            yield found


@dataclass(slots=True)
class _Readied:
    """A crew whose workers are given the job once, when they start: settings hold all sentences that a method may learn from, too much to
    travel with every task."""

    workers: int
    pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)

    def map(self, job: Job[State, Task, Answer], tasks: Iterable[Task]) -> Iterator[Answer]:
        self.pool = ProcessPoolExecutor(self.workers, get_context("spawn"), _ready, (job,))
        try:
            yield from self.pool.map(_perform, tasks)
        except BrokenProcessPool as error:
            raise WorkerLost(
                "a worker process was killed", fix="is there enough memory? the same command with fewer --workers goes on"
            ) from error


_state: list[tuple[Job[Any, Any, Any], Any]] = []
"""In a worker: its job and its state."""


def _ready(job: Job[Any, Any, Any]) -> None:
    _state.append((job, job.prepare(*job.arguments)))


def _perform(task: Any) -> Any:
    ((job, state),) = _state
    return job.work(state, task)


def _read(path: Path) -> list[Any] | None:
    try:
        found = json.loads(path.read_bytes().decode("utf-8", "surrogatepass"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, list) else None


def _chunks(items: Sequence[Task]) -> list[tuple[Task, ...]]:
    return [tuple(items[at : at + CHUNK]) for at in range(0, len(items), CHUNK)]


@lru_cache(maxsize=2)
def reader(added: tuple[Path, ...] = ()) -> tuple[Lexicon, nlp.Backend]:
    """The lexicons, with overlays, and the embedded segmenter that knows their words; loaded once."""
    lexicon = load_lexicon(overlays=added)
    return lexicon, nlp.load("embedded", lexicon.words())


def _words(ready: tuple[Lexicon, nlp.Backend], texts: Sequence[str]) -> list[Any]:
    lexicon, backend = ready
    shown = [view(text, lexicon.variants) for text in texts]
    annotated = backend.annotate([one.text for one in shown])
    return [
        [list(one.to_source((token.start, token.end))) for token in tokens if not one.text[token.start : token.end].isspace()]
        for one, tokens in zip(shown, annotated, strict=True)
    ]


def _prepare(name: str, settings: Settings, method: Method | None) -> Method:
    """`method` where it is at hand: other processes load their own, from what the first one trained and kept."""
    return method or methods.load(name, settings)


def _propose(method: Method, task: tuple[Sequence[Sentence], int, int]) -> list[Any]:
    sentences, copies, seed = task
    return [[_plain(one) for one in listed] for listed in method.propose(sentences, copies, seed)]


def _plain(one: Candidate) -> dict[str, Any]:
    return asdict(one)


def _candidates(listed: Sequence[dict[str, Any]]) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(
            one["source"], tuple(Edit(**edit) for edit in one["edits"]), one["score"], one["label"],
            tuple(Changed(**told) for told in one["changed"]),
        )
        for one in listed
    )  # fmt: skip


def _span(pair: Sequence[int]) -> Span:
    return pair[0], pair[1]


def _sha(parts: object) -> str:
    return sha256(json.dumps(parts, sort_keys=True).encode())[:16]
