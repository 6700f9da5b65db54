"""Whether the weights of a file fill the network that its settings claim, before any memory is taken for it.

In: how a network is made, and the file's header. Out: nothing, or an error of the caller. Networks are made on the
`meta` device, which holds shapes and no numbers: a file of a few kilobytes can claim what no memory holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import nn
from torch.overrides import TorchFunctionMode

Shapes = Mapping[str, tuple[int, ...]]
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
    """Within it no first weights are drawn. On the `meta` device there are none, and to draw them loads torch's
    compiler: one and a half seconds.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if getattr(func, "__name__", "") in _DRAWING:
            return args[0] if args else (kwargs or {})["tensor"]
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
