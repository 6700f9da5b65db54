"""`builder annotate gold`: the labels of a pool as a gold file, which `evaluate.gold` and `builder score` read.

In: a pool, and either what people decided together or the labels of one annotator (a person, or a language model). Out:
JSON lines, one for each review whose candidates all have an answer. The others are left out and counted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from builder.errors import ConfigError, InputError
from builder.files import write_atomically
from builder.gold.items import meant
from builder.records import Candidate, Element, Label, PoolReview, Triplet
from builder.store import gold, pools
from builder.usecases.labelling import opened


@dataclass(frozen=True, slots=True)
class PoolGold:
    """What was written: reviews, their triplets, reviews left open; `kind` is gold (people) or silver (a model)."""

    pool: str
    kind: str
    reviews: int
    triplets: int
    open: int


def write_gold(workdir: Path, pool_id: str | None, path: Path, annotator: str = "", *, force: bool = False) -> PoolGold:
    """Write the labels of a pool: what people decided, or those of `annotator`.

    ConfigError for an annotator without labels there, InputError where nothing is ready or the file is there already.
    """
    if path.exists() and not force:
        raise InputError("exists already", where=str(path), fix="choose another name, or --force to replace it")
    with opened(workdir) as connection:
        pool = pools.read(connection, pools.chosen(connection, pool_id))
        people = gold.of_pool(connection, pool.id, "human")
        if annotator:
            everyone = gold.of_pool(connection, pool.id)
            if annotator not in everyone:
                known = ", ".join(everyone) or "nobody labelled it"
                raise ConfigError(f"{annotator!r} has no label in pool {pool.id}", fix=f"known: {known}")
            labels: Mapping[int, Label] = everyone[annotator]
        else:
            labels = {candidate: label for candidate, (label, _) in gold.final(connection, pool.id).items()}
        names = [annotator] if annotator else list(people)
        checked = {review for name in names for review in gold.checked(connection, pool.id, name)}
    kind = "silver" if annotator and annotator not in people else "gold"
    ready = {review.key: review for review in pool.reviews if _is_ready(review, labels, checked, kind)}
    if not ready:
        raise InputError(
            f"no review of pool {pool.id} has all of its answers", where=str(workdir), fix="label it, or adjudicate"
        )
    triplets = {key: _triplets_of(review, labels) for key, review in ready.items()}
    lines = [
        {"id": key, "text": review.text, "layer": kind, "triplets": [_row(triplet) for triplet in triplets[key]]}
        for key, review in ready.items()
    ]
    content = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content.encode())
    return PoolGold(pool.id, kind, len(ready), sum(map(len, triplets.values())), len(pool.reviews) - len(ready))


def _is_ready(review: PoolReview, labels: Mapping[int, Label], checked: set[int], kind: str) -> bool:
    """Whether every proposed candidate has an answer.
    A review without one needs a person who says nothing is missing.
    """
    asked = [candidate for candidate in review.candidates if candidate.n is not None]
    if not asked:
        return kind == "silver" or review.id in checked
    return all(_is_answered(candidate, labels) for candidate in asked)


def _is_answered(candidate: Candidate, labels: Mapping[int, Label]) -> bool:
    """Whether a label says what is right; a wrong polarity without the right one does not."""
    label = labels.get(candidate.id)
    return label is not None and label.label is not None and (label.label != "YN" or label.polarity is not None)


def _triplets_of(review: PoolReview, labels: Mapping[int, Label]) -> list[Triplet]:
    """The triplets that the labels stand for, each once, in the order of the text."""
    answered = [(candidate, labels[candidate.id]) for candidate in review.candidates if candidate.id in labels]
    triplets = [triplet for candidate, label in answered if (triplet := meant(review, candidate, label))]
    unique = {triplet.key: triplet for triplet in triplets}
    return sorted(unique.values(), key=lambda triplet: (triplet.aspect.spans, triplet.opinion.spans))


def _row(triplet: Triplet) -> dict[str, object]:
    elements: dict[str, Element] = {
        "aspect": triplet.aspect,
        "aspect_full": triplet.aspect_full,
        "opinion": triplet.opinion,
        "opinion_full": triplet.opinion_full,
    }
    row: dict[str, object] = {}
    for name, element in elements.items():
        row |= {name: element.text, f"{name}_spans": [list(span) for span in element.spans]}
    return row | {"polarity": triplet.polarity, "valence": triplet.valence}
