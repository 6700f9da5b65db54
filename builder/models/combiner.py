"""Variant E: two views of a review check each other. In: the rules' triplets and a reader's proposals. Out: what both
together hold.

The rules know words and grammar, the reader knows what stands where in reviews; they err at different places (Blum and
Mitchell 1998). A rule triplet whose pair the judge finds improbable goes, where the judge may doubt it
(`TrustLimits.place`), and an unsure one where a sure proposal says the same of another aspect. One that the judge finds
likelier with the edges of a proposal gets these: the rules stop at a word they do not know (豆花 of 三色豆花). A
proposal of which the judge is sure comes in where no rule triplet contradicts it, and where the rules would give it the
same polarity. A polarity of the rules stands.

How likely a triplet is right, by all that rules and reader say of it (stacked generalisation, Wolpert 1992). In: the
rules' triplets of a review, and what the reader says of it. Out: the chances of the rules' triplets, and the reader's
proposals with theirs. It is a logistic regression over a handful of numbers, fitted on reviews that the reader was not
trained on. A user's labels move its weights a little (`Combiner.adapt`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from builder.core.edges import clashes, overlap, shared, tidied
from builder.core.records import POLARITIES, Element, Polarity, Triplet
from builder.engine import Doc, RuleEngine
from builder.models.text_reading import PairOdds, Proposal, TextReading, in_place, place_of, settle
from builder.models.trust import Placed, TrustLimits

# ---- What both together hold

FLOOR = 0.02
"""Proposals below are not looked at."""


def fresh(kept: Sequence[Triplet], proposals: Sequence[Proposal], limits: TrustLimits) -> list[Triplet]:
    """The sure proposals to take in beside the rule triplets that stay, none of them clashing with any, and none that
    says of one mention again what is said of it (很嫩很嫩).
    """
    own = [pair for pair in proposals if pair[1].source != "rules"]
    sure = settle([triplet for chance, triplet in own if chance >= limits.limit])
    taken = {_words_of(triplet) for triplet in kept}
    out = dict[object, Triplet]()
    for triplet in sure:
        if _words_of(triplet) not in taken and not any(clashes(triplet, other) for other in kept):
            out.setdefault(_words_of(triplet), triplet)
    return list(out.values())


def _words_of(triplet: Triplet) -> object:
    return triplet.aspect.spans, triplet.opinion.text, triplet.polarity


def reshaped(kept: Sequence[Triplet], proposals: Sequence[Proposal]) -> list[Triplet]:
    """The rule triplets that stay, with other edges where a proposal says that they are likelier."""
    shapes = [shape for _, shape in proposals if shape.source == "rules"]
    out: dict[object, Triplet] = {}
    for triplet in kept:
        best = next((shape for shape in shapes if _is_shape(shape, triplet)), triplet)
        out.setdefault(_words_of(best), _with_edges(triplet, best))
    return list(out.values())


def origin_of(held: Triplet, rules: Sequence[Triplet]) -> Triplet | None:
    """The triplet of the rules whose pair and polarity a held one has, perhaps with other edges; None for one that the
    model alone finds.
    """
    if held.source != "rules":
        return None
    same = (own for own in rules if own.key == held.key)
    return next(same, None) or next((own for own in rules if _is_shape(held, own)), None)


def _is_shape(shape: Triplet, triplet: Triplet) -> bool:
    return shape.polarity == triplet.polarity and clashes(shape, triplet)


def _with_edges(triplet: Triplet, other: Triplet) -> Triplet:
    """A triplet whose words are those of another at its place."""
    return replace(
        triplet,
        aspect=other.aspect,
        aspect_full=other.aspect_full,
        opinion=other.opinion,
        opinion_full=other.opinion_full,
        owner=triplet.owner if other.aspect_full == triplet.aspect_full else None,
    )


def merged(
    rules: Sequence[Triplet], placed: Sequence[Placed], proposals: Sequence[Proposal], limits: TrustLimits
) -> tuple[Triplet, ...]:
    """What the two views hold together, in text order: the rule triplets that stay, and what the model adds. One that
    the judge may drop and finds less likely than a proposal must be goes where such a proposal says the same of another
    aspect.
    """
    sure = settle([own for chance, own in proposals if own.source != "rules" and chance >= limits.limit])
    kept = [
        triplet
        for triplet, (standing, score) in zip(rules, placed, strict=True)
        if standing != "rejected" and (score >= limits.limit or not _gives_way(triplet, sure, limits))
    ]
    kept = reshaped(kept, proposals)
    return tuple(sorted(kept + fresh(kept, proposals, limits), key=in_place))


def _gives_way(triplet: Triplet, sure: Sequence[Triplet], limits: TrustLimits) -> bool:
    """Whether the judge may drop a triplet, and one of the sure proposals says of another aspect what it says."""
    may_go = limits.place(0.0, triplet.rule or "", triplet.polarity) == "rejected"
    return may_go and any(
        overlap(own.opinion_full, triplet.opinion_full) and not overlap(own.aspect_full, triplet.aspect_full)
        for own in sure
    )


def held(
    engine: RuleEngine,
    doc: Doc,
    rules: Sequence[Triplet],
    placed: Sequence[Placed],
    proposals: Sequence[Proposal],
    limits: TrustLimits,
) -> tuple[Triplet, ...]:
    """As `merged`, with every proposal as the engine weighs it, or as it is where they read none (also where they
    refuse it); those stay out of which they read another polarity, and exceptions. What the release holds and what
    `extract` finds are made here.
    """
    cut = [(chance, tidied(doc.text, _without_particle(doc.text, triplet))) for chance, triplet in proposals]
    tidy = [(chance, triplet) for chance, triplet in cut if triplet is not None]
    shapes = [pair for pair in tidy if pair[1].source == "rules"]
    given = [pair for pair in tidy if pair[1].source != "rules"]
    weighed = engine.weigh(doc, [triplet for _, triplet in given])
    stated = [
        (chance, own or engine.value(triplet), triplet.polarity)
        for own, (chance, triplet) in zip(weighed, given, strict=True)
    ]
    sound = [(chance, own) for chance, own, polarity in stated if own.polarity == polarity and not engine.excepts(own)]
    return merged(rules, placed, [*shapes, *sound], limits)


def _without_particle(text: str, triplet: Triplet) -> Triplet:
    """A triplet whose aspect neither begins nor ends with 的 (送餐的, 的空間), if there is more of it."""

    def cut(aspect: Element) -> Element:
        spans = [
            (start + (text[start] == "的"), end - (text[end - 1] == "的"))
            for start, end in aspect.spans
            if text[start:end].strip("的")
        ]
        return Element.at(text, spans) if spans else aspect

    return replace(triplet, aspect=cut(triplet.aspect), aspect_full=cut(triplet.aspect_full))


# ---- How likely a triplet is right

_LEAST = 0.05
"""Proposals whose chance is below are not weighed."""
NAMES = (
    "ruled", *POLARITIES, "pair", "exact", "polarity", "other aspect", "other opinion",
    "aspect here", "opinion here", "pair here", "polarity here", "marked", "marked polarity",
)  # fmt: skip
"""What the numbers of `describe` are called."""
_OF_MARKERS = NAMES[-2:]
_UNREAD = PairOdds(-8.0, -8.0, -8.0, (math.log(1 / 3),) * 3, (-0.001, -8.0, -8.0, -8.0, -8.0))
"""Of a pair that no window holds."""
PRIOR = 30.0
"""How firmly the shipped weights hold against labels: so many labels that contradict a number, in its usual range."""
_RAREST = 1e-3
"""Markers' probabilities nearer to 0 or 1 are taken for this far."""
_EDGES, _FIRM = "edge margin", 0.7
_STEPS, _SHORTEST, _NARROWEST, _FREE = 100, 1e-6, 0.25, 0.5
Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Combiner:
    """A weight for each number of `describe`, and an offset. `edge_margin`: how much likelier other edges than those of
    the rules must be, as a difference of log-odds.
    """

    weights: tuple[float, ...]
    offset: float
    edge_margin: float = _FIRM

    @classmethod
    def read(cls, kept: Mapping[str, float]) -> Combiner:
        """A combiner from what a file holds of it, perhaps of a reader without markers; KeyError, TypeError or
        ValueError where it holds none.
        """
        if unknown := kept.keys() - {*NAMES, "offset", _EDGES}:
            raise ValueError(f"unknown weights: {', '.join(sorted(unknown))}")
        numbers = {name: float(own) for name, own in (dict.fromkeys(_OF_MARKERS, 0.0) | dict(kept)).items()}
        if endless := [name for name, own in numbers.items() if not math.isfinite(own)]:
            raise ValueError(f"not finite: {', '.join(endless)}")
        return cls(tuple(numbers[name] for name in NAMES), numbers["offset"], numbers.get(_EDGES, _FIRM))

    @property
    def kept(self) -> dict[str, float]:
        """What a file holds of it: of markers nothing where they weigh nothing, as before there were any, and of edges
        only what is unusual.
        """
        named = zip(NAMES, self.weights, strict=True)
        weights = {name: own for name, own in named if own or name not in _OF_MARKERS}
        edges = {} if self.edge_margin == _FIRM else {_EDGES: self.edge_margin}
        return {"offset": self.offset, **edges, **weights}

    def read_review(self, ruled: Sequence[Triplet], reading: TextReading) -> tuple[Numbers, list[Proposal]]:
        """Of the rules' triplets the chances of YY, YN and NX [n, 3], and proposals with theirs: the reader's, and
        before them triplets of the rules with likelier edges.
        """
        shares, shapes = np.zeros((len(ruled), 3)), list[Proposal]()
        for row, triplet in enumerate(ruled):
            shape = self._shape(triplet, ruled, reading)
            turned = [label for label in POLARITIES if label != triplet.polarity]
            right, *others = self._chances(
                [describe(shape, label, reading, ruled=True) for label in (triplet.polarity, *turned)]
            ).tolist()
            shares[row, :2] = right, min(1 - right, max(others))
            if shape is not triplet:
                shapes.append((right, replace(shape, confidence=round(right, 4))))
        shares[:, 2] = 1 - shares[:, 0] - shares[:, 1]
        if not (triplets := likely(reading.proposals)):
            return shares, shapes
        chances = self._chances([describe(t, t.polarity, reading, ruled=False) for t in triplets]).tolist()
        proposed = [(c, replace(t, confidence=round(c, 4))) for c, t in zip(chances, triplets, strict=True)]
        return shares, [*shapes, *proposed]

    def _shape(self, triplet: Triplet, ruled: Sequence[Triplet], reading: TextReading) -> Triplet:
        """A triplet of the rules with the likeliest edges of a proposal at its place, if they are likelier than its
        own; none that another triplet of the rules has the place of, and none that the reader proposes with another
        polarity: its words may say the opposite (不甜 of 甜).
        """
        shapes = [
            shape
            for _, other in reading.proposals
            if other.polarity == triplet.polarity and clashes(triplet, other)
            if not shared(other.aspect_full, other.opinion_full)
            for shape in [_with_edges(triplet, other)]
            if not any(clashes(own, shape) and not clashes(own, triplet) for own in ruled)
        ]
        own, *odds = self._odds([describe(one, one.polarity, reading, ruled=True) for one in (triplet, *shapes)])
        likeliest, best = max(zip(odds, shapes, strict=True), key=lambda pair: pair[0], default=(own, triplet))
        return best if likeliest > own + self.edge_margin else triplet

    def adapt(self, described: Sequence[Sequence[float]], right: Sequence[bool]) -> Combiner:
        """The weights that are likeliest by labelled triplets and by these weights, the mean of a Gaussian prior; these
        where no triplet is labelled. Newton's method with shorter steps where it overshoots, on a convex loss.

        Args:
            described: a row of `describe` for each triplet.
            right: whether labels name that triplet.
        """
        if not described:
            return self
        held = np.hstack([np.array(described, float), np.ones((len(described), 1))])
        good, before = np.array(right, float), np.array([*self.weights, self.offset])
        firm = PRIOR * np.maximum(held.var(0), _NARROWEST)
        firm[-1] = _FREE
        weights = before.copy()

        def measure(odds: Numbers, moved: Numbers) -> float:
            return float(np.logaddexp(0, odds).sum() - good @ odds + firm @ (moved - before) ** 2 / 2)

        for _ in range(_STEPS):
            odds = held @ weights
            loss, chance = measure(odds, weights), np.exp(-np.logaddexp(0, -odds))
            slope = held.T @ (good - chance) - firm * (weights - before)
            step = np.linalg.solve((held * (chance * (1 - chance))[:, None]).T @ held + np.diag(firm), slope)
            while (size := float(abs(step).max())) > _SHORTEST and measure(
                held @ (weights + step), weights + step
            ) > loss:
                step /= 2
            if size <= _SHORTEST:
                break
            weights += step
        *own, offset = (round(float(weight), 4) for weight in weights)
        return replace(self, weights=tuple(own), offset=offset)

    def _chances(self, described: Sequence[Sequence[float]]) -> Numbers:
        return np.asarray(1 / (1 + np.exp(-self._odds(described))), np.float64)

    def _odds(self, described: Sequence[Sequence[float]]) -> Numbers:
        return np.asarray(np.array(described) @ np.array(self.weights) + self.offset, np.float64)


