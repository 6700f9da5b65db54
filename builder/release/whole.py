"""Checks that need all reviews of a release: repeated texts and ids, near-duplicates, personal data.

In: the rows of every split and layer, one by one. Out: faults, each with its file and line.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from builder.release.export.records import ReviewRow
from builder.release.gates import leaks, unmasked
from builder.reviews.dedup.near_duplicates import normal
from builder.reviews.dedup.text_store import Texts
from builder.reviews.text import hashed

HASHED = 16
"""Bytes of the hash of a text or an id."""


class RowLook(NamedTuple):
    """What the checks need of a review: hashes of its text and id, its normal text, and the kinds of personal data that
    it shows.
    """

    text: bytes
    id: bytes
    normal: str
    shown: list[str]

    @classmethod
    def of(cls, row: ReviewRow, replacements: Collection[str], compared: bool = True) -> RowLook:
        """`replacements`: the masks that the release says it has. An older one has no mask for names of people.
        `compared`: whether it is compared with others; else its normal text is left empty.
        """
        text, normal_text = row["text"], normal(row["text"]) if compared else ""
        return cls(hashed(text), hashed(row["id"]), normal_text, unmasked(text, replacements))


class WholeRelease:
    """The reviews of all splits as the gates need them: hashes of texts and ids, normal texts, and which show personal
    data.
    """

    def __init__(self) -> None:
        self._texts, self._ids = bytearray(), bytearray()
        self._normal, self._reviews = Texts(), Counter[str]()
        self._shown: list[str] = []

    def close(self) -> None:
        self._normal.close()

    def take(self, split: str, look: RowLook) -> None:
        """Add a review of a split or layer, in order."""
        self._texts += look.text
        self._ids += look.id
        self._normal.append(look.normal)
        self._reviews[split] += 1
        self._shown += [
            f"data/{split}.jsonl:{self._reviews[split]}: shows personal data: {kind}" for kind in look.shown
        ]

    def repeats(self) -> Iterator[str]:
        """The texts and ids that occur twice."""
        for what, hashes in (("text", self._texts), ("id", self._ids)):
            _, first, whose = np.unique(np.frombuffer(hashes, f"S{HASHED}"), return_index=True, return_inverse=True)
            for n in np.flatnonzero(first[whose] != np.arange(len(whose))).tolist():
                yield f"{self._where(n)}: its {what} stands in {self._where(int(first[whose[n]]))} too"

    def _where(self, n: int) -> str:
        for split, reviews in self._reviews.items():
            if n < reviews:
                return f"data/{split}.jsonl:{n + 1}"
            n -= reviews
        raise IndexError(n)

    def faults(self, apart: Mapping[str, str]) -> Iterator[str]:
        """Near-duplicates between splits, and personal data that is not masked.

        `apart`: by split the `digest_texts` of reviews that were searched for near-duplicates already: these very texts
        must stand in these very splits. Without it they are searched.
        """
        if not apart:
            for split, a, other, b in leaks(self._reviews, self._normal):
                yield f"data/{other}.jsonl:{b + 1}: is a near-duplicate of data/{split}.jsonl:{a + 1}"
        else:
            digests, nothing = self._digests(), digest_texts(b"")
            for split in {**apart, **digests}:
                if apart.get(split, nothing) != digests.get(split, nothing):
                    yield f"data/{split}.jsonl: holds other texts than were searched for near-duplicates"
        yield from self._shown

    def _digests(self) -> dict[str, str]:
        ends = list(accumulate(self._reviews.values(), initial=0))
        return {
            split: digest_texts(self._texts[HASHED * start : HASHED * end])
            for split, (start, end) in zip(self._reviews, pairwise(ends), strict=True)
        }


def digest_texts(hashes: bytes | bytearray) -> str:
    """What identifies the texts of a split, by the hashes of all (`text.hashed`), in order."""
    return hashlib.sha256(hashes).hexdigest()
