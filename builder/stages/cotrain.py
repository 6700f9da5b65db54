"""Variant E (builder.model.cotrain): what the rules and the discriminator's cross-fitted panel hold together. It trains nothing more.

Its one set S_0 is that of the train split; a second round with taggers trained on it was measured to add more wrong triplets than right ones.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from builder.model.task import Example, Judge
from builder.records import Review, StoredTriplet, Triplet
from builder.stages import discriminate, predicting
from builder.stages.annotate import review_view
from builder.stages.context import Context, ModelBar, to_stored
from builder.stages.rounds import Counted, Made, finish, listed_reviews
from builder.stages.training import to_view
from builder.store import triplets

if TYPE_CHECKING:
    from builder.model.panel import Panel


def hold(context: Context, judge: Judge) -> None:
    """Round 0 of variant E, its only one."""
    from builder.model.panel import Panel

    assert isinstance(judge, Panel), "the config was checked"
    connection, started = context.connection, time.monotonic()
    shown = ModelBar("self-train E0")
    listed = listed_reviews(context)
    predictions = _held(context, judge, listed, shown)
    train = {review.id for review in listed["train"]}
    after = sorted({triplets.triplet_id(review, one) for review, one in predictions if review in train})
    rules = triplets.source_id(connection, "rules")
    assert rules is not None
    seeds = {one.id for one in triplets.proposed(connection, rules, "train")}
    counted = Counted(len(seeds), len(seeds & set(after)), len(set(after) - seeds))
    finish(context, judge, Made("E", 0, judge.digest, predictions, after), counted, started, shown)


def _held(context: Context, panel: Panel, listed: dict[str, list[Review]], shown: ModelBar) -> list[tuple[int, Triplet]]:
    """What rules and panel hold together of every review, in stored offsets; on the train split no tagger speaks of what it learnt."""
    from builder.model.cotrain import fresh, widened

    connection = context.connection
    rules, judge = triplets.source_id(connection, "rules"), triplets.source_id(connection, discriminate.NAME)
    assert rules is not None and judge is not None, "rules and discriminator have run"
    scores = triplets.scores(connection, judge)
    out = []
    for split, asked in listed.items():
        ruled: dict[int, list[StoredTriplet]] = {}
        for one in triplets.proposed(connection, rules, split):
            if scores.get(one.id, 0.0) >= panel.drop:
                ruled.setdefault(one.review, []).append(one)
        views = [review_view(review, context.lexicon.variants) for review in asked]
        items = [Example(one.key, seen.text, ()) for one, seen in zip(asked, views, strict=True)]
        found = predicting.sure(context, panel, context.models / "panel", items, shown, apart=split == "train")
        for review, shown_as, proposals in zip(asked, views, found, strict=True):
            seen = [(to_view(one.triplet, shown_as), scores.get(one.id, 0.0)) for one in ruled.get(review.id, [])]
            kept = widened([replace(one, confidence=round(score, 4)) for one, score in seen if one], proposals)
            out += [(review.id, to_stored(one, shown_as, review.text)) for one in kept + fresh(kept, proposals)]
    return out
