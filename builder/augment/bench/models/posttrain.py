"""BERT-PT's post-training (Xu et al. 2019): domain knowledge by masked language modelling, task knowledge by reading
comprehension.

In: an encoder with a masked-LM head, domain texts as words, questions in the SQuAD layout. Out: the same encoder,
further trained; one optimisation with both losses, batches of either kind as they come.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from builder.augment.bench.models.classifier_items import ClassifierConfig, ClassifierItem, words_of
from builder.augment.bench.models.encoders import PretrainedEncoder, Small
from builder.augment.bench.models.inputs import EncoderReader, PieceBatch, PieceReader, PieceRow, collate
from builder.core.errors import ModelError
from builder.learning.devices import device_of, place
from builder.learning.loop import fit
from builder.learning.obtain import TrainingRun
from builder.learning.task import seed_of
from builder.models.paper.squad import SquadQuestion, read_squad

MASKED = 0.15
"""The share of pieces that are predicted: of ten 8 are masked, 1 replaced, 1 left (Devlin et al. 2019, section 3.1)."""


@dataclass(frozen=True, slots=True, eq=False)
class PieceQuestion:
    """A question with its context as one row, and the places [start, end] of the answer's first and last piece."""

    row: PieceRow
    start: int
    end: int


class PostTraining(nn.Module):
    """The encoder with the head that finds answers: the loss of a batch of texts or of questions."""

    def __init__(
        self,
        encoder: Small | PretrainedEncoder,
        reader: PieceReader | EncoderReader,
        texts: Sequence[PieceRow],
        questions: Sequence[PieceQuestion],
    ) -> None:
        super().__init__()
        self.encoder, self.spans = encoder, nn.Linear(encoder.width, 2)
        self.reader, self.texts, self.questions = reader, texts, questions

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
        hidden = self.encoder.hidden(ids, batch.mask, batch.types)
        at = gold >= 0
        return functional.cross_entropy(self.encoder.scores(hidden)[at], gold[at])

    def _comprehension(self, asked: Sequence[PieceQuestion]) -> Tensor:
        batch = place(collate([question.row for question in asked], self.reader.pad), device_of(self))
        first, last = torch.tensor([(question.start, question.end) for question in asked], device=batch.ids.device).T
        ends = self.spans(self.encoder.hidden(batch.ids, batch.mask, batch.types)).masked_fill(
            ~batch.mask[..., None], -1e4
        )
        start = functional.cross_entropy(ends[..., 0], first)
        return (start + functional.cross_entropy(ends[..., 1], last)) / 2


def masked(batch: PieceBatch, reader: PieceReader | EncoderReader) -> tuple[Tensor, Tensor]:
    """The ids with some hidden, and what stood there (-1 elsewhere); one piece a text at least. Draws from torch's
    generator.
    """
    device = batch.ids.device
    ordinary = batch.mask & (batch.ids != reader.begin) & (batch.ids != reader.end)
    draw = torch.rand(batch.ids.shape).to(device).masked_fill(~ordinary, 2.0)
    chosen = (draw < MASKED) | ((draw == draw.amin(1, keepdim=True)) & ordinary)
    how = torch.rand(batch.ids.shape).to(device)
    ids = torch.where(chosen & (how < 0.8), reader.mask, batch.ids)
    ids = torch.where(chosen & (how >= 0.9), torch.randint(1, len(reader), batch.ids.shape).to(device), ids)
    return ids, torch.where(chosen, batch.ids, -1)


def post_train(
    encoder: Small | PretrainedEncoder,
    reader: PieceReader | EncoderReader,
    domain: Sequence[str],
    comprehension: Path | None,
    config: ClassifierConfig,
    run: TrainingRun,
) -> dict[str, float]:
    """Train `encoder` in place; says on how much. Without questions the domain alone is learnt."""
    texts = [reader.read(ClassifierItem(text, words_of(text)), 0) for text in dict.fromkeys(domain) if text.strip()]
    candidates = [question(row, reader) for row in read_squad(comprehension)[0]] if comprehension else []
    questions = [kept for kept in candidates if kept is not None]
    if comprehension and not questions:
        raise ModelError("no answer stands within the words that are read of its context", where=str(comprehension))
    network = PostTraining(encoder, reader, texts, questions)
    lengths = [len(row) for row in texts] + [len(kept.row) for kept in questions]
    if lengths:
        loss: Callable[[list[int]], Tensor] = network.loss
        fit(network, lengths, loss, lambda: 0.0, config, seed_of(run.seed, "post"), run.checkpoints, run.progress)
    return {
        "post_texts": len(texts),
        "post_questions": len(questions),
        "post_questions_cut": len(candidates) - len(questions),
    }


def question(asked: SquadQuestion, reader: PieceReader | EncoderReader) -> PieceQuestion | None:
    """[CLS] question [SEP] context [SEP]; None where the answer lies beyond the words that are read, or between word
    edges.
    """
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
