"""What finds triplets in texts outside a build: the rules, or a trained model, which may come from a published folder.

In: texts, from any iterable. Out: their triplets in order, in offsets of the texts. The model is a variant's last one
in a working directory, or one that was published. `extracting` does it for files.

Publishing makes a model a folder that others can load. In: a working directory with a release, and the name of one of
its models. Out: `WORKDIR/published/NAME` with weights, configuration, tokenizer, a card, and a file that says which
model it is. What the model wrote about reviews stays where it is: those are somebody's texts.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from builder import __version__
from builder.core.config import filled
from builder.core.errors import ConfigError, ModelError, ReleaseError
from builder.core.files import read_settings, refusals, replace_folder, write_atomically
from builder.core.settings import Config, Convention
from builder.engine.reader import Recipe, RuleSystem, Triplets, split_batches, to_text
from builder.language.build_folders import folders_in
from builder.pipeline.builds import remembered
from builder.pipeline.holding import holder, shipped_holder
from builder.release.card import DESCRIPTION, FORMAT, ModelFacts, description, model_card
from builder.reviews.script import Variants
from builder.reviews.text import view
from builder.store import db, runs

# ---- Models as folders

_SEQ2SEQ = "paper.json"
_LEFT = "answers-"
"""What a model wrote about reviews."""


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A folder with a model to publish, and the tag of its version."""

    path: Path
    tag: str


@dataclass(frozen=True, slots=True)
class Described:
    """What a folder says of the model in it: its name, and how the rules that name aspects to it read."""

    name: str
    convention: str
    backend: str


def make_model_folder(workdir: Path, name: str) -> ModelFolder:
    """Write the folder of a model, in place of an older one.

    Raises:
        ConfigError: the working directory has no such model, or `name` is variant E, which is no single model.
        ReleaseError: nothing was released from there.
        ModelError: the model's files are damaged, or not those that the build trained.
    """
    from builder.models.kinds import load_extractor

    facts = _facts(workdir, name)
    source, target = workdir / "models" / facts.name, workdir / "published" / facts.name
    load_extractor(source, "cpu")  # its digest is checked
    draft = target.with_name(f".{facts.name}.new")
    with refusals(target):
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        try:
            for path in _files(source):
                shutil.copyfile(path, draft / path.name)
            if facts.seq2seq:
                kept = json.loads((draft / _SEQ2SEQ).read_text("utf-8"))
                kept["base"] = facts.base or Path(kept["base"]).name  # no paths of this machine
                write_atomically(draft / _SEQ2SEQ, (json.dumps(kept, sort_keys=True) + "\n").encode())
            write_atomically(draft / "README.md", model_card(facts).encode())
            write_atomically(draft / DESCRIPTION, description(facts).encode())
            replace_folder(draft, target)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return ModelFolder(target, facts.tag)


def read_description(folder: Path) -> Described:
    """What a folder with a published model says of it. ModelError where it is none."""
    path = folder / DESCRIPTION
    fix = "name a folder that `builder versions publish --model` or `builder model distil` made"
    if not path.is_file():
        what = f"this folder has no model to read with: there is no {DESCRIPTION}"
        raise ModelError(what if folder.is_dir() else "no such folder", where=str(folder), fix=fix)
    try:
        made = json.loads(read_settings(path))
        if made["format"] != FORMAT:
            raise ModelError(f"not a model of format {FORMAT}", where=str(path), fix=fix)
        name, convention, backend = (made[key] for key in ("name", "convention", "backend"))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        what = "this file does not describe a model: it needs format, name, convention and backend"
        raise ModelError(what, where=str(path), fix=fix) from error
    if not all(isinstance(value, str) for value in (name, convention, backend)):
        raise ModelError("name, convention and backend are texts", where=str(path), fix=fix)
    return Described(name, convention, backend)


def _files(source: Path) -> Iterator[Path]:
    for path in sorted(source.iterdir()):
        if path.is_file() and not path.name.startswith((".", _LEFT)):
            yield path


def _facts(workdir: Path, name: str) -> ModelFacts:
    config = remembered(workdir).resolved.config
    with db.reading(workdir) as connection:
        rounds = [done for done in runs.rounds(connection) if name in (done.variant, f"{done.variant}{done.round}")]
        known = [f"{done.variant}{done.round}" for done in runs.rounds(connection) if done.variant != "E"]
        release, scores = runs.last_release(connection), runs.metrics(connection)
    if name.startswith("E"):
        raise ConfigError(
            "variant E is rules with several models, and no model of its own", where="--model",
            fix=f"name one of {', '.join(known)}" if known else "build with self_train.variants that hold A, B, C or D",
        )  # fmt: skip
    if not rounds:
        fix = f"trained there: {', '.join(known) or 'none'}"
        raise ConfigError(f"no model {name!r} in {workdir}", where="--model", fix=fix)
    if release is None:
        raise ReleaseError(
            "nothing was released from there", where=str(workdir), fix="run `builder versions release` first"
        )
    done = rounds[-1]
    model = f"{done.variant}{done.round}"
    manifest = workdir / "models" / model / _SEQ2SEQ
    beginning = f"{model} against "
    own = [(score[0].removeprefix(beginning), *score[1:]) for score in scores if score[0].startswith(beginning)]
    return ModelFacts(
        model, done.model, config.release.name, release[0], release[1], config.release.licence, __version__,
        _base(config, manifest), manifest.is_file(), config.rules.convention, config.annotate.backend,
        done.reviews, done.triplets, own,
    )  # fmt: skip


