"""The pool (paper, section 4.4): reviews sampled by seed, the union of what all sources propose, each candidate once,
in blinded order.

Every choice is a hash of the seed and the item, so that neither the order of rows nor another source moves what is
sampled.

The labels of a pool as a layer of reviews with triplets: gold where people labelled, silver where a language model
did. Each row of its file says who it was. Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from builder.core.records import Candidate, Element, Label, Pool, PoolReview, Review, StoredTriplet, Triplet
from builder.core.wording import Annotators
from builder.gold.items import meant

Proposals = Mapping[int, Sequence[tuple[StoredTriplet, tuple[tuple[str, float | None], ...]]]]
"""Review id -> its triplets, each with (source, confidence) of everyone who proposed it."""
ID_LENGTH = 12


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """So many reviews of a split; another seed samples and orders differently."""

    n: int
    seed: int
    split: str


def sample(reviews: Iterable[Review], settings: PoolSettings) -> list[Review]:
    """`settings.n` of `reviews`, all where there are fewer, in the pool's order."""
    return sorted(reviews, key=lambda review: draw(settings.seed, review.key))[: settings.n]


def make(chosen: Sequence[Review], proposals: Proposals, sources: Mapping[str, str], settings: PoolSettings) -> Pool:
    """The pool of the sampled reviews. `sources`: name -> signature of all whose proposals it unites."""
    pooled: list[PoolReview] = []
    at = 1
    for n, review in enumerate(chosen, 1):
        plain = [
            Candidate(None, replace(proposed.triplet, source="", confidence=None), tuple(sorted(who)))
            for proposed, who in proposals.get(review.id, ())
        ]
        candidates = number_blinded(settings.seed, review.key, plain, at)
        at += len(candidates)
        pooled.append(PoolReview(n, review.key, review.text, candidates, review.rating))
    config = {"n": settings.n, "sources": dict(sources)}
    digest = _digest(settings, config, pooled)
    return Pool(digest[:ID_LENGTH], settings.seed, settings.split, digest, config, tuple(pooled))


def name_of(triplet: Triplet) -> str:
    """What makes it the same triplet of a review, as text."""
    return json.dumps(triplet.key, separators=(",", ":"))


def draw(seed: int, *parts: object) -> bytes:
    """A random order: the hash of the seed and the item."""
    return hashlib.sha256(json.dumps([seed, *parts]).encode()).digest()


def number_blinded(seed: int, key: str, candidates: Iterable[Candidate], first: int) -> tuple[Candidate, ...]:
    """The candidates of a review in an order that says nothing, numbered from `first`."""
    ordered = sorted(candidates, key=lambda candidate: draw(seed, key, name_of(candidate.triplet)))
    return tuple(replace(candidate, n=n) for n, candidate in enumerate(ordered, first))


def shares(sizes: Mapping[str, int], n: int) -> dict[str, int]:
    """`n` places over cells of these sizes: largest remainders of their shares. n <= sum of sizes."""
    total = sum(sizes.values())
    assert n <= total, (n, total)
    quota = {cell: n * size // total for cell, size in sizes.items()}
    order = sorted(sizes, key=lambda cell: (quota[cell] - n * sizes[cell] / total, cell))
    for cell in order[: n - sum(quota.values())]:
        quota[cell] += 1
    return quota


def _digest(settings: PoolSettings, config: Mapping[str, object], reviews: Iterable[PoolReview]) -> str:
    digest = hashlib.sha256(json.dumps([settings.seed, settings.split, config], sort_keys=True).encode())
    for review in reviews:
        parts = [
            review.key,
            review.text,
            [[name_of(candidate.triplet), candidate.sources] for candidate in review.candidates],
        ]
        digest.update(json.dumps(parts).encode())
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class LayerReview:
    """A labelled review: its key, its text, and the triplets that it holds by these labels."""

    key: str
    text: str
    rating: float | None
    triplets: tuple[Triplet, ...]

    def row(self, layer: PoolLayer) -> dict[str, object]:
        """The review as the gold file of its layer has it."""
        triplets = [triplet_row(triplet) for triplet in self.triplets]
        return {
            "id": self.key, "text": self.text, "layer": layer.name, "annotators": layer.annotators,
            "triplets": triplets,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class PoolLayer:
    """What the labels of a pool amount to.

    Attributes:
        name: gold (people in the pool) or silver (a language model).
        annotator: whose labels these are; empty for what people decided together.
        open: reviews that are left out, since a candidate has no answer.
        unasked: candidates without any label, not even an abstention.
        without_polarity: wrong polarities for which nobody named the right one; they stand for no triplet.
    """

    pool: str
    name: str
    annotator: str
    reviews: tuple[LayerReview, ...]
    open: int
    unasked: int
    without_polarity: int

    @property
    def triplets(self) -> int:
        return sum(len(review.triplets) for review in self.reviews)

    @property
    def annotators(self) -> Annotators:
        return "language model" if self.name == "silver" else "people"

    @property
    def labelled_by(self) -> str:
        """Who labelled the layer, in words."""
        who = self.annotator if self.name == "silver" else "people"
        return f"{who}, pool {self.pool}"


def layer_of(
    pool: Pool, labels: Mapping[int, Label], checked: Collection[int], *, silver: bool, annotator: str = ""
) -> PoolLayer:
    """The layer of a pool by these labels (candidate id -> label).

    A review without a candidate needs a person who says that nothing is missing (`checked`); a language model is only
    asked about candidates, so for it there is nothing to say.
    """
    ready: list[LayerReview] = []
    unasked = without_polarity = 0
    for review in pool.reviews:
        asked = [candidate.id for candidate in review.candidates if candidate.n is not None]
        answers = [labels.get(candidate) for candidate in asked]
        unasked += answers.count(None)
        without_polarity += sum(
            answer is not None and answer.label == "YN" and answer.polarity is None for answer in answers
        )
        if all(answer is not None and answer.label for answer in answers) and (asked or silver or review.id in checked):
            ready.append(LayerReview(review.key, review.text, review.rating, _triplets_of(review, labels)))
    name = "silver" if silver else "gold"
    return PoolLayer(pool.id, name, annotator, tuple(ready), len(pool.reviews) - len(ready), unasked, without_polarity)


def _triplets_of(review: PoolReview, labels: Mapping[int, Label]) -> tuple[Triplet, ...]:
    """The triplets that the labels stand for, each once, in the order of the text."""
    answered = [(candidate, labels[candidate.id]) for candidate in review.candidates if candidate.id in labels]
    triplets = [triplet for candidate, label in answered if (triplet := meant(review, candidate, label))]
    unique = {triplet.key: triplet for triplet in triplets}
    return tuple(sorted(unique.values(), key=lambda triplet: (triplet.aspect.spans, triplet.opinion.spans)))


def triplet_row(triplet: Triplet) -> dict[str, object]:
    """A triplet as a gold file has it, with the spans of all four elements."""
    row: dict[str, object] = {}
    for name in ("aspect", "aspect_full", "opinion", "opinion_full"):
        element: Element = getattr(triplet, name)
        row |= {name: element.text, f"{name}_spans": [list(span) for span in element.spans]}
    return row | {"polarity": triplet.polarity, "valence": triplet.valence}
