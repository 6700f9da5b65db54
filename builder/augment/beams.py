"""Of the beams of a fragment the one that fits best where it stands.

In: beams as `masked-seq2seq` searches them. Out: of each fragment the beam for which log P(beam | context) + log P(context | beam) is highest (Li et al. 2016, MMI-bidi,
both of equal weight), how much likelier its context is beside it than beside the fragment that stood there, and, where that is not too little, how surprising it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from builder.augment.constraints import LEAST_FIT
from builder.augment.records import Edit

if TYPE_CHECKING:
    from builder.model.augment.pieces import Inventory
    from builder.model.augment.seq2seq import Labelled, Masked


@dataclass(frozen=True, slots=True)
class Beam:
    """The tokens of a fragment, the edits that they make, their log-probability, how they fit and surprise (see Candidate)."""

    said: tuple[int, ...]
    edits: tuple[Edit, ...]
    score: float
    fit: float | None = None
    surprise: float | None = None


@dataclass(frozen=True, slots=True)
class Reader:
    """A network that reads what it has written; `usual`: -log P of a token of its training sentences that is hidden alone."""

    network: Labelled
    inventory: Inventory
    usual: float
    batch: int = 64
    threads: int = 2

    def told(self, items: Sequence[Masked]) -> list[float]:
        from builder.model.augment.fitting import likely
        from builder.model.augment.fragments import pad_of

        return likely(self.network, items, self.inventory.mask, pad_of(self.inventory), self.batch, self.threads)


def best_fitting(reader: Reader, listed: Sequence[tuple[Sequence[int], Masked, Sequence[Beam]]]) -> list[list[Beam]]:
    """`listed`: the tokens of a sentence, its fragment, the fragment's beams. Of each the best beam, of no beams none."""
    from builder.model.augment.fitting import around

    texts = [
        [_text(ids, item, said, reader) for said in (item.target, *(one.said for one in beams))] if beams else []
        for ids, item, beams in listed
    ]
    told = iter(reader.told([around(*text) for each in texts for text in each]))
    chosen: list[tuple[int, Beam]] = []
    for n, (_, _, beams) in enumerate(listed):
        if beams:
            before = next(told)
            fits = [replace(one, fit=round(next(told) - before, 2)) for one in beams]
            chosen.append((n, max(fits, key=lambda one: one.score + (one.fit or 0.0))))
    out: list[list[Beam]] = [[] for _ in listed]
    due = {n: beam for n, beam in chosen if (beam.fit or 0.0) >= LEAST_FIT}  # the others will be rejected
    surprises = dict(zip(due, _surprises(reader, [_text(*listed[n][:2], beam.said, reader) for n, beam in due.items()]), strict=True))
    for n, beam in chosen:
        out[n] = [replace(beam, surprise=surprises.get(n))]
    return out


def _surprises(reader: Reader, texts: Sequence[Text]) -> list[float]:
    from builder.model.augment.fitting import alone

    asked = [alone(*text) for text in texts]
    told = iter(reader.told([item for items in asked for item in items]))
    return [round(-sum(next(told) for _ in items) / reader.usual, 2) for items in asked]


def usual(reader: Reader, cuts: Sequence[Sequence[int]]) -> float:
    """-log P of a token that is hidden alone, the mean over some sentences."""
    from builder.model.augment.fitting import alone

    items = [item for ids in cuts for item in alone(ids, 0, len(ids), reader.inventory.mask, reader.inventory.first)]
    return max(0.01, round(-sum(reader.told(items)) / max(1, len(items)), 2))


Text = tuple[Sequence[int], int, int, int, int]
"""Tokens, the range of new ones, and what hides and begins a text."""


def _text(ids: Sequence[int], item: Masked, said: Sequence[int], reader: Reader) -> Text:
    """A sentence with `said` for its fragment."""
    inventory = reader.inventory
    free = [at for at in range(item.start, item.start + len(said)) if item.source[at] == inventory.mask]
    return (*ids[: item.start], *said, *ids[item.start + len(said) :]), free[0], free[-1] + 1, inventory.mask, inventory.first
