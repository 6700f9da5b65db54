"""Trained models kept in a folder: trained once for the same data, settings and code, found again by a key, resumed
when interrupted.

In: a network, a key (sha256 over all that training depends on), a function that trains it. Out: the network with its
weights, and their digest. The folder holds `weights.safetensors` (its own digest inside), `model.json` (key, digest,
facts; written last) and, while training goes on, `checkpoints`. What trains here draws its items anew for every
epoch, in one phase or several.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

from builder.core.code import code_digest
from builder.core.errors import ModelError
from builder.core.files import Kept
from builder.learning import devices
from builder.learning.checkpoint import (
    Checkpoints,
    load_weights,
    read_tensors,
    tensor_digest,
    weights_of,
    write_tensors,
)
from builder.learning.encode import batches
from builder.learning.loop import Fitted, course_of, optimizer_of, train
from builder.learning.task import NetworkConfig, Progress, seed_of

Example = TypeVar("Example")


@dataclass(frozen=True, slots=True)
class Schedule:
    """How a model is trained. An epoch is as many sentences as there are, `least` at least; `patience`: epochs
    without a lower validation loss after which training has converged. `batch_tokens` counts padding.
    """

    epochs: int = 12
    least: int = 2000
    patience: int = 2
    batch_tokens: int = 2048
    rate: float = 1e-3
    threads: int = 2

    def config(self) -> NetworkConfig:
        return NetworkConfig(epochs=self.epochs, batch_chars=self.batch_tokens, rate=self.rate, threads=self.threads)


@dataclass(frozen=True, slots=True)
class ModelShelf:
    """Where a model is kept, the seed of its training, who hears how far that is, and the device it runs on."""

    folder: Path
    seed: int = 0
    progress: Progress | None = None
    device: str = "auto"


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """One training as it runs: its seed, its checkpoints, and who hears how far it is."""

    seed: int
    checkpoints: Checkpoints
    progress: Progress | None = None

    def part(self, number: int) -> TrainingRun:
        """The same for one of several trainings behind each other."""
        place = self.checkpoints
        checkpoints = replace(
            place, folder=place.folder / f"phase{number}", fingerprint=f"{place.fingerprint} {number}"
        )
        return TrainingRun(seed_of(self.seed, number), checkpoints, self.progress)


@dataclass(frozen=True, slots=True)
class Phase(Generic[Example]):
    """The examples of an epoch (from 0), those that are held out, and how long training goes on."""

    draw: Callable[[int], Sequence[Example]]
    held: Sequence[Example]
    schedule: Schedule


@dataclass(frozen=True, slots=True)
class Measure(Generic[Example]):
    """What examples are to a network: the mean loss of some, the tokens of one, and how many of these are predicted."""

    loss: Callable[[Sequence[Example]], Tensor]
    size: Callable[[Example], int]
    weight: Callable[[Example], int]


def training_key(kind: str, settings: object, data: Sequence[object], base: str, *modules: str) -> str:
    """What makes two trained models the same: `modules` train it from the weights whose digest is `base`."""
    total = hashlib.sha256(repr((kind, settings, base, torch.__version__)).encode())
    for item in data:
        total.update(repr(item).encode("utf-8", "surrogatepass") + b"\n")
    total.update(code_digest(__name__, *modules).encode())
    return total.hexdigest()


def load_or_train(
    shelf: ModelShelf, key: str, network: nn.Module, train: Callable[[TrainingRun], Mapping[str, float]]
) -> str:
    """Give `network` the weights that belong to `key`: those of the shelf, or those that `train` arrives at. It ends
    on the shelf's device.

    Returns the digest of the weights; what `train` returns is kept beside it as facts. Raises ModelError where the
    weights are damaged.
    """
    network.to(devices.choose(shelf.device))
    weights, checkpoints = shelf.folder / "weights.safetensors", shelf.folder / "checkpoints"

    def make() -> dict[str, object]:
        facts = train(TrainingRun(shelf.seed, Checkpoints(checkpoints, key), shelf.progress))
        tensors = weights_of(network)
        write_tensors(weights, tensors, {})
        return {"digest": tensor_digest(tensors), "facts": dict(facts)}

    model = Kept(shelf.folder).get(key, make, slot="model")
    tensors, _ = read_tensors(weights)
    if tensor_digest(tensors) != model["digest"]:
        where = str(shelf.folder)
        raise ModelError(
            "the weights are not those that model.json names", where=where, fix="delete the folder and run again"
        )
    load_weights(network, tensors, weights)
    network.eval()
    shutil.rmtree(checkpoints, ignore_errors=True)
    return str(model["digest"])


def train_phases(
    network: nn.Module, phases: Sequence[Phase[Example]], measure: Measure[Example], run: TrainingRun
) -> dict[str, float]:
    """Train in phases, one behind the other, such as in-domain pre-training first. Scores and epochs as facts."""
    facts: dict[str, float] = {}
    for number, phase in enumerate(phases):
        fitted = train_phase(network, phase, measure, run.part(number))
        facts |= {f"phase{number}_score": fitted.score, f"phase{number}_epochs": float(len(fitted.scores))}
    return facts


def train_phase(network: nn.Module, phase: Phase[Example], measure: Measure[Example], run: TrainingRun) -> Fitted:
    """Train until the loss on the examples that are held out no longer falls.

    The score is exp(-loss), so that the lowest loss is best: the geometric mean of the probabilities of what was due.
    """
    now: list[Example] = []

    def draw(epoch: int) -> list[int]:
        now[:] = phase.draw(epoch)
        return [measure.size(example) for example in now]

    def score() -> float:
        with torch.inference_mode():
            return float(torch.exp(torch.tensor(-mean_loss(phase.held, measure, phase.schedule.batch_tokens))))

    def loss(chosen: list[int]) -> Tensor:
        with devices.half_precision("auto", devices.device_of(network)):
            return measure.loss([now[i] for i in chosen])

    def weigh(chosen: list[int]) -> float:
        return sum(measure.weight(now[i]) for i in chosen)

    config = phase.schedule.config()
    course = course_of(network, draw, loss, score, config, run.seed, weigh)
    course = replace(course, patience=phase.schedule.patience)
    return train(network, optimizer_of(network, config), course, run.checkpoints, run.progress)


def mean_loss(examples: Sequence[Example], measure: Measure[Example], budget: int) -> float:
    """The mean loss of what is predicted in the examples, in batches of `budget` tokens."""
    total = count = 0.0
    order = batches([measure.size(example) for example in examples], budget)
    for batch, loss in devices.in_parts(order, lambda batch: float(measure.loss([examples[i] for i in batch]))):
        weight = sum(measure.weight(examples[i]) for i in batch)
        total += loss * weight
        count += weight
    return total / max(1.0, count)


def split_held_out(ids: Sequence[str], share: float, seed: int) -> tuple[list[int], list[int]]:
    """(training, validation) indices: by a hash of the sentence's id, one at least of each where there are two."""
    order = sorted(
        range(len(ids)), key=lambda i: hashlib.sha256(f"{seed} {ids[i]}".encode("utf-8", "surrogatepass")).digest()
    )
    count = min(500, max(1, round(len(ids) * share))) if len(ids) > 1 else 0
    return sorted(order[count:]), sorted(order[:count] or order[:1])
