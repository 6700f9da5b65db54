"""Words and proposals of sentences, in chunks that are kept: files under the working directory, each whole or not
there.

A chunk's folder bears the hash of all that its content depends on, so that nothing stale is ever read.

Settings as a file that travels to workers, and back: what a method may learn from is too much to go along with
every task.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from multiprocessing import parent_process
from pathlib import Path
from typing import Any, TypeVar

from builder.augment.methods.boostaug import CODE, BoostAug
from builder.augment.records import Mark, Method, Rewrite, Sentence, rewrite_of
from builder.augment.settings import AugmentSettings, Given, make_method
from builder.augment.views import ViewUnit, cut
from builder.core.code import code_digest
from builder.core.config import filled, flat
from builder.core.files import Kept, write_atomically
from builder.core.progress import bar
from builder.core.records import Element, Span, Triplet
from builder.core.shards import Crew, Job, Parcel
from builder.engine.reader import Reader, Recipe, make_reader
from builder.language.lexicon.folders import SHIPPED, Folders, folders_in
from builder.release.manifest import sha256


def dumped(settings: AugmentSettings) -> bytes:
    """All of `settings` but where models are kept."""
    given = asdict(replace(settings.given, models=None)) | {"held": sorted(settings.given.held)}
    own = {key: value for key, value in flat(replace(settings, given=Given())).items() if not key.startswith("given.")}
    content = json.dumps({"own": own, "given": given}, ensure_ascii=False, default=str)  # str: paths of folders
    return content.encode("utf-8", "surrogatepass")


def loaded(content: bytes, models: Path | None) -> AugmentSettings:
    """What was `dumped`, with models kept in `models`."""
    document = json.loads(content.decode("utf-8", "surrogatepass"))
    given = document["given"]
    moved = Given(
        models=models,
        sentences=tuple(map(_sentence, given["sentences"])),
        texts=tuple(given["texts"]),
        held=frozenset(given["held"]),
        triplets={key: tuple(map(_triplet, sentence)) for key, sentence in given["triplets"].items()},
        language=given["language"],
        folders=_folders(given["folders"]),
    )
    return replace(filled(AugmentSettings, document["own"]), given=moved)


def _folders(row: Mapping[str, Any]) -> Folders:
    """Folders are read where they lie: workers see the same files."""
    whole = {name: Path(row[name]) if row[name] else None for name in ("lexicons", "rules")}
    laid_over = {name: tuple(map(Path, row[name])) for name in ("overlays", "added_rules", "imported", "edited")}
    return Folders(**whole, **laid_over, domain=row["domain"])  # type: ignore[arg-type]  # each name has its type in one of the two


def _sentence(row: Mapping[str, Any]) -> Sentence:
    words, marks = tuple((start, end) for start, end in row["words"]), tuple(Mark(**mark) for mark in row["marks"])
    return Sentence(**{**row, "words": words, "marks": marks})


def _triplet(row: Mapping[str, Any]) -> Triplet:
    parts = {name: _element(row[name]) for name in ("aspect", "aspect_full", "opinion", "opinion_full")}
    assert row["reasons"] is None, row  # what methods learn from comes without
    owner = _element(row["owner"]) if row["owner"] else None
    return Triplet(**{**row, **parts, "owner": owner, "rules": tuple(row["rules"])})


def _element(row: Mapping[str, Any]) -> Element:
    return Element(row["text"], tuple((start, end) for start, end in row["spans"]))


CHUNK = 256
_MODELS = ("**/weights.safetensors", "**/model.json")
"""What loading a method needs; checkpoints of other trainings stay here."""
State = TypeVar("State")
Task = TypeVar("Task")


def worded(units: Sequence[ViewUnit], workdir: Path, crew: Crew) -> list[ViewUnit]:
    """The same units, their sentences with words by the embedded segmenter and the words of the working directory, cut
    at the marks.
    """
    folders = folders_in(workdir)
    texts = list(dict.fromkeys(unit.sentence.text for unit in units))
    folder = (
        workdir / "augment" / f"words-{_sha([cached_reader(folders).backend.signature, *_own_words(folders), texts])}"
    )
    chunks = kept(folder, _chunks(texts), Job(cached_reader, (folders,), _words), crew, "words", " sentences")
    by_text = dict(zip(texts, (words for chunk in chunks for words in chunk), strict=True))
    return [
        replace(
            unit,
            sentence=replace(
                unit.sentence, words=tuple(cut(map(_span, by_text[unit.sentence.text]), unit.sentence.marks))
            ),
        )
        for unit in units
    ]


@dataclass(frozen=True, slots=True)
class Asked:
    """`copies` candidates of the method `name` for each of some sentences of `settings.given`, drawn by `seed`."""

    name: str
    sentences: Sequence[Sentence]
    copies: int
    seed: int


def proposals(
    asked: Asked, settings: AugmentSettings, method: Method, workdir: Path, crew: Crew
) -> Iterator[tuple[Rewrite, ...]]:
    """The candidates of each sentence, in order; `method` is loaded with `settings`, as each worker loads it.

    A filter's folds are the work: each is trained, proposed to and read by one worker; what they say together is
    sifted here.
    """
    name, sentences, copies, seed = asked.name, asked.sentences, asked.copies, asked.seed
    arguments = (name, *_parcels(settings, workdir))
    if isinstance(method, BoostAug):
        due = method.due(copies, seed)
        readings = crew.map(Job(_prepare, arguments, _fold), [(number, copies, seed) for number in due])
        for number, rows in zip(due, readings, strict=True):
            method.keep(number, copies, seed, rows)
        yield from method.propose(sentences, copies, seed)
        return
    key_parts = [code_digest(*CODE), method.signature, copies, seed, [asdict(sentence) for sentence in sentences]]
    key = _sha([*key_parts, *_own_words(settings.given.folders)])
    tasks = [(chunk, copies, seed) for chunk in _chunks(sentences)]
    for chunk in kept(
        workdir / "augment" / f"{name}-{key}", tasks, Job(_beside, arguments, _propose), crew, name, " sentences"
    ):
        yield from (tuple(map(rewrite_of, rows)) for rows in chunk)


def _parcels(settings: AugmentSettings, workdir: Path) -> tuple[Parcel, Parcel]:
    """The settings with all that may be learnt from as a file, and the trained models: too much for every task."""
    content = dumped(settings)
    folder = workdir / "augment" / f"settings-{sha256(content)[:16]}"
    write_atomically(folder / "settings.json", content)
    assert settings.given.models is not None, "the frame says where models are kept"
    settings.given.models.mkdir(parents=True, exist_ok=True)
    return Parcel.of(folder), Parcel.of(settings.given.models, *_MODELS)


def kept(
    folder: Path, tasks: Sequence[Task], job: Job[State, Task, list[Any]], crew: Crew, note: str, unit: str
) -> Iterator[list[Any]]:
    """The answer of each task as JSON has it: read where a file holds it, else worked out and written. In order."""
    chunks = Kept(folder)
    before = [chunks.find(f"{number:06d}") for number in range(len(tasks))]
    answers = crew.map(job, [task for task, answer in zip(tasks, before, strict=True) if answer is None])
    with bar(len(tasks) * CHUNK, note, unit) as shown:
        for number, answer in enumerate(before):
            if answer is None:
                answer = chunks.put(f"{number:06d}", next(answers))
            shown.update(CHUNK)
            yield answer


def _chunks(items: Sequence[Task]) -> list[tuple[Task, ...]]:
    return [tuple(items[at : at + CHUNK]) for at in range(0, len(items), CHUNK)]


@lru_cache(maxsize=2)
def cached_reader(folders: Folders = SHIPPED) -> Reader:
    """The shipped reader, or one with the words and rules of `folders`; loaded once."""
    return make_reader(Recipe(folders=folders))


def _own_words(folders: Folders) -> list[str]:
    """What sentences' words and candidates depend on where a working directory has words or rules of its own."""
    return [] if folders == SHIPPED else [folders.files_digest]


