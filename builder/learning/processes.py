"""Several processes for one training of the profile `paper`: those that a launcher has started.

In: a config. Out: an Accelerator whose global state ends with its context, a network ready to predict, and the sums
on which processes agree. Started by `accelerate launch` in several processes, on one machine or many, the program runs
in rank 0 alone; the others lend a hand with training.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from typing import Any, Protocol

import torch
from torch import nn

from builder.core.errors import ModelError, install_command
from builder.learning.devices import choose, takes_bf16
from builder.learning.task import Progress

Worker = Callable[[Progress | None, tuple[Any, ...]], Any]


class DeviceConfig(Protocol):
    """What a config says of devices: threads, `device`, and `precision`: auto, bf16 or fp32."""

    @property
    def threads(self) -> int: ...

    @property
    def precision(self) -> str: ...

    @property
    def device(self) -> str: ...


@contextmanager
def accelerated(config: DeviceConfig) -> Iterator[Any]:
    """An Accelerator for this process: on its device, in bf16 where that has it (or as `precision` says), with
    `threads` CPU threads.

    accelerate keeps its state in class attributes, and a second Accelerator of another precision would be refused:
    they are reset at the end. torch's random state and thread count are put back too.
    """
    try:
        from accelerate import Accelerator
        from accelerate.state import AcceleratorState, GradientState
    except ModuleNotFoundError as error:
        raise ModelError(f"the paper profile needs {error.name}", fix=install_command("paper")) from error
    before, device = torch.get_num_threads(), choose(config.device)
    torch.set_num_threads(config.threads)
    chosen = torch.cuda.device(device) if device.type == "cuda" else nullcontext()
    try:
        with torch.random.fork_rng(), chosen:
            half = "bf16" if takes_bf16(config.precision, device) else "no"
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "OMP_NUM_THREADS")  # of CPU processes: it sets threads of its own
                accelerator = Accelerator(mixed_precision=half, cpu=device.type == "cpu")
            torch.set_num_threads(config.threads)
            yield accelerator
    finally:
        AcceleratorState._reset_state(reset_partial_state=True)
        GradientState._reset_state()
        torch.set_num_threads(before)


@contextmanager
def inference(network: Any, config: DeviceConfig) -> Iterator[torch.device]:
    """Evaluation mode without gradients on the config's device, in its precision."""
    device = choose(config.device)
    network.to(device).eval()
    before = torch.get_num_threads()
    torch.set_num_threads(config.threads)
    half = takes_bf16(config.precision, device)
    try:
        with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=half):
            yield device
    finally:
        torch.set_num_threads(before)


def agreed(accelerator: Any, value: float, how: str) -> float:
    """A number on which all processes of a training agree: the sum of their values, or with `how="max"` the largest.

    Args:
        accelerator: accelerate's; with one process the value comes back as it is.
    """
    if accelerator.num_processes == 1:
        return value
    every = accelerator.gather(
        torch.tensor(
            [value],
            dtype=torch.float64 if accelerator.device.type == "cpu" else torch.float32,
            device=accelerator.device,
        )
    )
    return float(every.max() if how == "max" else every.sum())


def launched() -> int:
    """The processes that a launcher (`accelerate launch`, torchrun) started this program in; 1 if none did."""
    return int(os.environ["WORLD_SIZE"]) if {"RANK", "LOCAL_RANK", "WORLD_SIZE"} <= os.environ.keys() else 1


def first() -> bool:
    """Whether this process does all but the training: it is the only one, or rank 0 of those that were launched."""
    return launched() == 1 or os.environ["RANK"] == "0"


def together(worker: Worker, arguments: tuple[Any, ...], progress: Progress | None) -> Any:
    """The answer of `worker(progress, arguments)` here, rank 0; all others, who wait in `lend_hand`, run it, too."""
    _group()
    torch.distributed.broadcast_object_list([(worker, arguments)], src=0)
    return worker(progress or (lambda done, total, note: None), arguments)


def lend_hand() -> None:
    """What the others do: train when rank 0 says so, until it is done with everything."""
    _group()
    while True:
        message: list[Any] = [None]
        torch.distributed.broadcast_object_list(message, src=0)
        if message[0] is None:
            return
        worker, arguments = message[0]
        worker(None, arguments)


def dismiss() -> None:
    """Rank 0 is done: the others may go."""
    _group()
    torch.distributed.broadcast_object_list([None], src=0)
    torch.distributed.destroy_process_group()


def _group() -> None:
    """The group of all launched processes: nccl between GPUs, gloo between CPUs. Days may lie between trainings."""
    if not torch.distributed.is_initialized():
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        torch.distributed.init_process_group(backend, timeout=timedelta(days=30))


def sum_gradients(accelerator: Any, network: nn.Module) -> None:
    """Sum each gradient over all processes; one that no process has stays none, as in one process."""
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
    has_gradient = torch.tensor([float(parameter.grad is not None) for parameter in trained])
    anywhere = accelerator.reduce(has_gradient.to(accelerator.device), "sum").tolist()
    for parameter, count in zip(trained, anywhere, strict=True):
        if count:
            mine = parameter.grad if parameter.grad is not None else torch.zeros_like(parameter)
            parameter.grad = accelerator.reduce(mine, "sum")
