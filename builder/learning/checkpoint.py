"""Tensors on disk: atomic, checked, never pickled. Checkpoints of a training, in safetensors.

A checkpoint `step-00000120.safetensors` holds flat names (network.*, exp_avg.*, exp_avg_sq.*, step.*) and, as
metadata, the fingerprint of the training, its place and a digest of the tensors. `best.safetensors` beside it holds
the weights that scored best so far.

A finished training is settled in the folder of the model saved from it: its checkpoints go, and the model is read where
the training is asked for again. Two rounds of self-training with one training set (M_0 of A and C, of B and D) share a
training: the second model's weights are links to the first one's, and it takes over what the first has answered.

Whether the weights of a file fill the network that its settings claim, before any memory is taken for it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from builder.core.errors import ModelError
from builder.core.files import Kept, refusals, write_atomically
from builder.core.records import Triplet
from builder.learning.packing import SCALE, SINCE, check_packed, split_bytes, split_name
from builder.learning.task import Judge, TripletModel

BEST = "best.safetensors"
_STEPS = "step-*.safetensors"


@dataclass(frozen=True, slots=True)
class TrainingPlace:
    """How far a training is: epochs done, steps of the next one, steps in all, the score of every epoch, and what the
    course keeps.
    """

    epoch: int = 0
    step: int = 0
    steps: int = 0
    scores: tuple[float, ...] = ()
    state: Mapping[str, int] = field(default_factory=dict)


def tensor_digest(tensors: Mapping[str, Tensor], *more: str) -> str:
    """sha256 over names, shapes, types and bytes, in the order of the names."""
    total = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].detach().contiguous().cpu()
        total.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        total.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    for text in more:
        total.update(text.encode())
    return total.hexdigest()


Model = TypeVar("Model", bound=TripletModel | Judge)
LabelledTexts = tuple[int, Iterable[tuple[str, Sequence[tuple[Triplet, str]]]]]
"""How many texts there are, and each with its labelled triplets."""


def fingerprint(kind: str, config: object, seed: int, *data: LabelledTexts) -> str:
    """A hash of what makes two trainings the same: configuration, seed, torch version, texts with labelled triplets."""
    total = hashlib.sha256(repr((kind, config, seed, torch.__version__)).encode())
    for count, items in data:
        total.update(f"\n{count}\n".encode())
        for text, triplets in items:
            places = [(t.key, t.aspect_full.spans, t.opinion_full.spans, label) for t, label in triplets]
            total.update(repr((text, places)).encode("utf-8", "surrogatepass"))
    return total.hexdigest()


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """A safetensors file with its own digest in the metadata. Tensors that share memory, tied weights, are written
    each.
    """
    whole: dict[str, Tensor] = {}
    seen: set[int] = set()
    for name, tensor in tensors.items():
        whole[name] = tensor.detach().clone() if tensor.data_ptr() in seen else tensor.detach().contiguous()
        seen.add(whole[name].data_ptr())
    write_atomically(path, safetensors.torch.save(whole, {**metadata, "digest": tensor_digest(whole)}))


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


def unpack_weights(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Packed weights as numbers of 32 bits, others as they are; ValueError for what no packing makes."""
    check_packed(tensors)
    out: dict[str, Tensor] = {}
    kept = [name for name in tensors if not name.endswith(SCALE)]
    for name in sorted(kept, key=lambda name: SINCE in name):
        tensor, scale, (own, first) = tensors[name], tensors.get(name + SCALE), split_name(name)
        if first:
            tensor = torch.from_numpy(split_bytes(tensor.numpy()))
        if scale is not None:
            tensor = tensor.float() * scale[:, None]
        out[own] = out[first].float() + tensor if first else tensor
    return out


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The checkpoints of one training in a folder; the last `kept` stay.

    Of several processes that train together one is `main` and writes; all `meet` before it does, and before they read
    what it wrote.
    """

    folder: Path
    fingerprint: str
    kept: int = 2
    main: bool = True
    meet: Callable[[], object] = lambda: None
    best: dict[int, dict[str, Tensor]] = field(default_factory=dict)
    """The weights that scored best, by their epoch, until they are written."""

    def keep_best(self, place: TrainingPlace, network: nn.Module) -> None:
        """Keep the weights for the next `write` if the last epoch scored best (last of equals)."""
        if self.main and place.scores[-1] == max(place.scores):
            self.best.clear()
            self.best[place.epoch] = {n: tensor.to("cpu", copy=True) for n, tensor in weights_of(network).items()}

    def write(self, place: TrainingPlace, network: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Write the checkpoint at `place`; before it the best weights, where they are not written yet."""
        self.meet()
        if not self.main:
            return
        while self.best:
            epoch, weights = self.best.popitem()
            write_tensors(self.folder / BEST, weights, {"fingerprint": self.fingerprint, "epoch": str(epoch)})
        tensors = {f"network.{name}": tensor for name, tensor in weights_of(network).items()}
        for name, parameter in network.named_parameters():
            tensors |= {
                f"{key}.{name}": torch.as_tensor(value) for key, value in optimizer.state.get(parameter, {}).items()
            }
        metadata = {"fingerprint": self.fingerprint, "place": json.dumps(asdict(place))}
        write_tensors(self.folder / f"step-{place.steps:08d}.safetensors", tensors, metadata)
        for old in sorted(self.folder.glob(_STEPS))[: -self.kept]:
            old.unlink()

    def resume(self, network: nn.Module, optimizer: torch.optim.Optimizer) -> TrainingPlace:
        """Put network and optimiser where the newest good checkpoint of this very training left them.

        A damaged one, and one of another training, is as none at all, and removed. So is a drafted file that a kill
        left.
        """
        if self.main:
            for draft in self.folder.glob(".*.building"):
                draft.unlink()
        for path in sorted(self.folder.glob(_STEPS), reverse=True):
            tensors, metadata = self._read(path)
            place = json.loads(metadata["place"]) if metadata else {}
            if not metadata or (place["scores"] and not self._read(self.folder / BEST)[1]):
                if self.main:
                    path.unlink(missing_ok=True)
                continue
            parts = _by_first_part(tensors)
            load_weights(network, parts.pop("network"), path)
            _load_optimizer(network, optimizer, parts)
            return TrainingPlace(place["epoch"], place["step"], place["steps"], tuple(place["scores"]), place["state"])
        return TrainingPlace()

    def read_best(self, network: nn.Module) -> None:
        """Give the network the weights that scored best."""
        self.meet()
        load_weights(network, read_tensors(self.folder / BEST)[0], self.folder / BEST)

    def drop(self) -> None:
        """Remove all but the best weights: the optimiser's states are twice as large as a model."""
        for path in self.folder.glob(_STEPS):
            path.unlink()

    def _read(self, path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
        """A file of this training; nothing where it is missing, damaged or of another one."""
        try:
            tensors, metadata = read_tensors(path)
        except ModelError:
            return {}, {}
        return (tensors, metadata) if metadata.get("fingerprint") == self.fingerprint else ({}, {})


def saved_model(training: Path, fingerprint: str) -> Path | None:
    """The folder of the model that a finished training was settled in, if it still stands."""
    done = Kept(training).find(fingerprint, slot="done")
    if not done or not done.get("model"):
        return None
    folder = Path(os.path.normpath(training / done["model"]))
    return folder if done["digest"] in map(_read_digest, (folder / "paper.json", folder / "config.json")) else None


def _read_digest(path: Path) -> object:
    try:
        kept = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return kept.get("digest") if isinstance(kept, dict) else None


def settle(training: Path, fingerprint: str, folder: Path, digest: str) -> None:
    """Let the weights of a finished training lie in `folder`, where its model was saved, and nowhere else."""
    kept = Kept(training)
    done = kept.find(fingerprint, slot="done") or {}
    first = saved_model(training, fingerprint)
    if first is not None and first.resolve() != folder.resolve() and done["digest"] == digest:
        _share(first, folder)
        return
    kept.put(fingerprint, {**done, "model": os.path.relpath(folder, training), "digest": digest}, slot="done")
    with refusals(training):
        (training / BEST).unlink(missing_ok=True)
        Checkpoints(training, fingerprint).drop()


def train_once(
    fingerprint: str,
    checkpoints: Path,
    folder: Path,
    train: Callable[[], Model],
    load: Callable[[Path], Any],
    save: Callable[[Model, Path], Model],
) -> Model:
    """The model of a training, saved in `folder`: read where the training was settled before, else made by `train`.

    Its checkpoints go. A settled model that is damaged is trained again.
    """
    model: Model | None = None
    settled = saved_model(checkpoints, fingerprint)
    if settled:
        try:
            model = load(settled)
        except ModelError:
            Kept(checkpoints).put(fingerprint, {}, slot="done")
    made = train() if model is None else model
    if model is None or (settled and settled.resolve() != folder.resolve()):
        made = save(made, folder)
    settle(checkpoints, fingerprint, folder, made.digest)  # of a settled one, too: a kill may have left its checkpoints
    return made


def _share(first: Path, folder: Path) -> None:
    """Links to the weights of the first folder in place of equal ones; its answers as well."""
    with refusals(folder):
        for path in first.glob("*.safetensors"):
            draft = folder / f".{path.name}.link"
            draft.unlink(missing_ok=True)
            with suppress(OSError):  # a file system without links keeps the second copy
                os.link(path, draft)
                os.replace(draft, folder / path.name)
        for path in first.glob("answers-*.jsonl"):
            shutil.copyfile(path, folder / path.name)


def weights_of(network: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers, tied ones once: what checkpoints and digests hold."""
    weights = {name: parameter.detach() for name, parameter in network.named_parameters()}
    known = network.state_dict()
    return weights | {name: buffer for name, buffer in network.named_buffers() if name in known}


def load_weights(network: nn.Module, tensors: Mapping[str, Tensor], where: Path) -> None:
    """Copy weights into a network that has the very same ones; ModelError names the file where it has not."""
    own = weights_of(network)
    if own.keys() != tensors.keys() or any(own[name].shape != tensor.shape for name, tensor in tensors.items()):
        raise ModelError("the weights belong to another model", where=str(where), fix="train the model again")
    with torch.no_grad():
        for name, tensor in tensors.items():
            own[name].copy_(tensor)


def _load_optimizer(
    network: nn.Module, optimizer: torch.optim.Optimizer, parts: Mapping[str, Mapping[str, Tensor]]
) -> None:
    """The optimiser's state by the names of the parameters. A fused one counts its steps on the device, any other on
    the CPU.
    """
    fused = bool(optimizer.defaults.get("fused"))
    for name, parameter in network.named_parameters():
        entry = {
            key: values[name].to(parameter.device) if fused or key != "step" else values[name]
            for key, values in parts.items()
            if name in values
        }
        if entry:
            optimizer.state[parameter] = entry


def _by_first_part(tensors: Mapping[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    """The flat names by what stands before the first dot."""
    parts: dict[str, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        kind, _, rest = name.partition(".")
        parts.setdefault(kind, {})[rest] = tensor
    return parts


_ROOM = 1 << 26
"""Numbers that a network may need beside its weights: masks and tables of positions that no file holds."""
_FEW = 200
"""Weights of the heads and layers that no file holds."""


_DRAWING = frozenset(
    {"normal_", "uniform_", "trunc_normal_", "orthogonal_"}
    | {f"{name}_{how}_" for name in ("kaiming", "xavier") for how in ("normal", "uniform")}
)
"""Functions of torch that draw first weights, by name."""


class Undrawn(TorchFunctionMode):
    """Within it no first weights are drawn: they are zero. On the `meta` device there are none, and to draw them loads
    torch's compiler: one and a half seconds.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if getattr(func, "__name__", "") in _DRAWING:
            tensor: Tensor = args[0] if args else (kwargs or {})["tensor"]
            if not tensor.is_meta:
                tensor.detach().zero_()  # what is left as it is may be redrawn without end
            return tensor
        return func(*args, **(kwargs or {}))


def read_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """The names and shapes in the header of a safetensors file. Nothing else of it is read."""
    with safe_open(path, framework="pt") as file:
        return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118  (no mapping)


def claimed_shapes(make: Callable[[], nn.Module]) -> dict[str, tuple[int, ...]]:
    """The names and shapes of the weights of the network that `make` would make."""
    with torch.device("meta"), Undrawn():
        return {name: tuple(value.shape) for name, value in make().state_dict().items()}


def claims_more(network: nn.Module, weights: Iterable[Path]) -> bool:
    """Whether a network on the `meta` device is larger than the files of its weights allow. Tied weights may stand in
    them once and heads that are still to be trained may be missing: twice their weights and numbers are allowed.
    """
    held = [torch.Size(shape).numel() for path in weights for shape in read_shapes(path).values()]
    needed = [value.numel() for value in (*network.parameters(), *network.buffers())]
    return len(needed) > 2 * len(held) + _FEW or sum(needed) > 2 * sum(held) + _ROOM
