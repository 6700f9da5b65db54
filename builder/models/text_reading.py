"""What a tagger says of texts, whatever its network runs on: windows, proposals, and the odds at places.

In: items, and a scorer of pieces: the tagger's network on torch (builder.models.tagger), or its layers on numpy
(builder.models.numpy_reader). Out: a `TextReading` an item. A text longer than the config's window is read in
pieces of whole sentences that overlap.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from builder.core.edges import overlap
from builder.core.records import POLARITIES, Element, Polarity, Span, Triplet
from builder.learning.encode import Encoded, TextEncoder, windows
from builder.learning.task import VALENCE, Example, Progress

ASPECT, OPINION = 0, 1
"""The layers."""
CUT = -2.2
"""Span logit above which a span is a candidate (p > 0.1)."""
DILATIONS = (1, 2, 4, 8)
"""Of the trunk's convolutions, in turn."""
DISTANCES = (0, 1, 2, 3, 4, 6, 8, 11, 15, 20, 28, 40, 60, 90, 130)
"""Characters between the ends of a pair from which the pair scorer knows it as more distant."""
NEAR = 12
"""Characters beside a pair in which other aspects are counted."""
TABLE_SIZE = 64
"""Numbers by which the span table knows where a span begins and ends."""
LONGEST_GAP = 6
"""Characters that a negator and what it denies may lie apart: parts of two opinions are joined over more."""
NEGATING = re.compile("[並毫絕從]?(?:不(?!錯)|沒|無(?![敵比])|未|非(?!常))|完全[不沒無]|談不上")
"""How negators of a core in two parts begin (不鹹 of 不會太鹹), in traditional script: words of praise begin alike."""
Proposal = tuple[float, Triplet]
Place = tuple[Span, Span]
"""The stretches of an aspect and of an opinion."""
LIMIT = 12.0
"""Log-odds beyond are taken for this."""
Key = tuple[tuple[Span, ...], tuple[Span, ...], Polarity]


@dataclass(frozen=True, slots=True)
class PairOdds:
    """What a tagger says of two places: the log-odds that the first is an aspect, that the second is an opinion, and
    that they belong together; and the logarithms of the polarities' probabilities. Where it has markers, `marked` are
    theirs for no triplet, for one of each polarity, and for one with other edges.
    """

    aspect: float
    opinion: float
    pair: float
    polarities: tuple[float, ...]
    marked: tuple[float, ...] = ()


class TextReader(Protocol):
    """A trained tagger, whatever its layers run on."""

    @property
    def digest(self) -> str: ...

    def read(self, items: Sequence[Example], floor: float, progress: Progress | None = None) -> list[TextReading]:
        """Of each item's text all proposals of a pair probability of `floor`, clashing ones included, and the odds at
        the places of those and of the item's own triplets. A triplet too long for a window has none.
        """
        ...

    def predict(self, texts: Sequence[str], progress: Progress | None = None) -> list[tuple[Triplet, ...]]:
        """The triplets of each text in text order, none of them clashing; `confidence` is the probability of pair and
        polarity.
        """
        ...


@dataclass(frozen=True, slots=True)
class TextReading:
    """What a tagger says of a text: proposals, and the odds at their places and at all that it was asked about."""

    proposals: list[Proposal]
    odds: dict[Place, PairOdds]


