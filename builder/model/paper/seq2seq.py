"""The training loop of the sequence-to-sequence models.

In: token pairs, a network, a score on validation items. Out: the network with the weights of its best epoch. accelerate picks the device and
the precision; on several GPUs (or CPU processes with gloo) every process takes its rows of each batch and the gradients are summed, so
that the number of processes changes the order of sums and nothing else (dropout aside, which is drawn per process). A batch the
device cannot hold is taken in parts, whose size is halved until they fit: the step is the same.

A checkpoint `step-00000120.safetensors` holds network and optimiser, `best.safetensors` the best weights so far; a training that was killed goes
on from the last one to the same weights. Random numbers are drawn per item (its place in an epoch) and per step (dropout).
"""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional

from builder.errors import ModelError
from builder.learning.checkpoint import read_tensors, write_tensors
from builder.learning.devices import accelerated, agreed
from builder.learning.task import Progress
from builder.model.paper.pretrained import weights
from builder.model.paper.settings import Seq2SeqConfig
from builder.model.paper.training_state import At, Trained, load_weights, resume, save

POOL = 1024
"""Items that are sorted by length together: long enough that batches hold like lengths, short enough that epochs differ."""
IGNORED = -100
Batch = list[int]


@dataclass(frozen=True, slots=True)
class Pair:
    """Input and due output of an item as token ids, each with the end mark."""

    id: str
    source: tuple[int, ...]
    target: tuple[int, ...]

    @property
    def size(self) -> int:
        return len(self.source) + len(self.target)


class Score(Protocol):
    """Scores a network on the validation items [share[0]::share[1]]: the sum of their scores and their number."""

    def __call__(self, network: Any, share: tuple[int, int]) -> tuple[float, float]: ...


def number(*parts: object) -> int:
    """A hash as a seed, the same on every machine."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).digest()[:7])


def batches(pairs: Sequence[Pair], budget: int, seed: int, epoch: int) -> list[Batch]:
    """Batches of like lengths with at most `budget` tokens, padding included, one item at least; the order is the epoch's own."""
    order = sorted(range(len(pairs)), key=lambda i: number(seed, epoch, pairs[i].id))
    out: list[Batch] = []
    for first in range(0, len(order), POOL):
        pool = sorted(order[first : first + POOL], key=lambda i: (-len(pairs[i].source), -len(pairs[i].target), i))
        out += cut(pool, [(len(pair.source), len(pair.target)) for pair in pairs], budget)
    return sorted(out, key=lambda batch: number(seed, epoch, "batch", pairs[batch[0]].id))


def cut(order: Sequence[int], sizes: Sequence[tuple[int, int]], budget: int) -> list[Batch]:
    """Stretches of `order` whose padded size (rows times longest input plus longest output) is within the budget, or single items."""
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
    pairs: Sequence[Pair],
    score: Score,
    config: Seq2SeqConfig,
    seed: int,
    checkpoints: Path,
    fingerprint: str,
    progress: Progress | None = None,
) -> Trained:
    """Fine-tune `network` in place; it ends with the weights of the best epoch (the last of equals), on the device it was trained on.

    Raises ModelError where there is nothing to learn, where the loss is no number, and where one item alone is too large for the device.
    """
    if not pairs:
        raise ModelError("the training set is empty", where="sequence-to-sequence training", fix="train on reviews with triplets")
    with accelerated(config) as accelerator:
        pad = int(network.config.pad_token_id)
        network.to(accelerator.device)
        optimizer = torch.optim.AdamW(_groups(network, config.weight_decay), lr=config.rate)
        plans = [batches(pairs, config.batch_tokens, seed, epoch) for epoch in range(config.epochs)]
        total, tokens = sum(map(len, plans)), sum(pair.size for pair in pairs)
        at = resume(checkpoints, fingerprint, network, optimizer)
        scores, losses, part = list(at.scores), list[float](), at.part
        for epoch in range(at.epoch, config.epochs):
            if _patient(scores, config.patience):
                break
            network.train()
            begin = at.step if epoch == at.epoch else 0
            done = epoch * tokens + sum(pairs[i].size for batch in plans[epoch][:begin] for i in batch)
            for step, batch in enumerate(plans[epoch][begin:], begin):
                past = sum(map(len, plans[:epoch])) + step
                for group in optimizer.param_groups:
                    group["lr"] = config.rate * _schedule((past + 1) / total, config.warmup)
                items = [pairs[i] for i in batch]
                loss, part = gradient(network, items, pad, part, number(seed, "dropout", past), accelerator, config)
                if not math.isfinite(loss):
                    raise ModelError(f"the loss became {loss}", where=f"epoch {epoch + 1}, step {step + 1}", fix="lower paper.rate")
                losses.append(loss)
                accelerator.clip_grad_norm_(network.parameters(), config.clip)
                optimizer.step()
                done += sum(pair.size for pair in items)
                if progress and accelerator.is_main_process:
                    progress(
                        done,
                        config.epochs * tokens,
                        f"epoch {epoch + 1}/{config.epochs}, loss {loss:.3f}, best {max(scores, default=0.0):.3f}",
                    )
                if (step + 1) % config.save_steps == 0 and step + 1 < len(plans[epoch]):
                    save(accelerator, checkpoints, fingerprint, network, optimizer, At(epoch, step + 1, tuple(scores), part), past + 1)
            scores.append(_validate(network, score, accelerator))
            if scores[-1] >= max(scores) and accelerator.is_main_process:
                write_tensors(checkpoints / "best.safetensors", weights(network), {"fingerprint": fingerprint, "epoch": str(epoch + 1)})
            save(
                accelerator,
                checkpoints,
                fingerprint,
                network,
                optimizer,
                At(epoch + 1, 0, tuple(scores), part),
                sum(map(len, plans[: epoch + 1])),
            )
        accelerator.wait_for_everyone()
        load_weights(network, read_tensors(checkpoints / "best.safetensors")[0], checkpoints / "best.safetensors")
        network.eval()
    top = max(scores)
    best = max(i for i, value in enumerate(scores, 1) if value == top)
    return Trained(top, best, tuple(scores), tuple(losses), 0 if part >= config.batch_tokens or not part else part)


