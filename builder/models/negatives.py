"""Training data for the discriminator (paper, section 3.3.2). In: a review and its rule triplets. Out: YY, YN and NX
triplets. Pure.
"""

from __future__ import annotations

import hashlib
import random
from dataclasses import replace

from builder.core.records import POLARITIES, Triplet, Verdict
from builder.learning.task import VALENCE, Example, JudgedReview


def _item_random(seed: int, item: str) -> random.Random:
    """Random numbers of this item alone, so that order and worker count change nothing."""
    return random.Random(int.from_bytes(hashlib.sha256(f"{seed}\0{item}".encode("utf-8", "surrogatepass")).digest()))


def discriminator_data(example: Example, seed: int) -> JudgedReview:
    """Every rule triplet as YY, each once more with a random wrong polarity as YN, and unpaired aspects and opinions
    as NX.

    NX: all pairs of a distinct aspect and a distinct opinion (by spans) of the review, less the YY pairs whatever
    their polarity; of these twice as many as there are YY triplets, or all where there are fewer, each with a random
    polarity. NX triplets follow the order of the review's aspects, then opinions.
    """
    draw = _item_random(seed, example.id)
    wrong = [_recast(t, draw.choice([p for p in POLARITIES if p != t.polarity])) for t in example.triplets]
    pairs = {(t.aspect.spans, t.opinion.spans) for t in example.triplets}
    aspects = {t.aspect.spans: t for t in reversed(example.triplets)}
    opinions = {t.opinion.spans: t for t in reversed(example.triplets)}
    unpaired = [(a, o) for a in sorted(aspects) for o in sorted(opinions) if (a, o) not in pairs]
    most = min(2 * len(example.triplets), len(unpaired))
    chosen = sorted(draw.sample(range(len(unpaired)), most))
    crossed = [_cross(aspects[a], opinions[o], draw) for a, o in (unpaired[i] for i in chosen)]
    labelled: list[tuple[Triplet, Verdict]] = [(t, "YY") for t in example.triplets]
    labelled += [(t, "YN") for t in wrong]
    labelled += [(t, "NX") for t in crossed]
    return JudgedReview(example.id, example.text, tuple(labelled))


def _recast(triplet: Triplet, polarity: str) -> Triplet:
    chosen = next(p for p in POLARITIES if p == polarity)
    return replace(
        triplet, polarity=chosen, valence=VALENCE[chosen], source="negative", rules=(), reasons=None, confidence=None
    )


def _cross(aspect: Triplet, opinion: Triplet, draw: random.Random) -> Triplet:
    """The aspect of one triplet with the opinion of another, in a random polarity."""
    pair = replace(aspect, opinion=opinion.opinion, opinion_full=opinion.opinion_full)
    return _recast(pair, draw.choice(POLARITIES))
