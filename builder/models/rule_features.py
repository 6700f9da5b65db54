"""What a model sees of the rules' reading of a text. In: a document and its `RuleReading`. Out: `RuleRows`.

Every character has six labels: its unit, the group and the category of what it is part of, what its opinion is worth,
its part of speech, and its part in the rules' answer. A pair of an aspect and an opinion has seven numbers: the
polarity that the rules give it, by how much its aspect is ahead of others, and its score among the candidates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from zlib import crc32

import numpy as np

from builder.core.records import POLARITIES, Element
from builder.engine import Doc
from builder.engine.constituents import Constituent
from builder.engine.reading import RuleReading
from builder.engine.symbols import SYMBOLS
from builder.learning.rule_rows import RuleRows

_TAGS = (
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM"),
    *("PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X"),
)
_UNITS = tuple(sorted(SYMBOLS.values()))
_BUCKETS = 128
_VALUES = 12
_ASPECT, _OPINION, _WEIGHED = 1, 2, 4
"""Parts in the rules' answer, added up."""
KINDS = (2 * len(_UNITS) + 3, _BUCKETS, _BUCKETS, _VALUES, 2 * len(_TAGS) + 3, 8)
"""How many values each label of a character has; 0 says nothing."""
_MARGIN, _SCORE, _KNOWN, _BEST = 3, 4, 5, 6
"""Channels of a pair behind the POLARITIES: the margin, the score, that it was weighed, and that it came first."""
_STEEPEST = 4.0
"""Margins and scores of the decision are cut off there."""
_MOST = 64
"""Aspects and opinions of a text beyond that many are not numbered."""


def make_rows(doc: Doc, reading: RuleReading) -> RuleRows:
    """The labels and pairs of a document."""
    labels = np.zeros((len(doc.text), len(KINDS)), np.int32)
    for token in doc.tokens:
        _begin(labels[:, 4], token.start, token.end, _TAGS.index(token.pos) if token.pos in _TAGS else len(_TAGS))
    for item in reading.items:
        _label_item(labels, item, reading.values.get(item.start))
    for triplet in reading.triplets:
        for element, part in ((triplet.aspect_full, _ASPECT), (triplet.opinion_full, _OPINION)):
            labels[element.start : element.end, 5] |= part
    for opinion, _ in reading.weighed:
        labels[opinion.start : opinion.end, 5] |= _WEIGHED
    return _number_pairs(labels, reading)


def _begin(column: np.ndarray, start: int, end: int, value: int) -> None:
    column[start + 1 : end] = 2 * value + 2
    column[start : start + 1] = 2 * value + 1


def _label_item(labels: np.ndarray, item: Constituent, value: float | None) -> None:
    known = _UNITS.index(item.symbol) if item.symbol in _UNITS else len(_UNITS)
    _begin(labels[:, 0], item.start, item.end, known)
    if item.phrase is not None:
        start, end = item.phrase.core
        name = f"opinion {item.phrase.entry.category}"
        labels[item.start : item.end, 3] = 1 + min(_VALUES - 2, max(0, int(5.0 if value is None else value)))
    elif item.term is not None:
        start, end, name = item.start, item.end, f"aspect {item.term.cls}"
    else:
        return
    labels[start:end, 1] = _bucket(name.partition(".")[0])
    labels[start:end, 2] = _bucket(name)


def _bucket(name: str) -> int:
    return 1 + crc32(name.encode()) % (_BUCKETS - 1)


def _number_pairs(labels: np.ndarray, reading: RuleReading) -> RuleRows:
    """Aspects and opinions are told apart by where they end: heads come last in Chinese."""
    at = np.zeros((2, len(labels)), np.int32)
    numbers: tuple[dict[int, int], dict[int, int]] = ({}, {})
    cells: dict[tuple[int, int, int], float] = {}

    def fill(aspect: Element | Constituent, opinion: Element | Constituent, facts: Sequence[tuple[int, float]]) -> None:
        places = []
        for side, part in enumerate((aspect, opinion)):
            own = numbers[side].setdefault(part.end, len(numbers[side]) + 1)
            if own > _MOST:
                return
            at[side, part.start : part.end] = own
            places.append(own)
        cells.update({(places[0], places[1], channel): value for channel, value in facts})

    for triplet in reading.triplets:
        ahead = 1.0 if math.isinf(triplet.margin) else _squash(triplet.margin)
        facts = [(POLARITIES.index(triplet.polarity), 1.0), (_MARGIN, ahead)]
        fill(triplet.aspect_full, triplet.opinion_full, facts)
    for opinion, candidates in reading.weighed:
        for rank, candidate in enumerate(candidates):
            facts = [(_SCORE, _squash(candidate.score)), (_KNOWN, 1.0), (_BEST, float(rank == 0))]
            fill(candidate.aspect, opinion, facts)
    table = np.array(list(cells), np.int32).reshape(-1, 3)
    return RuleRows(labels, at[0], at[1], table, np.array(list(cells.values()), np.float32))


def _squash(score: float) -> float:
    return max(-_STEEPEST, min(_STEEPEST, score)) / _STEEPEST
