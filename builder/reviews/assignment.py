"""Which split each text goes to. Pure.

In: a hash of each text, pairs of near-duplicates, the texts that have a split already, the groups that the user
named, and how large test and valid shall be: shares, or counts that are met exactly. Out: train, valid or test for
each text, or None where it can be in none.

What must stand together is a unit: a group, near-duplicates, and whatever these connect. A unit's split follows from
its smallest hash, so that it is the same wherever its texts stand in the input. Near-duplicates of short texts may
chain most groups to one unit, which no split could hold: groups are joined to at most `_JOINED` texts or a share of
`_JOINED_SHARE`. Beyond that each group is placed by itself, and a text that is near another split's is left out.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from builder.core.errors import ConfigError
from builder.core.wording import counted
from builder.reviews.near_duplicates import clusters

RANK = ("test", "valid", "train")
"""Who stays where two splits hold what only one may."""
HASH = 32
"""Characters of a normalised text's hash."""
_JOINED, _JOINED_SHARE = 50, 0.01


@dataclass(frozen=True, slots=True)
class Groups:
    """Texts that shall stand together: each text's group number, -1 for none, and a hash of each group's name."""

    of: Sequence[int] = ()
    hashes: Sequence[str] = ()


@dataclass(slots=True)
class _Board:
    """What is placed. A text may go to a split unless a near-duplicate, or its group, is in another one."""

    chosen: list[str | None]
    groups: Groups
    cluster: Sequence[int]
    beside: Mapping[int, set[int]]
    spanning: frozenset[int]
    cluster_split: dict[int, str] = field(default_factory=dict)
    group_split: dict[int, str] = field(default_factory=dict)

    def group(self, i: int) -> int:
        return self.groups.of[i] if self.groups.of else -1

    def may(self, i: int, split: str) -> bool:
        near = all(self.chosen[other] in (None, split) for other in self.beside.get(i, ()))
        group, cluster = self.group_split.get(self.group(i)), self.cluster_split.get(self.cluster[i])
        return near and group in (None, split) and cluster in (None, split)

    def put(self, i: int, split: str) -> None:
        self.chosen[i] = split
        if self.cluster[i] in self.spanning:
            self.cluster_split[self.cluster[i]] = split


def assign(
    hashes: Sequence[str],
    near: Iterable[tuple[int, int]],
    pinned: Mapping[int, str],
    shares: tuple[float, float],
    counts: tuple[int, int] = (0, 0),
    groups: Groups | None = None,
    counting: Sequence[bool] = (),
) -> list[str | None]:
    """The split of each text; `shares` and `counts` are those of test and valid, a count of 0 leaves it to the share.
    `counting`: which texts count; the others go to train, or with a text that they must stand with.

    `near` holds every pair inside a cluster whose texts are `pinned` to several splits, else enough to connect it.
    ConfigError if a count cannot be met.
    """
    near, groups = list(near), groups or Groups()
    cluster = clusters(len(hashes), near)
    unit = _units(cluster, near, groups)
    pins: defaultdict[int, set[str]] = defaultdict(set)
    for i, split in pinned.items():
        pins[unit[i]].add(split)
    board = _Board([None] * len(hashes), groups, cluster, _beside(near, unit, pins), _spanning(cluster, unit))
    _place_pinned(board, unit, pinned, pins)
    members = _members(unit)
    key = _Keys(hashes, members, groups)
    wanted: list[str | None] = [None] * len(hashes)
    free = array("q", (i for i in range(len(hashes)) if unit[i] == i and i not in pins))
    if any(counts):
        counts_for = counting or [True] * len(hashes)
        targets = _targets(sum(counts_for), shares, counts)
        _fill(board, wanted, sorted(free, key=lambda i: (key(i), i)), members, targets, counts_for)
    else:
        for i in free:
            wanted[i] = by_hash(key(i), *shares)
    for split in RANK:
        for i in range(len(hashes)):
            if board.chosen[i] is None and wanted[unit[i]] == split and board.may(i, split):
                board.put(i, split)
    return board.chosen


