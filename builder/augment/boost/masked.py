"""A masked language model of a hub or folder (BERT, RoBERTa, DeBERTa …): what it expects at masks, and
pseudo-perplexity (extra `paper`).

Equation 2 of BoostAug is meant literally here: every token is masked in turn, and the text is read as often as it has
tokens, in batches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from builder.core.errors import ModelError
from builder.learning import hub
from builder.learning.checkpoint import tensor_digest
from builder.learning.devices import in_parts
from builder.learning.encode import batches
from builder.learning.loop import scope

ROOM = 4096
"""Tokens of a batch, padding included."""
LONGEST = 128
"""Tokens of a text that are read, where no other number is asked for (the paper's maximum is 80)."""


@dataclass(frozen=True, slots=True, eq=False)
class MaskedModel:
    """`network` is a transformers model with a language modelling head; `source` the name or folder it came from."""

    network: Any
    tokenizer: Any
    source: str
    longest: int = LONGEST

    @property
    def digest(self) -> str:
        named = {name: parameter.detach() for name, parameter in self.network.named_parameters()}
        return tensor_digest(named, type(self.tokenizer).__name__)[:16]

    def ids(self, text: str) -> list[int]:
        """The tokens with the marks at both ends, cut at `longest`."""
        numbers: list[int] = self.tokenizer(text, truncation=True, max_length=self.longest).input_ids
        return numbers

    def alone(self) -> dict[int, str]:
        """The tokens that are written as a whole word or one Han character, and how: no part of a word, no mark."""
        special, marked = (
            set(self.tokenizer.all_special_ids),
            any(token[:1] in "▁Ġ" for token in self.tokenizer.get_vocab()),
        )
        out = {}
        for token, number in self.tokenizer.get_vocab().items():
            surface = token.lstrip("▁Ġ")
            part = token.startswith("##") or (marked and token == surface and surface.isascii())
            if number not in special and not part and surface.isalnum():
                out[number] = surface
        return out

    def at_masks(
        self, texts: Sequence[str], top: int, allowed: frozenset[int], threads: int
    ) -> list[list[list[tuple[int, float]]]]:
        """Per text and mask of it the likeliest of the allowed tokens with their probabilities."""
        ids = [self.ids(text) for text in texts]
        candidates = torch.tensor(sorted(allowed))
        out: list[list[list[tuple[int, float]]]] = [[] for _ in texts]
        for chosen, logits, tokens in self._logits(ids, threads):
            for row, i in enumerate(chosen):
                places = (tokens[row] == self.tokenizer.mask_token_id).nonzero().squeeze(1)
                likely = logits[row, places][:, candidates].softmax(-1).topk(min(top, len(candidates)))
                rows = zip(candidates[likely.indices].tolist(), likely.values.tolist(), strict=True)
                out[i] = [list(zip(*pair, strict=True)) for pair in rows]
        return out

    def surprise(self, texts: Sequence[str], threads: int) -> list[float]:
        """Per text the mean of -log p over its tokens, each masked in turn (equation 2, per token)."""
        ids, special = (
            [self.ids(text) for text in texts],
            set(self.tokenizer.all_special_ids) - {self.tokenizer.unk_token_id},
        )
        asked = [(i, at) for i, tokens in enumerate(ids) for at, token in enumerate(tokens) if token not in special]
        shown = [[*ids[i][:at], self.tokenizer.mask_token_id, *ids[i][at + 1 :]] for i, at in asked]
        total, number = [0.0] * len(texts), [0] * len(texts)
        for chosen, logits, _ in self._logits(shown, threads):
            places = torch.tensor([asked[n][1] for n in chosen])
            wanted = torch.tensor([ids[asked[n][0]][asked[n][1]] for n in chosen])
            picked = logits[torch.arange(len(chosen)), places].log_softmax(-1)[torch.arange(len(chosen)), wanted]
            for n, value in zip(chosen, picked.tolist(), strict=True):
                total[asked[n][0]] -= value
                number[asked[n][0]] += 1
        return [value / max(1, n) for value, n in zip(total, number, strict=True)]

    def _logits(self, ids: Sequence[Sequence[int]], threads: int) -> Any:
        """(indices, logits [B, T, V], tokens [B, T]) of batches."""
        self.network.eval()
        with scope(threads), torch.inference_mode():
            order = batches([len(tokens) for tokens in ids], ROOM)
            for chosen, (logits, tokens) in in_parts(order, lambda chosen: self._scored([ids[i] for i in chosen])):
                yield chosen, logits, tokens

    def _scored(self, rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Logits [B, T, V] and tokens [B, T] on the host."""
        tokens, mask = self.padded(rows)
        return self.network(input_ids=tokens, attention_mask=mask).logits.cpu(), tokens.cpu()

    def padded(self, rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Tokens and attention mask [B, T] on the model's device."""
        pad = self.tokenizer.pad_token_id
        tokens = pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=pad)
        lengths = torch.tensor([len(row) for row in rows])
        mask = (torch.arange(tokens.shape[1])[None] < lengths[:, None]).long()
        device = next(self.network.parameters()).device
        return tokens.to(device), mask.to(device)


def perplexity(surprise: float) -> float:
    """The perplexity of a mean surprise, bounded so that it stays a number."""
    return round(math.exp(min(surprise, 50.0)), 4)


def load_masked(source: str) -> MaskedModel:
    """Model (float32) and tokenizer. ModelError where there is none, it is no masked language model, or its tokenizer
    has no mask.
    """
    config, tokenizer = hub.load_config(source), hub.load_tokenizer(source)
    from transformers import AutoModelForMaskedLM

    wanted = "a masked language model such as bert-base-chinese, with its language modelling head"
    if getattr(config, "is_encoder_decoder", False) or type(config) not in AutoModelForMaskedLM._model_mapping:
        raise ModelError(
            f"a {config.model_type!r} model is no masked language model", where=source, fix=f"use {wanted}"
        )
    if tokenizer.mask_token_id is None or tokenizer.pad_token_id is None:
        raise ModelError("the tokenizer has no mask or no padding mark", where=source, fix=f"use {wanted}")
    # Without its head's weights the perplexity would come from a head that was never trained.
    return MaskedModel(hub.load_network("AutoModelForMaskedLM", source, wanted=wanted), tokenizer, source)
