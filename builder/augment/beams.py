"""Of the beams of a fragment the one that fits best where it stands.

In: beams as `masked-seq2seq` searches them. Out: of each fragment the beam for which log P(beam | context) + log P(context | beam) is highest (Li et al. 2016, MMI-bidi,
both of equal weight), and how much likelier its context is beside it than beside the fragment that stood there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from builder.augment.records import Edit

if TYPE_CHECKING:
    from builder.model.augment.pieces import Inventory
    from builder.model.augment.seq2seq import Labelled, Masked


@dataclass(frozen=True, slots=True)
class Beam:
    """The tokens of a fragment, the edits that they make, their log-probability, and how they fit (see Candidate)."""

    said: tuple[int, ...]
    edits: tuple[Edit, ...]
    score: float
    fit: float | None = None


def best_fitting(
    network: Labelled, inventory: Inventory, listed: Sequence[tuple[Sequence[int], Masked, Sequence[Beam]]], batch: int, threads: int
) -> list[list[Beam]]:
    """`listed`: the tokens of a sentence, its fragment, the fragment's beams. Of each the best beam, of no beams none."""
    from builder.model.augment.fitting import likely
    from builder.model.augment.fragments import pad_of

    asked = [
        _around(ids, item, said, inventory) for ids, item, beams in listed if beams for said in (item.target, *(one.said for one in beams))
    ]
    told = iter(likely(network, asked, inventory.mask, pad_of(inventory), batch, threads))
    out: list[list[Beam]] = []
    for _, _, beams in listed:
        before = next(told) if beams else 0.0
        fits = [replace(one, fit=round(next(told) - before, 2)) for one in beams]
        out.append([max(fits, key=lambda one: one.score + (one.fit or 0.0))] if fits else [])
    return out


def _around(ids: Sequence[int], item: Masked, said: Sequence[int], inventory: Inventory) -> Masked:
    """A sentence with `said` for its fragment, and what stands beside the new tokens hidden."""
    from builder.model.augment.fitting import around

    free = [at for at in range(item.start, item.start + len(said)) if item.source[at] == inventory.mask]
    told = (*ids[: item.start], *said, *ids[item.start + len(said) :])
    return around(told, free[0], free[-1] + 1, inventory.mask, inventory.first)
