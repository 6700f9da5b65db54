"""What a release holds, in numbers: counts for each split, for the card and the manifest. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from builder.export.records import ReviewRow
from builder.records import POLARITIES

Numbers = Mapping[str, object]


def statistics(rows: Mapping[str, Iterable[ReviewRow]]) -> dict[str, Numbers]:
    """Split -> its numbers."""
    return {split: of(listed) for split, listed in rows.items()}


def of(rows: Iterable[ReviewRow]) -> Numbers:
    tally = Tally()
    for row in rows:
        tally.take(row)
    return tally.numbers()


@dataclass(slots=True)
class Tally:
    """Counts reviews one at a time; what it holds grows with the number of different words."""

    lengths: Counter[int] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    polarities: Counter[str] = field(default_factory=Counter)
    sources: Counter[str] = field(default_factory=Counter)
    aspects: set[str] = field(default_factory=set)
    opinions: set[str] = field(default_factory=set)

    def over(self, rows: Iterable[ReviewRow]) -> Iterator[ReviewRow]:
        """The same rows, counted as they pass."""
        for row in rows:
            self.take(row)
            yield row

    def take(self, row: ReviewRow) -> None:
        self.lengths[len(row["text"])] += 1
        self.languages[row["language"]] += 1
        self.counts["reviews"] += 1
        self.counts["bare"] += not row["triplets"]
        self.counts["gold"] += row["annotation"] == "gold"
        for one in row["triplets"]:
            self.counts["triplets"] += 1
            self.polarities[one["polarity"]] += 1
            self.sources.update(one["sources"])
            self.aspects.add(one["aspect"]["text"])
            self.opinions.add(one["opinion"]["text"])
            self.counts["owner"] += one["owner"] is not None
            self.counts["parted"] += len(one["aspect"]["spans"]) > 1 or len(one["opinion"]["spans"]) > 1

    def numbers(self) -> Numbers:
        """Lengths are in code points."""
        reviews, triplets = self.counts["reviews"], self.counts["triplets"]
        characters = sum(length * count for length, count in self.lengths.items())
        return {
            "reviews": reviews,
            "reviews_without_triplet": self.counts["bare"],
            "gold_reviews": self.counts["gold"],
            "characters": characters,
            "length_mean": self._mean(characters, reviews),
            "length_median": self._median(),
            "languages": dict(sorted(self.languages.items())),
            "triplets": triplets,
            "triplets_per_review": round(triplets / reviews, 2) if reviews else 0.0,
            "polarities": {polarity: self.polarities[polarity] for polarity in POLARITIES},
            "aspects": len(self.aspects),
            "opinions": len(self.opinions),
            "with_owner": self.counts["owner"],
            "discontinuous": self.counts["parted"],
            "sources": dict(sorted(self.sources.items())),
        }

    @staticmethod
    def _mean(characters: int, reviews: int) -> float:
        """As statistics.mean has it: a whole number where it is one."""
        if not reviews:
            return 0.0
        return round(characters / reviews, 1) if characters % reviews else characters // reviews

    def _median(self) -> float:
        """As statistics.median has it: the middle length, or the mean of the two in the middle."""
        count = self.counts["reviews"]
        if not count:
            return 0
        low, high = (self._nth(place) for place in ((count - 1) // 2, count // 2))
        return high if count % 2 else (low + high) / 2

    def _nth(self, place: int) -> int:
        for length in sorted(self.lengths):
            if place < self.lengths[length]:
                return length
            place -= self.lengths[length]
        raise IndexError(place)


_SHOWN = {
    "reviews": "reviews",
    "gold_reviews": "of them labelled by people",
    "reviews_without_triplet": "of them without a triplet",
    "characters": "characters",
    "length_mean": "characters a review, mean",
    "length_median": "characters a review, median",
    "triplets": "triplets",
    "triplets_per_review": "triplets a review",
    "aspects": "different aspects",
    "opinions": "different opinions",
    "with_owner": "aspects that are an attribute of something named",
    "discontinuous": "triplets with an interrupted aspect or opinion",
}


def table(numbers: Mapping[str, Numbers]) -> str:
    """A Markdown table with a column for each split."""
    head = f"| | {' | '.join(numbers)} |\n|---|{'---|' * len(numbers)}\n"
    return head + "\n".join(f"| {said} | {' | '.join(f'{one[key]:,}' for one in numbers.values())} |" for key, said in _SHOWN.items())
