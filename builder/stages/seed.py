"""seed: the rule engine over every annotated review; triplets and their story go to `triplets` and `proposals` of the source `rules`."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

from builder.config import Convention
from builder.engine import Doc, Engine
from builder.records import Review, Triplet
from builder.resources import Lexicon, load_lexicon, load_rules, overlays
from builder.stages.annotate import review_view, viewed
from builder.stages.context import Context, advance, bar, begin, sharded, to_stored
from builder.store import db, reviews, runs, triplets, usage

_worker: dict[str, object] = {}
_CHUNK = 1024
_Task = list[tuple[Review, str]]
_Answer = tuple[int, int, list[tuple[int, Triplet]]]


def run(context: Context) -> runs.Counts:
    connection = context.connection
    at = begin(context, "seed", triplets.clear)
    signature = context.key
    source = triplets.source_id(connection, "rules")
    if source is None:
        with db.atomic(connection):
            source = triplets.source(connection, "rules", "rules", signature)
    with bar(reviews.count(connection), "seed") as shown:
        for last, number, rows in sharded(_seed, _tasks(context, at), context.config.workers, _prepare, _resources(context)):
            with db.atomic(connection):
                triplets.propose(connection, source, rows)
                advance(connection, "seed", last)
            shown.update(number)
    usage.record(connection, _entries(context.lexicon))
    return triplets.counts(connection, "rules")


def extract(engine: Engine, lexicon: Lexicon, review: Review, words: str) -> list[Triplet]:
    """The rule triplets of a review, in offsets of its stored text."""
    shown = review_view(review, lexicon.variants)
    doc = Doc.of(shown.text, viewed(words, shown))
    return [to_stored(triplet, shown, review.text) for triplet in engine.extract(doc)]


def _entries(lexicon: Lexicon) -> Iterator[usage.Entry]:
    yield from (("aspects", one.word, one.cls, one.where) for one in lexicon.aspects.values())
    yield from (("opinions", one.word, one.category, one.where) for one in lexicon.opinions.values())


def _resources(context: Context) -> tuple[object, ...]:
    return overlays(context.workdir), context.config.rules.convention


def _tasks(context: Context, at: int) -> Iterator[_Task]:
    while rows := reviews.annotated(context.connection, at, _CHUNK):
        at = rows[-1][0].id
        yield rows


def _prepare(added: tuple[Path, ...], convention: Convention) -> None:
    lexicon = load_lexicon(overlays=added)
    _worker["lexicon"], _worker["engine"] = lexicon, Engine(lexicon, load_rules(), convention)
    gc.freeze()  # the lexicon stays: the collector need not look at it again and again


def _seed(task: _Task) -> _Answer:
    engine, lexicon = _worker["engine"], _worker["lexicon"]
    assert isinstance(engine, Engine) and isinstance(lexicon, Lexicon)
    return (
        task[-1][0].id,
        len(task),
        [(review.id, triplet) for review, words in task for triplet in extract(engine, lexicon, review, words)],
    )
