"""`builder pool`: sample reviews, unite what the rules and the last model of each variant propose, and store it as a
pool.

The discriminator's verdicts on the candidates are kept as labels of the annotator `discriminator` (the paper's Table
4).
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from builder.core.errors import WorkdirError
from builder.core.records import Label, Pool
from builder.gold.pool import PROPOSED, PoolSettings, make, name_of, sample
from builder.store import db, gold, pools, triplets
from builder.teaching.labelling import opened

DISCRIMINATOR = "discriminator"


@dataclass(frozen=True, slots=True)
class PoolResult:
    """A pool; `new` False where the very same was there already; reviews of the split; candidates by how many sources
    propose them.
    """

    pool: Pool
    new: bool
    available: int
    proposers: Counter[int]


def make_pool(workdir: Path, settings: PoolSettings) -> PoolResult:
    """Make a pool and store it. WorkdirError where nothing has been proposed yet, or the split is empty."""
    with opened(workdir) as connection:
        systems = pools.systems(connection)
        if not systems:
            raise WorkdirError(
                "no source has proposed triplets yet",
                where=str(workdir),
                fix="run `builder run seed`, or the whole build",
            )
        reviews = pools.reviews_of(connection, settings.split)
        if not reviews:
            raise WorkdirError(
                f"no review in split {settings.split!r}",
                where=str(workdir),
                fix="choose --split train, valid, test or all",
            )
        proposed = (
            pools.proposals(connection, systems, [review.id for review in reviews])
            if PROPOSED & set(settings.strata)
            else {}
        )
        chosen = sample(reviews, proposed, systems, settings)
        proposed = proposed or pools.proposals(connection, systems, [review.id for review, _ in chosen])
        pool = make(chosen, proposed, systems, settings)
        new = not pools.exists(connection, pool.id)
        if new:
            keys = {review.id: review.key for review in reviews}
            ids = {
                (keys[i], name_of(proposal.triplet)): proposal.id for i, own in proposed.items() for proposal, _ in own
            }
            with db.atomic(connection):
                pools.write(connection, pool)
                _keep_verdicts(connection, pools.read(connection, pool.id), ids)
        proposers = Counter(len(candidate.sources) for review in pool.reviews for candidate in review.candidates)
    return PoolResult(pool, new, len(reviews), proposers)


def _keep_verdicts(connection: sqlite3.Connection, pool: Pool, ids: Mapping[tuple[str, str], int]) -> None:
    """`ids`: (review key, name of the candidate) -> id of the triplet that was judged."""
    judge = triplets.source_id(connection, DISCRIMINATOR)
    if judge is None:
        return
    verdicts = triplets.verdicts(connection, judge)
    known = [
        (candidate.id, verdicts.get(ids[review.key, name_of(candidate.triplet)]))
        for review in pool.reviews
        for candidate in review.candidates
    ]
    rows = [(i, Label(verdict)) for i, verdict in known if verdict is not None]
    gold.put(connection, gold.annotator(connection, DISCRIMINATOR, "discriminator"), rows, "pool")
