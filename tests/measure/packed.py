"""Weights for shipping, packed as `builder.learning.packing` describes and `checkpoint.unpack_weights` reads."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import torch
from torch import Tensor

from builder.learning.checkpoint import unpack_weights
from builder.learning.packing import SCALE, SINCE

_LARGE, _INT8 = 1 << 14, 127
"""Numbers of a matrix that is packed in 8 bits, and the largest of these."""
_INT4, _NIBBLE = 7, 15
"""The largest number of 4 bits, and their mask."""


def pack_weights(weights: Mapping[str, Tensor], begun: Mapping[str, str] = MappingProxyType({})) -> dict[str, Tensor]:
    """Weights for shipping: of large matrices 8 bits a number with a scale for each row, of the others 16 bits. Of
    matrices that began as others, whose names `begun` has, 4 bits a number of what they learnt since.
    """
    out = {}
    for name, tensor in weights.items():
        if tensor.dim() == 2 and tensor.numel() >= _LARGE and name not in begun:
            out[name], out[name + SCALE] = _to_integers(tensor.float(), _INT8)
        elif name not in begun:
            out[name] = tensor.half()
    whole = unpack_weights(out)
    for name, first in begun.items():
        learnt, scale = _to_integers(weights[name].float() - whole[first].float(), _INT4)
        assert learnt.shape[1] % 2 == 0, f"{name} has an odd number of columns"
        packed = f"{name}{SINCE}{first}"
        out[packed] = ((learnt[:, ::2] & _NIBBLE) | (learnt[:, 1::2] << 4)).view(torch.uint8)
        out[packed + SCALE] = scale
    return out


def _to_integers(matrix: Tensor, largest: int) -> tuple[Tensor, Tensor]:
    """The numbers of a matrix as integers up to `largest` either way, and the scale of each row."""
    scale = matrix.abs().amax(1).clamp_min(torch.finfo(torch.float32).tiny) / largest
    return (matrix / scale[:, None]).round().to(torch.int8), scale
