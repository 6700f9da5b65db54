"""Checks that need all reviews of a release: repeated texts and ids, near-duplicates, personal data.

In: the rows of every split and layer, one by one. Out: faults, each with its file and line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

import numpy as np

from builder.dedup.near_duplicates import normal
from builder.dedup.text_store import Texts
from builder.export.records import ReviewRow
from builder.release.gates import leaks, unmasked
from builder.text import hashed


class WholeRelease:
    """The reviews of all splits as the gates need them: hashes of texts and ids, normal texts, and which show personal
    data.
    """

    def __init__(self, replacements: Collection[str]) -> None:
        """`replacements`: the masks that the release says it has. An older one has no mask for names of people."""
        self._replacements = replacements
        self._texts, self._ids = bytearray(), bytearray()
        self._normal, self._reviews = Texts(), Counter[str]()
        self._shown: list[str] = []

    def close(self) -> None:
        self._normal.close()

    def take(self, split: str, row: ReviewRow) -> None:
        """Add a review of a split or layer, in order."""
        self._texts += hashed(row["text"])
        self._ids += hashed(row["id"])
        self._normal.append(normal(row["text"]))
        self._reviews[split] += 1
        self._shown += [
            f"data/{split}.jsonl:{self._reviews[split]}: shows personal data: {kind}"
            for kind in unmasked(row["text"], self._replacements)
        ]

    def repeats(self) -> Iterator[str]:
        """The texts and ids that occur twice."""
        for what, hashes in (("text", self._texts), ("id", self._ids)):
            _, first, whose = np.unique(np.frombuffer(hashes, "S16"), return_index=True, return_inverse=True)
            for n in np.flatnonzero(first[whose] != np.arange(len(whose))).tolist():
                yield f"{self._where(n)}: its {what} stands in {self._where(int(first[whose[n]]))} too"

    def _where(self, n: int) -> str:
        for split, reviews in self._reviews.items():
            if n < reviews:
                return f"data/{split}.jsonl:{n + 1}"
            n -= reviews
        raise IndexError(n)

    def faults(self) -> Iterator[str]:
        """Near-duplicates between splits, and personal data that is not masked."""
        for split, a, other, b in leaks(self._reviews, self._normal):
            yield f"data/{other}.jsonl:{b + 1}: is a near-duplicate of data/{split}.jsonl:{a + 1}"
        yield from self._shown
