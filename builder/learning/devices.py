"""Where networks run: the device of a setting, its precision, what is sent there, and batches that shrink where its
memory runs out.

In: the name of a device, tensors and batches. Out: a device, the same tensors there, answers batch by batch.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import torch

from builder.core.errors import ModelError
from builder.learning.task import Progress

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


Answer = TypeVar("Answer")
Tensors = TypeVar("Tensors", bound="DataclassInstance")


def choose(name: str) -> torch.device:
    """The device of a setting: `auto` is this process's GPU where torch sees one, else the CPU; `cuda` is that GPU.
    ModelError where there is none of that name.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(f"cuda:{_own_gpu()}" if name == "cuda" else name)
    except RuntimeError as error:
        fix = "use auto, cpu, cuda, cuda:1 or mps"
        raise ModelError(f"no device has the name {name!r}", where="device", fix=fix) from error
    if (device.index or 0) >= count_devices(device.type):
        raise ModelError(f"torch sees no device {name!r} here", where="device", fix='set device = "auto"')
    if device.type == "cuda":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read at the first product of two matrices
    return device


def _own_gpu() -> int:
    """The GPU of this process: that of its rank under a launcher; workers take one each in turn."""
    number: tuple[int, ...] = getattr(multiprocessing.current_process(), "_identity", ())
    if "LOCAL_RANK" in os.environ and not number:
        return int(os.environ["LOCAL_RANK"])
    return (number[-1] - 1) % max(1, count_devices("cuda")) if number else 0


def count_gpus(name: str) -> int:
    """How many GPUs the processes of this machine may use under a setting: all, or the one it names; 0 on a CPU."""
    if name in ("auto", "cuda"):
        return count_devices("cuda")
    return int(name.startswith("cuda:") or name == "mps")


def count_devices(kind: str) -> int:
    """How many devices of a kind torch sees."""
    if kind == "cuda":
        return torch.cuda.device_count()
    return {"cpu": 1, "mps": int(torch.backends.mps.is_available())}.get(kind, 0)


def keep_few_kernels() -> None:
    """Have oneDNN keep the compiled kernels of few shapes, if the user chose no number: each takes up to a megabyte,
    and compiling one anew takes a part of a step. It reads the variable as a process compiles its first.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32")


def device_of(network: torch.nn.Module) -> torch.device:
    """Where the weights of a network lie."""
    return next(network.parameters()).device


def place(batch: Tensors, device: torch.device) -> Tensors:
    """A dataclass of tensors, and of such dataclasses, on a device."""
    moved: dict[str, object] = {}
    for field in fields(batch):
        value = getattr(batch, field.name)
        if isinstance(value, torch.Tensor):
            moved[field.name] = value.to(device)
        elif is_dataclass(value) and not isinstance(value, type):
            moved[field.name] = place(value, device)
    return replace(batch, **moved)


def half_precision(precision: str, device: torch.device) -> AbstractContextManager[object]:
    """A scope in which matrices are multiplied in bfloat16, where `takes_bf16` says so."""
    return torch.autocast(device.type, torch.bfloat16) if takes_bf16(precision, device) else nullcontext()


def takes_bf16(precision: str, device: torch.device) -> bool:
    """Whether bfloat16 is used there: as `precision` says, or for `auto` where a GPU has it and does not emulate it."""
    if precision == "auto":
        return device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    return precision == "bf16"


def in_parts(batches: Iterable[list[int]], work: Callable[[list[int]], Answer]) -> Iterator[tuple[list[int], Answer]]:
    """Batches with their answers; one that the device cannot hold is halved. ModelError for a single item."""
    for batch in batches:
        waiting = [batch]
        while waiting:
            part = waiting.pop(0)
            answer = attempt(partial(work, part))
            if answer is not None:
                yield part, answer
            else:
                waiting[:0] = halve(part)


def answer_batches(
    batches: Iterable[list[int]],
    work: Callable[[list[int]], Answer],
    sizes: Sequence[int],
    progress: Progress | None,
    note: str,
) -> Iterator[tuple[list[int], Answer]]:
    """As `in_parts`; `progress` hears how much of the items' `sizes` is done."""
    done, total = 0, sum(sizes)
    for batch, answer in in_parts(batches, work):
        yield batch, answer
        done += sum(sizes[i] for i in batch)
        if progress:
            progress(done, total, note)


def attempt(work: Callable[[], Answer]) -> Answer | None:
    """The answer of `work`; None, and what the device holds in reserve given back, where its memory ran out."""
    try:
        return work()
    except torch.OutOfMemoryError:
        pass  # the traceback holds the tensors: nothing can be freed inside
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return None


def halve(batch: list[int]) -> list[list[int]]:
    """A batch that was too large as two; ModelError for a single item."""
    if len(batch) == 1:
        fix = 'use a smaller model, a device with more memory, or `device = "cpu"`'
        raise ModelError("the device has not enough memory for one text", where="device", fix=fix)
    middle = len(batch) // 2
    return [batch[:middle], batch[middle:]]


def describe_gpu() -> str:
    """The first GPU with its memory, and how many there are; empty where torch sees none."""
    if not torch.cuda.is_available():
        return ""
    first_gpu, count = torch.cuda.get_device_properties(0), torch.cuda.device_count()
    return f"{first_gpu.name}, {first_gpu.total_memory / (1 << 30):.0f} GB" + (
        f", {count} of them" if count > 1 else ""
    )
