"""Beam search with constraints on what is written, and outcomes that do not depend on the batch of an item.

Every search reports its margin; `settled` does again alone what a batch might decide otherwise. A small model left to
itself writes ，，， or the same words over and over: neither is ever chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, TypeVar

import torch
from torch import Tensor

from builder.learning.devices import in_parts
from builder.learning.task import Progress

SURE, BATCH = 1e-4, 64
"""A margin that a batch cannot change; rows that are searched or filled at once."""
Item = TypeVar("Item")
Out = TypeVar("Out")


def rounded(score: float) -> tuple[float, float]:
    """A score to hundredths, and how far it is from being rounded otherwise."""
    hundredths = round(score, 2)
    return hundredths, 0.005 - abs(score - hundredths)


def in_batches(order: Sequence[int]) -> list[list[int]]:
    """Indices, BATCH at a time."""
    return [list(order[at : at + BATCH]) for at in range(0, len(order), BATCH)]


def settled(
    items: Sequence[Item],
    batches: Sequence[Sequence[int]],
    work: Callable[[list[Item]], list[tuple[Out, float]]],
    progress: Progress | None = None,
) -> Iterator[tuple[int, Out]]:
    """(index, outcome) of every item in a batch; one whose margin is below SURE is worked on alone."""
    done, total = 0, sum(map(len, batches))
    for batch, outcomes in in_parts(map(list, batches), lambda batch: work([items[i] for i in batch])):
        for i, (out, margin) in zip(batch, outcomes, strict=True):
            if margin < SURE and len(batch) > 1:
                out = work([items[i]])[0][0]
            yield i, out
            done += 1
            if progress:
                progress(done, total, "writing")


REPEATED = 3
"""A sequence holds the same REPEATED tokens in a row only once."""
Pairs = Tensor
"""[V, V]: whether the second token may stand behind the first."""
_NEVER = float("-inf")


@dataclass(frozen=True, slots=True)
class Beams:
    """The outcome of a search for a row: sequences with their log-probabilities, best first, and the margin."""

    sequences: tuple[tuple[tuple[int, ...], float], ...]
    margin: float


@dataclass(frozen=True, slots=True)
class SearchRows:
    """The rows of a batch: the token before each, how many tokens it has (at most, before an end mark), those that are
    `forced` (-1: free), the `least` before the end mark, and the token `behind` (-1: none).
    """

    begin: Sequence[int]
    lengths: Sequence[int]
    forced: Sequence[Sequence[int]]
    least: Sequence[int] = ()
    behind: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class SearchRules:
    """What a search may write. `never` [V] is 0 or -inf, `end` the end mark. With `marks` (tokens of punctuation), none
    stands beside another, and no sequence repeats REPEATED tokens. `pairs` may stand beside each other.
    """

    never: Tensor
    end: int | None = None
    marks: Sequence[int] | None = None
    pairs: Pairs | None = None


class Stepper(Protocol):
    """A network that writes beams token by token."""

    def __call__(self, last: Tensor, step: int) -> Tensor:
        """Log-probabilities [B * K, V] of the next token, given the last ones [B * K]."""

    def reorder(self, beams: Tensor) -> None:
        """Go on with the beams [B * K] at these places."""


def search(stepper: Stepper, rows: SearchRows, rules: SearchRules, width: int) -> list[Beams]:
    """The `width` best sequences of each row; forced tokens count with their log-probability."""
    count, longest = len(rows.lengths), max(rows.lengths)
    device = rules.never.device
    filters, beams = _Filters(rows, rules), _OpenBeams(rows.begin, width, device)
    first_beam = torch.arange(count, device=device)[:, None] * width
    results: list[Beams | None] = [None] * count
    for step in range(longest):
        scores = stepper(beams.last.flatten(), step).view(count, width, -1)
        values, tokens = filters.candidates(scores, beams, step)
        origins = beams.extend(values, tokens, rules.end)
        for row, length in enumerate(rows.lengths):
            if results[row] is None and (length == step + 1 or (rules.end is not None and beams.all_ended(row))):
                results[row] = beams.result(row)
        if all(results):
            break
        stepper.reorder((origins + first_beam).flatten())
    return [result for result in results if result is not None]


class _OpenBeams:
    """The beams of all rows: log-probability and last token [R, K], tokens [R, K, S], which have ended, margins [R]."""

    def __init__(self, begin: Sequence[int], width: int, device: torch.device) -> None:
        rows = len(begin)
        self.width = width
        self.total = torch.full((rows, width), _NEVER, device=device)
        self.total[:, 0] = 0.0
        self.last = torch.tensor(begin, device=device).repeat_interleave(width).view(rows, width)
        self.written = torch.zeros((rows, width, 0), dtype=torch.long, device=device)
        self.ended = torch.zeros((rows, width), dtype=torch.bool, device=device)
        self.margins = torch.full((rows,), float("inf"), device=device)

    def extend(self, values: Tensor, tokens: Tensor, end: int | None) -> Tensor:
        """Keep the best with one more of the candidates [R, K, C]; the beam that each comes from [R, K]."""
        each = values.shape[-1]
        best = (self.total[:, :, None] + values).flatten(1).topk(min(self.width + 1, self.width * each), -1)
        self.margins = torch.minimum(self.margins, _gap(best.values, self.width))
        self.total, chosen = best.values[:, : self.width], best.indices[:, : self.width]
        origins = chosen // each
        self.last = tokens.flatten(1).gather(1, chosen)
        before = self.written.gather(1, origins[:, :, None].expand(-1, -1, self.written.shape[2]))
        self.written = torch.cat([before, self.last[:, :, None]], 2)
        if end is not None:
            self.ended = self.ended.gather(1, origins) | (self.last == end)
        return origins

    def all_ended(self, row: int) -> bool:
        return bool(self.ended[row].all())

    def result(self, row: int) -> Beams:
        """The sequences of a row, best first; of equal ones that with the smaller tokens."""
        written, total = self.written[row], self.total[row]
        order = sorted(range(len(total)), key=lambda k: (-float(total[k]), written[k].tolist()))
        scores = [float(total[k]) for k in order if total[k] > _NEVER]
        apart = min((a - b for a, b in pairwise(scores)), default=float("inf"))
        edge = min((rounded(score)[1] for score in scores[:2]), default=float("inf"))
        return Beams(
            tuple((tuple(written[k].tolist()), rounded(float(total[k]))[0]) for k in order[: len(scores)]),
            min(float(self.margins[row]), apart, edge),
        )


class _Filters:
    """Rows and rules as tensors: which tokens each beam may go on with."""

    def __init__(self, rows: SearchRows, rules: SearchRules) -> None:
        longest, size, device = max(rows.lengths), len(rules.never), rules.never.device
        behind = rows.behind or [-1] * len(rows.lengths)
        self.least, self.rules = rows.least, rules
        self.forced = torch.tensor([_filled(row, longest) for row in rows.forced], device=device)
        self.following = torch.tensor(
            [_filled([*row[1:], last], longest) for row, last in zip(rows.forced, behind, strict=True)], device=device
        )
        self.marks = None if rules.marks is None else _flags(rules.marks, size).to(device)

    def candidates(self, scores: Tensor, beams: _OpenBeams, step: int) -> tuple[Tensor, Tensor]:
        """The values and tokens [R, K, C] that each beam may go on with; a forced token is the only one."""
        end, forced = self.rules.end, self.forced[:, step]
        if end is not None and self.least:
            early = torch.tensor(self.least, device=scores.device)[:, None] > step
            scores[:, :, end] = torch.where(early, _NEVER, scores[:, :, end])
        allowed = self._allowed(scores, beams, step).topk(min(beams.width + 1, scores.shape[-1]), -1)
        forced_scores = scores.gather(2, forced.clamp(min=0)[:, None, None].expand(-1, beams.width, 1))
        only = (forced >= 0)[:, None, None]
        values = torch.where(only, _NEVER, allowed.values)
        tokens = torch.where(only, forced[:, None, None], allowed.indices)
        values[:, :, :1] = torch.where(only, forced_scores, values[:, :, :1])
        if end is not None:
            values = torch.where(beams.ended[:, :, None], _NEVER, values)
            tokens = torch.where(beams.ended[:, :, None], end, tokens)
            values[:, :, 0] = torch.where(beams.ended, 0.0, values[:, :, 0])
        return values, tokens

    def _allowed(self, scores: Tensor, beams: _OpenBeams, step: int) -> Tensor:
        """The scores, -inf for tokens that the rules forbid."""
        allowed, following = scores + self.rules.never, self.following[:, step]
        if self.marks is not None:
            allowed = allowed.masked_fill(_repeated(beams.written, beams.last, following, self.marks), _NEVER)
        if self.rules.pairs is not None:
            allowed = allowed.masked_fill(~_paired(self.rules.pairs, beams.last, following), _NEVER)
        return allowed


def _filled(row: Sequence[int], longest: int) -> list[int]:
    """A row with -1 behind, up to the length of the longest."""
    return [*row, *[-1] * (longest - len(row))]


def _flags(tokens: Sequence[int], size: int) -> Tensor:
    """[V]: whether a token is among some."""
    return torch.zeros(size, dtype=torch.bool).index_fill(0, torch.tensor(tokens, dtype=torch.long), True)


def _repeated(written: Tensor, last: Tensor, following: Tensor, marks: Tensor) -> Tensor:
    """[R, K, V]: tokens that repeat REPEATED of `written`, or put a mark beside `last` or `following` (-1: none)."""
    beside = marks[last] | (marks[following.clamp(min=0)] & (following >= 0))[:, None]
    out = beside[:, :, None] & marks
    if written.shape[2] >= REPEATED:
        grams = written.unfold(2, REPEATED, 1)
        same = (grams[..., :-1] == written[:, :, None, 1 - REPEATED :]).all(-1)
        rows, beams, places = same.nonzero(as_tuple=True)
        out[rows, beams, grams[rows, beams, places, -1]] = True
    return out


def _paired(pairs: Pairs, last: Tensor, following: Tensor) -> Tensor:
    """[R, K, V]: the tokens that may stand behind `last` [R, K] and before `following` [R] (-1: not known)."""
    before = pairs.T[following.clamp(min=0)] | (following < 0)[:, None]
    return pairs[last] & before[:, None]


def _gap(values: Tensor, width: int) -> Tensor:
    """By how much the last beam kept beats the first that is dropped."""
    if values.shape[1] <= width:
        return torch.full((values.shape[0],), float("inf"), device=values.device)
    gap = values[:, width - 1] - values[:, width]
    return torch.where(gap.isnan(), float("inf"), gap)


def banned(size: int, never: Sequence[int]) -> Tensor:
    """[V]: -inf for tokens that must not be generated."""
    out = torch.zeros(size)
    out[list(never)] = float("-inf")
    return out
