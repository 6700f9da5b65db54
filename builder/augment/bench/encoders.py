"""Models of the bench over an encoder of transformers: heads for labels and for tags, and BERT-PT's post-training.

Shapes: B items, P pieces, T words, D the encoder's width. Post-training (Xu et al. 2019) learns masked language
modelling on texts of the domain and reading comprehension at once.
"""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from builder.augment.bench.classifiers import ClassifierConfig, ClassifierItem, words_of
from builder.augment.bench.inputs import MOST_ASPECT, EncoderReader, PieceBatch, PieceRow, collate
from builder.augment.bench.taggers import SentenceClassifier, Tagger, mean
from builder.core.errors import ModelError
from builder.learning.checkpoint import Checkpoints
from builder.learning.devices import device_of, place
from builder.learning.hub import ENCODER, MASKED, load_model
from builder.learning.loop import fit
from builder.learning.task import seed_of
from builder.models.paper.squad import SquadQuestion, read_squad

# ---- Encoders and their heads

MOST = 512


class PretrainedEncoder(nn.Module):
    """An encoder of transformers; `reader` has its tokens."""

    def __init__(self, model: Any, reader: EncoderReader, with_head: bool) -> None:
        super().__init__()
        self.reader = reader
        self.model, self.with_head = model, with_head
        self.width = int(model.config.hidden_size)
        self.segments = int(getattr(model.config, "type_vocab_size", 0) or 0) > 1

    def hidden(self, ids: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        body = self.model.base_model if self.with_head else self.model
        out: Tensor = body(input_ids=ids, attention_mask=mask.long(), **self._segments(types)).last_hidden_state
        return out

    def hidden_and_scores(self, ids: Tensor, mask: Tensor, types: Tensor) -> tuple[Tensor, Tensor]:
        """The states, and what the masked language model says of each piece [B, P, pieces]."""
        out = self.model(input_ids=ids, attention_mask=mask.long(), output_hidden_states=True, **self._segments(types))
        return out.hidden_states[-1], out.logits

    def _segments(self, types: Tensor) -> dict[str, Tensor]:
        return {"token_type_ids": types} if self.segments else {}


def load(source: str, longest: int, with_head: bool = False) -> PretrainedEncoder:
    """Encoder and tokenizer of a hub name or folder; ModelError where it is none, or not whole."""
    model, tokenizer = load_model(source, MASKED if with_head else ENCODER, ("pooler",), "augment")
    most = int(getattr(model.config, "max_position_embeddings", 0) or MOST)
    room = most - MOST_ASPECT - 6  # marks, and the places that RoBERTa keeps for itself
    if with_head:
        _untie(model)
    return PretrainedEncoder(model, EncoderReader(tokenizer, min(longest, room), room), with_head)


def _untie(model: nn.Module) -> None:
    """Give a head that is tied to the embedding weights of its own: a checkpoint holds every tensor once."""
    seen: set[int] = set()
    for name, parameter in list(model.named_parameters(remove_duplicate=False)):
        if id(parameter) in seen:
            path, _, last = name.rpartition(".")
            setattr(model.get_submodule(path), last, nn.Parameter(parameter.detach().clone()))
        seen.add(id(parameter))


SHARE = 0.15
"""The share of pieces that are predicted: of ten 8 are masked, 1 replaced, 1 left (Devlin et al. 2019, section 3.1)."""


def masked(batch: PieceBatch, reader: EncoderReader) -> tuple[Tensor, Tensor]:
    """The ids with some hidden, one a text at least, and what stood there (-1 elsewhere)."""
    device = batch.ids.device
    ordinary = batch.mask & (batch.ids != reader.begin) & (batch.ids != reader.end)
    draw = torch.rand(batch.ids.shape).to(device).masked_fill(~ordinary, 2.0)
    chosen = (draw < SHARE) | ((draw == draw.amin(1, keepdim=True)) & ordinary)
    how = torch.rand(batch.ids.shape).to(device)
    ids = torch.where(chosen & (how < 0.8), reader.mask, batch.ids)
    ids = torch.where(chosen & (how >= 0.9), torch.randint(1, len(reader), batch.ids.shape).to(device), ids)
    return ids, torch.where(chosen, batch.ids, -1)


class Labels(SentenceClassifier):
    """What the classifiers over an encoder share."""

    def __init__(self, encoder: PretrainedEncoder, features: int, classes: int, config: ClassifierConfig) -> None:
        super().__init__()
        self.encoder, self.language = encoder, config.language
        self.dropout, self.out = nn.Dropout(config.dropout), nn.Linear(features, classes)

    @abstractmethod
    def pool(self, hidden: Tensor, batch: PieceBatch) -> Tensor:
        """[B, features] of the encoder's states [B, P, D]."""

    def pooled(self, batch: PieceBatch) -> Tensor:
        return self.pool(self.encoder.hidden(batch.ids, batch.mask, batch.types), batch)

    def loss(self, batch: PieceBatch) -> Tensor:
        """Cross entropy; with a weight for `language`, the masked language model learns from the same batch."""
        if not self.language:
            return super().loss(batch)
        ids, wanted = masked(batch, self.encoder.reader)
        hidden, scores = self.encoder.hidden_and_scores(ids, batch.mask, batch.types)
        at = wanted >= 0
        classes = functional.cross_entropy(self.out(self.dropout(self.pool(hidden, batch))), batch.gold)
        return classes + self.language * functional.cross_entropy(scores[at], wanted[at])


class Pooled(Labels):
    """The first piece's state to classes; for aspect polarity the aspect is the second segment (BERT-SPC)."""

    def __init__(self, encoder: PretrainedEncoder, classes: int, config: ClassifierConfig) -> None:
        super().__init__(encoder, encoder.width, classes, config)

    def pool(self, hidden: Tensor, batch: PieceBatch) -> Tensor:
        return hidden[:, 0]


class FastLcf(Labels):
    """Local context focus with one encoder (FastLCF; Zeng et al. 2019, context dynamic weighting): its states, and the
    same weighted by their distance to the aspect, are joined, mixed by self-attention, and pooled.
    """

    def __init__(self, encoder: PretrainedEncoder, classes: int, config: ClassifierConfig) -> None:
        super().__init__(encoder, encoder.width, classes, config)
        self.srd = config.srd
        self.join = nn.Linear(2 * encoder.width, encoder.width)
        self.attention = nn.MultiheadAttention(
            encoder.width, config.heads if encoder.width % config.heads == 0 else 1, batch_first=True
        )
        self.dense = nn.Linear(2 * encoder.width, encoder.width)

    def pool(self, hidden: Tensor, batch: PieceBatch) -> Tensor:
        words = at_words(hidden, batch)
        focus = local_weights(batch.inside, batch.words, self.srd)
        joined = self.dropout(self.join(torch.cat([words * focus[..., None], words], -1)))
        mixed, _ = self.attention(joined, joined, joined, key_padding_mask=~batch.words, need_weights=False)
        near = (mixed * focus[..., None] * batch.words[..., None]).sum(1) / (focus * batch.words).sum(
            1, keepdim=True
        ).clamp(min=1e-3)
        return torch.tanh(self.dense(torch.cat([near, mean(hidden, batch.mask)], -1)))


class Tags(Tagger):
    """A tag per word from the state of its first piece (Devlin et al. 2019, section 5.3)."""

    def __init__(self, encoder: PretrainedEncoder, classes: int, config: ClassifierConfig) -> None:
        super().__init__()
        self.encoder = encoder
        self.dropout, self.out = nn.Dropout(config.dropout), nn.Linear(encoder.width, classes)

    def states(self, batch: PieceBatch) -> Tensor:
        return at_words(self.encoder.hidden(batch.ids, batch.mask, batch.types), batch)


def at_words(hidden: Tensor, batch: PieceBatch) -> Tensor:
    """[B, T, D]: the state of the first piece of every word."""
    return hidden.gather(1, batch.first[..., None].expand(-1, -1, hidden.shape[-1]))


def local_weights(inside: Tensor, words: Tensor, srd: int) -> Tensor:
    """[B, T]: 1 where the distance to the middle of the aspect, less half its length, is at most `srd`, else 1 -
    (distance - srd) / words; 0 for padding. Without an aspect all words count.
    """
    place = torch.arange(inside.shape[1], device=inside.device)[None].float()
    size, count = inside.sum(1, keepdim=True), words.sum(1, keepdim=True).clamp(min=1)
    middle = (place * inside).sum(1, keepdim=True) / size.clamp(min=1)
    distance = ((place - middle).abs() - size.div(2, rounding_mode="floor") - srd).clamp(min=0)
    weights = torch.where(size > 0, (1 - distance / count).clamp(min=0), torch.ones_like(place))
    return weights * words


# ---- Post-training


@dataclass(frozen=True, slots=True, eq=False)
class PieceQuestion:
    """A question with its context as one row, and the places [start, end] of the answer's first and last piece."""

    row: PieceRow
    start: int
    end: int


class PostTraining(nn.Module):
    """The encoder with the head that finds answers: the loss of a batch of texts or of questions."""

    def __init__(
        self, encoder: PretrainedEncoder, texts: Sequence[PieceRow], questions: Sequence[PieceQuestion]
    ) -> None:
        super().__init__()
        self.encoder, self.spans = encoder, nn.Linear(encoder.width, 2)
        self.reader, self.texts, self.questions = encoder.reader, texts, questions

    def loss(self, chosen: Sequence[int]) -> Tensor:
        """Indices below len(texts) are texts, the rest questions; a mixed batch adds both losses."""
        texts = [self.texts[i] for i in chosen if i < len(self.texts)]
        asked = [self.questions[i - len(self.texts)] for i in chosen if i >= len(self.texts)]
        parts = [self._domain(texts)] if texts else []
        parts += [self._comprehension(asked)] if asked else []
        return torch.stack(parts).sum()

    def _domain(self, rows: Sequence[PieceRow]) -> Tensor:
        batch = place(collate(rows, self.reader.pad), device_of(self))
        ids, gold = masked(batch, self.reader)
        _, scores = self.encoder.hidden_and_scores(ids, batch.mask, batch.types)
        return functional.cross_entropy(scores[gold >= 0], gold[gold >= 0])

    def _comprehension(self, asked: Sequence[PieceQuestion]) -> Tensor:
        batch = place(collate([question.row for question in asked], self.reader.pad), device_of(self))
        first, last = torch.tensor([(question.start, question.end) for question in asked], device=batch.ids.device).T
        ends = self.spans(self.encoder.hidden(batch.ids, batch.mask, batch.types)).masked_fill(
            ~batch.mask[..., None], -1e4
        )
        start = functional.cross_entropy(ends[..., 0], first)
        return (start + functional.cross_entropy(ends[..., 1], last)) / 2


def post_train(
    encoder: PretrainedEncoder,
    domain: Sequence[str],
    comprehension: Path | None,
    config: ClassifierConfig,
    seed: int,
    checkpoints: Checkpoints,
) -> None:
    """Train `encoder` in place. Without questions the domain alone is learnt."""
    reader = encoder.reader
    texts = [reader.read(ClassifierItem(text, words_of(text)), 0) for text in dict.fromkeys(domain) if text.strip()]
    squad_questions = read_squad(comprehension)[0] if comprehension else []
    questions = [kept for each in squad_questions if (kept := question(each, reader))]
    if comprehension and not questions:
        raise ModelError("no answer stands within the words that are read of its context", where=str(comprehension))
    network = PostTraining(encoder, texts, questions)
    lengths = [len(row) for row in texts] + [len(kept.row) for kept in questions]
    if lengths:
        loss: Callable[[list[int]], Tensor] = network.loss
        fit(network, lengths, loss, lambda: 0.0, config, seed_of(seed, "post"), checkpoints)


def question(asked: SquadQuestion, reader: EncoderReader) -> PieceQuestion | None:
    """[CLS] question [SEP] context [SEP]; None where the answer is not read, or lies between word edges."""
    start = asked.context.find(asked.answers[0])
    words = words_of(asked.context)
    last = start + len(asked.answers[0])
    inside = [i for i, (a, b) in enumerate(words) if start <= a and b <= last]
    if start < 0 or not inside:
        return None
    head = [reader.begin]
    for a, b in words_of(asked.question)[: reader.longest // 2]:
        head += reader.pieces(asked.question[a:b])
    head.append(reader.end)
    ids, places = list[int](), list[int]()
    for a, b in words:
        places.append(len(ids))
        ids += reader.pieces(asked.context[a:b])
    room = 2 * reader.longest - len(head) - 1
    shift = max(0, min(places[inside[0]] - random.Random(asked.id).randrange(max(1, room // 2)), len(ids) - room))
    first, end = places[inside[0]] - shift, places[inside[-1]] - shift
    if end >= room:
        return None
    body = ids[shift : shift + room]
    types = (0,) * len(head) + (1,) * (len(body) + 1)
    return PieceQuestion(PieceRow((*head, *body, reader.end), types, (0,), (0,), 0), len(head) + first, len(head) + end)
