"""The processes that train one network together: who takes which rows, and how their gradients become one.

In: a batch, or items to validate on. Out: this process's rows of it, and what all processes together made. One
process is a team, too, and costs nothing. Gradients are summed before the step, so that every process takes the same
one: the number of processes changes the order of sums, and which dropout a row meets, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import torch
from torch import nn

from builder.learning.processes import accelerated, agreed, launched, spread, together
from builder.learning.task import Progress

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
    """Sum each gradient over all processes. A weight that no process has a gradient for gets none: the optimiser
    leaves it alone, as in one process.
    """
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
    has_gradient = torch.tensor([float(parameter.grad is not None) for parameter in trained])
    anywhere = accelerator.reduce(has_gradient.to(accelerator.device), "sum").tolist()
    for parameter, count in zip(trained, anywhere, strict=True):
        if count:
            mine = parameter.grad if parameter.grad is not None else torch.zeros_like(parameter)
            parameter.grad = accelerator.reduce(mine, "sum")
