"""`builder annotate gold`: the labels of a pool as a gold file, which `evaluate.gold` and `builder score` read, or in
any format of `builder export`.

In: a pool, and either what people decided together or the labels of one annotator (a person, or a language model). Out:
a file of the reviews whose candidates all have an answer. The others are left out and counted, and so are reviews that
a format cannot hold, which stand beside it with the reason.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from builder.core.errors import ConfigError, InputError, did_you_mean
from builder.core.files import write_atomically
from builder.gold.layer import LayerReview, PoolLayer
from builder.pipeline.pool_layers import read_layer
from builder.release.export.formats import NAMES, Words, export, skipped_lines
from builder.release.export.records import ReviewRow, triplet_row
from builder.release.exporting import segment_texts
from builder.reviews.script import language_tag
from builder.store import pools
from builder.store.triplet_rows import triplet_id
from builder.teaching.labelling import opened

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
    segment = partial(segment_texts, workdir=workdir) if form == "bio-words" else None
    return _write_own(layer, path) if form == OWN else _write_format(layer, path, form, segment)


def _write_own(layer: PoolLayer, path: Path) -> PoolGold:
    lines = (json.dumps(review.row(layer), ensure_ascii=False) + "\n" for review in layer.reviews)
    write_atomically(path, "".join(lines).encode())
    return PoolGold(layer, len(layer.reviews), layer.triplets)


def _write_format(layer: PoolLayer, path: Path, form: str, segment: Words | None) -> PoolGold:
    rows = [_release_row(review, layer.name) for review in layer.reviews]
    made = export(form, "test", rows, words=segment)
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
