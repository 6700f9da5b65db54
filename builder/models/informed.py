"""The foundation of a tagger that reads what the rules read, beside the characters.

In: texts. Out: their arrays with the rules' reading, and a trunk that takes both. Words and trees are those of the
embedded backend, whatever backend a build has: the model was trained on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from threading import Lock

import torch
from torch import Tensor, nn
from torch.nn import functional

from builder.engine import Doc
from builder.engine.reading import RuleReader
from builder.language import nlp
from builder.language.lexicon.folders import SHIPPED, Folders
from builder.language.lexicon.resources import Lexicon
from builder.learning.encode import UNK, Batch, Encoded, Encoder, TextEncoder, Vocabulary
from builder.learning.rule_rows import CHANNELS, RuleRows
from builder.learning.task import NetworkConfig
from builder.models.foundation import CharacterFoundation
from builder.models.network import Trunk
from builder.models.rule_features import KINDS, make_rows

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
