"""A round of variant E (builder.model.cotrain): taggers trained crosswise on what rules and taggers held together before."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from builder.model.task import Judge, TaggerConfig, sized
from builder.records import Review, StoredTriplet, Triplet
from builder.stages.annotate import review_view
from builder.stages.context import Context, ModelBar, to_stored
from builder.stages.rounds import Counted, Made, finish, listed_reviews
from builder.stages.training import examples, to_view
from builder.store import triplets

if TYPE_CHECKING:
    from builder.model.cotrain import Taggers


def round_(context: Context, variant: str, number: int, judge: Judge) -> None:
    """M_number trained crosswise on S_number, and what it holds together with the rules."""
    from builder.model.cotrain import load_taggers, train_taggers

    connection, config, started = context.connection, context.config, time.monotonic()
    shown = ModelBar(f"self-train {variant}{number}")
    rules = triplets.source_id(connection, "rules")
    assert rules is not None
    before = triplets.source_id(connection, f"{variant}{number - 1}") if number else rules
    assert before is not None, "the round before has run"
    listed = listed_reviews(context)
    stored = list(triplets.proposed(connection, before, "train"))
    if number:
        train, valid = (examples(context, one)[0] for one in (stored, triplets.proposed(connection, rules, "valid")))
        folds = config.discriminate.folds
        chars = sum(len(one.text) for one in train) * (folds - 1) // folds
        settings = sized(TaggerConfig(epochs=config.self_train.epochs, threads=config.threads), chars)
        taggers = train_taggers(train, valid, folds, settings, config.seed, context.models / f"{variant}{number}", shown)
    else:
        taggers = load_taggers(context.models / "panel" / "taggers")
    predictions = _held(context, rules, taggers, listed, shown)
    after, seeds = [one.id for one in stored], {one.id for one in triplets.proposed(connection, rules, "train")}
    counted = Counted(len(seeds), len(seeds & set(after)), len(set(after) - seeds))
    finish(context, judge, Made(variant, number, taggers.digest, predictions, after), counted, started, shown)


def _held(context: Context, rules: int, taggers: Taggers, listed: dict[str, list[Review]], shown: ModelBar) -> list[tuple[int, Triplet]]:
    """What rules and taggers hold together of every review, in stored offsets; on the train split no tagger speaks of what it learnt."""
    from builder.model.cotrain import fresh, support

    out = []
    for split, asked in listed.items():
        ruled: dict[int, list[StoredTriplet]] = {}
        for one in triplets.proposed(context.connection, rules, split):
            ruled.setdefault(one.review, []).append(one)
        views = [review_view(review, context.lexicon.variants) for review in asked]
        texts = [one.text for one in views]
        found = taggers.apart([one.key for one in asked], texts, shown) if split == "train" else taggers.proposals(texts, shown)
        for review, shown_as, proposals in zip(asked, views, found, strict=True):
            kept = []
            for one in ruled.get(review.id, ()):
                seen = to_view(one.triplet, shown_as)
                chance = support(seen, proposals) if seen else 0.0
                if seen and round(chance, 4) >= taggers.drop:
                    kept.append(seen)
                    out.append((review.id, replace(one.triplet, confidence=round(chance, 4))))
            out += [(review.id, to_stored(triplet, shown_as, review.text)) for triplet in fresh(kept, proposals)]
    return out