def gradient(
    network: Any, items: Sequence[Pair], pad: int, part: int, seed: int, accelerator: Any, config: Seq2SeqConfig
) -> tuple[float, int]:
    """Put the gradient of the mean token loss of a batch into the network; the loss, and the tokens that the device takes at once.

    Every process takes its rows. One that runs out of memory makes all begin the batch anew with half as large parts.
    """
    rows = items[accelerator.process_index :: accelerator.num_processes]
    tokens = sum(len(pair.target) for pair in items)
    part = part or config.batch_tokens
    while True:
        network.zero_grad(set_to_none=True)
        torch.manual_seed(seed + accelerator.process_index)
        parts = cut(range(len(rows)), [(len(pair.source), len(pair.target)) for pair in rows], part)
        loss = _tried(lambda parts=parts: sum(_backward(network, [rows[i] for i in one], pad, tokens, accelerator) for one in parts))  # type: ignore[misc]
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
            f"out of memory: a step of {config.batch_tokens} tokens is now taken in parts of {part}", RuntimeWarning, stacklevel=2
        )
    if accelerator.num_processes > 1:
        for parameter in network.parameters():
            mine = parameter.grad if parameter.grad is not None else torch.zeros_like(parameter)
            parameter.grad = accelerator.reduce(mine, "sum")
    return agreed(accelerator, loss, "sum"), part


def _tried(work: Callable[[], float]) -> float | None:
    """The result of `work`, or None if the device ran out of memory."""
    try:
        return work()
    except torch.OutOfMemoryError:
        pass
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return None


def _backward(network: Any, rows: Sequence[Pair], pad: int, tokens: int, accelerator: Any) -> float:
    source, target = collate(rows, pad, accelerator.device)
    with accelerator.autocast():
        logits = network(input_ids=source, attention_mask=source != pad, labels=target).logits
    # The mean over the whole batch, not over this part of it: parts and processes add up to it.
    loss = functional.cross_entropy(logits.float().flatten(0, 1), target.flatten(), ignore_index=IGNORED, reduction="sum") / tokens
    accelerator.backward(loss)
    return float(loss.detach())


def collate(rows: Sequence[Pair], pad: int, device: torch.device | str) -> tuple[Tensor, Tensor]:
    """Inputs [rows, longest] padded with `pad`, outputs padded with IGNORED."""
    source = torch.full((len(rows), max(len(pair.source) for pair in rows)), pad)
    target = torch.full((len(rows), max(len(pair.target) for pair in rows)), IGNORED)
    for i, pair in enumerate(rows):
        source[i, : len(pair.source)] = torch.tensor(pair.source)
        target[i, : len(pair.target)] = torch.tensor(pair.target)
    return source.to(device), target.to(device)


def _validate(network: Any, score: Score, accelerator: Any) -> float:
    network.eval()
    right, count = score(network, (accelerator.process_index, accelerator.num_processes))
    count = agreed(accelerator, count, "sum")
    return agreed(accelerator, right, "sum") / count if count else 0.0


def _patient(scores: Sequence[float], patience: int) -> bool:
    """Whether so many epochs have passed since a score better than all before that training ends."""
    return bool(patience and scores and len(scores) - 1 - list(scores).index(max(scores)) >= patience)


def _schedule(at: float, warmup: float) -> float:
    """Linear up over the share `warmup` of the training, then linear down to nothing; `at` runs from 0 (excluded) to 1."""
    return at / warmup if at < warmup else max(1e-3, (1 - at) / max(1e-9, 1 - warmup))


def _groups(network: Any, decay: float) -> list[dict[str, object]]:
    """Weight decay for matrices, none for norms."""
    parameters = [p for p in network.parameters() if p.requires_grad]
    return [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": decay},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]
