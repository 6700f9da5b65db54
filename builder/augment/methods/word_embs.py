"""Words replaced by what a masked language model expects in their place (WordEmbsAug: Kumar et al. 2020; nlpaug's
ContextualWordEmbsAug).

In: sentences with their words. Out: candidates in each of which `rate` of the words (one at least) are others, drawn
from the `top` that the model holds most likely there, by their probability. The model reads the sentence as it is:
what two words become in one candidate is not harmonised.

The embedded model reads words (of Chinese those of the segmenter) and never sees the one it predicts, so one pass
serves all words of a sentence. One of a hub is shown the text with the word masked, once a word, batched: by one mask
in Latin script, by a mask a character in Han.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice, product
from math import prod
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Protocol

import numpy as np
import torch

from builder.augment.boost.classes import (
    SPECIAL,
    UNKNOWN,
    FoldVocabulary,
    TwoWay,
    TwoWayConfig,
    WordItem,
    collate,
    sized,
)
from builder.augment.boost.hub import MaskedModel, load_masked
from builder.augment.records import Edit, Rewrite, Sentence, amount, distinct, free, replacing, seeded
from builder.augment.settings import AugmentSettings
from builder.core.errors import ModelError
from builder.core.files import key_of
from builder.core.progress import ModelBar
from builder.learning.checkpoint import tensor_digest
from builder.learning.devices import choose
from builder.learning.encode import batches
from builder.learning.loop import fit, scope
from builder.learning.obtain import ModelShelf, TrainingRun, load_or_train, training_key
from builder.learning.task import seed_of
from builder.reviews.script import HAN

Options = dict[int, tuple[tuple[str, float], ...]]
"""By the index of a word: what may stand there, and how likely it is; the likeliest first."""
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
    return WordEmbs(own.rate, own.top, (load_hub if own.base else load_embedded)(settings))


# ---- Masked language models

AROUND = 160
"""Characters to both sides of a word that a model of a hub is shown."""
LONGEST = 4
"""Han characters of a word that is replaced."""


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedWords:
    """A two-way language model over words."""

    network: TwoWay
    vocabulary: FoldVocabulary
    config: TwoWayConfig

    @property
    def digest(self) -> str:
        description = f"({self.vocabulary.description}, {self.config!r})"
        return tensor_digest(self.network.state_dict(), description)[:16]

    def expected(self, sentences: Sequence[Sentence], words: Sequence[Sequence[int]], top: int) -> list[Options]:
        out = list[Options]({} for _ in sentences)
        items = [_item(sentence, self.vocabulary) for sentence in sentences]
        self.network.eval()
        with scope(self.config.threads), torch.inference_mode():
            for chosen in batches([len(item) for item in items], 4096):
                batch = collate([items[i] for i in chosen])
                met = self.network.predicted(*self.network.states(batch.words))
                for row, i in enumerate(chosen):
                    out[i] = self._options(sentences[i], met[row], words[i], top)
        return out

    def _options(self, sentence: Sentence, met: torch.Tensor, words: Sequence[int], top: int) -> Options:
        if not words:
            return {}
        known = self.vocabulary.known.tokens
        logits = torch.addmm(self.network.bias[SPECIAL:], met[list(words)], self.network.embed.weight[SPECIAL:].T)
        likely = logits.softmax(-1).topk(min(2 * top + 8, len(known)), sorted=True)
        rows = zip(words, likely.indices.tolist(), likely.values.tolist(), strict=True)
        return {
            i: tuple(islice(_written(sentence, i, zip((known[n] for n in numbers), chances, strict=True)), top))
            for i, numbers, chances in rows
        }


def _item(sentence: Sentence, vocabulary: FoldVocabulary) -> WordItem:
    words = [vocabulary.number(sentence.text[start:end]) for start, end in sentence.words] or [UNKNOWN]
    return WordItem(np.array(words, np.int64), np.empty((0, 2), np.int64), np.empty(0, np.int64))


def _written(sentence: Sentence, word: int, expected: Iterator[tuple[str, float]]) -> Iterator[tuple[str, float]]:
    """Other words than the one that stands there, capitalised as it is, of its script; no marks."""
    start, end = sentence.words[word]
    own = sentence.text[start:end]
    for candidate, chance in expected:
        if (
            candidate.isalnum()
            and candidate.lower() != own.lower()
            and bool(HAN.search(candidate)) == bool(HAN.search(own))
        ):
            yield (candidate.capitalize() if own[:1].isupper() and candidate.islower() else candidate), chance


def load_embedded(settings: AugmentSettings) -> EmbeddedWords:
    """Trained on the words of the given sentences, each text once. ModelError where there are none, or the loss is
    not finite.
    """
    given = list({sentence.text: sentence for sentence in settings.given.sentences if sentence.words}.values())
    if not given:
        raise ModelError(
            "no sentence to learn from", where="word-embs", fix="give sentences of the train split, or a base model"
        )
    config = replace(TwoWayConfig(), threads=settings.threads, dropout=0.2, language=1.0)
    vocabulary = FoldVocabulary.of(
        ([sentence.text[start:end] for start, end in sentence.words] for sentence in given), config.least, config.most
    )
    items = [_item(sentence, vocabulary) for sentence in given]
    config = sized(config, sum(map(len, items)), settings.word_embs.epochs)
    with scope(config.threads, seed_of(settings.seed, "word-embs")):
        network = TwoWay(len(vocabulary), 0, config)
    key = training_key("word-embs", (config, settings.seed), given, "embedded", __name__)

    def train(run: TrainingRun) -> dict[str, float]:
        def loss(chosen: list[int]) -> torch.Tensor:
            return network.loss([items[i] for i in chosen])

        fit(network, list(map(len, items)), loss, lambda: 0.0, config, run.seed, run.checkpoints, run.progress)
        return {"words": len(vocabulary)}

    with TemporaryDirectory() as nowhere, closing(ModelBar("masked language model", " words")) as progress:
        folder = (settings.given.models or Path(nowhere)) / f"word-embs-{key[:16]}"
        # 80 units wide: a GPU would wait for its batches
        load_or_train(ModelShelf(folder, settings.seed, progress, "cpu"), key, network, train)
    return EmbeddedWords(network, vocabulary, config)


@dataclass(frozen=True, slots=True, eq=False)
class HubWords:
    """A masked language model of transformers; `alone` are the tokens that are a word, or a Han character, by
    themselves.
    """

    model: MaskedModel
    alone: dict[int, str]
    threads: int

    @property
    def digest(self) -> str:
        return self.model.digest

    def expected(self, sentences: Sequence[Sentence], words: Sequence[Sequence[int]], top: int) -> list[Options]:
        asked = [(n, i) for n, word in enumerate(words) for i in word if _masks(sentences[n], i)]
        texts = [_around(sentences[n], i, self.model.tokenizer.mask_token) for n, i in asked]
        out = list[Options]({} for _ in sentences)
        for (n, i), masks in zip(
            asked, self.model.at_masks(texts, top, frozenset(self.alone), self.threads), strict=True
        ):
            choices = [
                [
                    (self.alone[token], chance)
                    for token, chance in mask
                    if len(self.alone[token]) == 1 or len(masks) == 1
                ]
                for mask in masks
            ]
            joined = product(*(choice[: max(2, top // len(masks))] for choice in choices))
            ranked = sorted(
                (
                    (("".join(word for word, _ in combination)), prod(chance for _, chance in combination))
                    for combination in joined
                ),
                key=lambda option: -option[1],
            )
            out[n][i] = tuple(islice(_written(sentences[n], i, iter(ranked)), top))
        return out


def _masks(sentence: Sentence, word: int) -> int:
    """How many masks stand for a word; 0 for one that is too long."""
    surface = sentence.text[slice(*sentence.words[word])]
    return 1 if not HAN.search(surface) else len(surface) if len(surface) <= LONGEST else 0


def _around(sentence: Sentence, word: int, mask: str) -> str:
    start, end = sentence.words[word]
    return (
        sentence.text[max(0, start - AROUND) : start]
        + mask * _masks(sentence, word)
        + sentence.text[end : end + AROUND]
    )


def load_hub(settings: AugmentSettings) -> HubWords:
    """The model that `word_embs.base` names. ModelError where it is none, or no masked language model."""
    model = load_masked(settings.word_embs.base)
    model.network.to(choose(settings.device))
    return HubWords(model, model.alone(), settings.threads)
