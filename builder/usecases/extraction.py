"""What finds triplets in texts outside a build: the rules, or a variant's last model from a working directory.

In: texts, from any iterable. Out: their triplets in order, in offsets of the texts. `extracting` does it for files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Protocol, TypeVar

from builder.errors import ConfigError
from builder.reader import Reader, Recipe, make_reader, to_text
from builder.records import Triplet
from builder.settings import Convention
from builder.shards import Job, opened
from builder.stages.parts.folders import folders_in
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
    recipe = Recipe(convention, folders_in(workdir), backend, models)
    if source == "rules":
        return RuleSystem(recipe)
    if workdir is None:
        raise ConfigError(
            f"--source {source} needs --workdir",
            fix="name the working directory that trained it, or use --source rules",
        )
    name = _model_name(workdir, source)
    predict = holder(workdir, recipe) if name == "E0" else _tagging(workdir, name)
    return ModelSystem(name, predict, recipe.folders.load_lexicon().variants)


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
