"""Which split each review goes to: near-duplicates together, gold to test, and every review that had one where it was.

A text's place is its hash, a cluster's that of its smallest hash, so most reviews would stay where they are even without memory. Where a
new review joins two old ones of different splits, neither moves: the newcomer is left out of the splits, and counted.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from builder import privacy
from builder.config import flat
from builder.export.near_duplicates import alike, among, bigrams, clusters, links, normal
from builder.export.reading import Existing, existing, rows
from builder.stages.context import Context
from builder.store import reviews, runs
from builder.store.queries import public_id

SHARES = ("ingest.test_share", "ingest.valid_share")
_RANK = ("test", "valid", "train")
Distinct = tuple[int, str, str]
"""id, key, norm_hash of a review that is no duplicate."""


def place(context: Context, gold: frozenset[str]) -> None:
    """Give every distinct review its split and cluster; remember the splits. Inside the transaction of `ingest`."""
    connection, share = context.connection, context.config.ingest
    listed, texts = [], []
    for review, key, norm_hash, text in reviews.distinct(connection):
        listed.append((review, key, norm_hash))
        texts.append(normal(text))
    near = links(texts)
    pinned = _before(context, listed)
    pinned |= {n: "test" for n, (_, key, *_) in enumerate(listed) if key in gold}
    near += among(texts, disputed(clusters(len(listed), near), pinned))
    test = 0.0 if gold else share.test_share
    chosen = assign([one[2] for one in listed], near, pinned, test, share.valid_share)
    reviews.set_splits(connection, [(split, one[0]) for split, one in zip(chosen, listed, strict=True)])
    whose = clusters(len(listed), near)
    several = {whose[a] for a, _ in near}
    reviews.set_clusters(connection, [(one[0], listed[first][0]) for first, one in zip(whose, listed, strict=True) if first in several])
    reviews.clear_rejected(connection, "split")
    reviews.reject(
        connection, "split", ((one[1], "near-duplicate", "it is near-duplicate of reviews in different splits", "") for split, one in zip(chosen, listed, strict=True) if split is None)
    )  # fmt: skip
    reviews.remember_splits(connection, [(one[2], split) for split, one in zip(chosen, listed, strict=True) if split])
    runs.set_setting(connection, "splits.shares", _shares(flat(context.config)))


def assign(
    hashes: Sequence[str], near: Iterable[tuple[int, int]], pinned: Mapping[int, str], test: float, valid: float
) -> list[str | None]:
    """The split of each text by its hash, its near-duplicates and the texts that are `pinned` to one; None: in no split. Pure."""
    near = list(near)
    beside: defaultdict[int, set[int]] = defaultdict(set)
    for a, b in near:
        beside[a].add(b)
        beside[b].add(a)
    chosen: list[str | None] = [pinned.get(i) or by_hash(one, test, valid) for i, one in enumerate(hashes)]
    whose = clusters(len(hashes), near)
    members: defaultdict[int, list[int]] = defaultdict(list)
    for i in sorted(beside):
        members[whose[i]].append(i)
    for cluster in members.values():
        fixed = {pinned[i] for i in cluster if i in pinned}
        split = None if len(fixed) > 1 else fixed.pop() if fixed else by_hash(min(hashes[i] for i in cluster), test, valid)
        for i in cluster:
            chosen[i] = split
        if split is None:
            _settle(cluster, beside, pinned, chosen)
    return chosen


def disputed(whose: Sequence[int], pinned: Mapping[int, str]) -> dict[int, list[int]]:
    """The members of the clusters that hold more than one split's texts: there every pair matters."""
    splits: defaultdict[int, set[str]] = defaultdict(set)
    for i, split in pinned.items():
        splits[whose[i]].add(split)
    found: defaultdict[int, list[int]] = defaultdict(list)
    for i, first in enumerate(whose):
        if len(splits[first]) > 1:
            found[first].append(i)
    return found


def by_hash(norm_hash: str, test: float, valid: float) -> str:
    """The split of a hash in hexadecimal: a fixed place between 0 and 1, cut at the shares."""
    place = int(norm_hash[:13], 16) / 16**13
    return "test" if place < test else "valid" if place < test + valid else "train"


def _settle(cluster: Iterable[int], beside: Mapping[int, set[int]], pinned: Mapping[int, str], chosen: list[str | None]) -> None:
    """A cluster pinned to several splits: nobody moves. Of two that are near each other the one in test stays, then the one in valid; the
    other, and whoever was in no split yet, is left out."""
    for split in _RANK:
        for i in cluster:
            if pinned.get(i) == split and not any(chosen[other] not in (None, split) for other in beside[i]):
                chosen[i] = split


def _before(context: Context, listed: Sequence[Distinct]) -> dict[int, str]:
    """Index in `listed` -> the split it had: in this working directory, or in the last release of this name, which goes first.

    Other shares in the settings are the wish for other splits: then nothing is kept.
    """
    shares = _shares(flat(context.config))
    if runs.setting(context.connection, "splits.shares") != shares:
        reviews.forget_splits(context.connection)
    known = reviews.remembered_splits(context.connection)
    kept = {i: known[norm_hash] for i, (_, _, norm_hash) in enumerate(listed) if norm_hash in known}
    parents = existing(context.out, context.config.release.name)
    if parents and _shares(parents[-1].manifest.get("config", {})) == shares:
        kept |= _released(context, parents[-1], listed)
    return kept


def _released(context: Context, parent: Existing, listed: Sequence[Distinct]) -> dict[int, str]:
    """The splits of a release's reviews, found by their text or, where masks or another script changed it, by id and likeness."""
    by_text = {hashed: i for i, (_, _, hashed) in enumerate(listed)}
    by_id = {name: i for i, (_, key, _) in enumerate(listed) for name in (key, public_id(key))}
    found: dict[int, str] = {}
    for split in parent.splits:
        for row in rows(parent.path, split):
            text = normal(row["text"])
            i = by_text.get(norm_hash(text))
            if i is None and (i := by_id.get(row["id"])) is not None:
                (review,) = reviews.by_id(context.connection, [listed[i][0]])
                masked = normal(privacy.mask(review.text, [review.place] if review.place else []).text)
                i = i if alike(bigrams(masked), bigrams(text)) else None
            if i is not None:
                found.setdefault(i, split)
    return found


def _shares(config: Mapping[str, object]) -> str:
    return " ".join(str(config.get(name)) for name in SHARES)


def norm_hash(text: str) -> str:
    """The hash by which a normalised text is known."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
