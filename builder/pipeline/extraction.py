"""What finds triplets in texts outside a build: the rules, or a trained model, which may come from a published folder.

In: texts, from any iterable. Out: their triplets in order, in offsets of the texts. The model is a variant's last one
in a working directory, or one that was published. What only a working directory needs is imported with it: the rules
alone are to be ready soon.

`extract_texts` serves `builder extract`: its answers go to a stream, or to a file that is written beside its place and
renamed, so that there is a whole one or none.
"""

from __future__ import annotations

import io
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TextIO

from builder.core.config import filled
from builder.core.errors import ConfigError, InputError
from builder.core.files import read_text, replacing
from builder.core.progress import bar
from builder.core.records import aspect_text
from builder.core.settings import Config, Convention
from builder.engine.reader import Reader, Recipe, Triplets, to_text
from builder.language.lexicon.folders import Folders, folders_in
from builder.pipeline.rule_system import RuleSystem, split_batches
from builder.release.export.extract_output import AnsweredText, Writer
from builder.reviews.script import Variants
from builder.reviews.sources.texts import STANDARD, Text
from builder.reviews.text import view

if TYPE_CHECKING:
    from builder.pipeline.judging import Holder

# ---- Systems

_CHUNK = 8192
SHIPPED_SOURCE = "E"
"""Without a working directory: rules and the model that builder ships."""
Predict = Callable[[Sequence[str]], list[Triplets]]
"""Views to triplets of views."""


class System(Protocol):
    """What finds triplets in texts."""

    @property
    def name(self) -> str:
        """`rules`, or the name of a model: E0, C2."""
        ...

    @property
    def reader(self) -> Reader | None:
        """What reads words for its rules; None of a model alone, which reads characters."""
        ...

    def extract(self, texts: Sequence[str]) -> list[Triplets]:
        """The triplets of texts, in offsets of the texts."""
        ...

    def stream(self, texts: Iterable[str], workers: int) -> Iterator[Triplets]:
        """The same of any number of texts, in order; batches are read ahead."""
        ...


@dataclass(frozen=True, slots=True)
class ModelSystem:
    """A trained model of a working directory, which reads views."""

    name: str
    predict: Predict
    variants: Variants
    reader: Reader | None = None

    def extract(self, texts: Sequence[str]) -> list[Triplets]:
        views = [view(text, self.variants) for text in texts]
        predicted = self.predict([shown.text for shown in views])
        return [
            tuple([replace(to_text(triplet, shown, text), source=self.name) for triplet in triplets])
            for text, shown, triplets in zip(texts, views, predicted, strict=True)
        ]

    def stream(self, texts: Iterable[str], workers: int) -> Iterator[Triplets]:
        """In this process, whatever `workers` is: a model uses the cores itself."""
        for batch in split_batches(iter(texts), _CHUNK):
            yield from self.extract(batch)


def open_system(
    workdir: Path | None,
    source: str = "",
    convention: Convention | None = None,
    aspects: Sequence[str] | None = None,
    domain: str | None = None,
    device: str = "auto",
) -> System:
    """What finds triplets as the build of a working directory does: with its backend and words, and by its convention
    and domain if no other is given. Without a build: the embedded backend and `natural`; a published model names its
    own. Models run on `device`, which is that of the build for `auto`.

    A model whose question named aspects in training is asked about those of `aspects` that stand in a text, and about
    those that the rules find in it where none are given.

    `source`: `rules`, the last model of a variant (`C`), that of a round (`C2`), or of the last round of all ("").
    The rules are a part of variant E. Without a working directory, `E` is the rules with the model that builder
    ships. A path with a separator is the folder of a published model.

    ConfigError where the working directory has no such model, or where a model is wanted without one; and where
    `aspects` are given to a system that is not asked about any.
    """
    settings, folders = build_settings(workdir, source), folders_in(workdir)
    recipe = make_recipe(settings, replace(folders, domain=domain) if domain else folders, convention, device)
    device = recipe.device
    if source == "rules":
        if aspects is not None:
            raise _not_asked("the rules find aspects themselves")
        return RuleSystem(recipe)
    if is_model_folder(source):
        from builder.pipeline.model_folders import read_description

        predict = _tagging(Path(source), device, recipe, aspects, keep=False)
        return ModelSystem(read_description(Path(source)).name, predict, recipe.folders.load_lexicon().variants)
    if workdir is None and source == SHIPPED_SOURCE:
        if aspects is not None:
            raise _not_asked("E finds aspects itself")
        return open_shipped(recipe)
    if workdir is None:
        raise ConfigError(
            f"--source {source} needs --workdir",
            fix="name the working directory that trained it, a model's folder as ./NAME, or use --source rules",
        )
    name = _model_name(workdir, source)
    if name == "E0" and aspects is not None:
        raise _not_asked("E0 finds aspects itself")
    folder = workdir / "models" / name
    if name == "E0":
        from builder.pipeline.judging import holder

        return _joined(name, holder(workdir, settings, recipe))
    return ModelSystem(name, _tagging(folder, device, recipe, aspects), recipe.folders.load_lexicon().variants)


def open_shipped(recipe: Recipe) -> System:
    """The rules of a recipe with the model that builder ships; ConfigError where it ships none for them."""
    from builder.pipeline.judging import shipped_holder

    return _joined(SHIPPED_SOURCE, shipped_holder(recipe))


