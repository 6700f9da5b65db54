"""A surrogate on a masked language model of a hub or folder (extra `augment`), and its pseudo-perplexity.

Equation 2 of BoostAug is meant literally: every token is masked in turn. The surrogate is a classifier of the bench,
fine-tuned on the fold with both heads; the language modelling head is the checkpoint's own, so that perplexity speaks
of the fold's kind of text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from builder.augment.bench.classifiers import (
    FINE_TUNING,
    MODELS,
    Choice,
    ClassifierConfig,
    ClassifierItem,
    Means,
    Task,
    words_of,
)
from builder.augment.bench.encoders import PretrainedEncoder
from builder.augment.bench.learn import TrainedClassifier, learn
from builder.augment.candidates import Sentence
from builder.augment.catalogue import AugmentSettings
from builder.augment.method_settings import BoostSettings
from builder.augment.methods.boost_embedded import read_outcome
from builder.augment.methods.boost_filters import SurrogateReading
from builder.learning.checkpoint import tensor_digest
from builder.learning.devices import device_of, in_parts
from builder.learning.encode import batches
from builder.learning.loop import scope

# ---- Masked language models

ROOM = 4096
"""Tokens of a batch, padding included."""
LONGEST = 128
"""Tokens of a text that are read, where no other number is asked for (the paper's maximum is 80)."""


@dataclass(frozen=True, slots=True, eq=False)
class MaskedModel:
    """A network of transformers with a language modelling head, and its tokenizer."""

    network: Any
    tokenizer: Any
    longest: int = LONGEST

    def ids(self, text: str) -> list[int]:
        """The tokens with the marks at both ends, cut at `longest`."""
        numbers: list[int] = self.tokenizer(text, truncation=True, max_length=self.longest).input_ids
        return numbers

    def surprise(self, texts: Sequence[str], threads: int) -> list[float]:
        """Per text the mean of -log p over its tokens, each masked in turn (equation 2, per token)."""
        ids = [self.ids(text) for text in texts]
        special = set(self.tokenizer.all_special_ids) - {self.tokenizer.unk_token_id}
        asked = [(i, at) for i, tokens in enumerate(ids) for at, token in enumerate(tokens) if token not in special]
        shown = [[*ids[i][:at], self.tokenizer.mask_token_id, *ids[i][at + 1 :]] for i, at in asked]
        total, number = [0.0] * len(texts), [0] * len(texts)
        for chosen, logits in self._logits(shown, threads):
            places = torch.tensor([asked[n][1] for n in chosen])
            wanted = torch.tensor([ids[asked[n][0]][asked[n][1]] for n in chosen])
            picked = logits[torch.arange(len(chosen)), places].log_softmax(-1)[torch.arange(len(chosen)), wanted]
            for n, value in zip(chosen, picked.tolist(), strict=True):
                total[asked[n][0]] -= value
                number[asked[n][0]] += 1
        return [value / max(1, n) for value, n in zip(total, number, strict=True)]

    def _logits(self, ids: Sequence[Sequence[int]], threads: int) -> Iterator[tuple[list[int], Tensor]]:
        """(indices, logits [B, T, V]) of batches."""
        self.network.eval()
        with scope(threads), torch.inference_mode():
            order = batches([len(tokens) for tokens in ids], ROOM)
            yield from in_parts(order, lambda chosen: self._scored([ids[i] for i in chosen]))

    def _scored(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """Logits [B, T, V] on the host."""
        given = self.tokenizer.pad({"input_ids": list(map(list, rows))}, padding_side="right", return_tensors="pt")
        given = given.to(device_of(self.network))
        logits: Tensor = self.network(input_ids=given.input_ids, attention_mask=given.attention_mask).logits
        return logits.cpu()


# ---- The surrogate

LANGUAGE = 0.3
"""The weight of the language model's loss."""


@dataclass(frozen=True, slots=True, eq=False)
class HubSurrogate:
    """A fine-tuned classifier of the bench, whose encoder is a masked language model too."""

    classifier: TrainedClassifier
    model: MaskedModel

    @property
    def digest(self) -> str:
        described = repr((self.classifier.labels, asdict(self.classifier.config)))
        return tensor_digest(dict(self.classifier.network.named_parameters()), described)[:16]

    def read(self, sentences: Sequence[Sentence]) -> list[SurrogateReading]:
        """As builder.augment.methods.boost_embedded.Classes; perplexity is that of tokens."""
        config = self.classifier.config
        surprise = self.model.surprise([sentence.text for sentence in sentences], config.threads)
        items = [_items(sentence) for sentence in sentences]
        chances = self.classifier.chances([item for own in items for item in own])
        read = zip(sentences, torch.split(chances, list(map(len, items))), surprise, strict=True)
        return [read_outcome(sentence, self.classifier.labels, rows, value) for sentence, rows, value in read]


def _items(sentence: Sentence) -> list[ClassifierItem]:
    """The whole text where it has a label, else one for each aspect with a polarity."""
    words = words_of(sentence.text)
    if sentence.label is not None:
        return [ClassifierItem(sentence.text, words, sentence.label)]
    judged = [mark for mark in sentence.marks if mark.kind == "aspect" and mark.polarity]
    return [ClassifierItem(sentence.text, words, str(mark.polarity), (mark.start, mark.end)) for mark in judged]


@dataclass(frozen=True, slots=True)
class HubTrainer:
    """Fine-tunes the encoder `source` anew for every fold (section 3.3)."""

    source: str
    config: ClassifierConfig
    device: str = "auto"

    @property
    def signature(self) -> str:
        return f"hub {self.source} {self.config} torch {torch.__version__}"

    def fit(self, train: Sequence[Sentence], valid: Sequence[Sentence], seed: int, folder: Path) -> HubSurrogate:
        learnt, held = ([item for sentence in part for item in _items(sentence)] for part in (train, valid))
        task: Task = "tc" if all(item.aspect is None for item in learnt) else "absc"
        choice = Choice(f"bert={self.source}", "bert", MODELS["bert"], self.source)
        means = Means(self.source, device=self.device)
        made = learn(choice, task, learnt, held, seed, folder, means, self.config)
        encoder = made.network.encoder
        assert isinstance(encoder, PretrainedEncoder)
        return HubSurrogate(made, MaskedModel(encoder.model, encoder.reader.tokenizer, self.config.longest))


def trainer(settings: AugmentSettings, own: BoostSettings) -> HubTrainer:
    """As builder.augment.methods.boostaug asks for it."""
    plain = ClassifierConfig(**FINE_TUNING, l2=1e-8, language=LANGUAGE, threads=settings.threads)  # type: ignore[arg-type]
    changed = {"epochs": own.epochs or plain.epochs, "rate": own.rate or plain.rate}
    config = replace(plain, longest=own.longest, batch=own.batch, **changed)  # type: ignore[arg-type]
    return HubTrainer(own.base, config, settings.device)