def describe_all(ruled: Sequence[Triplet], reading: TextReading) -> list[tuple[Triplet, list[float]]]:
    """Every triplet of a review that rules or reader find, with the numbers that are weighed."""
    of_rules = {triplet.key: triplet for triplet in ruled}
    others = [triplet for triplet in likely(reading.proposals) if triplet.key not in of_rules]
    both = [(triplet, True) for triplet in of_rules.values()] + [(triplet, False) for triplet in others]
    return [(t, describe(t, t.polarity, reading, ruled=of_both)) for t, of_both in both]


def likely(proposals: Sequence[Proposal]) -> list[Triplet]:
    """The proposals that are weighed."""
    return [triplet for chance, triplet in proposals if chance >= _LEAST]


def describe(triplet: Triplet, polarity: Polarity, reading: TextReading, *, ruled: bool) -> list[float]:
    """Whether the rules have it, and its polarity; of the reader's likeliest pair there the log-odds, whether it has
    the same spans, and the polarity's share in it; the log-odds of the likeliest pairs of its opinion with another
    aspect and of its aspect with another opinion; and what the reader and its markers say of just this place.
    """
    spans = triplet.aspect_full.spans, triplet.opinion_full.spans
    pair, other_aspect, other_opinion, best = FLOOR, FLOOR, FLOOR, None
    for chance, other in reading.proposals:
        same_aspect = overlap(triplet.aspect_full, other.aspect_full)
        if overlap(triplet.opinion_full, other.opinion_full):
            if not same_aspect:
                other_aspect = max(other_aspect, chance)
            elif chance > pair:
                pair, best = chance, other
        elif same_aspect:
            other_opinion = max(other_opinion, chance)
    share, exact = 0.5, False
    if best is not None:
        sure = min(1.0, (best.confidence or 0.0) / pair)
        share = sure if best.polarity == polarity else (1 - sure) / 2
        exact = (best.aspect_full.spans, best.opinion_full.spans) == spans
    here = reading.odds.get(place_of(triplet), _UNREAD)
    return [
        float(ruled), *(float(polarity == label) for label in POLARITIES),
        _log_odds(pair), float(exact), share, _log_odds(other_aspect), _log_odds(other_opinion),
        here.aspect, here.opinion, here.pair, here.polarities[POLARITIES.index(polarity)],
        *_marked(here.marked, POLARITIES.index(polarity)),
    ]  # fmt: skip


def _marked(logs: Sequence[float], polarity: int) -> tuple[float, float]:
    """Of what markers say the log-odds that a pair is a triplet with these edges, and the polarity's share in it."""
    if not logs:
        return 0.0, 0.5
    polarities = logs[1 : 1 + len(POLARITIES)]
    right = min(max(sum(map(math.exp, polarities)), _RAREST), 1 - _RAREST)
    shares = [math.exp(log - max(polarities)) for log in polarities]
    return math.log(right / (1 - right)), shares[polarity] / sum(shares)


def _log_odds(chance: float) -> float:
    sure = min(chance, 1 - FLOOR)
    return math.log(sure / (1 - sure))
