"""What tagger and judge stand on: how a text becomes arrays, and the trunk that makes vectors of its characters.

There are two: characters learnt from nothing (here), and a pretrained encoder (builder.models.encoder). The heads above
do not know which.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self, TypeVar

import torch
from torch import nn

from builder.learning.encode import Encoder, TextEncoder, Vocabulary
from builder.learning.processes import TeamConfig, Training, train_in_team
from builder.learning.task import NetworkConfig, Progress
from builder.models.network import Trunk, base_weights

Model = TypeVar("Model")


class Foundation(Protocol):
    """How texts are read, whatever is found in them."""

    @property
    def settings(self) -> Mapping[str, object]:
        """What a model's config.json and its digest say of it."""
        ...

    @property
    def mark(self) -> str:
        """What sets trainings on it apart from trainings on another one."""
        ...

    @property
    def device(self) -> torch.device:
        """Where networks on it run."""
        ...

    @property
    def chosen_device(self) -> str:
        """The device by its setting: each process finds its own GPU under `auto` and `cuda`."""
        ...

    @property
    def training_processes(self) -> int:
        """How many processes train networks on it: each one of its own, or all together one."""
        ...

    def make_encoder(self, config: NetworkConfig) -> TextEncoder:
        """What turns a text into arrays."""
        ...

    def make_trunk(self, config: NetworkConfig) -> nn.Module:
        """A network that turns a Batch into vectors of characters [B, T, width]."""
        ...

    def begin(self, trunk: nn.Module, seed: int) -> None:
        """Give a new trunk the weights that training starts from."""
        ...

    def write_files(self, folder: Path) -> None:
        """What a saved model needs beside config.json and weights."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class CharacterFoundation:
    """The characters of the training texts, read by a small convolutional network on the CPU."""

    vocabulary: Vocabulary

    @classmethod
    def of(cls, texts: Iterable[str], min_count: int) -> Self:
        """The characters that occur `min_count` times in the texts."""
        return cls(Vocabulary.of(texts, min_count))

    @property
    def settings(self) -> Mapping[str, object]:
        return {"vocabulary": list(self.vocabulary.codes)}

    @property
    def mark(self) -> str:
        return ""  # the vocabulary follows from the training texts

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    @property
    def chosen_device(self) -> str:
        return "cpu"

    @property
    def training_processes(self) -> int:
        return 1  # a training takes all CPU threads that it is given

    def make_encoder(self, config: NetworkConfig) -> TextEncoder:
        return Encoder(self.vocabulary, config.bigram_buckets)

    def make_trunk(self, config: NetworkConfig) -> nn.Module:
        return Trunk(self.vocabulary, config)

    def begin(self, trunk: nn.Module, seed: int) -> None:
        assert isinstance(trunk, Trunk), type(trunk)
        base_weights(trunk, self.vocabulary, seed)

    def write_files(self, folder: Path) -> None:
        """None: config.json holds the vocabulary."""


def train_on(
    foundation: Foundation | None, training: Training[Model], threads: int, progress: Progress | None
) -> Model:
    """The model of a training, which the processes of its foundation do together; without one it is done here."""
    if foundation is None:
        return training(progress=progress)
    team = TeamConfig(foundation.chosen_device, threads, foundation.training_processes)
    return train_in_team(training, team, progress)
