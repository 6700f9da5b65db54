"""Tensors on disk: atomic, checked, never pickled. Checkpoints of a training, in safetensors.

A checkpoint `epoch-003.safetensors` holds flat names (network.*, best.*, exp_avg.*, exp_avg_sq.*, step.*) and, as metadata, the
fingerprint of configuration, seed and data, the scores so far, and a digest of the tensors. The last two are kept.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from builder.errors import ModelError
from builder.records import Triplet

KEPT = 2


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """A checkpoint as read."""

    tensors: dict[str, Tensor]
    scores: tuple[float, ...]


def tensor_digest(tensors: Mapping[str, Tensor], *more: str) -> str:
    """sha256 over names, shapes, types and bytes, in the order of the names."""
    total = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].detach().contiguous().cpu()
        total.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        total.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    for text in more:
        total.update(text.encode())
    return total.hexdigest()


def fingerprint(kind: str, config: object, seed: int, *data: Sequence[tuple[str, Sequence[tuple[Triplet, str]]]]) -> str:
    """What makes two trainings the same: configuration, seed, torch version, and data as texts with labelled triplets."""
    total = hashlib.sha256(repr((kind, config, seed, torch.__version__)).encode())
    for items in data:
        total.update(f"\n{len(items)}\n".encode())
        for text, triplets in items:
            places = [(t.key, t.aspect_full.spans, t.opinion_full.spans, label) for t, label in triplets]
            total.update(repr((text, places)).encode("utf-8", "surrogatepass"))
    return total.hexdigest()


def write_file(path: Path, data: bytes) -> None:
    """Write beside, fsync, rename: a reader sees the old file or the whole new one."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        raise ModelError(f"cannot write: {error.strerror}", where=str(path)) from error
    finally:
        if beside.exists():
            beside.unlink()
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """A safetensors file with its own digest in the metadata. Tensors that share memory, tied weights, are written each."""
    whole: dict[str, Tensor] = {}
    seen: set[int] = set()
    for name, tensor in tensors.items():
        whole[name] = tensor.detach().clone() if tensor.data_ptr() in seen else tensor.detach().contiguous()
        seen.add(whole[name].data_ptr())
    write_file(path, safetensors.torch.save(whole, {**metadata, "digest": tensor_digest(whole)}))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and metadata; ModelError if the file is missing, cut, changed or none of ours."""
    try:
        with safe_open(path, framework="pt") as file:
            metadata: dict[str, str] = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (no mapping)
    except (OSError, SafetensorError) as error:
        raise ModelError(f"no readable safetensors file: {error}", where=str(path)) from error
    if metadata.get("digest") != tensor_digest(tensors):
        raise ModelError("the tensors are not those that were written (digest differs)", where=str(path))
    return tensors, metadata


def write(
    folder: Path,
    fingerprint: str,
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    best: Mapping[str, Tensor],
    scores: Sequence[float],
) -> None:
    """The checkpoint after epoch len(scores); older ones than the last `KEPT` go."""
    tensors = {f"network.{name}": tensor for name, tensor in network.state_dict().items()}
    tensors |= {f"best.{name}": tensor for name, tensor in best.items()}
    for name, parameter in network.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"{key}.{name}"] = value
    metadata = {"fingerprint": fingerprint, "scores": json.dumps(list(scores))}
    write_tensors(folder / f"epoch-{len(scores):03d}.safetensors", tensors, metadata)
    for old in sorted(folder.glob("epoch-*.safetensors"))[:-KEPT]:
        old.unlink()


def latest(folder: Path, fingerprint: str) -> State | None:
    """The newest good checkpoint of this very training. Damaged ones and those of another training are removed."""
    for stray in folder.glob(".epoch-*.tmp"):
        stray.unlink()
    for path in sorted(folder.glob("epoch-*.safetensors"), reverse=True):
        try:
            tensors, metadata = read_tensors(path)
        except ModelError:
            path.unlink()
            continue
        if metadata.get("fingerprint") == fingerprint:
            return State(tensors, tuple(json.loads(metadata["scores"])))
        path.unlink()
    return None


def restore(state: State, network: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Put network and optimiser back to where they were; returns the best weights so far."""
    part = _parts(state.tensors)
    network.load_state_dict(part.pop("network"))
    best = part.pop("best")
    for name, parameter in network.named_parameters():
        entry = {key: values[name] for key, values in part.items() if name in values}
        if entry:
            optimizer.state[parameter] = entry
    return best


def _parts(tensors: Mapping[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    """The flat names by their first part."""
    out: dict[str, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        kind, _, rest = name.partition(".")
        out.setdefault(kind, {})[rest] = tensor
    return out
