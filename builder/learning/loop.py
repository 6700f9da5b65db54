"""The one training loop, and the scope in which it is deterministic.

In: a network, its optimiser, and a `Course`: batches, gradients, a learning rate and a validation score, which is all
that trainings differ in. Out: the network with the weights of its best epoch. Where checkpoints are written, a run
that was killed goes on from the last one to the same weights. `fit` is the course of the embedded models;
builder.models.paper.seq2seq has that of models spread over processes, builder.language.nlp.fit_parser the parser's.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Generic, Protocol, TypeVar, runtime_checkable

import torch
import torch.utils.deterministic as memory
from torch import Tensor, nn

from builder.core.errors import ModelError
from builder.learning import devices
from builder.learning.checkpoint import Checkpoints, TrainingPlace
from builder.learning.encode import batches
from builder.learning.task import NetworkConfig, Progress, seed_of

Batch = TypeVar("Batch")
Lengths = Sequence[int] | Callable[[int], Sequence[int]]
"""The lengths of the items, the same in every epoch, or a function that draws the items of an epoch (from 0)."""


SAVE_STEPS = 50
"""Steps at least between checkpoints after epochs: of small data an epoch is a few steps, and writing took longer."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """What training reached: the best score and its epoch (from 1), the score of every epoch, this run's losses."""

    score: float
    epoch: int
    scores: tuple[float, ...]
    losses: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """A step of a training: its epoch (from 0), its place among the `count` steps of it, and the steps before it."""

    epoch: int
    index: int
    count: int
    before: int

    @property
    def number(self) -> int:
        """The steps before this one in the whole training."""
        return self.before + self.index


@dataclass(frozen=True, slots=True)
class Course(Generic[Batch]):
    """What trainings differ in.

    `gradient` puts the gradient of a batch into the network and returns its loss. `rate` is the learning rate of a
    step. `validate` scores the network after an epoch, in evaluation mode: the highest wins, the last of equals.
    `size` is a batch in the units of the progress, `expected` the whole training. `patience` ends it after so many
    epochs without a better score (0: never). A checkpoint is written after the first epoch that ends SAVE_STEPS steps
    or more behind the one before, after the last epoch and, inside one, every `save_steps` steps (0: none). `around`
    is entered for the steps of an epoch. `state` are numbers of the gradient's own that checkpoints hold too.
    `setting` names the learning rate to the user.
    """

    epochs: int
    batches: Callable[[int], Sequence[Batch]]
    gradient: Callable[[Batch, TrainingStep], float]
    rate: Callable[[TrainingStep], float]
    clip: Callable[[], object]
    validate: Callable[[], float]
    size: Callable[[Batch], int]
    expected: int
    patience: int = 0
    save_steps: int = 0
    around: Callable[[int], AbstractContextManager[None]] = lambda epoch: nullcontext()
    state: dict[str, int] = field(default_factory=dict)
    setting: str = "`rate`"


@contextmanager
def scope(threads: int, seed: int | None = None, device: torch.device | None = None) -> Iterator[None]:
    """Deterministic torch on `threads` threads; with `seed`, random numbers of our own, on the CPU and on `device`.
    Everything is put back at the end. A GPU has no deterministic way for some operations: it takes the other one.
    """
    gpus = [device] if device is not None and device.type == "cuda" else []
    devices.keep_few_kernels()
    before, mode = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    filling = memory.fill_uninitialized_memory  # type: ignore[attr-defined]
    # use_deterministic_algorithms does the same, but imports a compiler: 2 s, 70 MB
    torch.set_deterministic_debug_mode("warn" if gpus else "error")
    memory.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # only guards against reading it, at a cost
    torch.set_num_threads(threads)
    try:
        with torch.random.fork_rng(devices=gpus, enabled=seed is not None), warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*does not have a deterministic implementation")
            if seed is not None:
                torch.default_generator.manual_seed(seed)
                for gpu in gpus:
                    with torch.cuda.device(gpu):
                        torch.cuda.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(before)
        memory.fill_uninitialized_memory = filling  # type: ignore[attr-defined]
        torch.set_deterministic_debug_mode(mode)


def train(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    course: Course[Batch],
    checkpoints: Checkpoints | None = None,
    progress: Progress | None = None,
) -> Fitted:
    """Train `network` in place; with `checkpoints` it ends with the weights that scored best, without with the last
    ones.

    Raises:
        ModelError: the loss is no number.
    """
    place = checkpoints.resume(network, optimizer) if checkpoints else TrainingPlace()
    scores, losses, before = list(place.scores), list[float](), place.steps - place.step
    course.state.update(place.state)
    written = before
    for epoch in range(place.epoch, course.epochs):
        if course.patience and scores and len(scores) - 1 - scores.index(max(scores)) >= course.patience:
            break
        network.train()
        order = course.batches(epoch)
        begin = place.step if epoch == place.epoch else 0
        done = epoch * sum(map(course.size, order)) + sum(map(course.size, order[:begin]))
        with course.around(epoch):
            for index, batch in enumerate(islice(order, begin, None), begin):
                step = TrainingStep(epoch, index, len(order), before)
                for group in optimizer.param_groups:
                    group["lr"] = course.rate(step) * group.get("scale", 1.0)
                loss = course.gradient(batch, step)
                if not math.isfinite(loss):
                    where = f"epoch {epoch + 1}, step {index + 1}"
                    raise ModelError(f"the loss became {loss}", where=where, fix=f"lower {course.setting}")
                losses.append(loss)
                course.clip()
                optimizer.step()
                done += course.size(batch)
                if progress:
                    note = f"epoch {epoch + 1}/{course.epochs}, loss {loss:.3f}, best {max(scores, default=0.0):.3f}"
                    progress(done, course.expected, note)
                if (
                    checkpoints
                    and course.save_steps
                    and (index + 1) % course.save_steps == 0
                    and index + 1 < len(order)
                ):
                    checkpoints.write(
                        TrainingPlace(epoch, index + 1, step.number + 1, tuple(scores), course.state),
                        network,
                        optimizer,
                    )
                    written = step.number + 1
        before += len(order)
        network.eval()
        scores.append(course.validate())
        place = TrainingPlace(epoch + 1, 0, before, tuple(scores), course.state)
        if checkpoints:
            checkpoints.keep_best(place, network)
            if before - written >= SAVE_STEPS:
                checkpoints.write(place, network, optimizer)
                written = before
    if checkpoints:
        if written < before:
            checkpoints.write(place, network, optimizer)
        checkpoints.read_best(network)
    network.eval()
    top = max(scores)
    return Fitted(top, max(i for i, score in enumerate(scores, 1) if score == top), tuple(scores), tuple(losses))


