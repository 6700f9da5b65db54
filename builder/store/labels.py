"""Labels, and the triplets that variants train on.

Training sets say which triplets each variant trains on, round by round.

The report and the layers of the test split read labels: of pools, and of reviews labelled in full.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from builder.core.records import Label, Pool, StoredTriplet
from builder.core.wording import Annotators
from builder.store import gold
from builder.store import pools as stored
from builder.store.triplets import BITS, EVERY, HASH, TRIPLET_COLUMNS, restore

# ---- Training sets


def set_training(connection: sqlite3.Connection, variant: str, round_: int, ids: Iterable[int]) -> None:
    """Store the training set of a round: the ids of its triplets."""
    connection.execute("DELETE FROM training_sets WHERE variant = ? AND round = ?", (variant, round_))
    connection.executemany(
        "INSERT INTO training_sets (variant, round, triplet) VALUES (?,?,?)", ((variant, round_, i) for i in ids)
    )


def train_on(connection: sqlite3.Connection, variant: str, round_: int, source: int) -> None:
    """Make what a source proposes for the train split the training set of a round."""
    connection.execute("DELETE FROM training_sets WHERE variant = ? AND round = ?", (variant, round_))
    connection.execute(
        "INSERT INTO training_sets (variant, round, triplet) SELECT ?, ?, p.triplet"
        " FROM proposals p JOIN reviews r ON r.id = p.triplet >> 31 WHERE p.source = ? AND r.split = 'train'",
        (variant, round_, source),
    )


def training_counts(connection: sqlite3.Connection, variant: str, round_: int, source: int) -> tuple[int, int, int]:
    """Of a training set the reviews, the triplets, and of these those that a source proposes too."""
    reviews, total, shared = connection.execute(
        "SELECT count(DISTINCT s.triplet >> 31), count(*), count(p.triplet) FROM training_sets s"
        " LEFT JOIN proposals p ON p.triplet = s.triplet AND p.source = ? WHERE s.variant = ? AND s.round = ?",
        (source, variant, round_),
    ).fetchone()
    return reviews, total, shared


def training(
    connection: sqlite3.Connection, variant: str, round_: int, within: tuple[int, int] = EVERY
) -> Iterator[StoredTriplet]:
    """S_round of a variant, by review and place; `within`: of the reviews from one row id to another."""
    rows = connection.execute(
        f"SELECT {TRIPLET_COLUMNS} FROM training_sets s CROSS JOIN triplets t ON t.id = s.triplet"
        " WHERE s.variant = ? AND s.round = ? AND s.triplet BETWEEN ? AND ? ORDER BY s.triplet",
        (variant, round_, within[0] << BITS, within[1] << BITS | HASH),
    )
    yield from map(restore, rows)


# ---- Labels


@dataclass(frozen=True, slots=True)
class LabelPool:
    """A pool with all that was said about it but for abstentions. `kinds`: of every annotator; `labels`: annotator ->
    candidate -> label; `final`: what people decided, by candidate.
    """

    pool: Pool
    kinds: dict[str, str]
    labels: dict[str, dict[int, Label]]
    final: dict[int, Label]


def pools(connection: sqlite3.Connection) -> list[LabelPool]:
    """Every pool, oldest first; but for audits, which hold a few triplets of a review and are no gold of it."""
    kinds = dict(connection.execute("SELECT name, kind FROM annotators ORDER BY id").fetchall())
    ids = connection.execute("SELECT id FROM pools WHERE config ->> '$.kind' IS NOT 'audit' ORDER BY created, id")
    return [_pool(connection, i, kinds) for (i,) in ids.fetchall()]


def _pool(connection: sqlite3.Connection, pool: str, kinds: dict[str, str]) -> LabelPool:
    by_kind = gold.of_pool(connection, pool)
    given = {name: {i: label for i, label in by_kind.get(name, {}).items() if label.label} for name in kinds}
    final = {i: label for i, (label, _) in sorted(gold.final(connection, pool).items())}
    return LabelPool(stored.read(connection, pool), kinds, {name: own for name, own in given.items() if own}, final)


GOLD, SILVER = "gold", "silver"
"""The sources of the layers, and what release rows call their annotation."""
KINDS = {GOLD: "gold", SILVER: "llm"}


@dataclass(frozen=True, slots=True)
class LabelledLayer:
    """A layer by its name, with the id of its source, who labelled it, and the row ids of its reviews."""

    name: str
    source: int
    labelled_by: str
    annotators: Annotators
    reviews: frozenset[int]


def put(connection: sqlite3.Connection, source: int, reviews: Iterable[int]) -> None:
    """Note the reviews that a layer's source labelled."""
    connection.executemany(
        "INSERT INTO labelled_reviews (source, review) VALUES (?,?)", ((source, review) for review in reviews)
    )


def layers(connection: sqlite3.Connection) -> dict[str, LabelledLayer]:
    """Name -> layer, gold first; empty where nothing was labelled."""
    sources = connection.execute(
        "SELECT s.name, s.id, coalesce(s.labelled_by, ''), coalesce(s.annotators, '') FROM sources s"
        " WHERE s.name IN ('gold', 'silver') AND s.id IN (SELECT source FROM labelled_reviews) ORDER BY s.name"
    ).fetchall()
    return {
        name: LabelledLayer(
            name,
            source,
            labelled_by,
            annotators,
            frozenset(
                row[0] for row in connection.execute("SELECT review FROM labelled_reviews WHERE source = ?", (source,))
            ),
        )
        for name, source, labelled_by, annotators in sources
    }
