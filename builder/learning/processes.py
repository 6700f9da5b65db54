"""Several processes for one training: accelerate for one process, several on one machine, or those that a launcher has
started.

In: a config. Out: an Accelerator whose global state ends with its context, a network ready to predict, and a training
spread over processes. Started by `accelerate launch` in several processes, on one machine or many, the program runs
in rank 0 alone; the others lend a hand with training.

The processes that train one network together: who takes which rows, and how their gradients become one.
"""

from __future__ import annotations

import os
import socket
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol, TypeVar

import torch
from torch import multiprocessing, nn
from torch.multiprocessing.spawn import ProcessException, start_processes

from builder.core.errors import ModelError, install_command
from builder.learning.devices import TRAINER, choose, takes_bf16
from builder.learning.task import Progress

Worker = Callable[[Progress | None, tuple[Any, ...]], None]


class DeviceConfig(Protocol):
    """What a config says of devices: threads and processes (0: one a GPU), `device` (a GPU by its number is used
    alone), and `precision`: auto, bf16 or fp32.
    """

    @property
    def threads(self) -> int: ...

    @property
    def processes(self) -> int: ...

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


def processes(config: DeviceConfig) -> int:
    """How many processes train: as configured, else one for each GPU, and one where the device is a certain one."""
    several = config.device in ("auto", "cuda")
    return config.processes or (max(1, torch.cuda.device_count()) if several else 1)


def spread(worker: Worker, arguments: tuple[Any, ...], count: int, progress: Progress | None) -> None:
    """Run `worker(progress, arguments)` in `count` processes of this machine that know each other (nccl on GPUs, else
    gloo).

    Rank 0 reports progress through a pipe. An error in one ends all and is a ModelError here.
    """
    reader, writer = multiprocessing.get_context("spawn").Pipe(duplex=False)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = start_processes(
        _worker, (count, port, writer, worker, arguments), count, join=False, start_method="spawn"
    )  # type: ignore[no-untyped-call]
    try:
        while not running.join(timeout=0.2):
            while reader.poll():
                report = reader.recv()
                if progress:
                    progress(*report)
    except ProcessException as error:
        last = (str(error).strip().splitlines() or ["it was killed"])[-1]
        raise ModelError(
            f"a training process failed: {last}", where=f"process {error.error_index + 1} of {count}"
        ) from error
    finally:
        for process in running.processes:
            if process.is_alive():
                process.terminate()


def launched() -> int:
    """The processes that a launcher (`accelerate launch`, torchrun) started this program in; 1 if none did."""
    return int(os.environ["WORLD_SIZE"]) if {"RANK", "LOCAL_RANK", "WORLD_SIZE"} <= os.environ.keys() else 1


def rank() -> int:
    """The number of this process among those of one training, from 0."""
    return int(os.environ["RANK"]) if launched() > 1 else 0


def first() -> bool:
    """Whether this process does all but the training: it is the only one, or rank 0 of those that were launched."""
    return rank() == 0


def together(worker: Worker, arguments: tuple[Any, ...], progress: Progress | None) -> None:
    """Run `worker(progress, arguments)` here, rank 0, and in all others, who wait for it in `lend_hand`."""
    _group()
    torch.distributed.broadcast_object_list([(worker, arguments)], src=0)
    worker(progress or (lambda done, total, note: None), arguments)


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


def _worker(rank: int, count: int, port: int, writer: Any, worker: Worker, arguments: tuple[Any, ...]) -> None:
    os.environ |= {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(count),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        TRAINER: str(os.getpid()),
    }
    reported = 0.0

    def progress(done: int, total: int, note: str) -> None:
        nonlocal reported
        if done == total or time.monotonic() - reported > 0.5:
            reported = time.monotonic()
            writer.send((done, total, note))

    worker(progress if rank == 0 else None, arguments)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


Item = TypeVar("Item")
Answer = TypeVar("Answer")
Model = TypeVar("Model", covariant=True)


class Training(Protocol[Model]):
    """A training that every process of a team can do its share of."""

    def __call__(self, *, progress: Progress | None = None, team: Team = ...) -> Model: ...


@dataclass(frozen=True, slots=True)
class Team:
    """The processes of one training; without an `accelerator` there is this one alone."""

    accelerator: Any = None

    @property
    def number(self) -> int:
        """The number of this process, from 0."""
        return int(self.accelerator.process_index) if self.accelerator else 0

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.accelerator.num_processes) if self.accelerator else 1

    @property
    def main(self) -> bool:
        """Whether this process writes checkpoints."""
        return self.number == 0

    def meet(self) -> None:
        """Wait for the others."""
        if self.count > 1:
            self.accelerator.wait_for_everyone()

    def own(self, items: Sequence[Item]) -> list[Item]:
        """This process's share: every n-th item."""
        return list(items[self.number :: self.count])

    def sum(self, value: float) -> float:
        """The sum of what the processes have."""
        return agreed(self.accelerator, value, "sum") if self.count > 1 else value

    def sum_gradients(self, network: nn.Module) -> None:
        """Give each process the sum of all gradients; a weight that none has one for stays without."""
        if self.count > 1:
            sum_gradients(self.accelerator, network)

    def map(self, work: Callable[[list[Item]], Sequence[Answer]], items: Sequence[Item]) -> list[Answer]:
        """`work` on all items, each process doing its share, and every process getting all answers in order."""
        mine = list(work(self.own(items)))
        if self.count == 1:
            return mine
        from accelerate.utils import gather_object

        shares: list[list[Answer]] = gather_object([mine])
        return [shares[place % self.count][place // self.count] for place in range(len(items))]


ALONE = Team()


@dataclass(frozen=True, slots=True)
class TeamConfig:
    """The device of a team and its CPU threads. Networks choose their precision themselves, where they need it."""

    device: str
    threads: int
    processes: int
    precision: str = "fp32"


@contextmanager
def team_on(config: TeamConfig) -> Iterator[Team]:
    """The team that this process is in; it knows the others from its environment."""
    with accelerated(config) as accelerator:
        yield Team(accelerator)


def train_in_team(training: Training[Model], config: TeamConfig, progress: Progress | None) -> Model:
    """What a training makes that `config.processes` processes of this machine do together, or those that a launcher
    started. They leave its checkpoints, in which it finds itself done here.
    """
    if launched() > 1:
        together(_train_share, (training, config), progress)
    elif config.processes > 1:
        spread(_train_share, (training, config), config.processes, progress)
    return training(progress=progress)


def _train_share(progress: Progress | None, work: tuple[Training[object], TeamConfig]) -> None:
    training, config = work
    with team_on(config) as team:
        training(progress=progress, team=team)


def sum_gradients(accelerator: Any, network: nn.Module) -> None:
    """Sum each gradient over all processes; one that no process has stays none, as in one process."""
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
    has_gradient = torch.tensor([float(parameter.grad is not None) for parameter in trained])
    anywhere = accelerator.reduce(has_gradient.to(accelerator.device), "sum").tolist()
    for parameter, count in zip(trained, anywhere, strict=True):
        if count:
            mine = parameter.grad if parameter.grad is not None else torch.zeros_like(parameter)
            parameter.grad = accelerator.reduce(mine, "sum")
