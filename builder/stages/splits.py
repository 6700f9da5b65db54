"""Which split each review goes to: near-duplicates and groups together, gold to test, and every review that had one
where it was.

A text's place is its hash, a unit's that of its smallest hash, so most reviews would stay where they are even without
memory. Where a new review joins two old ones of different splits, neither moves: the newcomer is left out of the
splits, and counted.
"""

from __future__ import annotations

import hashlib
import sqlite3
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from builder.config import flat
from builder.dedup.assignment import Groups, assign
from builder.dedup.near_duplicates import alike, among, bigrams, clusters, links, normal
from builder.dedup.texts import Texts
from builder.privacy import masking as privacy
from builder.release.reading import Existing, existing, rows
from builder.stages.context import Context
from builder.store import reviews, runs
from builder.store.queries import public_id

SHARES = ("ingest.test_share", "ingest.valid_share")
_WISHES = ("ingest.test_count", "ingest.valid_count", "input.group_column")
"""Settings that change the splits where they are given: releases made before they existed name none."""
HASH = 32
"""Characters of a normalised text's hash."""
PLACED = 8 * 8
"""Bytes of memory that `place` holds of each review, beside the search for near-duplicates, where none had a split
before: its id, split, cluster, unit, the split it is meant for and the place of its hash.
"""


def place(context: Context, gold: frozenset[str]) -> None:
    """Give every distinct review its split and cluster; remember the splits. Inside the transaction of `ingest`."""
    connection, share = context.connection, context.config.ingest
    ids = array("q")
    with Texts() as texts, Texts() as hashes:
        for review, _, known, text in reviews.distinct(connection):
            ids.append(review)
            texts.append(normal(text))
            hashes.append(known)
        pinned = {_place_of(ids, review): split for review, split in _before(context, gold).items()}
        near = links(texts)
        near += among(texts, disputed(clusters(len(ids), near), pinned.items()))
        shares = 0.0 if gold else share.test_share, share.valid_share
        chosen = assign(hashes, near, pinned, shares, (share.test_count, share.valid_count), _groups(connection, ids))
    reviews.set_splits(connection, zip(chosen, ids, strict=True))
    whose = clusters(len(ids), near)
    several = {whose[a] for a, _ in near}
    reviews.set_clusters(connection, ((ids[n], ids[first]) for n, first in enumerate(whose) if first in several))
    reviews.clear_rejected(connection, "split")
    reviews.reject_nowhere(
        connection, "split", "near-duplicate", "it is a near-duplicate, or of the group, of reviews in different splits"
    )
    reviews.remember_splits(connection)
    runs.set_setting(connection, "splits.shares", _shares(flat(context.config)))


def _groups(connection: sqlite3.Connection, ids: Sequence[int]) -> Groups | None:
    """The groups of the reviews with these ids; None where the input names none."""
    numbers: dict[str, int] = {}
    of = array("q", (-1 for _ in ids))
    for review, name in reviews.groups(connection):
        of[_place_of(ids, review)] = numbers.setdefault(name, len(numbers))
    return Groups(of, [norm_hash(name) for name in numbers]) if numbers else None


def disputed(whose: Sequence[int], pinned: Iterable[tuple[int, str]]) -> dict[int, list[int]]:
    """The members of the clusters that hold more than one split's texts: there every pair matters. `pinned`: texts
    with their splits.
    """
    several = {cluster for i, cluster in enumerate(whose) if cluster != i}
    splits: defaultdict[int, set[str]] = defaultdict(set)
    for i, split in pinned:
        if whose[i] in several:
            splits[whose[i]].add(split)
    found: defaultdict[int, list[int]] = defaultdict(list)
    for i, cluster in enumerate(whose):
        if len(splits.get(cluster, ())) > 1:
            found[cluster].append(i)
    return found


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
        kept.update(released(context.connection, parents[-1]))
    kept.update(dict.fromkeys(reviews.ids(context.connection, sorted(gold)).values(), "test"))
    return kept


def released(connection: sqlite3.Connection, parent: Existing) -> dict[int, str]:
    """The splits of a release's reviews, found by their text or, where masks or another script changed it, by id and
    likeness; a review for which both are found has that of its text.
    """
    found: dict[int, str] = {}
    others: set[str] = set()
    for split in parent.splits:
        for row in rows(parent.path, split):
            review = reviews.saying(connection, norm_hash(normal(row["text"])))
            if review is None:
                others.add(row["id"])
            else:
                found.setdefault(review, split)
    named = {
        name: review
        for review, key, *_ in reviews.distinct(connection)
        for name in (key, public_id(key))
        if name in others
    }
    for split in parent.splits if named else ():
        for row in rows(parent.path, split):
            if row["id"] in named and _alike(connection, named[row["id"]], row["text"]):
                found.setdefault(named[row["id"]], split)
    return found


def _alike(connection: sqlite3.Connection, i: int, released: str) -> bool:
    """Whether a released text may be what masks and another script have made of a review."""
    (review,) = reviews.by_id(connection, [i])
    masked = privacy.mask(review.text, [review.place] if review.place else []).text
    return alike(bigrams(normal(masked)), bigrams(normal(released)))


def _shares(config: Mapping[str, object]) -> str:
    given = [f"{name}={value}" for name in _WISHES if (value := config.get(name))]
    return " ".join([*(str(config.get(name)) for name in SHARES), *given])


def norm_hash(text: str) -> str:
    """The hash by which a normalised text is known."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:HASH]
