"""The foundation of a tagger that reads what the rules read, beside the characters.

In: texts. Out: their arrays with the rules' reading, and a trunk that takes both. Words and trees are those of the
embedded backend, whatever backend a build has: the model was trained on them.

What a model sees of the rules' reading of a text. In: a document and its `RuleReading`. Out: `RuleRows`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from threading import Lock
from zlib import crc32

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from builder.core.records import POLARITIES, Element
from builder.engine import Doc
from builder.engine.constituents import Constituent
from builder.engine.reading import RuleReader, RuleReading
from builder.engine.symbols import SYMBOLS
from builder.language import nlp
from builder.language.lexicon.folders import SHIPPED, Folders
from builder.language.lexicon.resources import Lexicon
from builder.learning.encode import CHANNELS, UNK, Batch, Encoded, Encoder, RuleRows, TextEncoder, Vocabulary
from builder.learning.task import NetworkConfig
from builder.models.foundation import CharacterFoundation
from builder.models.network import Trunk

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


_SIZE = 24
"""Numbers of a label's vector."""
_HIDDEN = 0.1
"""The share of characters that training hides, so that the network learns from words it does not know."""


class _Rules:
    """What reads texts by words, trees and rules. Extractors of several threads share it, and take turns."""

    def __init__(self, backend: nlp.Backend, reader: RuleReader) -> None:
        self._backend, self._reader, self._turn = backend, reader, Lock()

    def read_rows(self, texts: Sequence[str]) -> list[RuleRows]:
        """What the rules say of each text."""
        with self._turn:
            docs = [Doc.of(text, tokens) for text, tokens in zip(texts, self._backend.annotate(texts), strict=True)]
            return [make_rows(doc, self._reader.read(doc)) for doc in docs]


_loaded: dict[Folders, tuple[Lexicon, nlp.Backend]] = {}
"""Words that this process has loaded for other work."""


def share_words(folders: Folders, lexicon: Lexicon, backend: nlp.Backend) -> None:
    """Have models that read by `folders` take this lexicon and this embedded backend, not load them once more."""
    _loaded[folders] = lexicon, backend


@cache
def _open_rules(folders: Folders) -> _Rules:
    if folders in _loaded:
        lexicon, backend = _loaded[folders]
    else:
        lexicon = folders.load_lexicon()
        backend = nlp.load("embedded", lexicon.words())
    return _Rules(backend, RuleReader(lexicon, folders.load_rules()))


class InformedEncoder:
    """Texts to arrays that hold what the rules read."""

    def __init__(self, characters: Encoder, rules: _Rules) -> None:
        self._characters, self._rules = characters, rules

    def __call__(self, text: str) -> Encoded:
        return self.encode_all([text])[0]

    def encode_all(self, texts: Sequence[str]) -> list[Encoded]:
        """The arrays of texts, which are annotated together."""
        rows = self._rules.read_rows(texts)
        return [replace(self._characters(text), rules=own) for text, own in zip(texts, rows, strict=True)]


class InformedTrunk(Trunk):
    """Characters and the labels that the rules give them in context: Batch -> [B, T, D]."""

    def __init__(self, vocabulary: Vocabulary, config: NetworkConfig) -> None:
        super().__init__(vocabulary, config, beside=_SIZE * len(KINDS))
        self.labels = nn.ModuleList(nn.Embedding(count, _SIZE, padding_idx=0) for count in KINDS)

    def forward(self, batch: Batch) -> Tensor:
        assert batch.rules is not None, "the encoder is informed"
        labels = [embed(batch.rules.labels[..., i]) for i, embed in enumerate(self.labels)]
        return self.read(_hide(batch) if self.training else batch, torch.cat(labels, -1))


def _hide(batch: Batch) -> Batch:
    """The batch with some characters unknown, and the bigrams that they are part of empty."""
    hidden = (torch.rand(batch.ids.shape, device=batch.ids.device) < _HIDDEN) & batch.mask
    beside = functional.pad(hidden, (1, 0)) | functional.pad(hidden, (0, 1))
    return replace(batch, ids=batch.ids.masked_fill(hidden, UNK), bigrams=batch.bigrams.masked_fill(beside, 0))


@dataclass(frozen=True, slots=True, eq=False)
class InformedFoundation(CharacterFoundation):
    """Characters, and what the rules of `folders` read in them."""

    folders: Folders = SHIPPED

    @property
    def settings(self) -> Mapping[str, object]:
        return {"vocabulary": list(self.vocabulary.codes), "informed": True}

    @property
    def mark(self) -> str:
        return " informed"

    @property
    def pair_numbers(self) -> int:
        """By the last characters of both spans, and by the first ones."""
        return 2 * CHANNELS

    def make_encoder(self, config: NetworkConfig) -> TextEncoder:
        return InformedEncoder(Encoder(self.vocabulary, config.bigram_buckets), _open_rules(self.folders))

    def make_trunk(self, config: NetworkConfig) -> nn.Module:
        return InformedTrunk(self.vocabulary, config)
