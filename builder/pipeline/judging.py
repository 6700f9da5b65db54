"""The judge of a build: where it lies, its verdicts on stored triplets, these as examples that models read, and what it
holds of texts outside the build, by the very decisions that the release of the build makes.

In: a working directory, and views as the engine reads them. Out: their triplets with calibrated confidences. Model,
calibration and `release.min_confidence` are those of the build; without a judge the rules' triplets stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from builder.core.errors import ConfigError, ModelError
from builder.core.records import Review, StoredTriplet, Triplet
from builder.core.settings import Config, ReleaseSettings
from builder.engine import Doc, RuleEngine
from builder.engine.reader import Reader, Recipe, Triplets, make_reader, review_view, to_view
from builder.language.lexicon.folders import Folders
from builder.language.lexicon.packs import JUDGE
from builder.learning.task import Example, Judge
from builder.models import kinds
from builder.models.trust import Standing, TrustLimits
from builder.pipeline import predictions
from builder.pipeline.context import Context
from builder.store import db, reviews, triplets
from builder.store.triplets import JudgedTriplet

if TYPE_CHECKING:
    from builder.models.shipped import Shares, ShippedModel
    from builder.models.text_reading import Proposal
    from builder.models.trust import Calibration

# ---- The judge of a build

_PAGE = 1000
"""Reviews that are fetched at a time."""
ReviewRow = TypeVar("ReviewRow")


def list_examples(context: Context, stored: Iterable[StoredTriplet]) -> list[Example]:
    """The examples of stored triplets, one for each review; offsets are those of the normalised view."""
    return [example for example, _ in stream_examples(context, stored)]


def stream_examples(context: Context, stored: Iterable[StoredTriplet]) -> Iterator[tuple[Example, list[int]]]:
    """The example of each review with the ids of its triplets; `stored` is in order of reviews."""
    grouped = ((review, list(own)) for review, own in groupby(stored, key=lambda triplet: triplet.review))
    while page := dict(islice(grouped, _PAGE)):
        for review in reviews.by_id(context.connection, list(page)):
            yield _make_example(context, review, page[review.id])


def stream_split(context: Context, split: str, source: int) -> Iterator[tuple[Example, list[int]]]:
    """Every review of a split likewise, with or without triplets that a source proposes for it."""
    stored = triplets.proposed(context.connection, source, split)
    in_split = reviews.in_split(context.connection, split)
    for review, own in join_rows(in_split, stored, lambda triplet: triplet.review):
        yield _make_example(context, review, own)


def _make_example(context: Context, review: Review, stored: Iterable[StoredTriplet]) -> tuple[Example, list[int]]:
    shown = review_view(review, context.lexicon.variants)
    kept = [(triplet.id, moved) for triplet in stored if (moved := to_view(triplet.triplet, shown)) is not None]
    return Example(review.key, shown.text, tuple(triplet for _, triplet in kept)), [i for i, _ in kept]


def join_rows(
    ordered_reviews: Iterable[Review], rows: Iterable[ReviewRow], review_of: Callable[[ReviewRow], int]
) -> Iterator[tuple[Review, list[ReviewRow]]]:
    """Each review with its rows; both are streams in order of reviews."""
    left = iter(rows)
    first = next(left, None)
    for review in ordered_reviews:
        own = []
        while first is not None and review_of(first) <= review.id:
            if review_of(first) == review.id:
                own.append(first)
            first = next(left, None)
        yield review, own


NAME = "discriminator"
SHIPPED = "shipped"
"""The folder of the working directory's copy of the shipped model."""
NO_JUDGE = "no model judges the triplets; releasing what the rules hold"
KnownVerdicts = dict[str, predictions.Verdicts]
"""Verdicts on the rules' triplets of a review, by its key."""


def judge_stored(
    context: Context,
    judge: Judge,
    source: int,
    stored: Iterable[StoredTriplet],
    progress: predictions.CharacterProgress,
    known: KnownVerdicts | None = None,
) -> None:
    """Judge stored triplets and write the verdicts as they come, inside the caller's transaction.

    Verdicts that are `known` are written without asking the judge again.
    """

    def write(ids: list[int], labels: predictions.Verdicts) -> None:
        rows = [(i, label, round(score, 6)) for i, (label, score) in zip(ids, labels, strict=True)]
        triplets.judge(context.connection, source, rows)

    def open_examples() -> Iterator[tuple[Example, list[int]]]:
        for example, ids in stream_examples(context, stored):
            if known and example.id in known:
                write(ids, known[example.id])
            else:
                yield example, ids

    ask = partial(predictions.classify, context, judge, folder_of(context), progress)
    for ids, answers in predictions.answer_pairs(open_examples(), ask):
        write(ids, answers)


def load_judge(context: Context) -> Judge | None:
    """The judge; None where there is none."""
    if triplets.source_id(context.connection, NAME) is None:
        return None
    if has_shipped_judge(context):
        from builder.models.shipped import load_model

        return load_model(folder_of(context), context.config.device)
    return kinds.load_judge(folder_of(context), context.config.device)


def find_shipped_model(config: Config, folders: Folders) -> Path | None:
    """The folder of the model that judges a build, where one is shipped for its words and rules.

    It knows the convention `natural` alone.
    """
    natural = config.profile != "rules" and config.rules.convention == "natural"
    return folders.model if natural and config.discriminate.mode == "auto" else None


