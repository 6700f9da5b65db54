"""Which split each review goes to, and what of it is remembered.

Near-duplicates and groups stay together, gold goes to test, and a review that had a split keeps it. A text's place is
its hash, a unit's that of its smallest hash, so most reviews would stay where they are even without memory. Where a new
review joins two old ones of different splits, neither moves: the newcomer is left out of the splits, and counted.

Where a release drops reviews without a triplet, exact counts are those of reviews with one (section 4.1 of the paper:
the splits are drawn from these). Only the stage seed knows them, so it settles the splits.
"""

from __future__ import annotations

import sqlite3
from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence

from builder.core.config import flat
from builder.core.settings import Config
from builder.pipeline.context import Context
from builder.release.shelf import Existing, existing, rows
from builder.reviews import masking as privacy
from builder.reviews.assignment import RANK, Groups, assign, norm_hash
from builder.reviews.near_duplicates import alike, among, bigrams, clusters, disputed, links, normal
from builder.reviews.rare_pairs import Texts
from builder.store import reviews, runs
from builder.store.queries import public_id

SHARES = ("ingest.test_share", "ingest.valid_share")
_WISHES = ("ingest.test_count", "ingest.valid_count", "input.group_column")
"""Settings that change the splits where they are given: releases made before they existed name none."""


class StoredTexts:
    """The normal texts of all stored reviews by their ids, which ascend, in a temporary file."""

    def __init__(self) -> None:
        self._ids, self._texts = array("q"), Texts()

    def __enter__(self) -> StoredTexts:
        return self

    def __exit__(self, *error: object) -> None:
        self._texts.close()

    def append(self, review: int, text: str) -> None:
        self._ids.append(review)
        self._texts.append(text)

    def find(self, review: int) -> str:
        return self._texts[_place_of(self._ids, review)]


def assign_splits(context: Context, stored: StoredTexts, gold: frozenset[str]) -> None:
    """Give every distinct review its split and cluster; remember the splits. Inside the transaction of `ingest`.

    `gold`: the ids that labels name.
    """
    connection, share = context.connection, context.config.ingest
    ids = array("q")
    with Texts() as texts, Texts() as hashes:
        for review, _, known, _ in reviews.distinct(connection):
            ids.append(review)
            texts.append(stored.find(review))
            hashes.append(known)
        pinned = {_place_of(ids, review): split for review, split in _before(context, gold).items()}
        near = links(texts)
        near += among(texts, disputed(clusters(len(ids), near), pinned.items()))
        shares = 0.0 if gold else share.test_share, share.valid_share
        chosen = assign(hashes, near, pinned, shares, (share.test_count, share.valid_count), _groups(connection, ids))
    cluster_of = clusters(len(ids), near)
    several = {cluster_of[a] for a, _ in near}
    reviews.set_clusters(connection, ((ids[n], ids[first]) for n, first in enumerate(cluster_of) if first in several))
    _store_splits(connection, chosen, ids)
    reviews.remember_splits(connection, (ids[n] for n in pinned) if counts_triplets(context.config) else None)
    runs.set_setting(connection, "splits.shares", _shares(flat(context.config)))


def counts_triplets(config: Config) -> bool:
    """Whether exact counts of test and valid are those of reviews with a triplet."""
    return bool(config.ingest.test_count or config.ingest.valid_count) and config.release.empty == "drop"


