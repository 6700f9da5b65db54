"""What the rounds of every variant share: the reviews they read, and how a finished round is committed.

Extractors of self-training: trained on stored triplets, then asked about the reviews of the splits.

The two templates of the paper's Table 3: a model each, trained on all of the rules' triplets of train.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from builder.core.progress import ModelBar
from builder.core.records import SPLITS, Review, StoredTriplet, Triplet
from builder.engine.reader import review_view, to_text, to_view
from builder.learning.task import Example, Judge, TaggerConfig, TripletModel
from builder.models import kinds
from builder.models.paper.templates import Template
from builder.pipeline import judging, predictions
from builder.pipeline.context import Context
from builder.pipeline.judging import join_rows, list_examples
from builder.reviews.text import View
from builder.store import db, reviews, runs, triplets
from builder.store.triplets import JudgedTriplet

_PAGE = 2000
"""Predictions that are written at a time."""


@dataclass(frozen=True, slots=True)
class RoundResult:
    """The model's digest of a round, its predictions and the training set that they come from.

    Predictions are (review id, triplet); they may be computed while they are read. Without any, the rules' triplets
    stand. Without a training set it is what is predicted for the train split, as in variant E.
    """

    variant: str
    number: int
    digest: str
    predictions: Iterable[tuple[int, Triplet]] | None
    training: list[int] | None


@dataclass(frozen=True, slots=True)
class RoundCounts:
    """Triplets that a round predicted, accepted of these, and added to the training set."""

    predicted: int
    accepted: int
    added: int


def finish_round(
    context: Context,
    judge: Judge | None,
    result: RoundResult,
    counts: RoundCounts | None,
    started: float,
    shown: ModelBar,
    rate: Callable[[int], None] | None = None,
) -> None:
    """Commit a round in one transaction: its predictions, the verdicts on new triplets, the training set, the counts.

    Without a judge nothing is asked. Without `counts` they come from the rules' triplets and the training set. `rate`
    is called with the id of the round's source once its verdicts are written: it makes confidences of them.
    """
    connection, name = context.connection, f"{result.variant}{result.number}"
    with db.atomic(connection):
        source = triplets.source(connection, name, "model", result.digest)
        rules = triplets.require_source(connection, "rules")
        if result.predictions is None:
            triplets.repeat(connection, rules, source)
        else:
            _propose(context, source, name, result.predictions)
        if judge is not None:
            judge_new(context, judge, source, shown)
        if rate is not None:
            rate(source)
        if result.training is None:
            triplets.train_on(connection, result.variant, result.number, source)
        else:
            triplets.set_training(connection, result.variant, result.number, result.training)
        read, total, kept = triplets.training_counts(connection, result.variant, result.number, rules)
        counts = counts or RoundCounts(triplets.count(connection, rules, "train"), kept, total - kept)
        done = runs.Round(
            result.variant, result.number, context.key, result.digest, read, total, counts.predicted, counts.accepted,
            counts.added,
            time.monotonic() - started,
        )  # fmt: skip
        runs.finish_round(connection, done)
    shown.close()


def _propose(context: Context, source: int, name: str, predicted: Iterable[tuple[int, Triplet]]) -> None:
    """Store what a model predicts, as it comes."""
    rows = ((review, replace(triplet, rules=(), source=name)) for review, triplet in predicted)
    while page := list(islice(rows, _PAGE)):
        triplets.propose(context.connection, source, page)


def judge_new(context: Context, judge: Judge, proposer: int, shown: ModelBar) -> None:
    """Judge the triplets of a source that have no verdict yet, inside the caller's transaction."""
    connection = context.connection
    source = triplets.require_source(connection, judging.NAME)
    for split in SPLITS:
        verdicts = triplets.judged(connection, proposer, source, split)
        unjudged = (verdict.stored for verdict in verdicts if verdict.score is None)
        progress = predictions.CharacterProgress(shown, reviews.characters(connection, split, proposer))
        judging.judge_stored(context, judge, source, unjudged, progress)


def accepts(variant: str, number: int, judged: JudgedTriplet) -> bool:
    """Whether round `number` of variant A, B, C or D accepts a triplet by its verdict.

    A rule's triplet (round 0) stays where the judge abstains; a model's triplet needs the verdict YY.
    """
    if variant not in ("AC" if number == 0 else "ABC"):
        return True
    return judged.score is not None and judged.label in (("YY", None) if number == 0 else ("YY",))


