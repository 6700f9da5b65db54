"""The tokens of a pretrained encoder beside the characters of a text: which tokens stand for which character.

In: the token rows of texts, each row no longer than the encoder reads at once. Out: one padded batch of all rows, and
for every character the tokens that stand for it, as places in the batch. Any tokenizer will do: a character of
several tokens (bytes) has a stretch of them, and the characters of one token (a word) share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Places = NDArray[np.int32]
PLACES = 8
"""A character knows which one of its token it is, the eighth and later ones alike; 0: no token stands for it."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenRows:
    """The tokens of a text of n characters in rows that are read apart: their ids, and for each character the row,
    [first, past) in it, and its place in the token (0: none stands for it). Each of the four [n]. `pad` fills rows up.
    """

    ids: tuple[Places, ...]
    row: Places
    first: Places
    past: Places
    place: Places
    pad: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class TokenBatch:
    """Padded rows of tokens: ids and mask [R, K]. For each character of the texts [B, T] the places [first, past) of
    its tokens in the flat rows, and its place in the token. `deepest` is the longest such stretch.
    """

    ids: Tensor
    mask: Tensor
    first: Tensor
    past: Tensor
    place: Tensor
    deepest: int

    def to(self, device: torch.device) -> TokenBatch:
        """The same on a device."""
        ids, mask, first, past, place = (
            tensor.to(device) for tensor in (self.ids, self.mask, self.first, self.past, self.place)
        )
        return TokenBatch(ids, mask, first, past, place, self.deepest)


def collate_tokens(texts: Sequence[TokenRows], longest: int) -> TokenBatch:
    """The rows of all texts below each other, for texts padded to `longest` characters."""
    rows = [ids for text in texts for ids in text.ids]
    width = -(-max(len(ids) for ids in rows) // 8) * 8
    ids = np.full((len(rows), width), texts[0].pad, np.int64)
    mask = np.zeros((len(rows), width), np.int64)
    for row, own in enumerate(rows):
        ids[row, : len(own)], mask[row, : len(own)] = own, 1
    first, past, place = (np.zeros((len(texts), longest), np.int64) for _ in range(3))
    begin = 0
    for number, text in enumerate(texts):
        n, shift = len(text.row), (text.row.astype(np.int64) + begin) * width
        first[number, :n], past[number, :n], place[number, :n] = text.first + shift, text.past + shift, text.place
        begin += len(text.ids)
    deepest = int((past - first).max())
    tensors = [torch.from_numpy(array) for array in (first, past, place)]
    return TokenBatch(torch.from_numpy(ids), torch.from_numpy(mask), tensors[0], tensors[1], tensors[2], deepest)


def average_tokens(vectors: Tensor, tokens: TokenBatch) -> Tensor:
    """For each character the mean of the vectors [R, K, D] of its tokens, zero where there is none: [B, T, D]."""
    flat, count = vectors.flatten(0, 1), (tokens.past - tokens.first)[..., None]
    total = flat[tokens.first] * (count > 0)
    for step in range(1, tokens.deepest):
        at = torch.minimum(tokens.first + step, (tokens.past - 1).clamp(min=0))
        total = total + flat[at] * (count > step)
    return total / count.clamp(min=1)
