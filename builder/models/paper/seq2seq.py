"""Fine-tuning a sequence-to-sequence model: the course that builder.learning.loop takes with it.

In: token pairs, a network, a score on validation items, and the numbers of Lu et al. 2024 (appendix 11.1). Out: the
network with the weights of its best epoch.
accelerate picks the device and the precision; under `accelerate launch` every process takes its
rows of each batch and the gradients are summed, so that the number of processes changes the order of sums and nothing
else (dropout aside, which is drawn per process). A batch the device cannot hold is taken in parts, whose size is
halved until they fit: the step is the same.

A checkpoint `step-00000120.safetensors` holds network and optimiser, `best.safetensors` the best weights so far; a
training that was killed goes on from the last one to the same weights. Random numbers are drawn per item (its place
in an epoch) and per step (dropout).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Protocol, Self

import torch
from torch import Tensor
from torch.nn import functional

from builder.core.errors import ModelError
from builder.core.limits import Limits, above_0, at_least, check_limits, from_0_to_1
from builder.learning.checkpoint import Checkpoints
from builder.learning.devices import attempt
from builder.learning.loop import Course, Fitted, TrainingStep, decayed_groups, train
from builder.learning.processes import accelerated, agreed, sum_gradients
from builder.learning.task import Progress, seed_of

POOL = 1024
"""Items that are sorted by length together: long enough that batches hold like lengths, short enough that epochs
differ.
"""
IGNORED = -100
Batch = list[int]


@dataclass(frozen=True, slots=True)
class Seq2SeqConfig:
    """How a model is fine-tuned and writes. Any number changes the model but `device`.

    `max_input` and `max_output` are tokens. `batch_tokens` is the size of a step, rows times the longest input and
    output; with `batch` examples a step instead, what the device takes at once. `patience` 0: never end before the last
    epoch. `save_steps`: steps between checkpoints. `rate` is the highest, behind a warm-up over the share `warmup` of
    the steps and before a linear way down; the paper names neither.
    """

    epochs: int = 5
    max_input: int = 1024
    max_output: int = 512
    batch_tokens: int = 8192
    generate_tokens: int = 32768
    rate: float = 3e-4
    warmup: float = 0.05
    weight_decay: float = 0.01
    clip: float = 1.0
    patience: int = 0
    save_steps: int = 2000
    precision: str = "auto"
    threads: int = 2
    batch: int = 0
    device: str = field(default="auto", repr=False)

    @property
    def numbers(self) -> dict[str, object]:
        """What a model depends on: all but the device."""
        return {key: value for key, value in asdict(self).items() if key != "device"}

    @classmethod
    def read(cls, numbers: Mapping[str, Any]) -> Self:
        """The config with these `numbers`, some of which may be of earlier versions."""
        return cls(**{key: value for key, value in numbers.items() if key != "processes"})

    def __post_init__(self) -> None:
        check_limits(self, lambda key: "model config")

    def limits(self) -> Limits:
        counts = [field_.name for field_ in fields(self) if field_.type == "int"]
        return {
            **{name: at_least(0 if name in ("patience", "batch") else 1, getattr(self, name)) for name in counts},
            "warmup": from_0_to_1(self.warmup),
            "rate": above_0(self.rate),
            "clip": above_0(self.clip),
        }


@dataclass(frozen=True, slots=True)
class TokenPair:
    """Input and due output of an item as token ids, each with the end mark."""

    id: str
    source: tuple[int, ...]
    target: tuple[int, ...]

    @property
    def size(self) -> int:
        return len(self.source) + len(self.target)


class ShareScore(Protocol):
    """Scores a network on the validation items [share[0]::share[1]]: the sum of their scores and their number."""

    def __call__(self, network: Any, share: tuple[int, int]) -> tuple[float, float]: ...


@dataclass(frozen=True, slots=True)
class FineTuned(Fitted):
    """What a fine-tuning reached, and the tokens that the device took at once in the end (0: as many as asked for)."""

    part_tokens: int = 0


def batches(pairs: Sequence[TokenPair], budget: int, seed: int, epoch: int, most: int = 0) -> list[Batch]:
    """Batches of like lengths with at most `budget` tokens, or of `most` items; in an order of the epoch's own."""
    order = sorted(range(len(pairs)), key=lambda i: seed_of(seed, epoch, pairs[i].id))
    out: list[Batch] = []
    for first in range(0, len(order), POOL):
        pool = sorted(order[first : first + POOL], key=lambda i: (-len(pairs[i].source), -len(pairs[i].target), i))
        if most:
            out += [pool[at : at + most] for at in range(0, len(pool), most)]
        else:
            out += cut(pool, [(len(pair.source), len(pair.target)) for pair in pairs], budget)
    return sorted(out, key=lambda batch: seed_of(seed, epoch, "batch", pairs[batch[0]].id))


def cut(order: Sequence[int], sizes: Sequence[tuple[int, int]], budget: int) -> list[Batch]:
    """Stretches of `order` whose padded size is within the budget, or single items."""
    out: list[Batch] = []
    longest = (0, 0)
    for i in order:
        grown = max(longest[0], sizes[i][0]), max(longest[1], sizes[i][1])
        if out and (len(out[-1]) + 1) * sum(grown) <= budget:
            out[-1].append(i)
            longest = grown
        else:
            out.append([i])
            longest = sizes[i]
    return out


