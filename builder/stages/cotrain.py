"""Variant E (builder.model.cotrain): what the rules and the discriminator's cross-fitted panel hold together. It trains nothing more.

Its one set S_0 is that of the train split; a second round with taggers trained on it was measured to add more wrong triplets than right ones.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from builder.learning.task import Example, Judge
from builder.reader import review_view, to_text, to_view
from builder.records import Review, Triplet
from builder.stages import discriminate, predicting
from builder.stages.context import Context, ModelBar
from builder.stages.rounds import SPLITS, Made, asked, finish
from builder.stages.training import beside
from builder.store import reviews, triplets
from builder.store.triplets import JudgedTriplet
from builder.text import View

if TYPE_CHECKING:
    from builder.model.panel import Panel


def hold(context: Context, judge: Judge) -> None:
    """Round 0 of variant E, its only one."""
    from builder.model.panel import Panel

    assert isinstance(judge, Panel), "the config was checked"
    started = time.monotonic()
    shown = ModelBar("self-train E0")
    predictions = chain.from_iterable(_held(context, judge, split, shown) for split in SPLITS)
    finish(context, judge, Made("E", 0, judge.digest, predictions, None), None, started, shown)


def _held(context: Context, panel: Panel, split: str, shown: ModelBar) -> Iterator[tuple[int, Triplet]]:
    """What rules and panel hold together of every review, in stored offsets; on the train split no tagger speaks of what it learnt."""
    from builder.model.cotrain import fresh, widened

    connection = context.connection
    rules, judge = triplets.source_id(connection, "rules"), triplets.source_id(connection, discriminate.NAME)
    assert rules is not None and judge is not None, "rules and discriminator have run"
    ruled = beside(asked(context, split), triplets.judged(connection, rules, judge, split), lambda one: one.stored.review)

    def items() -> Iterator[tuple[Example, tuple[Review, View, list[JudgedTriplet]]]]:
        for review, listed in ruled:
            seen = review_view(review, context.lexicon.variants)
            yield Example(review.key, seen.text, ()), (review, seen, listed)

    told, folder = predicting.Told(shown, reviews.characters(connection, split)), context.models / "panel"
    found = predicting.along(items(), partial(predicting.sure, context, panel, folder, told, apart=split == "train"))
    for (review, seen, listed), proposals in found:
        own = [(one.score or 0.0, to_view(one.stored.triplet, seen)) for one in listed if (one.score or 0.0) >= panel.drop]
        kept = widened([replace(moved, confidence=round(score, 4)) for score, moved in own if moved], proposals)
        for triplet in kept + fresh(kept, proposals):
            yield review.id, to_text(triplet, seen, review.text)
