"""Models over an encoder: a pretrained one of transformers (hub name or folder), or a small one from scratch. Heads
for labels and for tags.

Shapes: B items, P pieces, T words, D the encoder's width. An encoder gives `hidden` [B, P, D], and, where it was made
for it, `scores` [B, P, pieces] of a masked language model.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from builder.augment.bench.models.classifier_items import ClassifierConfig
from builder.augment.bench.models.inputs import MOST_ASPECT, EncoderReader, PieceBatch
from builder.augment.bench.models.taggers import mean, most_probable, tag_loss
from builder.core.errors import ModelError
from builder.learning import hub

MOST = 512
HEADS = ("cls", "lm_head")
"""What transformers calls the masked-LM head of BERT, DeBERTa, RoBERTa and their kin: one module from states to pieces.
"""


class Small(nn.Module):
    """A pre-norm transformer over words, its masked-LM head tied to the embedding."""

    def __init__(self, pieces: int, config: ClassifierConfig) -> None:
        super().__init__()
        self.width = config.width
        self.table, self.place = nn.Embedding(pieces, config.width, padding_idx=0), nn.Embedding(MOST, config.width)
        self.segment = nn.Embedding(2, config.width)
        for embedding in (self.table, self.place, self.segment):
            nn.init.normal_(embedding.weight, std=0.1)
        layer = nn.TransformerEncoderLayer(
            config.width, config.heads, 4 * config.width, config.dropout, "gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(
            layer, config.layers, nn.LayerNorm(config.width), enable_nested_tensor=False
        )
        self.dropout = nn.Dropout(config.dropout)

    def hidden(self, ids: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        place = self.place(torch.arange(ids.shape[1], device=ids.device).clamp(max=MOST - 1))
        out: Tensor = self.layers(
            self.dropout(self.table(ids) + place + self.segment(types)), src_key_padding_mask=~mask
        )
        return out

    def scores(self, hidden: Tensor) -> Tensor:
        return hidden @ self.table.weight.T


class PretrainedEncoder(nn.Module):
    """An encoder of transformers behind the same two methods."""

    def __init__(self, model: Any, with_head: bool) -> None:
        super().__init__()
        self.model, self.with_head = model, with_head
        self.width = int(model.config.hidden_size)
        self.segments = int(getattr(model.config, "type_vocab_size", 0) or 0) > 1

    def hidden(self, ids: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        body = self.model.base_model if self.with_head else self.model
        more = {"token_type_ids": types} if self.segments else {}
        out: Tensor = body(input_ids=ids, attention_mask=mask.long(), **more).last_hidden_state
        return out

    def scores(self, hidden: Tensor) -> Tensor:
        head = next(part for name, part in self.model.named_children() if name in HEADS)
        out: Tensor = head(hidden)
        return out


def load(source: str, longest: int, with_head: bool = False) -> tuple[PretrainedEncoder, EncoderReader]:
    """Encoder and tokenizer of a hub name or folder; ModelError where there is none, of the wrong kind, or
    incomplete.
    """
    wanted = "a complete encoder, such as BERT, RoBERTa or DeBERTa"
    hub.load_config(source)  # says it where there is no model at all
    tokenizer = hub.load_tokenizer(source)
    model = hub.load_network(
        "AutoModelForMaskedLM" if with_head else "AutoModel", source, wanted=wanted, optional=("pooler",)
    )
    if (
        getattr(model.config, "is_encoder_decoder", False)
        or tokenizer.cls_token_id is None
        or tokenizer.mask_token_id is None
    ):
        raise ModelError(
            f"a {model.config.model_type!r} model is no encoder",
            where=source,
            fix="use one such as BERT, RoBERTa or DeBERTa",
        )
    if with_head and not any(name in HEADS for name, _ in model.named_children()):
        raise ModelError(
            f"a {model.config.model_type!r} model has no masked-LM head in one piece",
            where=source,
            fix="use BERT, DeBERTa, RoBERTa",
        )
    most = int(getattr(model.config, "max_position_embeddings", 0) or MOST)
    room = most - MOST_ASPECT - 6  # marks, and the places that RoBERTa keeps for itself
    if with_head:
        _untie(model)
    return PretrainedEncoder(model, with_head), EncoderReader(tokenizer, min(longest, room), room)


def _untie(model: nn.Module) -> None:
    """Parameters that stand under two names (a head tied to the embedding) become two: a checkpoint holds every
    tensor once.
    """
    seen: set[int] = set()
    for name, parameter in list(model.named_parameters(remove_duplicate=False)):
        if id(parameter) in seen:
            path, _, last = name.rpartition(".")
            setattr(model.get_submodule(path), last, nn.Parameter(parameter.detach().clone()))
        seen.add(id(parameter))


class Pooled(nn.Module):
    """The first piece's state to classes; for aspect polarity the aspect is the second segment (BERT-SPC). A small
    encoder's mean is read, for its first piece was never trained to stand for all.
    """

    def __init__(self, encoder: Small | PretrainedEncoder, classes: int, config: ClassifierConfig) -> None:
        super().__init__()
        self.encoder, self.first = encoder, isinstance(encoder, PretrainedEncoder)
        self.dropout, self.out = nn.Dropout(config.dropout), nn.Linear(encoder.width, classes)

    def pooled(self, batch: PieceBatch) -> Tensor:
        hidden = self.encoder.hidden(batch.ids, batch.mask, batch.types)
        return hidden[:, 0] if self.first else mean(hidden, batch.mask)

    def forward(self, batch: PieceBatch) -> Tensor:
        logits: Tensor = self.out(self.dropout(self.pooled(batch)))
        return logits

    def loss(self, batch: PieceBatch) -> Tensor:
        return functional.cross_entropy(self(batch), batch.gold)


class FastLcf(nn.Module):
    """Local context focus, one encoder for both contexts (FastLCF; Zeng et al. 2019, context dynamic weighting).

    The encoder's states are the global context. The local one is the same states, weighted down with their distance
    to the aspect: 1 within `srd` words, then falling to 0 with the share of the sentence beyond it. Both are joined,
    mixed by self-attention, and pooled.
    """

    def __init__(self, encoder: Small | PretrainedEncoder, classes: int, config: ClassifierConfig) -> None:
        super().__init__()
        self.encoder, self.srd = encoder, config.srd
        self.join = nn.Linear(2 * encoder.width, encoder.width)
        self.attention = nn.MultiheadAttention(
            encoder.width, config.heads if encoder.width % config.heads == 0 else 1, batch_first=True
        )
        self.dropout, self.dense, self.out = (
            nn.Dropout(config.dropout),
            nn.Linear(2 * encoder.width, encoder.width),
            nn.Linear(encoder.width, classes),
        )

    def pooled(self, batch: PieceBatch) -> Tensor:
        whole = self.encoder.hidden(batch.ids, batch.mask, batch.types)
        words = at_words(whole, batch)
        focus = local_weights(batch.inside, batch.words, self.srd)
        joined = self.dropout(self.join(torch.cat([words * focus[..., None], words], -1)))
        mixed, _ = self.attention(joined, joined, joined, key_padding_mask=~batch.words, need_weights=False)
        near = (mixed * focus[..., None] * batch.words[..., None]).sum(1) / (focus * batch.words).sum(
            1, keepdim=True
        ).clamp(min=1e-3)
        return torch.tanh(self.dense(torch.cat([near, mean(whole, batch.mask)], -1)))

    def forward(self, batch: PieceBatch) -> Tensor:
        logits: Tensor = self.out(self.dropout(self.pooled(batch)))
        return logits

    def loss(self, batch: PieceBatch) -> Tensor:
        return functional.cross_entropy(self(batch), batch.gold)


class Tags(nn.Module):
    """A tag per word from the state of its first piece (Devlin et al. 2019, section 5.3)."""

    def __init__(self, encoder: Small | PretrainedEncoder, classes: int, config: ClassifierConfig) -> None:
        super().__init__()
        self.encoder = encoder
        self.dropout, self.out = nn.Dropout(config.dropout), nn.Linear(encoder.width, classes)

    def states(self, batch: PieceBatch) -> Tensor:
        return at_words(self.encoder.hidden(batch.ids, batch.mask, batch.types), batch)

    def loss(self, batch: PieceBatch) -> Tensor:
        return tag_loss(self.out(self.dropout(self.states(batch))), batch.gold)

    def tags(self, batch: PieceBatch) -> list[list[int]]:
        return most_probable(self.out(self.states(batch)), batch.words)

    def pooled(self, batch: PieceBatch) -> Tensor:
        return mean(self.states(batch), batch.words)


def at_words(hidden: Tensor, batch: PieceBatch) -> Tensor:
    """[B, T, D]: the state of the first piece of every word."""
    return hidden.gather(1, batch.first[..., None].expand(-1, -1, hidden.shape[-1]))


def local_weights(inside: Tensor, words: Tensor, srd: int) -> Tensor:
    """[B, T] weights of local context focus: 1 where the distance to the middle of the aspect, less half its length,
    is at most `srd`, else 1 - (distance - srd) / words; 0 for padding. Without an aspect all words count.
    """
    place = torch.arange(inside.shape[1], device=inside.device)[None].float()
    size, count = inside.sum(1, keepdim=True), words.sum(1, keepdim=True).clamp(min=1)
    middle = (place * inside).sum(1, keepdim=True) / size.clamp(min=1)
    distance = ((place - middle).abs() - size.div(2, rounding_mode="floor") - srd).clamp(min=0)
    weights = torch.where(size > 0, (1 - distance / count).clamp(min=0), torch.ones_like(place))
    return weights * words
