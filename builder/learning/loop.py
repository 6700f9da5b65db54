"""The one training loop, and the scope in which it is deterministic.

In: a network, a loss over a batch of item indices, a score on the validation items. Out: the network with the weights of its best
epoch. After every epoch a checkpoint is written, and a run that was killed goes on from there to the same weights. torch's random
state, thread count and deterministic mode are as before when the scope ends.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.utils.deterministic as memory
from torch import Tensor, nn

from builder.errors import ModelError
from builder.learning import checkpoint
from builder.learning.encode import batches
from builder.learning.seeds import seed_of
from builder.learning.task import NetworkConfig, Progress


@dataclass(frozen=True, slots=True)
class Fitted:
    """What training reached: the best score, the epoch (from 1) whose weights the network now has, and the score of every epoch."""

    score: float
    epoch: int
    scores: tuple[float, ...]


@contextmanager
def scope(threads: int, seed: int | None = None) -> Iterator[None]:
    """Deterministic torch on `threads` threads; with `seed`, random numbers of our own. Everything is put back at the end."""
    deterministic, warn = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    before = torch.get_num_threads()
    filling = memory.fill_uninitialized_memory  # type: ignore[attr-defined]
    torch.use_deterministic_algorithms(True)
    memory.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # only guards against reading it, at a cost
    torch.set_num_threads(threads)
    try:
        with torch.random.fork_rng(devices=[], enabled=seed is not None):
            if seed is not None:
                torch.default_generator.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(before)
        memory.fill_uninitialized_memory = filling  # type: ignore[attr-defined]
        torch.use_deterministic_algorithms(deterministic, warn_only=warn)


def fit(
    network: nn.Module,
    lengths: Sequence[int],
    loss: Callable[[list[int]], Tensor],
    evaluate: Callable[[], float],
    config: NetworkConfig,
    seed: int,
    checkpoints: Path,
    fingerprint: str,
    progress: Progress | None,
    draw: Callable[[int], Sequence[int]] | None = None,
    patience: int = 0,
) -> Fitted:
    """Train `network` for config.epochs and leave it with the weights that scored best (the last of equals).

    `draw` makes the items of an epoch, told its number from 0, and gives their lengths (`lengths` is then a guess for the progress); `patience`
    ends the training after so many epochs without a better score (0: never).
    """
    optimizer = torch.optim.AdamW(_groups(network, config.weight_decay), lr=config.rate, betas=(0.9, 0.98), fused=True)
    best, scores = _weights(network), list[float]()
    if (state := checkpoint.latest(checkpoints, fingerprint)) is not None:
        best, scores = checkpoint.restore(state, network, optimizer), list(state.scores)
    total = config.epochs * sum(lengths)
    for epoch in range(len(scores), config.epochs):
        if patience and scores and len(scores) - 1 - scores.index(max(scores)) >= patience:
            break
        lengths = draw(epoch) if draw else lengths
        network.train()
        order = batches(lengths, config.batch_chars, random.Random(seed_of(seed, "order", epoch)))
        done = epoch * sum(lengths)
        with scope(config.threads, seed_of(seed, "dropout", epoch)):
            for step, chosen in enumerate(order):
                for group in optimizer.param_groups:
                    group["lr"] = config.rate * _schedule((epoch + step / len(order)) / config.epochs, config.warmup)
                optimizer.zero_grad(set_to_none=True)
                value = loss(chosen)
                if not math.isfinite(value.item()):
                    raise ModelError(f"the loss became {value.item()}", where=f"epoch {epoch + 1}, batch {step + 1}", fix="lower `rate`")
                value.backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(network.parameters(), config.clip)
                optimizer.step()
                done += sum(lengths[i] for i in chosen)
                if progress:
                    progress(done, total, f"epoch {epoch + 1}/{config.epochs}, best {max(scores, default=0.0):.3f}")
        network.eval()
        score = evaluate()
        if score >= max(scores, default=0.0):
            best = _weights(network)
        scores.append(score)
        checkpoint.write(checkpoints, fingerprint, network, optimizer, best, scores)
    network.load_state_dict(best)
    network.eval()
    top = max(scores)
    return Fitted(top, max(i for i, score in enumerate(scores, 1) if score == top), tuple(scores))


def _schedule(at: float, warmup: float) -> float:
    """Linear up over the share `warmup` of the training, then a cosine down to nothing."""
    if at < warmup:
        return at / warmup + 1e-3
    return 0.5 * (1 + math.cos(math.pi * (at - warmup) / max(1e-9, 1 - warmup)))


def _groups(network: nn.Module, decay: float) -> list[dict[str, object]]:
    """Weight decay for matrices, none for biases and norms."""
    parameters = [p for p in network.parameters() if p.requires_grad]
    return [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": decay},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]


def _weights(network: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}