def segmented(sentences: Sequence[Sentence], folders: Folders = SHIPPED) -> list[Sentence]:
    """Chinese sentences with the words of the embedded segmenter, cut at the marks, whatever words they had."""
    segments = _segments(tuple(sentence.text for sentence in sentences), folders)
    return [
        replace(sentence, words=tuple(cut(map(_span, words), sentence.marks)))
        for sentence, words in zip(sentences, segments, strict=True)
    ]


@lru_cache(maxsize=2)
def _segments(texts: tuple[str, ...], folders: Folders) -> list[Any]:
    return _words(cached_reader(folders), texts)


def _words(reader: Reader, texts: Sequence[str]) -> list[Any]:
    return [
        [
            [place.start, place.end]
            for token, place in zip(reading.tokens, reading.text_tokens, strict=True)
            if not reading.view.text[token.start : token.end].isspace()
        ]
        for reading in reader.read(texts)
    ]


def _prepare(name: str, folder: Path, models: Path) -> Method:
    """A worker's own, from what the first process trained and kept."""
    return make_method(name, loaded((folder / "settings.json").read_bytes(), models))


def _beside(name: str, folder: Path, models: Path) -> Method:
    """The same on one thread, where other workers have the other cores: what proposes was trained before, so that
    threads change nothing.
    """
    settings = loaded((folder / "settings.json").read_bytes(), models)
    return make_method(name, settings if parent_process() is None else replace(settings, threads=1))


def _fold(method: BoostAug, task: tuple[int, int, int]) -> list[Any]:
    return method.read(*task)


def _propose(method: Method, task: tuple[Sequence[Sentence], int, int]) -> list[Any]:
    sentences, copies, seed = task
    return [[asdict(rewrite) for rewrite in rewrites] for rewrites in method.propose(sentences, copies, seed)]


def _span(pair: Sequence[int]) -> Span:
    return pair[0], pair[1]


def _sha(parts: object) -> str:
    return sha256(json.dumps(parts, sort_keys=True).encode())[:16]