def has_shipped_judge(context: Context) -> bool:
    """Whether the model that builder ships has judged this build."""
    judged = triplets.source_id(context.connection, NAME) is not None
    return judged and context.config.discriminate.mode == "auto"


def place(limits: TrustLimits, judged: JudgedTriplet) -> Standing:
    """How the judge leaves a triplet of the rules."""
    polarity = judged.stored.triplet.polarity
    return limits.place(judged.score or 0.0, judged.rule, polarity)


def read_limits(context: Context) -> TrustLimits:
    """What variant E may do by the shipped model."""
    settings = json.loads((context.models / SHIPPED / JUDGE).read_text(encoding="utf-8"))
    return TrustLimits.read(settings["limits"])


def folder_of(context: Context) -> Path:
    """Where the judge of the config's mode lies."""
    return context.models / (NAME if context.config.discriminate.mode == "paper" else SHIPPED)


# ---- What variant E holds of texts outside a build


@dataclass(frozen=True, slots=True)
class Rated:
    """The shipped model, and what its scores are worth."""

    model: ShippedModel
    calibration: Calibration


Holder = tuple[Callable[[Sequence[str]], list[Triplets]], Reader]
"""Views to triplets, and the reader that its rules read with."""
_FEW = 16
"""So many texts are read before a GPU would be ready."""


def holder(workdir: Path, settings: Config, recipe: Recipe) -> Holder:
    """Views to the triplets that a release of the working directory, whose build has these settings, would hold."""
    rated = _load_rated_model(workdir, settings, recipe.device)
    return _holding(recipe, lambda views: rated, settings.release.min_confidence)


def shipped_holder(recipe: Recipe) -> Holder:
    """Views to the triplets that rules and the shipped model hold together, without a working directory.

    ConfigError where no model is shipped for words and rules, or the convention is another than `natural`.
    """
    from builder.models.shipped import may_take_gpu, open_model

    folder = recipe.folders.model
    if folder is None or recipe.convention != "natural":
        raise ConfigError(
            f"no model is shipped for the domain {recipe.folders.domain} and the convention {recipe.convention}",
            fix="take the source rules, or name a working directory that was built",
        )

    @cache
    def rated(device: str) -> Rated:
        model = open_model(folder, device)
        return Rated(model, model.calibration)

    def choose(views: Sequence[str]) -> Rated:
        waits = recipe.device == "auto" and (len(views) <= _FEW or not may_take_gpu("auto"))
        return rated("cpu" if waits else recipe.device)

    choose(())  # what is broken is known before the first text
    return _holding(recipe, choose, ReleaseSettings().min_confidence)


def _holding(recipe: Recipe, choose: Callable[[Sequence[str]], Rated | None], least: float) -> Holder:
    reader = make_reader(recipe)

    def predict(views: Sequence[str]) -> list[Triplets]:
        docs = [Doc.of(text, tokens) for text, tokens in zip(views, reader.backend.annotate(views), strict=True)]
        ruled = [reader.engine.extract(doc) for doc in docs]
        rated = choose(views)
        return ruled if rated is None else hold(rated, reader.engine, docs, ruled, least)

    return predict, reader


def _load_rated_model(workdir: Path, settings: Config, device: str) -> Rated | None:
    """The shipped model in a working directory with its curves; None where it did not judge."""
    from builder.models.shipped import load_model
    from builder.models.trust import load_calibration

    with db.reading(workdir) as connection:
        judged = triplets.source_id(connection, NAME) is not None
    if not judged or settings.discriminate.mode != "auto":
        return None
    folder = workdir / "models" / SHIPPED
    if not folder.is_dir():
        raise ModelError(
            "an earlier version judged it", where=str(workdir), fix=f"run `builder resume --workdir {workdir}`"
        )
    calibration = load_calibration(folder)
    return None if calibration is None else Rated(load_model(folder, device), calibration)


def hold(
    rated: Rated, engine: RuleEngine, docs: Sequence[Doc], ruled: Sequence[Triplets], least: float
) -> list[Triplets]:
    """What rules and model hold together of each document, less what has a lower confidence than `least`."""
    items = [Example("", doc.text, own) for doc, own in zip(docs, ruled, strict=True)]
    read = zip(docs, ruled, rated.model.read(items), strict=True)
    kept = [hold_one(rated, engine, doc, own, *answers) for doc, own, answers in read]
    return [tuple(triplet for triplet in own if (triplet.confidence or 0.0) >= least) for own in kept]


def hold_one(
    rated: Rated, engine: RuleEngine, doc: Doc, ruled: Triplets, shares: Shares, proposals: Sequence[Proposal]
) -> Triplets:
    """What rules and model hold together of a document that the model has read, with its confidence."""
    from builder.models.combiner import held, origin_of
    from builder.models.shipped import seen

    limits = rated.model.limits
    placed = {
        own.key: (limits.place(score, own.rule or "", own.polarity), score)
        for own, (_, score) in zip(ruled, rated.model.verdicts(shares), strict=True)
    }
    staying = [own for own in ruled if placed[own.key][0] != "rejected"]

    def rate(triplet: Triplet) -> float:
        if origin := origin_of(triplet, staying):
            return rated.calibration.rate(*placed[origin.key])
        return rated.calibration.rate("model", rated.model.verdicts(seen([triplet], proposals))[0][1])

    likely = [pair for pair in proposals if pair[0] >= limits.least]
    kept = held(engine, doc, ruled, [placed[own.key] for own in ruled], likely, limits)
    return tuple(replace(triplet, confidence=rate(triplet)) for triplet in kept)
