"""What a release holds, in numbers: counts for each split, for the card and the manifest. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import fmean, median

from builder.core.records import POLARITIES, VERDICTS
from builder.core.wording import table
from builder.release.export.native_rows import ReviewRow
from builder.reviews.masking import ANY_MASK, REPLACEMENTS

Numbers = Mapping[str, object]


def statistics(rows: Mapping[str, Iterable[ReviewRow]]) -> dict[str, Numbers]:
    """Split -> its numbers."""
    tallies = {split: Tally() for split in rows}
    for split, reviews in rows.items():
        for row in reviews:
            tallies[split].take(row)
    return {split: tally.numbers() for split, tally in tallies.items()}


@dataclass(slots=True)
class Tally:
    """Counts reviews one at a time; what it holds grows with the number of different words. `values`: how often each
    value of a field occurs; `confidences`: tenths, from 0.0 on.
    """

    counts: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)
    values: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    confidences: list[int] = field(default_factory=lambda: [0] * 10)

    def take(self, row: ReviewRow) -> None:
        self.lengths[len(row["text"])] += 1
        self.counts["reviews"] += 1
        self.counts["bare"] += not row["triplets"]
        self.counts["negatives"] += row["unverified_negative"]
        self.counts["rated"] += row["rating"] is not None
        self.counts["gold"] += row["annotation"] == "gold"
        self.counts[f"{row['annotation']} layer"] += 1
        self.counts[f"{row['annotation']} triplets"] += len(row["triplets"])
        self.values["language"][row["language"]] += 1
        self.values["input"][row["source"] or ""] += 1
        self.values["mask"].update(ANY_MASK.findall(row["text"]))
        for triplet in row["triplets"]:
            self.counts["triplets"] += 1
            self.counts["owner"] += triplet["owner"] is not None
            self.counts["parted"] += len(triplet["aspect"]["spans"]) > 1 or len(triplet["opinion"]["spans"]) > 1
            self.values["polarity"][triplet["polarity"]] += 1
            self.values["source"].update(triplet["sources"])
            self.values["aspect"][triplet["aspect"]["text"]] += 1
            self.values["opinion"][triplet["opinion"]["text"]] += 1
            self.values["verdict"][triplet["verdict"] or ""] += 1
            self.values["category"][(triplet["aspect_category"] or "").partition(".")[0]] += 1
            if (sure := triplet["confidence"]) is not None:
                self.confidences[min(9, int(10 * sure))] += 1

    def numbers(self) -> Numbers:
        """Lengths are in code points."""
        reviews, triplets = self.counts["reviews"], self.counts["triplets"]
        lengths = list(self.lengths.elements())
        return {
            "reviews": reviews,
            "reviews_without_triplet": self.counts["bare"],
            "unverified_negatives": self.counts["negatives"],
            "gold_reviews": self.counts["gold"],
            "rated_reviews": self.counts["rated"],
            "inputs": dict(sorted(self.values["input"].items())),
            "characters": sum(lengths),
            "length_mean": round(fmean(lengths), 1) if lengths else 0.0,
            "length_median": float(median(lengths)) if lengths else 0.0,
            "languages": dict(sorted(self.values["language"].items())),
            "triplets": triplets,
            "triplets_per_review": round(triplets / reviews, 2) if reviews else 0.0,
            "polarities": {polarity: self.values["polarity"][polarity] for polarity in POLARITIES},
            "aspects": len(self.values["aspect"]),
            "opinions": len(self.values["opinion"]),
            "with_owner": self.counts["owner"],
            "discontinuous": self.counts["parted"],
            "sources": dict(sorted(self.values["source"].items())),
            "verdicts": {verdict: self.values["verdict"][verdict] for verdict in (*VERDICTS, "")},
            "aspect_categories": dict(sorted(self.values["category"].items())),
            "confidences": {f"{tenth / 10:.1f}": number for tenth, number in enumerate(self.confidences)}
            if any(self.confidences)
            else {},
            "masked": {mask: self.values["mask"][mask] for mask in REPLACEMENTS.values()},
        }


_SHOWN = {
    "reviews": "reviews", "gold_reviews": "of them gold", "reviews_without_triplet": "of them without a triplet",
    "unverified_negatives": "of these, unverified negatives", "rated_reviews": "reviews with a rating",
    "characters": "characters", "length_mean": "characters a review, mean",
    "length_median": "characters a review, median", "triplets": "triplets", "triplets_per_review": "triplets a review",
    "aspects": "different aspects, 服務 and 服务 as two", "opinions": "different opinions, 親切 and 亲切 as two",
    "with_owner": "aspects that are an attribute of something named",
    "discontinuous": "triplets with an interrupted aspect or opinion",
}  # fmt: skip


def list_numbers(numbers: Mapping[str, Numbers]) -> str:
    """A Markdown table with a column for each split."""
    rows = [(caption, *(f"{of[key]:,}" for of in numbers.values())) for key, caption in _SHOWN.items()]
    return table(["", *numbers], rows)