def _base(config: Config, manifest: Path) -> str:
    """The hub name of the pretrained model; empty for a folder, which means nothing elsewhere."""
    from builder.learning.hub import is_folder
    from builder.models.kinds import base_of

    source = base_of(config)
    return "" if not source or is_folder(source) or Path(source).exists() else source


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
    convention: Convention = "natural",
    backend: str = "embedded",
    models: Path | None = None,
    aspects: Sequence[str] | None = None,
    domain: str | None = None,
    device: str = "auto",
) -> System:
    """What finds triplets as a working directory does. `backend` and its `models` read for the rules, with the words of
    `domain`, or of that of the working directory. Models run on `device`, which is that of the build for `auto`.

    A model whose question named aspects in training is asked about those of `aspects` that stand in a text, and about
    those that the rules find in it where none are given.

    `source`: `rules`, the last model of a variant (`C`), that of a round (`C2`), or of the last round of all ("").
    The rules are a part of variant E. Without a working directory, `E` is the rules with the model that builder
    ships. A path with a separator is the folder of a published model.

    ConfigError where the working directory has no such model, or where a model is wanted without one; and where
    `aspects` are given to a system that is not asked about any.
    """
    folders = folders_in(workdir)
    device = device if device != "auto" else build_settings(workdir, source).device
    recipe = Recipe(convention, replace(folders, domain=domain) if domain else folders, backend, models, device)
    if source == "rules":
        if aspects is not None:
            raise _not_asked("the rules find aspects themselves")
        return RuleSystem(recipe)
    if is_model_folder(source):
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
    predict = holder(workdir, recipe, device) if name == "E0" else _tagging(folder, device, recipe, aspects)
    return ModelSystem(name, predict, recipe.folders.load_lexicon().variants)


def open_shipped(recipe: Recipe) -> System:
    """The rules of a recipe with the model that builder ships; ConfigError where it ships none for them."""
    return ModelSystem(SHIPPED_SOURCE, shipped_holder(recipe), recipe.folders.load_lexicon().variants)


def open_build_system(
    workdir: Path | None,
    source: str = "",
    convention: Convention | None = None,
    aspects: Sequence[str] | None = None,
    domain: str | None = None,
    device: str = "auto",
) -> System:
    """What finds triplets as the build of a working directory does: with its backend and words, and by its convention
    and domain if no other is given. Without a build: the embedded backend and `natural`; a published model names its
    own.
    """
    settings = build_settings(workdir, source)
    models = Path(settings.annotate.models) if settings.annotate.models else None
    chosen = convention or settings.rules.convention
    return open_system(workdir, source, chosen, settings.annotate.backend, models, aspects, domain, device)


def is_model_folder(source: str) -> bool:
    """Whether a system is named by the folder of a published model: variants have no separator in their names."""
    return "/" in source or os.sep in source


def build_settings(workdir: Path | None, source: str = "") -> Config:
    """The settings of the build in a working directory; the defaults where none was begun. A published model reads by
    its own convention and backend.
    """
    if is_model_folder(source):
        made = read_description(Path(source))
        read_by = {"rules.convention": made.convention, "annotate.backend": made.backend}
        return filled(Config, read_by, str(Path(source) / DESCRIPTION))
    if workdir is None or not (workdir / db.NAME).is_file():
        return Config()
    with db.reading(workdir) as connection:
        begun = runs.setting(connection, "build") is not None
    return remembered(workdir).resolved.config if begun else Config()


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


def _tagging(folder: Path, device: str, recipe: Recipe, aspects: Sequence[str] | None, keep: bool = True) -> Predict:
    from builder.models.kinds import Asked, load_extractor
    from builder.models.paper.templates import aspect_text

    model = load_extractor(folder, device, keep)
    if not isinstance(model, Asked) or not model.names_aspects:
        if aspects is not None:
            raise _not_asked(f"{folder.name} was trained without aspects in its question")
        return model.predict
    asked = model
    rules = RuleSystem(recipe)

    def predict(texts: Sequence[str]) -> list[Triplets]:
        if aspects is not None:
            return asked.predict_named(texts, [[name for name in aspects if name in text] for text in texts])
        by_rules = rules.extract(texts)
        return asked.predict_named(texts, [list(map(aspect_text, triplets)) for triplets in by_rules])

    return predict


def _not_asked(why: str) -> ConfigError:
    return ConfigError(f"aspects cannot be given: {why}", where="--aspects", fix="leave --aspects out")
