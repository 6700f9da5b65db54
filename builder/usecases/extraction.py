"""`extract`: triplets of texts outside a build, one answer for each text, in order.

In: texts, from any iterable, or a file of them: JSON lines {"id", "text"} or gold files that hold texts
(`sources.texts`). Out: triplets in offsets of the texts, or JSON lines {"id", "triplets"} written beside the target
and renamed, so that there is a whole file or none. The rules need no working directory; a variant's last model comes
from one.
"""

from __future__ import annotations

import io
import json
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Protocol, TextIO, TypeVar, cast

from builder.config import Convention
from builder.errors import ConfigError
from builder.export.records import extracted
from builder.files import replacing
from builder.lexicon.resources import load_lexicon, overlays
from builder.reader import Reader, Recipe, make_reader, to_text
from builder.records import Triplet
from builder.shards import Job, opened
from builder.sources.texts import STANDARD, texts
from builder.stages.context import bar
from builder.store import db, runs
from builder.text import Variants, view
from builder.usecases.holding import holder

_CHUNK, _MODEL_CHUNK = 256, 8192
Triplets = tuple[Triplet, ...]
Predict = Callable[[Sequence[str]], list[Triplets]]
"""Views to triplets of views."""
Part = TypeVar("Part")


class System(Protocol):
    """What finds triplets in texts."""

    @property
    def name(self) -> str:
        """`rules`, or the name of a model: E0, C2."""
        ...

    def extract(self, texts: Sequence[str]) -> list[Triplets]:
        """The triplets of texts, in offsets of the texts."""
        ...

    def stream(self, texts: Iterable[str], workers: int) -> Iterator[Triplets]:
        """The same of any number of texts, in order; batches are read ahead."""
        ...


class RuleSystem:
    """The rule engine. It loads with the first text that is read in this process."""

    name = "rules"

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._reader: Reader | None = None

    @property
    def reader(self) -> Reader:
        """Lexicon, backend and engine."""
        if self._reader is None:
            self._reader = make_reader(self._recipe)
        return self._reader

    def extract(self, texts: Sequence[str]) -> list[Triplets]:
        return self.reader.extract(texts)

    def stream(self, texts: Iterable[str], workers: int) -> Iterator[Triplets]:
        """A short input is read here: it would be done before a second process has started."""
        left = iter(texts)
        head = list(islice(left, 4 * _CHUNK + 1)) if workers > 1 else []
        batches = _batches(chain(head, left), _CHUNK)
        if workers <= 1 or len(head) <= 4 * _CHUNK:
            for batch in batches:
                yield from self.reader.extract(batch)
            return
        with opened("local", workers) as crew:
            for answers in crew.map(Job(make_reader, (self._recipe,), _extract), batches):
                yield from answers


@dataclass(frozen=True, slots=True)
class ModelSystem:
    """A trained model of a working directory, which reads views."""

    name: str
    predict: Predict
    variants: Variants

    def extract(self, texts: Sequence[str]) -> list[Triplets]:
        views = [view(text, self.variants) for text in texts]
        predicted = self.predict([shown.text for shown in views])
        return [
            tuple([replace(to_text(triplet, shown, text), source=self.name) for triplet in triplets])
            for text, shown, triplets in zip(texts, views, predicted, strict=True)
        ]

    def stream(self, texts: Iterable[str], workers: int) -> Iterator[Triplets]:
        """In this process, whatever `workers` is: a model uses the cores itself."""
        for batch in _batches(iter(texts), _MODEL_CHUNK):
            yield from self.extract(batch)


@dataclass(frozen=True, slots=True)
class Counts:
    """How many texts were read, how many triplets found, and in how many seconds."""

    texts: int
    triplets: int
    seconds: float


def extract_file(
    source: Path, target: Path, system: str, workdir: Path | None, convention: str, workers: int
) -> Counts:
    """Extract from a file. InputError names the line that holds no id or no text."""
    started = time.monotonic()
    chosen = open_system(workdir, system, cast(Convention, convention))
    ids = deque[object]()

    def read_texts() -> Iterator[str]:
        for i, text in texts(source):
            ids.append(i)
            yield text

    read = found = 0
    with _written(target) as out, bar(None, "extract", unit=" texts") as shown:
        for triplets in chosen.stream(read_texts(), workers):
            row = {"id": ids.popleft(), "triplets": [extracted(triplet, convention == "paper") for triplet in triplets]}
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
            read, found = read + 1, found + len(triplets)
            shown.update()
    return Counts(read, found, time.monotonic() - started)


@contextmanager
def _written(target: Path) -> Iterator[TextIO]:
    """Standard output for `-`, a device or pipe as it is; a file is written beside its place and renamed."""
    if target == STANDARD:
        yield sys.stdout
        return
    if target.exists() and not target.is_file() and not target.is_dir():
        with target.open("w", encoding="utf-8") as out:
            yield out
        return
    with replacing(target) as handle:
        out = io.TextIOWrapper(handle, encoding="utf-8")
        yield out
        out.detach()


def open_system(
    workdir: Path | None,
    source: str = "",
    convention: Convention = "natural",
    backend: str = "embedded",
    models: Path | None = None,
) -> System:
    """What finds triplets as a working directory does. `backend` and its `models` read for the rules.

    `source`: `rules`, the last model of a variant (`C`), that of a round (`C2`), or of the last round of all ("").
    The rules are a part of variant E.

    ConfigError where the working directory has no such model, or where a model is wanted without one.
    """
    recipe = Recipe(convention, overlays(workdir) if workdir else (), backend=backend, models=models)
    if source == "rules":
        return RuleSystem(recipe)
    if workdir is None:
        raise ConfigError(
            f"--source {source} needs --workdir",
            fix="name the working directory that trained it, or use --source rules",
        )
    name = _model_name(workdir, source)
    predict = holder(workdir, recipe) if name == "E0" else _tagging(workdir, name)
    return ModelSystem(name, predict, load_lexicon(overlays=overlays(workdir)).variants)


def _model_name(workdir: Path, source: str) -> str:
    with db.reading(workdir) as connection:
        rounds = [(done.variant, f"{done.variant}{done.round}") for done in runs.rounds(connection)]
    chosen = [name for variant, name in rounds if source in ("", variant, name)]
    if not chosen:
        missing = f"no model {source!r}" if source else "no model"
        raise ConfigError(
            f"{missing} in {workdir}", fix="trained there: " + (", ".join(name for _, name in rounds) or "none")
        )
    return chosen[-1]


def _batches(items: Iterator[Part], size: int) -> Iterator[list[Part]]:
    return iter(lambda: list(islice(items, size)), [])


def _extract(reader: Reader, texts: list[str]) -> list[Triplets]:
    return reader.extract(texts)


def _tagging(workdir: Path, name: str) -> Predict:
    from builder.model.kinds import load_extractor

    return load_extractor(workdir / "models" / name).predict
