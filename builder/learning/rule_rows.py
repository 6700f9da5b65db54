"""What the rules read in a text as arrays, beside its characters.

In: labels of each character, and numbers for pairs of an aspect and an opinion that the rules know. Out: padded
batches. A pair of spans is looked up by two of its characters: which aspect and which opinion of the rules they are
part of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

IntArray = NDArray[np.int32]
FloatArray = NDArray[np.float32]
CHANNELS = 7
"""Numbers that the rules have for a pair."""


@dataclass(frozen=True, slots=True, eq=False)
class RuleRows:
    """A text of n characters: labels [n, kinds]; the number of the rules' aspect and opinion that each character is
    part of [n], 0 where of none; cells [k, 3] (aspect, opinion, channel) and their values [k].
    """

    labels: IntArray
    aspect: IntArray
    opinion: IntArray
    cells: IntArray
    values: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class RuleBatch:
    """Padded texts: labels [B, T, kinds], aspect and opinion [B, T], and the numbers of their pairs [B, A, O,
    channels], 0 where the rules say nothing.
    """

    labels: Tensor
    aspect: Tensor
    opinion: Tensor
    pairs: Tensor

    def to(self, device: torch.device) -> RuleBatch:
        """The same on a device."""
        return RuleBatch(*(tensor.to(device) for tensor in (self.labels, self.aspect, self.opinion, self.pairs)))

    def look_up(self, row: Tensor, aspect_at: Tensor, opinion_at: Tensor) -> Tensor:
        """What the rules say of pairs, by a character of each aspect and of each opinion. [P, channels]"""
        return self.pairs[row, self.aspect[row, aspect_at], self.opinion[row, opinion_at]]


def collate_rules(texts: Sequence[RuleRows], longest: int) -> RuleBatch:
    """The rows of all texts, padded to `longest` characters."""
    kinds = texts[0].labels.shape[1]
    labels = np.zeros((len(texts), longest, kinds), np.int64)
    aspect, opinion = (np.zeros((len(texts), longest), np.int64) for _ in range(2))
    sizes = [1 + max((int(text.cells[:, side].max(initial=0)) for text in texts), default=0) for side in (0, 1)]
    pairs = np.zeros((len(texts), *sizes, CHANNELS), np.float32)
    for number, text in enumerate(texts):
        n = len(text.labels)
        labels[number, :n], aspect[number, :n], opinion[number, :n] = text.labels, text.aspect, text.opinion
        pairs[number, text.cells[:, 0], text.cells[:, 1], text.cells[:, 2]] = text.values
    return RuleBatch(*(torch.from_numpy(array) for array in (labels, aspect, opinion, pairs)))
