"""Words replaced by what a masked language model expects in their place (WordEmbsAug: Kumar et al. 2020; nlpaug's
ContextualWordEmbsAug).

In: sentences with their words. Out: candidates in each of which `rate` of the words (one at least) are others, drawn
from the `top` that the model holds most likely there, by their probability. The model reads the sentence as it is:
what two words become in one candidate is not harmonised.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol, cast

from builder.augment.characters import amount, distinct, free, replacing
from builder.augment.records import Edit, Rewrite, Sentence, seeded
from builder.augment.settings import AugmentSettings
from builder.core.files import key_of

Options = dict[int, tuple[tuple[str, float], ...]]
"""By the index of a word: what may stand there, and how likely it is; the likeliest first."""
FILLERS = {"embedded": "builder.augment.boost.fill:embedded", "hub": "builder.augment.boost.fill:hub"}
AT_ONCE = 256
"""Sentences that a model is shown at once."""


class Filler(Protocol):
    """A masked language model. `expected` says of the given words of each sentence what else may stand there."""

    @property
    def digest(self) -> str: ...

    def expected(self, sentences: Sequence[Sentence], words: Sequence[Sequence[int]], top: int) -> list[Options]: ...


@dataclass(frozen=True, slots=True)
class WordEmbs:
    """The method, with its model."""

    rate: float
    top: int
    filler: Filler
    name: str = "word-embs"

    @property
    def signature(self) -> str:
        return f"word-embs/{key_of(self.rate, self.top, self.filler.digest)}"

    @property
    def digest(self) -> str:
        return self.filler.digest

    def propose(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Rewrite, ...]]:
        for at in range(0, len(sentences), AT_ONCE):
            part = sentences[at : at + AT_ONCE]
            for sentence, options in zip(
                part, self.filler.expected(part, list(map(free, part)), self.top), strict=True
            ):
                yield self._replace_words(sentence, options, copies, seeded(seed, "word-embs", sentence.id))

    def _replace_words(self, sentence: Sentence, options: Options, copies: int, random: Random) -> tuple[Rewrite, ...]:
        words = [i for i, option in options.items() if option]
        wanted = min(len(words), amount(self.rate, len(options)))

        def make(_: int) -> tuple[Edit, ...]:
            return replacing(sentence, [(i, _drawn(options[i], random)) for i in random.sample(words, wanted)])

        return distinct(sentence, make, copies) if words else ()


def _drawn(candidates: Sequence[tuple[str, float]], random: Random) -> str:
    return random.choices([word for word, _ in candidates], [chance for _, chance in candidates])[0]


def load(settings: AugmentSettings) -> WordEmbs:
    """Reads the masked language model, or trains the embedded one on the sentences of the train split. ModelError
    where that fails.
    """
    own = settings.word_embs
    module, _, function = FILLERS["hub" if own.base else "embedded"].partition(":")
    return WordEmbs(own.rate, own.top, cast(Filler, getattr(importlib.import_module(module), function)(settings)))
