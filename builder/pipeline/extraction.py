"""What finds triplets in texts outside a build: the rules, or a trained model, which may come from a published folder.

In: texts, from any iterable. Out: their triplets in order, in offsets of the texts. The model is a variant's last one
in a working directory, or one that was published. `extracting` does it for files. What only a working directory needs
is imported with it: the rules alone are to be ready soon.

What variant E holds of texts outside a build, by the very decisions that the release of the build makes.

In: a working directory, and views as the engine reads them. Out: their triplets with calibrated confidences. Model,
calibration and `release.min_confidence` are those of the build; without a judge the rules' triplets stay as they are.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from builder.core.config import filled
from builder.core.errors import ConfigError, ModelError
from builder.core.records import Triplet
from builder.core.settings import Config, Convention, ReleaseSettings
from builder.engine import Doc, RuleEngine
from builder.engine.reader import Recipe, RuleSystem, Triplets, make_reader, split_batches, to_text
from builder.language.lexicon.folders import folders_in
from builder.learning.task import Example
from builder.models.trust import Standing
from builder.reviews.script import Variants
from builder.reviews.text import view
from builder.store import db, runs, triplets

if TYPE_CHECKING:
    from builder.models.shipped import Shares, ShippedModel
    from builder.models.tagger import Proposal
    from builder.models.trust import Calibration

# ---- What variant E holds

HeldTriplets = tuple[Triplet, ...]


@dataclass(frozen=True, slots=True)
class Rated:
    """The shipped model, and what its scores are worth."""

    model: ShippedModel
    calibration: Calibration


Holder = tuple[Callable[[Sequence[str]], list[HeldTriplets]], Variants]
"""Views to triplets, and the variants of words by which a text becomes a view."""
_FEW = 16
"""So many texts are read on one thread: a second one would wait for the first longer than it works."""


def holder(workdir: Path, recipe: Recipe, device: str = "auto") -> Holder:
    """Views to the triplets that a release of the working directory would hold of them."""
    rated, least = rated_model(workdir, device), least_confidence(workdir)
    return _holding(recipe, rated, least)


def shipped_holder(recipe: Recipe) -> Holder:
    """Views to the triplets that rules and the shipped model hold together, without a working directory.

    ConfigError where no model is shipped for words and rules, or the convention is another than `natural`.
    """
    from builder.models.shipped import open_model

    folder = recipe.folders.model
    if folder is None or recipe.convention != "natural":
        raise ConfigError(
            f"no model is shipped for the domain {recipe.folders.domain} and the convention {recipe.convention}",
            fix="take the source rules, or name a working directory that was built",
        )
    model = open_model(folder)
    return _holding(recipe, Rated(model, model.calibration), ReleaseSettings().min_confidence)


def _holding(recipe: Recipe, rated: Rated | None, least: float) -> Holder:
    from builder.models.shipped import on_one_thread

    reader = make_reader(recipe)
    alone = rated and replace(rated, model=on_one_thread(rated.model))

    def predict(views: Sequence[str]) -> list[HeldTriplets]:
        docs = [Doc.of(text, tokens) for text, tokens in zip(views, reader.backend.annotate(views), strict=True)]
        ruled = [reader.engine.extract(doc) for doc in docs]
        chosen = alone if len(views) <= _FEW else rated
        return ruled if chosen is None else hold(chosen, reader.engine, docs, ruled, least)

    return predict, reader.lexicon.variants


def least_confidence(workdir: Path) -> float:
    """`release.min_confidence` of the build; 0 of one that was begun before there was such a setting."""
    return float(_setting(workdir, "release.min_confidence", 0))


def _setting(workdir: Path, key: str, otherwise: Any) -> Any:
    with db.reading(workdir) as connection:
        config = json.loads(runs.setting(connection, "build") or '{"config": {}}')["config"]
    return config.get(key, otherwise)


def rated_model(workdir: Path, device: str = "auto") -> Rated | None:
    """The shipped model in a working directory with its curves; None where it did not judge."""
    from builder.models.shipped import load_model
    from builder.models.trust import load_calibration
    from builder.pipeline.judging import SHIPPED

    with db.reading(workdir) as connection:
        judged = triplets.source_id(connection, "discriminator") is not None
    if not judged or _setting(workdir, "discriminate.mode", "auto") != "auto":
        return None
    folder = workdir / "models" / SHIPPED
    if not folder.is_dir():
        raise ModelError(
            "an earlier version judged it", where=str(workdir), fix=f"run `builder resume --workdir {workdir}`"
        )
    model = load_model(folder, device if device != "auto" else str(_setting(workdir, "device", "auto")))
    calibration = load_calibration(folder)
    return None if calibration is None else Rated(model, calibration)


def hold(
    rated: Rated, engine: RuleEngine, docs: Sequence[Doc], ruled: Sequence[HeldTriplets], least: float
) -> list[HeldTriplets]:
    """What rules and model hold together of each document, less what has a lower confidence than `least`."""
    items = [Example("", doc.text, own) for doc, own in zip(docs, ruled, strict=True)]
    read = zip(docs, ruled, rated.model.read(items), strict=True)
    kept = [hold_one(rated, engine, doc, own, *answers) for doc, own, answers in read]
    return [tuple(triplet for triplet in own if (triplet.confidence or 0.0) >= least) for own in kept]


def hold_one(
    rated: Rated, engine: RuleEngine, doc: Doc, ruled: HeldTriplets, shares: Shares, proposals: Sequence[Proposal]
) -> HeldTriplets:
    """What rules and model hold together of a document that the model has read, with its confidence."""
    from builder.models.agreement import held
    from builder.models.shipped import seen

    limits = rated.model.limits
    placed = {triplet.key: place for triplet, place in zip(ruled, _place(rated, ruled, shares), strict=True)}
    stays = [placed[triplet.key][0] != "rejected" for triplet in ruled]
    kept = held(engine, doc, ruled, stays, [pair for pair in proposals if pair[0] >= limits.least], limits)
    new = [triplet for triplet in kept if triplet.key not in placed]
    placed |= {t.key: place for t, place in zip(new, _place(rated, new, seen(new, proposals)), strict=True)}
    return tuple(replace(triplet, confidence=rated.calibration.rate(*placed[triplet.key])) for triplet in kept)


def _place(rated: Rated, proposed: Sequence[Triplet], shares: Shares) -> list[tuple[Standing, float]]:
    """How the model stands to each triplet, with its probability of YY as the database keeps it."""
    out = list[tuple[Standing, float]]()
    for triplet, (label, score) in zip(proposed, rated.model.verdicts(shares), strict=True):
        standing = rated.model.limits.place(label, score, triplet.rule or "", triplet.polarity, triplet.margin)
        out.append(("model" if triplet.source != "rules" else standing, round(score, 6)))
    return out


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
        return ModelSystem(name, *holder(workdir, recipe, device))
    return ModelSystem(name, _tagging(folder, device, recipe, aspects), recipe.folders.load_lexicon().variants)


def open_shipped(recipe: Recipe) -> System:
    """The rules of a recipe with the model that builder ships; ConfigError where it ships none for them."""

    return ModelSystem(SHIPPED_SOURCE, *shipped_holder(recipe))


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