def settle_splits(context: Context, source: int) -> None:
    """Meet the counts of test and valid by reviews for which a source has a triplet. Reviews that had a split before
    `ingest` keep it, and near-duplicates of these with them. Inside the transaction of `seed`.

    Raises:
        ConfigError: a count cannot be met.
    """
    connection, share = context.connection, context.config.ingest
    split_of = {i: split for split in RANK for i in reviews.ids_in_split(connection, split)}
    ids = array("q", sorted(split_of))
    first_of = {i: first for i, first in reviews.clusters(connection) if i in split_of}
    before = {i for i, _ in reviews.remembered_splits(connection) if i in split_of}
    if len(before) < len(ids):
        kept = {first_of[i] for i in before if i in first_of}
        pinned = {n: split_of[i] for n, i in enumerate(ids) if i in before or first_of.get(i) in kept}
        places: dict[int, int] = {}
        near = [(places.setdefault(first_of[i], n), n) for n, i in enumerate(ids) if i in first_of and n not in pinned]
        hash_of = {review: known for review, _, known, _ in reviews.distinct(connection)}
        found = {i for split in RANK for i in reviews.ids_in_split(connection, split, source)}
        chosen = assign(
            [hash_of[i] for i in ids], near, pinned, (share.test_share, share.valid_share),
            (share.test_count, share.valid_count), _groups(connection, ids), [i in found for i in ids],
        )  # fmt: skip
        _store_splits(connection, chosen, ids)
        runs.recount(connection, "ingest", reviews.ingest_counts(connection) | reviews.near_counts(connection))
    reviews.remember_splits(connection)


def _store_splits(connection: sqlite3.Connection, chosen: Sequence[str | None], ids: Sequence[int]) -> None:
    reviews.set_splits(connection, zip(chosen, ids, strict=True))
    reviews.clear_rejected(connection, "split")
    reviews.reject_nowhere(connection, "it is a near-duplicate, or of the group, of reviews in different splits")


def _groups(connection: sqlite3.Connection, ids: Sequence[int]) -> Groups | None:
    """The groups of the reviews with these ids; None where the input names none."""
    numbers: dict[str, int] = {}
    of = array("q", (-1 for _ in ids))
    known = set(ids)
    for review, name in reviews.groups(connection):
        if review in known:
            of[_place_of(ids, review)] = numbers.setdefault(name, len(numbers))
    return Groups(of, [norm_hash(name) for name in numbers]) if numbers else None


def _place_of(ids: Sequence[int], review: int) -> int:
    """Where an id stands among ids in order."""
    n = bisect_left(ids, review)
    assert ids[n] == review, review
    return n


def _before(context: Context, gold: frozenset[str]) -> dict[int, str]:
    """Review id -> the split it had: in this working directory, or in the last release of this name, which goes
    first; test, if it is gold.

    Other shares in the settings are the wish for other splits: then nothing is kept.
    """
    shares = _shares(flat(context.config))
    if runs.setting(context.connection, "splits.shares") != shares:
        reviews.forget_splits(context.connection)
    kept = dict(reviews.remembered_splits(context.connection))
    parents = existing(context.out, context.config.release.name)
    if parents and _shares(parents[-1].manifest.get("config", {})) == shares:
        kept.update(released_splits(context.connection, parents[-1]))
    kept.update(dict.fromkeys(reviews.ids(context.connection, sorted(gold)).values(), "test"))
    return kept


def released_splits(connection: sqlite3.Connection, parent: Existing) -> dict[int, str]:
    """The splits of a release's reviews, found by their text or, where masks or another script changed it, by id and
    likeness; a review for which both are found has that of its text.
    """
    split_of: dict[int, str] = {}
    others: set[str] = set()
    for split in parent.splits:
        for row in rows(parent.path, split):
            review = reviews.saying(connection, norm_hash(normal(row["text"])))
            if review is None:
                others.add(row["id"])
            else:
                split_of.setdefault(review, split)
    named = {
        name: review
        for review, key, *_ in reviews.distinct(connection)
        for name in (key, public_id(key))
        if name in others
    }
    for split in parent.splits if named else ():
        for row in rows(parent.path, split):
            if row["id"] in named and _may_be_released_as(connection, named[row["id"]], row["text"]):
                split_of.setdefault(named[row["id"]], split)
    return split_of


def _may_be_released_as(connection: sqlite3.Connection, i: int, released: str) -> bool:
    """Whether a released text may be what masks and another script have made of a review."""
    (review,) = reviews.by_id(connection, [i])
    masked = privacy.mask(review.text, [review.place] if review.place else []).text
    return alike(bigrams(normal(masked)), bigrams(normal(released)))


def _shares(config: Mapping[str, object]) -> str:
    given = [f"{name}={value}" for name in _WISHES if (value := config.get(name))]
    return " ".join([*(str(config.get(name)) for name in SHARES), *given])