def norm_hash(text: str) -> str:
    """The hash by which a normalised text is known."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:HASH]


def by_hash(norm_hash: str, test: float, valid: float) -> str:
    """The split of a hash in hexadecimal: a fixed place between 0 and 1, cut at the shares."""
    place = int(norm_hash[:13], 16) / 16**13
    return "test" if place < test else "valid" if place < test + valid else "train"


def _units(cluster: Sequence[int], near: Sequence[tuple[int, int]], groups: Groups) -> Sequence[int]:
    """For each text the first of those that it must stand with."""
    if not groups.of:
        return cluster
    first: dict[int, int] = {}
    same = [(first.setdefault(group, i), i) for i, group in enumerate(groups.of) if group >= 0]
    alone, joined = clusters(len(cluster), same), clusters(len(cluster), [*near, *same])
    size, several = _members(joined), defaultdict(set)
    for i, root in enumerate(joined):
        several[root].add(alone[i])
    most = max(_JOINED, int(_JOINED_SHARE * len(cluster)))
    apart = {root for root, own in size.items() if len(own) > most and len(several[root]) > 1}
    return array("q", (alone[i] if root in apart else root for i, root in enumerate(joined)))


def _members(unit: Sequence[int]) -> dict[int, list[int]]:
    """The texts of each unit that holds several."""
    more: defaultdict[int, list[int]] = defaultdict(list)
    for i, first in enumerate(unit):
        if i != first:
            more[first].append(i)
    return {first: [first, *others] for first, others in more.items()}


def _beside(near: Iterable[tuple[int, int]], unit: Sequence[int], pins: Mapping[int, set[str]]) -> dict[int, set[int]]:
    """The near-duplicates of each text in units pinned to several splits: only there does it matter which are near."""
    beside: defaultdict[int, set[int]] = defaultdict(set)
    for a, b in near:
        if max(len(pins.get(unit[a], ())), len(pins.get(unit[b], ()))) > 1:
            beside[a].add(b)
            beside[b].add(a)
    return dict(beside)


def _spanning(cluster: Sequence[int], unit: Sequence[int]) -> frozenset[int]:
    """The clusters of near-duplicates that lie in several units: their texts stand in one split, or in none."""
    if unit is cluster:
        return frozenset()
    return frozenset(root for i, root in enumerate(cluster) if unit[i] != unit[root])


def _place_pinned(board: _Board, unit: Sequence[int], pinned: Mapping[int, str], pins: Mapping[int, set[str]]) -> None:
    """Nobody moves: of two that may not both stay, test goes first, then valid. Then those who belong to them."""
    for split in RANK:
        for i in sorted(pinned):
            if pinned[i] == split and board.may(i, split):
                board.put(i, split)
                if board.group(i) >= 0:
                    board.group_split[board.group(i)] = split
    for i in range(len(board.chosen)) if pins else ():
        splits = pins.get(unit[i])
        if splits and i not in pinned:
            due = board.group_split.get(board.group(i)) or (next(iter(splits)) if len(splits) == 1 else None)
            if due and board.may(i, due):
                board.put(i, due)


@dataclass(frozen=True, slots=True)
class _Keys:
    """The smallest hash in a unit: of a group's name, or of a text without a group."""

    hashes: Sequence[str]
    members: Mapping[int, Sequence[int]]
    groups: Groups

    def __call__(self, unit: int) -> str:
        return min(self._of(i) for i in self.members.get(unit, (unit,)))

    def _of(self, i: int) -> str:
        return self.groups.hashes[self.groups.of[i]] if self.groups.of and self.groups.of[i] >= 0 else self.hashes[i]


def _targets(total: int, shares: tuple[float, float], counts: tuple[int, int]) -> Iterator[tuple[str, int, bool]]:
    """(split, how many texts, whether exactly)."""
    if sum(counts) >= total:
        raise ConfigError(
            f"ingest.test_count = {counts[0]:,} and ingest.valid_count = {counts[1]:,} leave nothing for train: "
            f"there are {total:,} distinct reviews",
            fix="set smaller counts",
        )
    for split, share, count in zip(("test", "valid"), shares, counts, strict=True):
        yield split, count or round(share * total), bool(count)


def _fill(
    board: _Board,
    wanted: list[str | None],
    free: Sequence[int],
    members: Mapping[int, Sequence[int]],
    targets: Iterable[tuple[str, int, bool]],
    counting: Sequence[bool],
) -> None:
    """Give test and valid whole units, in the order of their hashes, until each has its count of texts that count."""
    for split, count, exact in targets:
        there = sum(placed == split and counts for placed, counts in zip(board.chosen, counting, strict=True))
        if exact and there > count:
            raise ConfigError(
                f"ingest.{split}_count = {count:,}, but {split} holds {counted(there, 'review')} already: "
                "labelled, or there before",
                fix=f"set ingest.{split}_count to {there} or more",
            )
        room = count - there
        for i in free:
            own = members.get(i, (i,))
            if room <= 0:
                break
            if wanted[i] is not None:
                continue
            if 0 < (size := sum(counting[text] and board.may(text, split) for text in own)) <= room:
                wanted[i] = split
                for text in own:
                    if board.may(text, split):
                        board.put(text, split)
                room -= size
        if exact and room:
            raise ConfigError(
                f"ingest.{split}_count = {count:,} cannot be met: "
                f"whole groups and near-duplicates make {counted(count - room, 'review')}",
                fix=f"set ingest.{split}_count to {count - room}, or name another --group-column",
            )
    for i in free:
        wanted[i] = wanted[i] or "train"
