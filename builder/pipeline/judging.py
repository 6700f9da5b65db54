"""The judge of a build: where it lies, its verdicts on stored triplets, and these as examples that models read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby, islice
from pathlib import Path
from typing import TypeVar

from builder.core.records import Review, StoredTriplet
from builder.core.settings import Config
from builder.engine.reader import review_view, to_view
from builder.language.lexicon.folders import Folders
from builder.language.lexicon.packs import JUDGE
from builder.learning.task import Example, Judge
from builder.models import kinds
from builder.models.trust import Standing, TrustLimits
from builder.pipeline import predictions
from builder.pipeline.context import Context
from builder.store import reviews, triplets
from builder.store.triplets import JudgedTriplet

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
            shown = review_view(review, context.lexicon.variants)
            kept = [
                (triplet.id, moved)
                for triplet in page[review.id]
                if (moved := to_view(triplet.triplet, shown)) is not None
            ]
            yield Example(review.key, shown.text, tuple(triplet for _, triplet in kept)), [i for i, _ in kept]


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
    return limits.place(judged.label, judged.score or 0.0, judged.rule, polarity, judged.margin)


def read_limits(context: Context) -> TrustLimits:
    """What variant E may do by the shipped model."""
    settings = json.loads((context.models / SHIPPED / JUDGE).read_text(encoding="utf-8"))
    return TrustLimits.read(settings["limits"])


def folder_of(context: Context) -> Path:
    """Where the judge of the config's mode lies."""
    return context.models / (NAME if context.config.discriminate.mode == "paper" else SHIPPED)
