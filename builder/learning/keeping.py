"""Trained models kept in a folder: trained once for the same data, settings and code, found again by a key, resumed when interrupted.

In: a network, a key (sha256 over all that training depends on), a function that trains it. Out: the network with its weights, and their digest. The
folder holds `weights.safetensors` (its own digest inside), `model.json` (key, digest, facts; written last) and, while training goes on, `checkpoints`;
beside them numbers that the model was asked for, with a key of their own.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from builder.code import code_digest
from builder.errors import ModelError
from builder.learning.checkpoint import read_tensors, tensor_digest, write_file, write_tensors
from builder.learning.loop import Fitted, fit
from builder.learning.task import NetworkConfig, Progress

"""They write, and teach nothing: what else is kept that hangs on one names it as `code`."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """How a model is trained. An epoch is as many sentences as there are, `least` at least; `patience`: epochs without a lower validation loss
    after which training has converged. `batch_tokens` counts padding; `held` is the share of the sentences that validates, 500 at most."""

    epochs: int = 12
    least: int = 2000
    patience: int = 2
    batch_tokens: int = 2048
    rate: float = 1e-3
    held: float = 0.05
    threads: int = 2

    def config(self) -> NetworkConfig:
        return NetworkConfig(epochs=self.epochs, batch_chars=self.batch_tokens, rate=self.rate, threads=self.threads)


def key_of(kind: str, settings: object, data: Sequence[object], base: str, *modules: str) -> str:
    """What makes two trained models the same: `modules` train it, `base` is the digest of the weights that training begins with."""
    total = hashlib.sha256(repr((kind, settings, base, torch.__version__)).encode())
    for item in data:
        total.update(repr(item).encode("utf-8", "surrogatepass") + b"\n")
    total.update(code_digest(__name__, *modules).encode())
    return total.hexdigest()


def obtained(folder: Path, key: str, network: nn.Module, train: Callable[[Path], Mapping[str, float]]) -> str:
    """Give `network` the weights that belong to `key`: those of the folder, or those that `train` (told where checkpoints go) arrives at.

    Returns their digest; `facts` tells what `train` told. Raises ModelError where the folder's weights are damaged.
    """
    try:
        kept = json.loads((folder / "model.json").read_text("utf-8"))
    except (OSError, ValueError):
        kept = {}
    if kept.get("key") == key:
        tensors, _ = read_tensors(folder / "weights.safetensors")
        if tensor_digest(tensors) != kept.get("digest"):
            raise ModelError("the weights are not those that model.json names", where=str(folder), fix="delete the folder and run again")
        _fill(network, tensors, folder)
        return str(kept["digest"])
    (folder / "model.json").unlink(missing_ok=True)
    learnt = train(folder / "checkpoints")
    tensors = _weights(network)
    write_tensors(folder / "weights.safetensors", tensors, {})
    digest = tensor_digest(tensors)
    told = {"key": key, "digest": digest, "facts": dict(learnt)}
    write_file(folder / "model.json", (json.dumps(told, sort_keys=True) + "\n").encode())
    shutil.rmtree(folder / "checkpoints", ignore_errors=True)
    return digest


def noted(path: Path, key: str, find: Callable[[], float]) -> float:
    """The number that belongs to `key`: that of a file, or what `find` finds, which is written there."""
    try:
        told = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        told = {}
    if told.get("key") != key:
        told = {"key": key, "value": find()}
        write_file(path, (json.dumps(told) + "\n").encode())
    return float(told["value"])


def _weights(network: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers, tied ones once."""
    out = {name: parameter.detach() for name, parameter in network.named_parameters()}
    return out | {name: buffer for name, buffer in network.named_buffers() if name in network.state_dict()}


def _fill(network: nn.Module, tensors: Mapping[str, Tensor], folder: Path) -> None:
    mine = _weights(network)
    if mine.keys() != tensors.keys() or any(mine[name].shape != tensor.shape for name, tensor in tensors.items()):
        raise ModelError("the weights belong to another model", where=str(folder), fix="delete the folder and run again")
    with torch.no_grad():
        for name, tensor in tensors.items():
            mine[name].copy_(tensor)
    network.eval()


def trained(
    network: nn.Module,
    draw: Callable[[int], Sequence[int]],
    loss: Callable[[list[int]], Tensor],
    evaluate: Callable[[], float],
    schedule: Schedule,
    seed: int,
    checkpoints: Path,
    key: str,
    progress: Progress | None,
) -> Fitted:
    """The one training loop, over items that `draw` makes for every epoch. `evaluate` gives a mean loss; the score is exp(-loss), so that the
    lowest loss is best: the geometric mean of the probabilities of what was due."""

    def score() -> float:
        with torch.inference_mode():
            return float(torch.exp(torch.tensor(-evaluate())))

    return fit(network, draw(0), loss, score, schedule.config(), seed, checkpoints, key, progress, draw, schedule.patience)


def held_out(ids: Sequence[str], share: float, seed: int) -> tuple[list[int], list[int]]:
    """(training, validation) indices: by a hash of the sentence's id, one at least of each where there are two."""
    order = sorted(range(len(ids)), key=lambda i: hashlib.sha256(f"{seed} {ids[i]}".encode("utf-8", "surrogatepass")).digest())
    count = min(500, max(1, round(len(ids) * share))) if len(ids) > 1 else 0
    return sorted(order[count:]), sorted(order[:count] or order[:1])
