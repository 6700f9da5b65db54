"""What a release holds, in numbers: counts for each split, for the card and the manifest. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import mean, median

from builder.export.records import ReviewRow
from builder.records import POLARITIES

Numbers = Mapping[str, object]


def statistics(rows: Mapping[str, Sequence[ReviewRow]]) -> dict[str, Numbers]:
    """Split -> its numbers."""
    return {split: of(listed) for split, listed in rows.items()}


def of(rows: Sequence[ReviewRow]) -> Numbers:
    """The numbers of some reviews; lengths in code points."""
    lengths = [len(row["text"]) for row in rows]
    triplets = [one for row in rows for one in row["triplets"]]
    polarities = Counter(one["polarity"] for one in triplets)
    sources = Counter(source for one in triplets for source in one["sources"])
    return {
        "reviews": len(rows),
        "reviews_without_triplet": sum(not row["triplets"] for row in rows),
        "gold_reviews": sum(row["annotation"] == "gold" for row in rows),
        "characters": sum(lengths),
        "length_mean": round(mean(lengths), 1) if lengths else 0.0,
        "length_median": median(lengths) if lengths else 0,
        "languages": dict(sorted(Counter(row["language"] for row in rows).items())),
        "triplets": len(triplets),
        "triplets_per_review": round(len(triplets) / len(rows), 2) if rows else 0.0,
        "polarities": {polarity: polarities[polarity] for polarity in POLARITIES},
        "aspects": len({one["aspect"]["text"] for one in triplets}),
        "opinions": len({one["opinion"]["text"] for one in triplets}),
        "with_owner": sum(one["owner"] is not None for one in triplets),
        "discontinuous": sum(len(one["aspect"]["spans"]) > 1 or len(one["opinion"]["spans"]) > 1 for one in triplets),
        "sources": dict(sorted(sources.items())),
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
