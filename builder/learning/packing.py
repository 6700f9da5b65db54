"""How packed weights are named and shaped in a file, whatever reads it. No torch.

A matrix of 8 bits a number has the scales of its rows beside it, under its name and SCALE. One that began as another
holds what it learnt since, two numbers of 4 bits a byte, under both names with SINCE between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

SCALE, SINCE = ".scale", " since "


class Shaped(Protocol):
    """A tensor or an array."""

    @property
    def shape(self) -> Sequence[int]: ...

    @property
    def dtype(self) -> object: ...


def split_name(name: str) -> tuple[str, str]:
    """The name of a matrix, and of that which it began as or ""."""
    own, _, first = name.partition(SINCE)
    return own, first


def split_bytes(packed: NDArray[Any]) -> NDArray[np.int8]:
    """The two numbers of 4 bits in each byte of a matrix, the lower one before."""
    signed = packed.view(np.int8)
    return np.stack([signed << 4 >> 4, signed >> 4], -1).reshape(len(packed), -1)


def check_packed(packed: Mapping[str, Shaped]) -> None:
    """ValueError where scales do not fit the rows of their matrix, or what was learnt its beginning: a small file could
    claim any amount of memory.
    """
    for name, tensor in packed.items():
        if name.endswith(SCALE):
            continue
        scale, (own, first) = packed.get(name + SCALE), split_name(name)
        size = tuple(tensor.shape)
        if scale is not None and (len(size) != 2 or tuple(scale.shape) != size[:1]):
            raise ValueError(f"{name} has scales of the shape {tuple(scale.shape)}")
        if not first and SINCE not in name:
            continue
        begun = packed.get(first)
        whole = None if begun is None else tuple(begun.shape)
        fits = len(size) == 2 and whole == (size[0], 2 * size[1]) and str(tensor.dtype).endswith("uint8")
        if not fits or scale is None or own in packed:
            raise ValueError(f"{own} does not fit {first or 'what it began as'}")