def fit(
    network: nn.Module,
    lengths: Lengths,
    loss: Callable[[list[int]], Tensor],
    evaluate: Callable[[], float],
    config: NetworkConfig,
    seed: int,
    checkpoints: Checkpoints,
    progress: Progress | None = None,
) -> Fitted:
    """Train an embedded model: batches of like lengths, `loss` of the indices of a batch, dropout drawn by epoch."""
    course = course_of(network, lengths, loss, evaluate, config, seed)
    return train(network, optimizer_of(network, config), course, checkpoints, progress)


def course_of(
    network: nn.Module,
    lengths: Lengths,
    loss: Callable[[list[int]], Tensor],
    evaluate: Callable[[], float],
    config: NetworkConfig,
    seed: int,
    weigh: Callable[[list[int]], float] = len,
    save_steps: int = 0,
) -> Course[list[int]]:
    """The course of an embedded model; lengths that are drawn are drawn before every epoch. `loss` is a mean over what
    `weigh` counts: a batch is taken in parts of that weight where the device has no memory for it.
    """
    now = list(lengths(0) if callable(lengths) else lengths)

    def begin(epoch: int) -> list[list[int]]:
        if callable(lengths):
            now[:] = lengths(epoch)
        return batches(now, config.batch_chars, random.Random(seed_of(seed, "order", epoch)), config.step_items)

    def backward(parts: list[list[int]], whole: float) -> float:
        network.zero_grad(set_to_none=True)
        total = 0.0
        for part in parts:
            weight = weigh(part)
            value = loss(part) if weight == whole else loss(part) * (weight / whole)
            value.backward()  # type: ignore[no-untyped-call]
            total += value.item()
        return total

    def gradient(chosen: list[int], step: TrainingStep) -> float:
        if save_steps and step.index and step.index % save_steps == 0:  # where a killed run goes on
            torch.manual_seed(seed_of(seed, "dropout", step.epoch, step.index))
        parts, whole = [chosen], weigh(chosen)
        while (value := devices.attempt(partial(backward, parts, whole))) is None:
            longest = max(parts, key=len)
            at = parts.index(longest)
            parts[at : at + 1] = devices.halve(longest)
        return value

    return Course(
        epochs=config.epochs,
        batches=begin,
        gradient=gradient,
        rate=lambda step: (
            config.rate * _schedule((step.epoch + step.index / step.count) / config.epochs, config.warmup)
        ),
        clip=lambda: nn.utils.clip_grad_norm_(network.parameters(), config.clip),
        validate=evaluate,
        size=lambda chosen: sum(now[i] for i in chosen),
        expected=config.epochs * sum(now),
        save_steps=save_steps,
        around=lambda epoch: scope(config.threads, seed_of(seed, "dropout", epoch), devices.device_of(network)),
    )


def optimizer_of(network: nn.Module, config: NetworkConfig) -> torch.optim.Optimizer:
    """The optimiser of an embedded model: AdamW, or Adam with the penalty in its gradients (Kingma and Ba 2015)."""
    if config.l2:
        return torch.optim.Adam(decayed_groups(network, config.l2), lr=config.rate)
    return torch.optim.AdamW(
        decayed_groups(network, config.weight_decay), lr=config.rate, betas=(0.9, 0.98), fused=True
    )


@runtime_checkable
class LayerRates(Protocol):
    """A module whose parameters learn at different rates."""

    def rate_scales(self) -> dict[str, float]:
        """By the names of parameters, their learning rate as a share of the common one; 1 where nothing is said."""
        ...


def decayed_groups(network: nn.Module, decay: float) -> list[dict[str, object]]:
    """The parameters to train: weight decay for matrices, none for biases and norms; a group for each rate."""
    scales = {
        f"{where}.{name}" if where else name: scale
        for where, module in network.named_modules()
        if isinstance(module, LayerRates)
        for name, scale in module.rate_scales().items()
    }
    named = [(scales.get(name, 1.0), p) for name, p in network.named_parameters() if p.requires_grad]
    groups: list[dict[str, object]] = []
    for rate in sorted({1.0, *scales.values()}, reverse=True):
        own = [p for scale, p in named if scale == rate]
        groups += [
            {"params": [p for p in own if p.dim() > 1], "weight_decay": decay, "scale": rate},
            {"params": [p for p in own if p.dim() <= 1], "weight_decay": 0.0, "scale": rate},
        ]
    return [group for group in groups if group["params"]]


def _schedule(at: float, warmup: float) -> float:
    """Linear up over the share `warmup` of the training, then a cosine down to nothing."""
    if at < warmup:
        return at / warmup + 1e-3
    return 0.5 * (1 + math.cos(math.pi * (at - warmup) / max(1e-9, 1 - warmup)))
