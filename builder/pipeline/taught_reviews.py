"""The labelled reviews that a working directory was taught (`builder gold gain --teach`).

In: `WORKDIR/taught.jsonl`, rows of gold with their texts. Out: examples for the taggers, each under the key that its
text has in the build, and the same labels for the reviews of the build.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builder.core.records import Review, Triplet
from builder.engine.reader import review_view, to_view
from builder.learning.task import Example
from builder.pipeline import layers
from builder.pipeline.context import Context
from builder.store import reviews

FILE = "taught.jsonl"
_NEW = -1
"""The row id of a labelled review that the build does not hold."""


@dataclass(frozen=True, slots=True)
class TaughtLabels:
    """A labelled review, its split (none if the build does not hold it), and all of its triplets."""

    review: Review
    split: str
    triplets: tuple[Triplet, ...]


def taught_file(workdir: Path) -> Path:
    """Where the labels of a working directory lie that taught it."""
    return workdir / FILE


def read_taught_labels(context: Context) -> list[TaughtLabels]:
    """The labels that taught the working directory, each text once; none of a review whose text has changed since."""
    path = taught_file(context.workdir)
    if not path.is_file():
        return []
    rows = {str(row["text"]): row for row in layers.rows(str(path))}
    keys = {str(row["id"]) for row in rows.values()}
    known: dict[str, tuple[Review, str]] = {}
    held = set()
    for split in ("train", "valid", "test"):
        for review in reviews.in_split(context.connection, split):
            if review.text in rows:
                known[review.text] = review, split
            if review.key in keys:
                held.add(review.key)
    return [_read_row(row, known, path) for text, row in rows.items() if text in known or str(row["id"]) not in held]


def _read_row(row: dict[str, Any], known: dict[str, tuple[Review, str]], path: Path) -> TaughtLabels:
    text = str(row["text"])
    review, split = known.get(text, (Review(_NEW, str(row["id"]), text, "traditional"), ""))
    labels = layers.labelled([{**row, "id": review.key}], [review], str(path))
    return TaughtLabels(review, split, tuple(triplet for _, triplet in labels))


def list_taught_examples(context: Context) -> Iterator[Example]:
    """The labelled reviews as the taggers read them."""
    for taught in read_taught_labels(context):
        shown = review_view(taught.review, context.lexicon.variants)
        moved = (to_view(triplet, shown) for triplet in taught.triplets)
        yield Example(taught.review.key, shown.text, tuple(triplet for triplet in moved if triplet is not None))
