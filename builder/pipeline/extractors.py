"""Extractors of self-training: trained on stored triplets, then asked about the reviews of the splits.

In: ids of triplets. Out: a model in the working directory, and the triplets that it predicts, in offsets of the stored
texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from builder.core.progress import ModelBar
from builder.core.records import Review, StoredTriplet, Triplet
from builder.engine.reader import review_view, to_text, to_view
from builder.learning.task import Example, TaggerConfig, TripletModel
from builder.models import kinds
from builder.pipeline import predictions
from builder.pipeline.context import Context
from builder.pipeline.examples import join_rows, list_examples
from builder.pipeline.rounds import SPLITS, readable_reviews
from builder.reviews.text import View
from builder.store import reviews, triplets

_SHARED = {"A0": "AC0", "C0": "AC0", "B0": "BD0", "D0": "BD0"}
"""Rounds with the same training set share their checkpoints: the second finds its training done."""


def train_extractor(context: Context, name: str, ids: list[int], shown: ModelBar, shared: str = "") -> TripletModel:
    """The model of this name, trained on stored triplets by id and left in the working directory. `shared` names the
    checkpoints of the same training by another name.
    """
    from builder.models.foundation import train_on
    from builder.models.saved import save
    from builder.models.tagger import train_tagger

    connection, config = context.connection, context.config
    rules = triplets.source_id(connection, "rules")
    assert rules is not None
    train = list_examples(context, triplets.subset(connection, ids, config.self_train.most))
    valid = list_examples(context, triplets.proposed(connection, rules, "valid", config.self_train.most // 10))
    checkpoints = context.models / f"{shared or _SHARED.get(name, name)}.training"
    if config.profile in kinds.KINDS:
        folder = context.models / name
        return kinds.KINDS[config.profile].train_extractor(config, train, valid, folder, checkpoints, shown)
    chars = sum(len(example.text) for example in train)
    settings = kinds.training_settings(TaggerConfig, config, config.self_train.epochs, chars)
    base = kinds.load_foundation(config, (example.text for example in train))
    training = partial(train_tagger, train, valid, settings, config.seed, checkpoints, foundation=base)
    extractor = train_on(base, training, config.threads, shown)
    save(extractor, context.models / name)
    return extractor


def predict_splits(
    context: Context,
    model: TripletModel,
    name: str,
    after: list[int],
    shown: ModelBar,
    splits: Sequence[str] = SPLITS,
) -> Iterator[tuple[int, Triplet]]:
    """The triplets that M_i predicts for every review that models read, in offsets of the stored text.

    A model may see what is known of a review: S_i in the train split, the rules' triplets elsewhere.
    """
    connection = context.connection
    rules = triplets.source_id(connection, "rules")
    assert rules is not None
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
