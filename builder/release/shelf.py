"""The reviews of a release by id, read from the disk as they are asked for: some twenty bytes of each are in memory."""

from __future__ import annotations

from array import array
from collections.abc import ItemsView, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from builder.release.export.records import ReviewRow
from builder.release.reading import row, rows, rows_path, sized
from builder.reviews.text import hashed


class Shelf(Mapping[str, tuple[str, ReviewRow]]):
    """Review id -> (split, row); `in` asks for 64 bits of an id's hash alone."""

    def __init__(self, release: Path, splits: Sequence[str]) -> None:
        """ReleaseError with the line of a row that cannot be read."""
        self._release, self._splits = release, tuple(splits)
        self._paths = [rows_path(release, split) for split in self._splits]
        hashes, starts, lengths, which = array("Q"), array("Q"), array("L"), array("B")
        for n, split in enumerate(self._splits):
            start = 0
            for length, review in sized(release, split):
                hashes.append(_number(review["id"]))
                starts.append(start)
                lengths.append(length)
                which.append(n)
                start += length
        order = np.argsort(np.frombuffer(hashes, np.uint64), kind="stable")
        self._hashes, self._starts = (np.frombuffer(values, np.uint64)[order] for values in (hashes, starts))
        self._lengths, self._which = np.frombuffer(lengths, np.dtype("L"))[order], np.frombuffer(which, np.uint8)[order]

    def __len__(self) -> int:
        return len(self._hashes)

    def __iter__(self) -> Iterator[str]:
        return (review["id"] for split in self._splits for review in rows(self._release, split))

    def __contains__(self, i: object) -> bool:
        return bool(self._places(str(i)))

    def __getitem__(self, i: str) -> tuple[str, ReviewRow]:
        for place in self._places(i):
            n = int(self._which[place])
            review = self._read(n, int(self._starts[place]), int(self._lengths[place]))
            if review["id"] == i:
                return self._splits[n], review
        raise KeyError(i)

    def items(self) -> ItemsView[str, tuple[str, ReviewRow]]:
        return _Stream(self)

    def stream(self) -> Iterator[tuple[str, tuple[str, ReviewRow]]]:
        """All reviews in their order, each file read once."""
        return ((review["id"], (split, review)) for split in self._splits for review in rows(self._release, split))

    def _places(self, i: str) -> range:
        """Where those lie whose hash is that of an id."""
        number = np.uint64(_number(i))
        return range(
            int(np.searchsorted(self._hashes, number)), int(np.searchsorted(self._hashes, number, side="right"))
        )

    def _read(self, n: int, start: int, length: int) -> ReviewRow:
        with open(self._paths[n], "rb", buffering=0) as handle:
            handle.seek(start)
            return row(handle.read(length), f"{self._paths[n]}, byte {start}")


class _Stream(ItemsView[str, tuple[str, ReviewRow]]):
    """`items` would look each id up again."""

    _mapping: Shelf

    def __iter__(self) -> Iterator[tuple[str, tuple[str, ReviewRow]]]:
        return self._mapping.stream()


def _number(i: str) -> int:
    return int.from_bytes(hashed(i, 8), "big")
