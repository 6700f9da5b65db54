"""What star ratings say of the rules' triplets: `python tests/measure/stars.py REVIEWS.csv COMPLETE_DIR SCORER`.

REVIEWS.csv has the columns source, review_id, rating and text; the other arguments are those of decision.py. Prints
three counts. Of the complete reviews with stars: the rules' triplets, how many of them annotators give with another
polarity, and how many of those stand in a review of one or five stars. Of the reviews of one or two stars: how many
are all praise. Of those of five stars: how many are all blame. These are what `builder query stars-disagree` lists.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from decision import load_scorer

from builder.core.records import Triplet
from builder.engine import make_engine
from builder.engine.reader import Recipe, extract, make_reader
from builder.language.lexicon.rules import load_rules

LOW, HIGH = 2.0, 5.0


@dataclass(frozen=True, slots=True)
class RatedReview:
    """A review with its stars."""

    key: str
    stars: float
    text: str


def read_rated(path: Path) -> Iterator[RatedReview]:
    """The reviews that have stars, each text once."""
    seen = set()
    with path.open(encoding="utf-8-sig", newline="") as handle:
        for row in csv.DictReader(handle):
            if row["rating"] and row["text"].strip() and row["text"] not in seen:
                seen.add(row["text"])
                yield RatedReview(f"{row['source']}:{row['review_id']}", float(row["rating"]), row["text"])


def find_triplets(reviews: Sequence[RatedReview]) -> list[tuple[Triplet, ...]]:
    """What the rules find in each review."""
    reader = make_reader(Recipe())
    engine = make_engine(reader.lexicon, load_rules(), "natural")
    return [tuple(extract(engine, reading)) for reading in reader.read([review.text for review in reviews])]


def is_all(triplets: Sequence[Triplet], polarity: str) -> bool:
    """Whether triplets judge, and all that do so have this polarity."""
    return {triplet.polarity for triplet in triplets} - {"NEU"} == {polarity}


def count_wrong(module: ModuleType, key: str, triplets: Sequence[Triplet]) -> int:
    """How many triplets of a complete review have a pair that annotators give with another polarity alone."""
    gold = [due for part in module.gold() for due in part.get(key, [])]

    def matches(triplet: Triplet, polarity: str) -> bool:
        given = {"aspect": triplet.aspect.text, "opinion": triplet.opinion.text, "polarity": polarity}
        return any(module.match(given, due, True) for due in gold)

    return sum(
        not matches(triplet, triplet.polarity) and any(matches(triplet, other) for other in ("POS", "NEG", "NEU"))
        for triplet in triplets
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("reviews", "complete", "scorer"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--five", type=int, default=800, help="reviews of five stars that are drawn")
    options = parser.parse_args()
    module = load_scorer(options.scorer, options.complete)
    rated = list(read_rated(options.reviews))
    lines = (options.complete / "texts.jsonl").read_text(encoding="utf-8").splitlines()
    texts = {row["text"]: row["id"] for row in map(json.loads, lines)}
    whole = [review for review in rated if review.text in texts]
    triplets = find_triplets(whole)
    wrong = [count_wrong(module, texts[review.text], own) for review, own in zip(whole, triplets, strict=True)]
    ends = [number for review, number in zip(whole, wrong, strict=True) if review.stars in (1.0, 5.0)]
    print(f"{len(whole)} complete reviews with stars, {sum(map(len, triplets))} triplets of the rules: ", end="")
    print(f"{sum(wrong)} with a wrong polarity, {sum(ends)} of them in reviews of one or five stars")
    high = [review for review in rated if review.stars == HIGH]
    five = random.Random(0).sample(high, min(options.five, len(high)))
    for name, reviews, polarity in (
        ("one or two stars", [review for review in rated if review.stars <= LOW], "POS"),
        ("five stars", five, "NEG"),
    ):
        number = sum(is_all(own, polarity) for own in find_triplets(reviews))
        print(f"{number} of {len(reviews)} reviews of {name} are all {polarity}")


if __name__ == "__main__":
    main()
