"""`builder gold pool`: sample reviews, unite what the rules and the last model of each variant propose, and store it as
a pool. `builder gold annotate gold`: the labels of a pool as a gold file, or in any format of `builder export`.

The discriminator's verdicts on the candidates are kept as labels of the annotator `discriminator` (the paper's Table
4).
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from builder.core.errors import ConfigError, InputError, WorkdirError, did_you_mean
from builder.core.files import write_atomically
from builder.core.records import Label, Pool
from builder.gold.pool import LayerReview, PoolLayer, PoolSettings, make, name_of, sample
from builder.pipeline.layers import read_layer
from builder.release.export.formats import NAMES, export, skipped_lines
from builder.release.export.records import ReviewRow, triplet_row
from builder.reviews.script import language_tag
from builder.store import db, gold, pools, triplets
from builder.store.triplets import triplet_id
from builder.teaching.labelling import opened

DISCRIMINATOR = "discriminator"


@dataclass(frozen=True, slots=True)
class PoolResult:
    """A pool; `new` False where the very same was there already; reviews of the split; candidates by how many sources
    propose them.
    """

    pool: Pool
    new: bool
    available: int
    proposers: Counter[int]


def make_pool(workdir: Path, settings: PoolSettings) -> PoolResult:
    """Make a pool and store it. WorkdirError where nothing has been proposed yet, or the split is empty."""
    with opened(workdir) as connection:
        systems = pools.systems(connection)
        if not systems:
            raise WorkdirError(
                "no source has proposed triplets yet",
                where=str(workdir),
                fix="run `builder run seed`, or the whole build",
            )
        reviews = pools.reviews_of(connection, settings.split)
        if not reviews:
            raise WorkdirError(
                f"no review in split {settings.split!r}",
                where=str(workdir),
                fix="choose --split train, valid, test or all",
            )
        chosen = sample(reviews, settings)
        proposed = pools.proposals(connection, systems, [review.id for review in chosen])
        pool = make(chosen, proposed, systems, settings)
        new = not pools.exists(connection, pool.id)
        if new:
            keys = {review.id: review.key for review in reviews}
            ids = {
                (keys[i], name_of(proposal.triplet)): proposal.id for i, own in proposed.items() for proposal, _ in own
            }
            with db.atomic(connection):
                pools.write(connection, pool)
                _keep_verdicts(connection, pools.read(connection, pool.id), ids)
        proposers = Counter(len(candidate.sources) for review in pool.reviews for candidate in review.candidates)
    return PoolResult(pool, new, len(reviews), proposers)


def _keep_verdicts(connection: sqlite3.Connection, pool: Pool, ids: Mapping[tuple[str, str], int]) -> None:
    """`ids`: (review key, name of the candidate) -> id of the triplet that was judged."""
    judge = triplets.source_id(connection, DISCRIMINATOR)
    if judge is None:
        return
    verdicts = triplets.verdicts(connection, judge)
    known = [
        (candidate.id, verdicts.get(ids[review.key, name_of(candidate.triplet)]))
        for review in pool.reviews
        for candidate in review.candidates
    ]
    rows = [(i, Label(verdict)) for i, verdict in known if verdict is not None]
    gold.put(connection, gold.annotator(connection, DISCRIMINATOR, "discriminator"), rows, "pool")


OWN = "jsonl"
"""The format that `evaluate.gold` reads."""


@dataclass(frozen=True, slots=True)
class PoolGold:
    """What was written: the layer, reviews and labels in the file, reviews that the format cannot hold."""

    layer: PoolLayer
    reviews: int
    labels: int
    skipped: int = 0


def write_gold(
    workdir: Path, pool_id: str | None, path: Path, annotator: str = "", form: str = OWN, *, force: bool = False
) -> PoolGold:
    """Write the labels of a pool: what people decided, or those of `annotator`.

    ConfigError for an unknown format, and for an annotator without labels there; InputError where nothing is ready or
    the file is there already.
    """
    known = (OWN, *NAMES)
    if form not in known:
        raise ConfigError(f"unknown format {form!r}", fix=f"{did_you_mean(form, known)}known: {', '.join(known)}")
    if path.exists() and not force:
        raise InputError("exists already", where=str(path), fix="choose another name, or --force to replace it")
    with opened(workdir) as connection:
        layer = read_layer(connection, pools.chosen(connection, pool_id), annotator)
    if not layer.reviews:
        raise InputError(
            f"no review of pool {layer.pool} has all of its answers", where=str(workdir), fix="label it, or adjudicate"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    return _write_own(layer, path) if form == OWN else _write_format(layer, path, form)


def _write_own(layer: PoolLayer, path: Path) -> PoolGold:
    lines = (json.dumps(review.row(layer), ensure_ascii=False) + "\n" for review in layer.reviews)
    write_atomically(path, "".join(lines).encode())
    return PoolGold(layer, len(layer.reviews), layer.triplets)


def _write_format(layer: PoolLayer, path: Path, form: str) -> PoolGold:
    rows = [_release_row(review, layer.name) for review in layer.reviews]
    made = export(form, "test", rows)
    write_atomically(path, made.payload)
    aside = path.with_name(f"{path.name}.skipped.jsonl")
    if made.skipped:
        texts = {review.key: review.text for review in layer.reviews}
        write_atomically(aside, skipped_lines(made.skipped, texts).encode())
    else:
        aside.unlink(missing_ok=True)
    return PoolGold(layer, made.reviews, made.labels, len(made.skipped))


def _release_row(review: LayerReview, annotation: str) -> ReviewRow:
    """A labelled review as a row of a release, with its raw text."""
    language = language_tag(review.text)
    triplets = [
        triplet_row(f"{review.key}:{triplet_id(0, triplet):08x}", triplet, (annotation,), ())
        for triplet in review.triplets
    ]
    return {
        "id": review.key, "text": review.text, "language": language, "rating": review.rating, "source": None,
        "annotation": annotation, "unverified_negative": annotation == "silver" and not triplets, "triplets": triplets,
    }  # fmt: skip
