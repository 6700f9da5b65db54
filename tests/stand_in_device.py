"""A second device for tests on machines without one: tensors that say they lie on `meta` and hold numbers all
the same.

In: a block of a test. Inside of it `meta` computes, and an operation that meets tensors of the host and of the device
fails as on a GPU (but for single numbers). What is moved to the host is a plain tensor again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

from builder.learning import devices, hub

DEVICE = torch.device("meta")
MAKE_TENSOR = torch.tensor
LENGTHS_ON_HOST = (torch.ops.aten._pack_padded_sequence.default, torch.ops.aten._pad_packed_sequence.default)
"""Operations of recurrent layers that take the lengths of sequences from the host, and give them there."""


class DeviceTensor(Tensor):
    """A tensor of the stand-in device; `held` has its numbers."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor) -> DeviceTensor:
        made = Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls, held.shape, held.stride(), held.storage_offset(), dtype=held.dtype, device=DEVICE
        )
        made.held = held
        return made  # type: ignore[no-any-return]

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        with torch._C.DisableTorchFunctionSubclass():
            if func in (Tensor.tolist, Tensor.__repr__):
                return func(args[0].detach().cpu())
            if func in (Tensor.data_ptr, Tensor.untyped_storage, Tensor.storage, Tensor.element_size):
                return func(args[0].held)
            return func(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        return compute(func, args, kwargs or {})


class OnDevice(TorchDispatchMode):
    """Sees the operations that make tensors of the device out of nothing, or of the host's."""

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        return compute(func, args, kwargs or {})


def compute(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Do an operation with the numbers, and say of its outcome where it lies."""
    given = [value for value in tree_flatten((args, kwargs))[0] if isinstance(value, Tensor)]
    there = [value for value in given if isinstance(value, DeviceTensor)]
    moves = func in (torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default, *LENGTHS_ON_HOST)
    strangers = [value for value in given if not isinstance(value, DeviceTensor) and value.dim()]
    if there and strangers and not moves and not _indexes(func, args, strangers):
        raise RuntimeError(f"{func}: tensors of the host and of the device meet")
    wanted = kwargs.get("device")
    on_device = torch.device(wanted) == DEVICE if wanted is not None else bool(there)
    plain_args, plain_kwargs = tree_map(_held, (tuple(args), dict(kwargs)))
    if wanted is not None:
        plain_kwargs["device"] = torch.device("cpu")
    out = func(*plain_args, **plain_kwargs)
    if func._schema.is_mutable:
        return args[0] if func._schema.returns else None
    if func in LENGTHS_ON_HOST and there:
        return DeviceTensor(out[0]), out[1]
    return (
        tree_map(lambda value: DeviceTensor(value) if isinstance(value, Tensor) else value, out) if on_device else out
    )


def _indexes(func: Any, args: Sequence[Any], strangers: Sequence[Tensor]) -> bool:
    """Whether the host's tensors are places of a tensor of the device, which a GPU takes too."""
    names = (torch.ops.aten.index.Tensor, torch.ops.aten.index_put.default, torch.ops.aten.index_put_.default)
    return func in names and all(any(value is place for place in args[1]) for value in strangers)


def _held(value: Any) -> Any:
    return value.held if isinstance(value, DeviceTensor) else value


def _made_and_moved(make: Any) -> Any:
    """`torch.tensor` that makes it on the host and moves it: torch does not show the mode how it makes one."""

    def moved(data: Any, *, device: torch.device | str | None = None, **more: Any) -> Tensor:
        made: Tensor = make(data, **more)
        return made if device is None else made.to(device)

    return moved


def _outside(load: Any) -> Any:
    """Transformers makes models on the true `meta` before it reads their weights."""

    def loaded(*arguments: Any, **more: Any) -> Any:
        # modes are those of a thread
        with ThreadPoolExecutor(1) as elsewhere, patch.object(torch, "tensor", MAKE_TENSOR):
            return elsewhere.submit(load, *arguments, **more).result()

    return loaded


@contextmanager
def stand_in() -> Iterator[torch.device]:
    """The device, while the block runs; `meta` names it in settings."""
    known, fused = devices.count_devices, ["cpu", DEVICE.type]
    optimisers = "torch.optim.optimizer._get_fused_kernels_supported_devices"
    with (
        patch.object(devices, "count_devices", lambda kind: 1 if kind == DEVICE.type else known(kind)),
        patch(optimisers, lambda: list(fused)),
        patch.object(hub, "load_network", _outside(hub.load_network)),
        patch.object(torch, "tensor", _made_and_moved(MAKE_TENSOR)),
        patch.object(torch, "inference_mode", torch.no_grad),  # which tensors of other classes cannot be made in
        OnDevice(),
    ):
        yield DEVICE
