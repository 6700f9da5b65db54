"""Beam search whose outcome does not depend on the batch that an item happens to be in.

Sums of floating point numbers differ in their last digits with the shape of a batch, and a choice between two
candidates may turn on them. So every search tells its margin: the least difference by which any of its choices was
made. Where it is below SURE, far above that noise, the search is done again with the item alone: the outcome is a
function of the item.

A small model left to itself writes ，，， or the same words over and over: neither is ever chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Protocol, TypeVar

import torch
from torch import Tensor

SURE = 1e-4
REPEATED = 3
"""So many tokens in a row are written once in a sequence."""
Barred = Mapping[tuple[int, ...], Mapping[int, int]]
"""Tokens, and those that must not be written behind them, each with a number: it may be written in rows where that
number is free.
"""
Pairs = Tensor
"""[V, V]: whether the second token may stand behind the first."""
Item = TypeVar("Item")
Out = TypeVar("Out")


@dataclass(frozen=True, slots=True)
class Beams:
    """What a search found for a row: sequences with their log-probabilities, best first, and the margin."""

    sequences: tuple[tuple[tuple[int, ...], float], ...]
    margin: float


class Stepper(Protocol):
    """Log-probabilities [B * K, V] of the next token, given the last ones [B * K]; and beams put in another order [B
    * K].
    """

    def __call__(self, last: Tensor, step: int) -> Tensor: ...
    def reorder(self, beams: Tensor) -> None: ...


def search(
    stepper: Stepper,
    begin: Sequence[int],
    lengths: Sequence[int],
    forced: Sequence[Sequence[int]],
    width: int,
    never: Tensor,
    end: int | None = None,
    least: Sequence[int] = (),
    marks: Sequence[int] | None = None,
    behind: Sequence[int] = (),
    barred: Barred = MappingProxyType({}),
    free: Sequence[Set[int]] = (),
    pairs: Pairs | None = None,
) -> list[Beams]:
    """The `width` best sequences of each row, of exactly `lengths` tokens (at most, where there is an `end` token,
    and then `least` before it).

    `forced` tokens (-1: free) take their place in every beam and count with their log-probability; `never` is added
    to the others ([V], 0 or -inf). With `marks`, none of them is written beside another (`behind`: the token that
    follows each row, -1: none), no sequence says REPEATED tokens twice, and none what is `barred` and not among the
    row's `free` numbers (not for tokens that may be parts of characters), and none has two tokens beside each other
    that are not among the `pairs`. Rows are done at their length; later steps do nothing for them.
    """
    rows, spread = len(lengths), torch.arange(len(lengths))[:, None] * width
    total = torch.full((rows, width), float("-inf"))
    total[:, 0] = 0.0
    last = torch.tensor(begin).repeat_interleave(width)
    said = torch.zeros((rows, width, 0), dtype=torch.long)
    margins = torch.full((rows,), float("inf"))
    ended = torch.zeros((rows, width), dtype=torch.bool)
    found: list[Beams | None] = [None] * rows
    due = torch.tensor([[*row, *[-1] * (max(lengths) - len(row))] for row in forced])
    following = torch.tensor(
        [
            [*row[1:], last, *[-1] * (max(lengths) - len(row))]
            for row, last in zip(forced, behind or [-1] * rows, strict=True)
        ]
    )
    punctuation = (
        None
        if marks is None
        else torch.zeros(len(never), dtype=torch.bool).index_fill(0, torch.tensor(marks, dtype=torch.long), True)
    )
    free = free or [frozenset()] * rows
    refused = never + _barred(free, barred.get((), {}), len(never))[:, None]
    for step in range(max(lengths)):
        scores = stepper(last, step).view(rows, width, -1)
        here = due[:, step]
        if end is not None and least:
            scores[:, :, end] = torch.where(torch.tensor(least)[:, None] > step, float("-inf"), scores[:, :, end])
        fair = scores + refused
        if punctuation is not None:
            fair = fair.masked_fill(
                _repeated(said, last.view(rows, width), following[:, step], punctuation), float("-inf")
            )
            fair[_ended(begin, said, barred, free)] = float("-inf")
        if pairs is not None:
            fair = fair.masked_fill(~_paired(pairs, last.view(rows, width), following[:, step]), float("-inf"))
        tried = fair.topk(min(width + 1, scores.shape[-1]), -1)
        told = scores.gather(2, here.clamp(min=0)[:, None, None].expand(-1, width, 1))
        only = (here >= 0)[:, None, None]
        values, tokens = (
            torch.where(only, float("-inf"), tried.values),
            torch.where(only, here[:, None, None], tried.indices),
        )
        values[:, :, :1] = torch.where(only, told, values[:, :, :1])
        if end is not None:  # a beam that has ended goes on with one more end mark at no cost
            values = torch.where(ended[:, :, None], float("-inf"), values)
            tokens = torch.where(ended[:, :, None], end, tokens)
            values[:, :, 0] = torch.where(ended, 0.0, values[:, :, 0])
        each = values.shape[-1]
        best = (total[:, :, None] + values).flatten(1).topk(min(width + 1, width * each), -1)
        margins = torch.minimum(margins, _gap(best.values, width))
        total, chosen = best.values[:, :width], best.indices[:, :width]
        beams = chosen // each
        last = tokens.flatten(1).gather(1, chosen)
        said = torch.cat([said.gather(1, beams[:, :, None].expand(-1, -1, said.shape[2])), last[:, :, None]], 2)
        if end is not None:
            ended = ended.gather(1, beams) | (last == end)
        for row, length in enumerate(lengths):
            if found[row] is None and (length == step + 1 or (end is not None and bool(ended[row].all()))):
                found[row] = _found(said[row], total[row], float(margins[row]))
        if all(found):
            break
        last = last.flatten()
        stepper.reorder((beams + spread).flatten())
    return [one for one in found if one is not None]


def _repeated(said: Tensor, last: Tensor, following: Tensor, marks: Tensor) -> Tensor:
    """[R, K, V]: the tokens that would end what stands in `said` [R, K, S] already, REPEATED tokens long, or put a
    mark beside a mark: behind `last` [R, K] or before `following` [R] (-1: not known).
    """
    beside = marks[last] | (marks[following.clamp(min=0)] & (following >= 0))[:, None]
    out = beside[:, :, None] & marks
    if said.shape[2] >= REPEATED:
        grams = said.unfold(2, REPEATED, 1)
        same = (grams[..., :-1] == said[:, :, None, 1 - REPEATED :]).all(-1)
        rows, beams, places = same.nonzero(as_tuple=True)
        out[rows, beams, grams[rows, beams, places, -1]] = True
    return out


def _paired(pairs: Pairs, last: Tensor, following: Tensor) -> Tensor:
    """[R, K, V]: the tokens that may stand behind `last` [R, K] and before `following` [R] (-1: not known)."""
    before = pairs.T[following.clamp(min=0)] | (following < 0)[:, None]
    return pairs[last] & before[:, None]


def _barred(free: Sequence[Set[int]], alone: Mapping[int, int], size: int) -> Tensor:
    """[R, V]: -inf for what each row must not say at all."""
    out = torch.zeros((len(free), size))
    out[:, list(alone)] = float("-inf")
    for row, numbers in enumerate(free):
        out[row, [token for token, number in alone.items() if number in numbers]] = 0.0
    return out


def _ended(
    begin: Sequence[int], said: Tensor, barred: Barred, free: Sequence[Set[int]]
) -> tuple[list[int], list[int], list[int]]:
    """Rows, beams and tokens of what is barred behind the last tokens of each beam."""
    out: tuple[list[int], list[int], list[int]] = ([], [], [])
    longest = max(map(len, barred), default=0)
    for row, beams in enumerate(said.tolist() if longest else ()):
        for beam, tokens in enumerate(beams):
            told = (begin[row], *tokens)[-longest:]
            for at in range(len(told)):
                for token, number in barred.get(told[at:], {}).items():
                    if number not in free[row]:
                        out[0].append(row)
                        out[1].append(beam)
                        out[2].append(token)
    return out


def _gap(values: Tensor, width: int) -> Tensor:
    """By how much the last beam kept beats the first that is dropped."""
    if values.shape[1] <= width:
        return torch.full((values.shape[0],), float("inf"))
    gap = values[:, width - 1] - values[:, width]
    return torch.where(gap.isnan(), float("inf"), gap)


def _found(said: Tensor, total: Tensor, margin: float) -> Beams:
    order = sorted(range(len(total)), key=lambda k: (-float(total[k]), said[k].tolist()))
    scores = [float(total[k]) for k in order if total[k] > float("-inf")]
    apart = min((a - b for a, b in pairwise(scores)), default=float("inf"))
    edge = min((rounded(score)[1] for score in scores[:2]), default=float("inf"))
    return Beams(
        tuple((tuple(said[k].tolist()), rounded(float(total[k]))[0]) for k in order[: len(scores)]),
        min(margin, apart, edge),
    )


def rounded(score: float) -> tuple[float, float]:
    """A score as it is told, to hundredths, and how far it is from being rounded otherwise."""
    told = round(score, 2)
    return told, 0.005 - abs(score - told)


def settled(
    items: Sequence[Item],
    batches: Sequence[Sequence[int]],
    work: Callable[[list[Item]], list[tuple[Out, float]]],
) -> Iterator[tuple[int, Out]]:
    """(index, outcome) of every item. `work` gives outcomes with margins; where one is not SURE the item is worked on
    alone.
    """
    for batch in batches:
        done = work([items[i] for i in batch])
        for i, (out, margin) in zip(batch, done, strict=True):
            if margin < SURE and len(batch) > 1:
                out = work([items[i]])[0][0]
            yield i, out


def banned(size: int, never: Sequence[int]) -> Tensor:
    """[V]: -inf for tokens that must not be generated."""
    out = torch.zeros(size)
    out[list(never)] = float("-inf")
    return out
