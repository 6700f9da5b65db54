"""Writing answers: sorted by length, batched by tokens, greedy, constrained if a grammar is given; and weighing
answers that are known.

In: token ids of questions. Out: `Output`s in the order of the questions, each with the geometric mean of the
probabilities that the model gave its tokens before any constraint. A batch that the device cannot hold is halved.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from builder.core.errors import ModelError
from builder.learning.hub import quiet
from builder.learning.processes import inference
from builder.learning.task import Progress
from builder.models.paper.grammar import AnswerGrammar, State
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
    grammars: Callable[[int], AnswerGrammar] | None = None,
    progress: Progress | None = None,
) -> Iterator[tuple[int, Output]]:
    """(index, output) of every question, long ones first; at most config.max_output tokens each."""
    done, total = 0, sum(map(len, questions))
    order = sorted(range(len(questions)), key=lambda i: (-len(questions[i]), i))
    sizes = [(len(ids), min(config.max_output, len(ids) + 1)) for ids in questions]

    def write_batch(batch: list[int], device: torch.device) -> list[Output]:
        return _write(
            base, [questions[i] for i in batch], config, [grammars(i) for i in batch] if grammars else None, device
        )

    with quiet(), inference(base.network, config) as device:
        for batch, outputs in _fitting(order, sizes, config.generate_tokens, lambda batch: write_batch(batch, device)):
            yield from zip(batch, outputs, strict=True)
            done += sum(len(questions[i]) for i in batch)
            if progress:
                progress(done, total, "writing")


def _fitting(
    order: Sequence[int], sizes: Sequence[tuple[int, int]], budget: int, work: Callable[[list[int]], list[Any]]
) -> Iterator[tuple[list[int], list[Any]]]:
    """`work` on batches of `order` within the budget, which is halved where one runs out of memory."""
    at = 0
    while at < len(order):
        batch = next(iter(cut(list(islice(order, at, at + budget)), sizes, budget)))
        try:
            done = work(batch)
        except torch.OutOfMemoryError as error:
            if len(batch) == 1:
                raise ModelError(
                    f"out of memory on one item of {sizes[batch[0]][0]} tokens",
                    fix="lower paper.max_input, or use a smaller model",
                ) from error
            done = None
        if done is None:
            budget //= 2
            warnings.warn(f"out of memory: batches now have {budget} tokens", RuntimeWarning, stacklevel=2)
            torch.cuda.empty_cache()
            continue
        yield batch, done
        at += len(batch)


def _write(
    base: Base,
    questions: Sequence[Ids],
    config: Seq2SeqConfig,
    grammars: Sequence[AnswerGrammar] | None,
    device: torch.device,
) -> list[Output]:
    from transformers import GenerationConfig, LogitsProcessorList

    source, _ = collate([TokenPair("", ids, (0,)) for ids in questions], base.pad, device)
    watch = Watch(base.eos, len(questions), grammars)
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
    """A logits processor that keeps to the grammars, and notes how probable what is chosen was before."""

    def __init__(self, eos: int, rows: int, grammars: Sequence[AnswerGrammar] | None) -> None:
        self._eos, self._grammars = eos, grammars
        self._states: list[State] = [grammar.start() for grammar in grammars or ()]
        self._open = torch.ones(rows, dtype=torch.bool)
        self._tokens = torch.zeros(rows, dtype=torch.int64)
        self.logs = torch.zeros(rows, dtype=torch.float64)

    @property
    def counts(self) -> list[int]:
        """Tokens of each row, the end mark with them."""
        return [int(count) for count in self._tokens.tolist()]

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """scores [rows, vocabulary] -> the same with -inf for what may not follow."""
        if input_ids.shape[1] > 1:
            self._follow(input_ids[:, -1].cpu())
        scores = scores.float()
        logs = scores.log_softmax(-1)
        if self._grammars is not None:
            scores = self._bar(scores)
        chosen = scores.argmax(-1, keepdim=True)
        sure = logs.gather(-1, chosen).squeeze(-1).double().cpu()
        self.logs += sure.masked_fill(~self._open, 0.0)
        self._tokens += self._open
        return scores

    def _follow(self, last: Tensor) -> None:
        self._open &= last != self._eos
        for row in self._open.nonzero().flatten().tolist() if self._grammars is not None else ():
            self._states[row] = self._grammars[row].advance(self._states[row], int(last[row]))  # type: ignore[index]

    def _bar(self, scores: Tensor) -> Tensor:
        """-inf for what may not follow. Only the places of what may are sent to the device: a mask of all is large."""
        assert self._grammars is not None
        still = self._open.tolist()
        ids = [
            self._grammars[row].allowed(state) if still[row] else (self._eos,) for row, state in enumerate(self._states)
        ]
        places = torch.tensor(
            [[row for row, allowed in enumerate(ids) for _ in allowed], [i for allowed in ids for i in allowed]]
        ).to(scores.device)
        out = torch.full_like(scores, -math.inf)
        out[places[0], places[1]] = scores[places[0], places[1]]
        return out


def weigh(
    base: Base, items: Sequence[tuple[Ids, Sequence[Ids]]], config: Seq2SeqConfig, progress: Progress | None = None
) -> Iterator[tuple[int, tuple[float, ...]]]:
    """(index, chances): how probable each possible answer of a question is among them, end mark included."""
    done, total = 0, sum(len(question) for question, _ in items)
    order = sorted(range(len(items)), key=lambda i: (-len(items[i][0]), i))
    sizes = [(len(question), sum(map(len, answers))) for question, answers in items]
    with inference(base.network, config) as device:
        for batch, chances in _fitting(
            order, sizes, config.generate_tokens, lambda batch: _weigh(base, [items[i] for i in batch], device)
        ):
            yield from zip(batch, chances, strict=True)
            done += sum(len(items[i][0]) for i in batch)
            if progress:
                progress(done, total, "judging")


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
