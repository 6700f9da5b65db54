"""Outcomes that do not depend on the batch that an item happens to be in.

In: items in batches, and work that reports a margin with each outcome. Out: the outcomes.

Sums of floating point numbers differ in their last digits with the shape of a batch, and a choice between two
candidates may turn on them. So all work reports its margin: the least difference by which any of its choices was
made. Where it is below SURE, far above that noise, the work is done again with the item alone: the outcome is a
function of the item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from builder.learning.devices import in_parts

SURE = 1e-4
Item = TypeVar("Item")
Out = TypeVar("Out")


def rounded(score: float) -> tuple[float, float]:
    """A score to hundredths, and how far it is from being rounded otherwise."""
    hundredths = round(score, 2)
    return hundredths, 0.005 - abs(score - hundredths)


def settled(
    items: Sequence[Item],
    batches: Sequence[Sequence[int]],
    work: Callable[[list[Item]], list[tuple[Out, float]]],
) -> Iterator[tuple[int, Out]]:
    """(index, outcome) of every item. `work` gives outcomes with margins; below SURE it is given the item alone. A
    batch that the device has no memory for is halved.
    """
    for batch, done in in_parts(map(list, batches), lambda batch: work([items[i] for i in batch])):
        for i, (out, margin) in zip(batch, done, strict=True):
            if margin < SURE and len(batch) > 1:
                out = work([items[i]])[0][0]
            yield i, out
