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
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from builder.core.annotators import Annotators
from builder.core.errors import ConfigError
from builder.core.records import POLARITIES, Candidate, Element, Label, Pool, PoolReview, Review, StoredTriplet, Triplet
from builder.gold.items import meant

Proposals = Mapping[int, Sequence[tuple[StoredTriplet, tuple[tuple[str, float | None], ...]]]]
"""Review id -> its triplets, each with (source, confidence) of everyone who proposed it."""
ID_LENGTH = 12


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """`strata`: names of `STRATA` to sample by. `allocation`: each stratum by its share, or all strata alike."""

    n: int
    seed: int
    split: str
    strata: tuple[str, ...] = ()
    allocation: str = "proportional"


def sample(
    reviews: Sequence[Review], proposals: Proposals, sources: Mapping[str, str], settings: PoolSettings
) -> list[tuple[Review, str]]:
    """`settings.n` of `reviews` (all where there are fewer) in the pool's order, each with its stratum. ConfigError
    on unknown strata.

    `proposals` may be empty where no stratum looks at them (`PROPOSED`).
    """
    for name in settings.strata:
        if name not in STRATA:
            raise ConfigError(f"unknown stratum {name!r}", where="--stratify", fix="known: " + ", ".join(STRATA))
    cells = _cells(reviews, proposals, tuple(sources), settings.strata)
    return [(review, cells[review.id]) for review in _chosen(reviews, cells, settings)]


def make(
    chosen: Sequence[tuple[Review, str]], proposals: Proposals, sources: Mapping[str, str], settings: PoolSettings
) -> Pool:
    """The pool of the sampled reviews. `sources`: name -> signature of all whose proposals it unites."""
    pooled: list[PoolReview] = []
    at = 1
    for n, (review, stratum) in enumerate(chosen, 1):
        candidates = _blinded(settings.seed, review, proposals.get(review.id, ()), at)
        at += len(candidates)
        pooled.append(PoolReview(n, review.key, review.text, candidates, review.rating, stratum))
    config = {
        "n": settings.n,
        "strata": list(settings.strata),
        "allocation": settings.allocation,
        "sources": dict(sources),
    }
    digest = _digest(settings, config, pooled)
    return Pool(digest[:ID_LENGTH], settings.seed, settings.split, digest, config, tuple(pooled))


def name_of(triplet: Triplet) -> str:
    """What makes it the same triplet of a review, as text."""
    return json.dumps(triplet.key, separators=(",", ":"))


def draw(seed: int, *parts: object) -> bytes:
    """A random order: the hash of the seed and the item."""
    return hashlib.sha256(json.dumps([seed, *parts]).encode()).digest()


def _blinded(
    seed: int, review: Review, proposals: Sequence[tuple[StoredTriplet, tuple[tuple[str, float | None], ...]]], at: int
) -> tuple[Candidate, ...]:
    plain = [
        Candidate(None, replace(proposed.triplet, source="", confidence=None), tuple(sorted(who)))
        for proposed, who in proposals
    ]
    plain.sort(key=lambda candidate: draw(seed, review.key, name_of(candidate.triplet)))
    return tuple(replace(candidate, n=n) for n, candidate in enumerate(plain, at))


def _chosen(reviews: Sequence[Review], cells: Mapping[int, str], settings: PoolSettings) -> list[Review]:
    """The sample in presentation order, which is that of the draw, whatever the stratum."""
    by_cell: dict[str, list[Review]] = {}
    for review in sorted(reviews, key=lambda candidate: draw(settings.seed, candidate.key)):
        by_cell.setdefault(cells[review.id], []).append(review)
    sizes = {cell: len(members) for cell, members in by_cell.items()}
    quota = shares(sizes, min(settings.n, len(reviews)), settings.allocation == "equal")
    taken = [review for cell, members in by_cell.items() for review in members[: quota[cell]]]
    return sorted(taken, key=lambda review: draw(settings.seed, review.key))


def shares(sizes: Mapping[str, int], n: int, equal: bool = False) -> dict[str, int]:
    """`n` places over cells of these sizes: largest remainders of their shares, or alike; never more than a cell
    holds. n <= sum of sizes.
    """
    total = sum(sizes.values())
    assert n <= total, (n, total)
    quota = dict.fromkeys(sizes, 0) if equal else {cell: n * size // total for cell, size in sizes.items()}
    while (left := n - sum(quota.values())) > 0:
        room = [cell for cell in sizes if quota[cell] < sizes[cell]]
        order: Callable[[str], tuple[float, str]] = (
            (lambda cell: (quota[cell], cell))
            if equal
            else (lambda cell: (quota[cell] - n * sizes[cell] / total, cell))
        )
        for cell in sorted(room, key=order)[:left]:
            quota[cell] += 1
    return quota


def _cells(
    reviews: Sequence[Review], proposals: Proposals, sources: tuple[str, ...], strata: Iterable[str]
) -> dict[int, str]:
    named = [STRATA[name](reviews, proposals, sources) for name in strata]
    return {review.id: " ".join(cell(review) for cell in named) for review in reviews}


_Cell = Callable[[Review], str]
_Stratum = Callable[[Sequence[Review], Proposals, tuple[str, ...]], _Cell]


def _length(reviews: Sequence[Review], _: Proposals, __: tuple[str, ...]) -> _Cell:
    """Thirds of the reviews by length."""
    lengths = sorted(len(review.text) for review in reviews)
    third, two = (lengths[min(len(lengths) * k // 3, len(lengths) - 1)] if lengths else 0 for k in (1, 2))
    return lambda review: "short" if len(review.text) < third else "middle" if len(review.text) < two else "long"


def _rating(_: Sequence[Review], __: Proposals, ___: tuple[str, ...]) -> _Cell:
    return lambda review: "unrated" if review.rating is None else f"rating{review.rating:g}"


def _polarity(_: Sequence[Review], proposals: Proposals, __: tuple[str, ...]) -> _Cell:
    """The polarities that are proposed for the review."""

    def cell(review: Review) -> str:
        polarities = {proposed.triplet.polarity for proposed, _ in proposals.get(review.id, ())}
        return "+".join(name for name in POLARITIES if name in polarities) or "empty"

    return cell


def _disagreement(_: Sequence[Review], proposals: Proposals, sources: tuple[str, ...]) -> _Cell:
    """Whether every source proposes the same for the review."""

    def cell(review: Review) -> str:
        return "differ" if any(len(who) < len(sources) for _, who in proposals.get(review.id, ())) else "agree"

    return cell


STRATA: dict[str, _Stratum] = {
    "length": _length,
    "rating": _rating,
    "polarity": _polarity,
    "disagreement": _disagreement,
}
PROPOSED = frozenset({"polarity", "disagreement"})
"""Strata that look at what is proposed for a review."""


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
