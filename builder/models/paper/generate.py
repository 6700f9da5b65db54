"""Writing answers: sorted by length, batched by tokens, greedy; and weighing answers that are known.

In: token ids of questions. Out: `Output`s in the order of the questions, each with the geometric mean of the
probabilities that the model gave its tokens. A batch that the device cannot hold is halved.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from builder.learning.devices import answer_batches
from builder.learning.hub import quiet
from builder.learning.processes import inference
from builder.learning.task import Progress
from builder.models.paper.pretrained import Base
from builder.models.paper.seq2seq import IGNORED, Seq2SeqConfig, TokenPair, collate, cut

Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Output:
    """What a model wrote: ids without end mark and padding, and its confidence."""

    ids: Ids
    confidence: float


def write(
    base: Base,
    questions: Sequence[Ids],
    config: Seq2SeqConfig,
    progress: Progress | None = None,
) -> Iterator[tuple[int, Output]]:
    """(index, output) of every question, long ones first; at most config.max_output tokens each."""
    lengths = list(map(len, questions))
    order = sorted(range(len(questions)), key=lambda i: (-lengths[i], i))
    sizes = [(len(ids), min(config.max_output, len(ids) + 1)) for ids in questions]
    batches = cut(order, sizes, config.generate_tokens)
    with quiet(), inference(base.network, config) as device:
        work = lambda batch: _write(base, [questions[i] for i in batch], config, device)
        for batch, outputs in answer_batches(batches, work, lengths, progress, "writing"):
            yield from zip(batch, outputs, strict=True)


def _write(
    base: Base,
    questions: Sequence[Ids],
    config: Seq2SeqConfig,
    device: torch.device,
) -> list[Output]:
    from transformers import GenerationConfig, LogitsProcessorList

    source, _ = collate([TokenPair("", ids, (0,)) for ids in questions], base.pad, device)
    watch = Watch(base.eos, len(questions))
    plan = GenerationConfig(  # type: ignore[no-untyped-call]
        max_new_tokens=config.max_output,
        do_sample=False,
        num_beams=1,
        pad_token_id=base.pad,
        eos_token_id=base.eos,
        decoder_start_token_id=base.network.config.decoder_start_token_id,
    )
    written = base.network.generate(
        input_ids=source,
        attention_mask=source != base.pad,
        generation_config=plan,
        logits_processor=LogitsProcessorList([watch]),
    )
    rows = [row[1 : 1 + count] for row, count in zip(written.tolist(), watch.counts, strict=True)]
    ended = [tuple(i for i in row if i != base.eos) for row in rows]
    return [
        Output(ids, round(math.exp(log / max(1, count)), 6))
        for ids, log, count in zip(ended, watch.logs.tolist(), watch.counts, strict=True)
    ]


class Watch:
    """A logits processor that notes how probable the model found what greedy decoding will choose."""

    def __init__(self, eos: int, rows: int) -> None:
        self._eos = eos
        self._open = torch.ones(rows, dtype=torch.bool)
        self._tokens = torch.zeros(rows, dtype=torch.int64)
        self.logs = torch.zeros(rows, dtype=torch.float64)

    @property
    def counts(self) -> list[int]:
        """Tokens of each row, the end mark with them."""
        return [int(count) for count in self._tokens.tolist()]

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """scores [rows, vocabulary] -> the same."""
        if input_ids.shape[1] > 1:
            self._open &= input_ids[:, -1].cpu() != self._eos
        sure = scores.float().log_softmax(-1).max(-1).values.double().cpu()
        self.logs += sure.masked_fill(~self._open, 0.0)
        self._tokens += self._open
        return scores


def weigh(
    base: Base, items: Sequence[tuple[Ids, Sequence[Ids]]], config: Seq2SeqConfig, progress: Progress | None = None
) -> Iterator[tuple[int, tuple[float, ...]]]:
    """(index, chances): how probable each possible answer of a question is among them, end mark included."""
    lengths = [len(question) for question, _ in items]
    order = sorted(range(len(items)), key=lambda i: (-lengths[i], i))
    sizes = [(len(question), sum(map(len, answers))) for question, answers in items]
    with inference(base.network, config) as device:
        batches = cut(order, sizes, config.generate_tokens)
        work = lambda batch: _weigh(base, [items[i] for i in batch], device)
        for batch, chances in answer_batches(batches, work, lengths, progress, "judging"):
            yield from zip(batch, chances, strict=True)


def _weigh(base: Base, items: Sequence[tuple[Ids, Sequence[Ids]]], device: torch.device) -> list[tuple[float, ...]]:
    """The encoder reads a question once, the decoder every answer to it."""
    counts = [len(answers) for _, answers in items]
    source, _ = collate([TokenPair("", question, (0,)) for question, _ in items], base.pad, device)
    _, target = collate([TokenPair("", (0,), ids) for _, answers in items for ids in answers], base.pad, device)
    mask = source != base.pad
    encoded = base.network.get_encoder()(input_ids=source, attention_mask=mask).last_hidden_state
    repeats = torch.tensor(counts, device=device)
    logits = base.network(
        encoder_outputs=(encoded.repeat_interleave(repeats, 0),),
        attention_mask=mask.repeat_interleave(repeats, 0),
        labels=target,
    ).logits
    logs = logits.float().log_softmax(-1).gather(-1, target.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    sums = logs.masked_fill(target == IGNORED, 0.0).sum(-1)
    return [tuple(scores.softmax(-1).tolist()) for scores in sums.split(counts)]