def fit(
    network: Any,
    pairs: Sequence[TokenPair],
    score: ShareScore,
    config: Seq2SeqConfig,
    seed: int,
    checkpoints: Path,
    fingerprint: str,
    progress: Progress | None = None,
) -> FineTuned:
    """Fine-tune `network` in place to the weights of the best epoch, the last of equals. ModelError where nothing can
    be learnt, the loss is no number, or one item is too large for the device.
    """
    if not pairs:
        raise ModelError(
            "the training set is empty", where="sequence-to-sequence training", fix="train on reviews with triplets"
        )
    with accelerated(config) as accelerator:
        network.to(accelerator.device)
        optimizer = torch.optim.AdamW(decayed_groups(network, config.weight_decay), lr=config.rate)
        main = accelerator.is_main_process
        place = Checkpoints(checkpoints, fingerprint, kept=1, main=main, meet=accelerator.wait_for_everyone)
        course = _course(network, pairs, score, config, seed, accelerator)
        fitted = train(network, optimizer, course, place, progress if main else None)
    part = course.state["part"]
    return FineTuned(
        fitted.score, fitted.epoch, fitted.scores, fitted.losses, 0 if part >= config.batch_tokens or not part else part
    )


def _course(
    network: Any, pairs: Sequence[TokenPair], score: ShareScore, config: Seq2SeqConfig, seed: int, accelerator: Any
) -> Course[Batch]:
    """What the training loop needs to know: every process takes its rows; random numbers are drawn by step."""
    plans = [batches(pairs, config.batch_tokens, seed, epoch, config.batch) for epoch in range(config.epochs)]
    total, pad = sum(map(len, plans)), int(network.config.pad_token_id)
    state = {"part": 0}

    def step_gradient(batch: Batch, step: TrainingStep) -> float:
        chosen, dropout = [pairs[i] for i in batch], seed_of(seed, "dropout", step.number)
        loss, state["part"] = gradient(network, chosen, pad, state["part"], dropout, accelerator, config)
        return loss

    return Course(
        epochs=config.epochs,
        batches=lambda epoch: plans[epoch],
        gradient=step_gradient,
        rate=lambda step: config.rate * _schedule((step.number + 1) / total, config.warmup),
        clip=lambda: accelerator.clip_grad_norm_(network.parameters(), config.clip),
        validate=lambda: _validate(network, score, accelerator),
        size=lambda batch: sum(pairs[i].size for i in batch),
        expected=config.epochs * sum(pair.size for pair in pairs),
        patience=config.patience,
        save_steps=config.save_steps,
        state=state,
        setting="paper.rate",
    )


def gradient(
    network: Any, items: Sequence[TokenPair], pad: int, part: int, seed: int, accelerator: Any, config: Seq2SeqConfig
) -> tuple[float, int]:
    """Put the gradient of a batch's mean token loss into the network; the loss, and the tokens taken at once.

    Every process takes its rows. One that runs out of memory makes all begin the batch anew with half as large parts.
    """
    rows = items[accelerator.process_index :: accelerator.num_processes]
    tokens = sum(len(pair.target) for pair in items)
    part = part or config.batch_tokens
    while True:
        network.zero_grad(set_to_none=True)
        torch.manual_seed(seed + accelerator.process_index)
        parts = cut(range(len(rows)), [(len(pair.source), len(pair.target)) for pair in rows], part)
        loss = attempt(
            lambda parts=parts: sum(  # type: ignore[misc]
                _backward(network, [rows[i] for i in part], pad, tokens, accelerator) for part in parts
            )
        )
        if not agreed(accelerator, float(loss is None), "max"):
            assert loss is not None
            break
        if len(parts) >= len(rows):
            largest = max(pair.size for pair in items)
            raise ModelError(
                f"out of memory on one item of {largest} tokens",
                where=str(accelerator.device),
                fix="lower paper.max_input, or use a smaller model",
            )
        part //= 2
        warnings.warn(
            f"out of memory: a step of {config.batch_tokens} tokens is now taken in parts of {part}",
            RuntimeWarning,
            stacklevel=2,
        )
    if accelerator.num_processes > 1:
        sum_gradients(accelerator, network)
    return agreed(accelerator, loss, "sum"), part


def _backward(network: Any, rows: Sequence[TokenPair], pad: int, tokens: int, accelerator: Any) -> float:
    source, target = collate(rows, pad, accelerator.device)
    with accelerator.autocast():
        logits = network(input_ids=source, attention_mask=source != pad, labels=target).logits
    # The mean over the whole batch, not over this part of it: parts and processes add up to it.
    loss = (
        functional.cross_entropy(logits.float().flatten(0, 1), target.flatten(), ignore_index=IGNORED, reduction="sum")
        / tokens
    )
    accelerator.backward(loss)
    return float(loss.detach())


def collate(rows: Sequence[TokenPair], pad: int, device: torch.device | str) -> tuple[Tensor, Tensor]:
    """Inputs [rows, longest] padded with `pad`, outputs padded with IGNORED."""
    source = torch.full((len(rows), max(len(pair.source) for pair in rows)), pad)
    target = torch.full((len(rows), max(len(pair.target) for pair in rows)), IGNORED)
    for i, pair in enumerate(rows):
        source[i, : len(pair.source)] = torch.tensor(pair.source)
        target[i, : len(pair.target)] = torch.tensor(pair.target)
    return source.to(device), target.to(device)


def _validate(network: Any, score: ShareScore, accelerator: Any) -> float:
    network.eval()
    right, count = score(network, (accelerator.process_index, accelerator.num_processes))
    count = agreed(accelerator, count, "sum")
    return agreed(accelerator, right, "sum") / count if count else 0.0


def _schedule(at: float, warmup: float) -> float:
    """Linear up over the share `warmup`, then linear down to nothing; `at` runs from 0 (excluded) to 1."""
    return at / warmup if at < warmup else max(1e-3, (1 - at) / max(1e-9, 1 - warmup))
