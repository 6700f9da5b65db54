"""`back-translation` (Sennrich et al. 2016): a sentence is translated into another language and back, by two
encoder-decoders of a hub or a folder, such as those of OPUS-MT.

Out: the likeliest ways back of the likeliest way there. Where the labelled words come back in order, the edits leave
them alone; where not, an edit covers them, and a constraint will see it. Yang and Li (2022, footnote 7) tried it as a
back end of their filter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from builder.augment.candidates import Rewrite, Sentence
from builder.augment.catalogue import AugmentSettings
from builder.augment.methods.gpt2 import around
from builder.core.errors import ConfigError
from builder.core.files import key_of
from builder.learning.checkpoint import tensor_digest
from builder.learning.devices import choose, device_of
from builder.learning.encode import batches
from builder.learning.hub import SEQ2SEQ, load_model
from builder.learning.loop import scope

# ---- Translation models

_ROOM = 1024
"""Tokens of a batch."""
_LONGEST = 256
"""Tokens of a text that are read and written at most, where the model has places for them."""


@dataclass(frozen=True, slots=True, eq=False)
class Translator:
    """A model with its tokenizer."""

    network: Any
    tokenizer: Any
    digest: str
    threads: int

    @property
    def longest(self) -> int:
        return min(_LONGEST, int(getattr(self.network.config, "max_position_embeddings", _LONGEST)) - 1)

    def translate(self, texts: Sequence[str], beams: int, ways: int) -> list[list[str]]:
        """The `ways` likeliest translations of each text, the likeliest first."""
        out: list[list[str]] = [[] for _ in texts]
        cut = [self.tokenizer(text, truncation=True, max_length=self.longest).input_ids for text in texts]
        with scope(self.threads), torch.inference_mode():
            for chosen in batches([len(ids) for ids in cut], _ROOM):
                rows = self.tokenizer.pad({"input_ids": [cut[i] for i in chosen]}, return_tensors="pt")
                written = self.network.generate(
                    **rows.to(device_of(self.network)), num_beams=beams, num_return_sequences=ways, do_sample=False,
                    max_new_tokens=self.longest,
                )  # fmt: skip
                read = self.tokenizer.batch_decode(written, skip_special_tokens=True)
                for n, i in enumerate(chosen):
                    out[i] = [text.strip() for text in read[n * ways : (n + 1) * ways]]
        return out


def load_translator(source: str, threads: int, device: str) -> Translator:
    """A model of a hub or folder; ModelError where it is no encoder-decoder, or not whole."""
    network, tokenizer = load_model(source, SEQ2SEQ, extra="augment")
    return Translator(network.to(choose(device)), tokenizer, tensor_digest(dict(network.named_parameters())), threads)


# ---- The method

NAME = "back-translation"
_CHUNK = 1024


@dataclass(frozen=True, slots=True, eq=False)
class BackTranslation:
    """The method, with its two models."""

    there: Translator
    back: Translator
    beams: int
    name: str = NAME

    @property
    def signature(self) -> str:
        return f"{NAME}/{key_of(self.beams, self.there.digest, self.back.digest)}"

    @property
    def digest(self) -> str:
        return key_of(self.there.digest, self.back.digest)

    def propose(self, sentences: Sequence[Sentence], copies: int, seed: int) -> Iterator[tuple[Rewrite, ...]]:
        """Nothing is drawn by chance here: `seed` changes nothing, and there are no more candidates than beams."""
        for at in range(0, len(sentences), _CHUNK):
            part = sentences[at : at + _CHUNK]
            foreign = [rows[0] for rows in self.there.translate([sentence.text for sentence in part], self.beams, 1)]
            ways = self.back.translate(foreign, self.beams, min(copies, self.beams))
            for sentence, texts in zip(part, ways, strict=True):
                yield tuple(_rewrites(sentence, texts))


def _rewrites(sentence: Sentence, texts: Sequence[str]) -> Iterator[Rewrite]:
    for text in dict.fromkeys(texts):
        if text and text != sentence.text:
            yield Rewrite(sentence.id, around(sentence.text, 0, text, sentence.marks))


def load(settings: AugmentSettings) -> BackTranslation:
    """Reads both models. ConfigError where one is not named, ModelError where one is no encoder-decoder."""

    own = settings.back_translation
    for name, source in (("there", own.there), ("back", own.back)):
        if not source:
            raise ConfigError(
                "no model translates",
                where=f"back_translation.{name}",
                fix=f"--set back_translation.{name}=MODEL: a hub name or a folder, such as Helsinki-NLP/opus-mt-en-de",
            )
    there, back = (load_translator(source, settings.threads, settings.device) for source in (own.there, own.back))
    return BackTranslation(there, back, own.beams)
