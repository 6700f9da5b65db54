"""Words and proposals of sentences, in chunks that are kept: files under the working directory, each whole or not there.

A chunk's folder bears the hash of all that its content depends on, so that nothing stale is ever read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from builder import __version__, nlp
from builder.augment import methods
from builder.augment.records import Candidate, Edit, Mark, Method, Sentence
from builder.augment.settings import Settings
from builder.augment.views import Unit, cut
from builder.export import writing
from builder.export.manifest import sha256
from builder.records import Span
from builder.resources import Lexicon, load_lexicon
from builder.stages.context import bar, sharded
from builder.text import view

CHUNK = 256
_worker: dict[str, Any] = {}
Task = TypeVar("Task")
Answer = TypeVar("Answer")


def worded(units: Sequence[Unit], workdir: Path, workers: int) -> list[Unit]:
    """The same units, their sentences with words by the embedded segmenter, cut at the marks."""
    texts = list(dict.fromkeys(one.sentence.text for one in units))
    folder = workdir / "augment" / f"words-{_sha([reader()[1].signature, texts])}"
    found = kept(folder, _chunks(texts), _words, workers, _prepare_words, (), "words", " sentences")
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
    for chunk in kept(folder, tasks, _propose, workers, _prepare, (name, settings), name, " sentences"):
        yield from map(_candidates, chunk)


def kept(
    folder: Path,
    tasks: Sequence[Task],
    work: Callable[[Task], list[Any]],
    workers: int,
    prepare: Callable[..., None],
    arguments: tuple[object, ...],
    note: str,
    unit: str,
) -> Iterator[list[Any]]:
    """The answer of each task as JSON has it: read where a file holds it, else worked out and written. In order."""
    files = [folder / f"{number:06d}.json" for number in range(len(tasks))]
    before = [_read(path) for path in files]
    due = [task for task, found in zip(tasks, before, strict=True) if found is None]
    answers = sharded(work, due, workers, prepare, arguments)
    with bar(len(tasks) * CHUNK, note, unit) as shown:
        for path, found in zip(files, before, strict=True):
            if found is None:
                (found,) = islice(answers, 1)
                writing.replace(path, json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))
            shown.update(CHUNK)
            yield found


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


def _prepare_words() -> None:
    reader()


def _words(texts: Sequence[str]) -> list[Any]:
    lexicon, backend = reader()
    shown = [view(text, lexicon.variants) for text in texts]
    annotated = backend.annotate([one.text for one in shown])
    return [
        [list(one.to_source((token.start, token.end))) for token in tokens if not one.text[token.start : token.end].isspace()]
        for one, tokens in zip(shown, annotated, strict=True)
    ]


def _prepare(name: str, settings: Settings) -> None:
    _worker["method"] = methods.load(name, settings)


def _propose(task: tuple[Sequence[Sentence], int, int]) -> list[Any]:
    sentences, copies, seed = task
    return [[_plain(one) for one in listed] for listed in _worker["method"].propose(sentences, copies, seed)]


def _plain(one: Candidate) -> dict[str, Any]:
    return asdict(one)


def _candidates(listed: Sequence[dict[str, Any]]) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(
            one["source"], tuple(Edit(**edit) for edit in one["edits"]), one["score"], one["label"],
            None if one["marks"] is None else tuple(Mark(**mark) for mark in one["marks"]),
        )
        for one in listed
    )  # fmt: skip


def _span(pair: Sequence[int]) -> Span:
    return pair[0], pair[1]


def _sha(parts: object) -> str:
    return sha256(json.dumps(parts, sort_keys=True).encode())[:16]