def _joined(name: str, holds: Holder) -> System:
    """Rules and model together."""
    predict, reader = holds
    return ModelSystem(name, predict, reader.lexicon.variants, reader)


def is_model_folder(source: str) -> bool:
    """Whether a system is named by the folder of a published model: variants have no separator in their names."""
    return "/" in source or os.sep in source


def build_settings(workdir: Path | None, source: str = "") -> Config:
    """The settings of the build in a working directory, else the defaults; those of a published model are its own."""
    if is_model_folder(source):
        from builder.pipeline.model_folders import read_description
        from builder.release.card import DESCRIPTION

        made = read_description(Path(source))
        read_by = {"rules.convention": made.convention, "annotate.backend": made.backend}
        return filled(Config, read_by, str(Path(source) / DESCRIPTION))
    if workdir is None:
        return Config()
    from builder.pipeline.builds import remembered
    from builder.store import db, runs

    if not (workdir / db.NAME).is_file():
        return Config()
    with db.reading(workdir) as connection:
        begun = runs.setting(connection, "build") is not None
    return remembered(workdir).resolved.config if begun else Config()


def make_recipe(
    settings: Config, folders: Folders, convention: Convention | None = None, device: str = "auto"
) -> Recipe:
    """What reads texts by the settings of a build and these words; its convention and device if no other is given."""
    read_by = settings.annotate
    models = Path(read_by.models) if read_by.models else None
    device = device if device != "auto" else settings.device
    return Recipe(convention or settings.rules.convention, folders, read_by.backend, models, device)


def _model_name(workdir: Path, source: str) -> str:
    from builder.store import db, runs

    with db.reading(workdir) as connection:
        rounds = [(done.variant, f"{done.variant}{done.round}") for done in runs.rounds(connection)]
    chosen = [name for variant, name in rounds if source in ("", variant, name)]
    if not chosen:
        missing = f"no model {source!r}" if source else "no model"
        raise ConfigError(
            f"{missing} in {workdir}", fix="trained there: " + (", ".join(name for _, name in rounds) or "none")
        )
    return chosen[-1]


def _tagging(folder: Path, device: str, recipe: Recipe, aspects: Sequence[str] | None, keep: bool = True) -> Predict:
    from builder.models.kinds import find_asked, load_extractor

    model = load_extractor(folder, device, keep)
    if (asked := find_asked(model)) is None:
        if aspects is not None:
            raise _not_asked(f"{folder.name} was trained without aspects in its question")
        return model.predict
    rules = RuleSystem(recipe)

    def predict(texts: Sequence[str]) -> list[Triplets]:
        if aspects is not None:
            return asked.predict_named(texts, [[name for name in aspects if name in text] for text in texts])
        by_rules = rules.extract(texts)
        return asked.predict_named(texts, [list(map(aspect_text, triplets)) for triplets in by_rules])

    return predict


def _not_asked(why: str) -> ConfigError:
    return ConfigError(f"aspects cannot be given: {why}", where="--aspects", fix="leave --aspects out")


# ---- Files and streams


@dataclass(slots=True)
class Counts:
    """How many texts were read, how many triplets found, and in how many seconds."""

    texts: int = 0
    triplets: int = 0
    seconds: float = 0.0


def extract_texts(
    given: Iterable[Text], target: Path | TextIO, system: System, write: Writer, workers: int = 1, at_once: bool = False
) -> Counts:
    """Answer texts in order. `at_once` answers each before the next is read, as at a keyboard.

    A `target` that is a stream is written to as it is, without a progress bar: both would share the terminal.
    """
    counts, started = Counts(), time.monotonic()
    stream = not isinstance(target, Path)
    with _opened(target) as out, nullcontext() if stream else bar(None, "extract", unit=" texts") as shown:

        def counted() -> Iterator[AnsweredText]:
            for answer in _answers(given, system, workers, at_once):
                counts.texts += 1
                counts.triplets += len(answer.triplets)
                yield answer
                if shown is not None:
                    shown.update()

        for piece in write(counted()):
            out.write(piece)
            if at_once:
                out.flush()
    counts.seconds = time.monotonic() - started
    return counts


def _answers(given: Iterable[Text], system: System, workers: int, at_once: bool) -> Iterator[AnsweredText]:
    if at_once:
        for key, text in given:
            yield AnsweredText(key, text, system.extract([text])[0])
        return
    waiting = deque[Text]()

    def read_texts() -> Iterator[str]:
        for key, text in given:
            waiting.append((key, text))
            yield text

    for triplets in system.stream(read_texts(), workers):
        yield AnsweredText(*waiting.popleft(), triplets)


def read_aspects(path: Path) -> list[str]:
    """The aspects of a file, one a line, each once. InputError where it cannot be read or holds none."""
    lines = read_text(path, "write an aspect a line, UTF-8").splitlines()
    aspects = list(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if not aspects:
        raise InputError("no aspect here", where=str(path), fix="write an aspect a line")
    return aspects


@contextmanager
def _opened(target: Path | TextIO) -> Iterator[TextIO]:
    """Standard output for `-`, a device or pipe as it is; a file is written beside its place and renamed."""
    if not isinstance(target, Path):
        yield target
    elif target == STANDARD:
        yield sys.stdout
    elif target.exists() and not target.is_file() and not target.is_dir():
        with target.open("w", encoding="utf-8") as out:
            yield out
    else:
        with replacing(target) as handle:
            file = io.TextIOWrapper(handle, encoding="utf-8", newline="")
            yield file
            file.detach()
