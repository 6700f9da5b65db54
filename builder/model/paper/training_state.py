"""Where a training of a sequence-to-sequence model stands, on disk.

In: network, optimiser, scores. Out: `step-00000120.safetensors` (flat names: network.*, exp_avg.*, exp_avg_sq.*, step.*; the place in the training as
metadata), and at the end `done.json`, with the best weights in `best.safetensors`. All are written atomically and carry the fingerprint of the training.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from builder.errors import ModelError
from builder.learning.checkpoint import read_tensors, write_file, write_tensors
from builder.model.paper.pretrained import weights


@dataclass(frozen=True, slots=True)
class Trained:
    """The best score, its epoch (from 1), the score of every epoch, the mean loss of every step of this run, and the tokens that the
    device took at once in the end (0: as many as asked for)."""

    score: float
    epoch: int
    scores: tuple[float, ...]
    losses: tuple[float, ...]
    part_tokens: int


@dataclass(frozen=True, slots=True)
class At:
    """How far a training is: epochs done, steps of the next one, scores, and the tokens that the device takes at once (0: not known)."""

    epoch: int
    step: int
    scores: tuple[float, ...]
    part: int


def save(accelerator: Any, folder: Path, fingerprint: str, network: Any, optimizer: torch.optim.Optimizer, at: At, steps: int) -> None:
    """Write the checkpoint behind `steps` optimiser steps and remove the one before; the main process alone writes."""
    accelerator.wait_for_everyone()
    if not accelerator.is_main_process:
        return
    tensors = {f"network.{name}": tensor for name, tensor in weights(network).items()}
    for name, parameter in network.named_parameters():
        tensors |= {f"{key}.{name}": torch.as_tensor(value) for key, value in optimizer.state.get(parameter, {}).items()}
    kept = {"epoch": at.epoch, "step": at.step, "scores": list(at.scores), "part": at.part}
    path = folder / f"step-{steps:08d}.safetensors"
    write_tensors(path, tensors, {"fingerprint": fingerprint, "at": json.dumps(kept)})
    for old in folder.glob("step-*.safetensors"):
        if old != path:
            old.unlink()


def resume(folder: Path, fingerprint: str, network: Any, optimizer: torch.optim.Optimizer) -> At:
    """Put network and optimiser where the newest good checkpoint of this very training left them. A damaged one, or one of another
    training, is as none at all."""
    for path in sorted(folder.glob("step-*.safetensors"), reverse=True):
        try:
            tensors, metadata = read_tensors(path)
        except ModelError:
            continue
        if metadata.get("fingerprint") != fingerprint:
            continue
        parts: dict[str, dict[str, Tensor]] = {}
        for name, tensor in tensors.items():
            kind, _, rest = name.partition(".")
            parts.setdefault(kind, {})[rest] = tensor
        load_weights(network, parts.pop("network"), path)
        for name, parameter in network.named_parameters():
            entry = {
                key: values[name] if key == "step" else values[name].to(parameter.device) for key, values in parts.items() if name in values
            }
            if entry:
                optimizer.state[parameter] = entry
        at = json.loads(metadata["at"])
        return At(at["epoch"], at["step"], tuple(at["scores"]), at["part"])
    return At(0, 0, (), 0)


def load_weights(network: Any, tensors: dict[str, Tensor], where: Path) -> None:
    """Copy named parameters into a network that has the very same ones."""
    parameters = dict(network.named_parameters())
    if parameters.keys() != tensors.keys() or any(parameters[name].shape != tensor.shape for name, tensor in tensors.items()):
        raise ModelError("the weights belong to another model", where=str(where), fix="train the model again")
    with torch.no_grad():
        for name, tensor in tensors.items():
            parameters[name].copy_(tensor)


def finished(folder: Path, fingerprint: str) -> Trained | None:
    """What a training that was carried through had reached; its weights are in best.safetensors."""
    try:
        kept = json.loads((folder / "done.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    if kept.get("fingerprint") != fingerprint or not (folder / "best.safetensors").is_file():
        return None
    return Trained(kept["score"], kept["epoch"], tuple(kept["scores"]), (), kept["part_tokens"])


def finish(folder: Path, fingerprint: str, trained: Trained) -> None:
    """Note that a training is done, and drop the checkpoints with their optimiser states, which are three times the model."""
    kept = {
        "fingerprint": fingerprint,
        "score": trained.score,
        "epoch": trained.epoch,
        "scores": trained.scores,
        "part_tokens": trained.part_tokens,
    }
    write_file(folder / "done.json", (json.dumps(kept) + "\n").encode())
    for path in folder.glob("step-*.safetensors"):
        path.unlink()
