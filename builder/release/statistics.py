"""What a release holds, in numbers: counts for each split, for the card and the manifest. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import mean, median

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
        lengths = list(self.lengths.elements())
        return {
            "reviews": reviews,
            "reviews_without_triplet": self.counts["bare"],
            "gold_reviews": self.counts["gold"],
            "characters": sum(lengths),
            "length_mean": round(mean(lengths), 1) if lengths else 0.0,
            "length_median": median(lengths) if lengths else 0,
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
