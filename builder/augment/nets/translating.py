"""Encoder-decoders that translate in one direction, such as those of OPUS-MT.

In: texts. Out: for each its likeliest translations, by beam search. Texts are read in batches of like lengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from builder.learning import hub
from builder.learning.checkpoint import tensor_digest
from builder.learning.devices import choose, device_of
from builder.learning.encode import batches
from builder.learning.loop import scope

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


def load(source: str, threads: int, device: str) -> Translator:
    """A model of a hub or folder; ModelError where it is no encoder-decoder, or not whole."""
    network = hub.load_network("AutoModelForSeq2SeqLM", source, wanted="a model that translates into one language")
    digest = tensor_digest(dict(network.named_parameters()))
    return Translator(network.to(choose(device)), hub.load_tokenizer(source), digest, threads)