def readable_reviews(context: Context, split: str) -> Iterator[Review]:
    """The reviews that models read: of train those with a rule triplet (the paper's successfully analysed ones); all
    of valid and test.
    """
    rules = triplets.require_source(context.connection, "rules")
    return reviews.in_split(context.connection, split, rules if split == "train" else None)


_SHARED = {"A0": "AC0", "C0": "AC0", "B0": "BD0", "D0": "BD0"}
"""Rounds with the same training set share their training: the second finds it done."""


def train_extractor(context: Context, name: str, ids: list[int], shown: ModelBar, shared: str = "") -> TripletModel:
    """The model of this name, trained on stored triplets by id and left in the working directory. `shared` names the
    same training by another name.
    """
    from builder.learning.checkpoint import train_once
    from builder.models.saved import load, save
    from builder.models.tagger import identify_training, train_tagger

    connection, config = context.connection, context.config
    rules = triplets.require_source(connection, "rules")
    train = list_examples(context, triplets.subset(connection, ids, config.self_train.most))
    valid = list_examples(context, triplets.proposed(connection, rules, "valid", config.self_train.most // 10))
    checkpoints = context.models / f"{shared or _SHARED.get(name, name)}.training"
    if kinds.writes(config):
        return kinds.train_writer(config, train, valid, context.models / name, checkpoints, shown)
    chars = sum(len(example.text) for example in train)
    settings = kinds.training_settings(TaggerConfig, config, config.self_train.epochs, chars)
    base = kinds.load_foundation(config, (example.text for example in train))
    training = partial(train_tagger, train, valid, settings, config.seed, checkpoints, shown, base)
    unique = identify_training(train, valid, settings, config.seed, "" if base is None else base.mark)
    read = partial(load, device=config.device)
    return train_once(unique, checkpoints, context.models / name, training, read, save)


def predict_splits(
    context: Context, model: TripletModel, name: str, after: list[int], shown: ModelBar, splits: Sequence[str] = SPLITS
) -> Iterator[tuple[int, Triplet]]:
    """The triplets that M_i predicts for every review that models read, in offsets of the stored text.

    A model may see what is known of a review: S_i in the train split, the rules' triplets elsewhere.
    """
    connection = context.connection
    rules = triplets.require_source(connection, "rules")
    for split in splits:
        stored = triplets.subset(connection, after) if split == "train" else triplets.proposed(connection, rules, split)
        pairs = (
            _known_example(context, review, known)
            for review, known in join_rows(readable_reviews(context, split), stored, lambda triplet: triplet.review)
        )
        progress = predictions.CharacterProgress(shown, reviews.characters(connection, split))
        ask = partial(predictions.extract, context, model, context.models / name, progress)
        for (review, seen), predicted in predictions.answer_pairs(pairs, ask):
            for triplet in predicted:
                yield review.id, to_text(triplet, seen, review.text)


def _known_example(
    context: Context, review: Review, stored: list[StoredTriplet]
) -> tuple[Example, tuple[Review, View]]:
    seen = review_view(review, context.lexicon.variants)
    known = tuple(moved for triplet in stored if (moved := to_view(triplet.triplet, seen)))
    return Example(review.key, seen.text, known), (review, seen)


TEMPLATE_SOURCES: dict[str, Template] = {"template-1": "1", "template-2": "2"}
"""Source -> the template that its model is asked with."""


def compare(context: Context, judge: Judge) -> runs.Counts:
    """Train what is due of the two models; how many triplets each predicts for test."""
    connection = context.connection
    rules, _ = (triplets.require_source(connection, name) for name in ("rules", judging.NAME))
    counts: dict[str, int | float | str] = {}
    for name, template in TEMPLATE_SOURCES.items():
        if triplets.source_id(connection, name) is None:
            _run(context, judge, name, template, [kept.id for kept in triplets.proposed(connection, rules, "train")])
        counts[f"{name} test"] = triplets.count(connection, triplets.require_source(connection, name), "test")
    return counts


def _run(context: Context, judge: Judge, name: str, template: Template, ids: list[int]) -> None:
    """Train one model, predict the test split with it, and judge that; commit all of it at once."""
    paper = replace(context.config.paper, template=template)
    asked = replace(context, config=replace(context.config, paper=paper))
    shown = ModelBar(name, kinds.unit(asked.config))
    shared = "BD0" if template == context.config.paper.template else name
    model = train_extractor(asked, name, ids, shown, shared)
    predicted = predict_splits(asked, model, name, ids, shown, ("test",))
    with db.atomic(context.connection):
        source = triplets.source(context.connection, name, "model", model.digest)
        _propose(context, source, name, predicted)
        judge_new(context, judge, source, shown)
    shown.close()