Floats = NDArray[np.float32]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A window of a text, by the number of its item, encoded, and the places in the window that are asked about."""

    encoded: Encoded
    item: int
    text: str
    span: Span
    asked: Sequence[Place]

    @property
    def asked_spans(self) -> Integers:
        """What is asked about as [n, layer, (start, end)] in the window."""
        return np.array(self.asked, np.int64).reshape(-1, 2, 2) - self.span[0]


@dataclass(frozen=True, slots=True, eq=False)
class OddsTable:
    """Of P pairs the log-odds of aspect, opinion and pair [P, 3], the logarithms of their polarities' probabilities
    [P, 3], and of the markers' [P, 5], or [P, 0] without any.
    """

    logits: Floats
    polarities: Floats
    marked: Floats

    def __iter__(self) -> Iterator[PairOdds]:
        for (aspect, opinion, pair), shares, marked in zip(
            self.logits.tolist(), self.polarities.tolist(), self.marked.tolist(), strict=True
        ):
            yield PairOdds(aspect, opinion, pair, tuple(shares), tuple(marked))


@dataclass(frozen=True, slots=True, eq=False)
class FoundPairs:
    """K pairs that a network proposes: the number of their piece [K], their spans in it [K, layer, (start, end)], their
    odds, the probability of the pair [K], the likeliest polarity and its probability [K], and whether a character of a
    span is of its core [K, layer, longest].
    """

    piece: Integers
    spans: Integers
    odds: OddsTable
    chance: Floats
    polarity: Integers
    certainty: Floats
    cores: NDArray[np.bool_]

    def with_marked(self, marked: Floats) -> FoundPairs:
        """The same with what markers say of the pairs."""
        return replace(self, odds=replace(self.odds, marked=marked))


Scores = tuple[OddsTable, FoundPairs | None]
"""Of some pieces the odds at all places that are asked about, in their order, and what is proposed."""


def cut_pieces(items: Sequence[Example], encode: TextEncoder, window: int) -> list[Piece]:
    """The windows of all items' texts with the places of their triplets: one too long for a window is in none."""
    pieces = []
    for number, item in enumerate(items):
        places = sorted({place_of(triplet) for triplet in item.triplets})
        for start, end in windows(item.text, window, window // 4):
            asked = [place for place in places if all(start <= first and past <= end for first, past in place)]
            pieces.append(Piece(encode(item.text[start:end]), number, item.text, (start, end), asked))
    return pieces


def add_scores(readings: Sequence[TextReading], pieces: Sequence[Piece], scores: Scores) -> None:
    """Enter what was scored of some pieces into the readings of their items."""
    asked_odds, proposed = scores
    places = [(piece.item, place) for piece in pieces for place in piece.asked]
    entries = list(zip(places, asked_odds, strict=True))
    if proposed is not None:
        for number, spans, odds, chance, polarity, certainty, bits in zip(
            proposed.piece.tolist(), proposed.spans.tolist(), proposed.odds, proposed.chance.tolist(),
            proposed.polarity.tolist(), proposed.certainty.tolist(), proposed.cores.tolist(), strict=True,
        ):  # fmt: skip
            piece, named = pieces[number], POLARITIES[polarity]
            elements = [_elements(piece, layer, spans[layer], bits[layer]) for layer in (ASPECT, OPINION)]
            confidence = round(chance * certainty, 4)
            triplet = Triplet(
                *elements[ASPECT], *elements[OPINION], named, VALENCE[named], source="tagger", confidence=confidence
            )
            entries.append(((piece.item, place_of(triplet)), odds))
            readings[piece.item].proposals.append((chance, triplet))
    for (item, place), odds in entries:
        own = readings[item].odds
        own[place] = max(odds, own.get(place, odds), key=lambda one: one.pair)


def joined(readings: Sequence[TextReading], pieces: Sequence[Piece]) -> list[TextReading]:
    """The readings where of what windows that overlap both propose the surer one stays."""
    several = {before.item for before, behind in pairwise(pieces) if before.item == behind.item}
    return [
        replace(own, proposals=_best_of_each(own.proposals)) if number in several else own
        for number, own in enumerate(readings)
    ]


def _best_of_each(proposals: Sequence[Proposal]) -> list[Proposal]:
    """Of what windows that overlap both propose the surer one."""
    best: dict[object, Proposal] = {}
    for proposal in proposals:
        key = proposal[1].aspect.spans, proposal[1].opinion.spans
        best[key] = max(proposal, best.get(key, proposal), key=lambda one: one[0])
    return list(best.values())


def place_of(triplet: Triplet) -> Place:
    """From where to where aspect and opinion reach, all that belongs to them included."""
    aspect, opinion = triplet.aspect_full, triplet.opinion_full
    return (aspect.start, aspect.end), (opinion.start, opinion.end)


def _elements(piece: Piece, layer: int, span: Span, core: Sequence[bool]) -> tuple[Element, Element]:
    """Core and full element of a span of a piece, in offsets of the text; a torn core is made whole."""
    start, end = (edge + piece.span[0] for edge in span)
    full = start, end
    parts = runs(core[: end - start], full)
    return (
        Element.at(piece.text, [full] if is_torn(piece.text, parts, layer) else parts),
        Element.at(piece.text, [full]),
    )


def runs(bits: Sequence[bool], full: Span) -> list[Span]:
    """The stretches of set bits as spans of the text; the full span where no bit is set."""
    out: list[Span] = []
    for i, bit in enumerate(bits, full[0]):
        if bit and out and out[-1][1] == i:
            out[-1] = out[-1][0], i + 1
        elif bit:
            out.append((i, i + 1))
    return out or [full]


def is_torn(text: str, parts: Sequence[Span], layer: int) -> bool:
    """Whether the parts of an element are no core of it: those of an aspect (待人 of 接待的人), and those of an opinion
    unless they are a negator and, not far behind it, what it denies (必點色 of 必點菜色).
    """
    if len(parts) == 1:
        return False
    start, end = parts[0]
    denied = layer != ASPECT and len(parts) == 2 and NEGATING.match(text[start:end])
    return not denied or parts[1][0] - parts[0][1] > LONGEST_GAP


def settled(readings: Sequence[TextReading]) -> list[tuple[Triplet, ...]]:
    """Of what is proposed of each text the surest of those that clash."""
    return [settle([triplet for _, triplet in reading.proposals]) for reading in readings]


def settle(triplets: Sequence[Triplet]) -> tuple[Triplet, ...]:
    """Of triplets whose aspects overlap and whose opinions overlap the most confident is kept; in text order."""
    kept: list[Triplet] = []
    for triplet in sorted(triplets, key=lambda t: (-(t.confidence or 0.0), t.aspect_full.spans, t.opinion_full.spans)):
        if not any(
            overlap(triplet.aspect_full, t.aspect_full) and overlap(triplet.opinion_full, t.opinion_full) for t in kept
        ):
            kept.append(triplet)
    return tuple(sorted(kept, key=in_place))


def in_place(triplet: Triplet) -> tuple[int, int, Key]:
    """Sorts as the rules do: in text order of the opinions. Scorers that match one to one in order of appearance
    depend on it.
    """
    return triplet.opinion.start, triplet.aspect.start, triplet.key
