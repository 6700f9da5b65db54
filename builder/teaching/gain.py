"""`builder gold gain`: what labelled reviews teach the rules, by cross-validation.

In: labelled reviews (builder.teaching.label_sources) and the folders of words and rules. Out: precision, recall and F1
on reviews that taught nothing, before and after so many labels. Triplets of an audit that people judged one by one
teach along with every size; they are never scored.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from builder.core.errors import InputError
from builder.engine import make_engine
from builder.engine.reader import Reader, Recipe, extract, make_reader
from builder.gold.metrics import micro
from builder.language.lexicon.folders import Folders
from builder.language.lexicon.rules import Rule
from builder.teaching.lessons import Rows, TaughtReview, lay_aspects, learn, read_again, read_taught

SIZES = (25, 50, 100, 200)
SPLITS = 5
LEAST = 20
"""Labelled reviews from which a gain can be measured."""


@dataclass(frozen=True, slots=True)
class MeanScore:
    """Precision, recall and F1 in percent."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class GainRow:
    """What so many labelled reviews bring, on average over the splits.

    `gains`: how many points of F1 rose in each split.
    """

    labels: int
    before: MeanScore
    after: MeanScore
    gains: tuple[float, ...]

    @property
    def better(self) -> int:
        """In how many splits F1 rose."""
        return sum(gain > 0 for gain in self.gains)


@dataclass(frozen=True, slots=True)
class MeasuredGain:
    """The gain by the number of labels; how many reviews are labelled in full, and in how many others triplets are.

    `weighed`: whether the labels move weights. They do where F1 is as high with moved weights as without, by the row of
    the most labels; `by_weights` is how much higher.
    """

    rows: tuple[GainRow, ...]
    whole: int
    partial: int
    by_weights: float

    @property
    def weighed(self) -> bool:
        return self.by_weights >= 0


def measure_gain(rows: Rows, where: Path, folders: Folders, splits: int = SPLITS) -> MeasuredGain:
    """A row for each size that half of the labelled reviews allow.

    Half of the reviews teach, half are scored; InputError where there are too few.
    """
    reader, rules = make_reader(Recipe(folders=folders)), folders.load_rules()
    taught = read_taught(rows, where, reader)
    whole = [review for review in taught if review.wrong is None]
    partial = [review for review in taught if review.wrong is not None]
    if len(whole) < LEAST:
        raise InputError(
            f"too few labelled reviews to measure a gain: {len(whole)}",
            where=str(where),
            fix=f"label {LEAST} or more",
        )
    half = len(whole) // 2
    sizes = [size for size in SIZES if size < half] + [half]
    pairs: dict[tuple[bool, int], list[tuple[MeanScore, MeanScore]]] = defaultdict(list)
    for split in range(splits):
        ordered = sorted(whole, key=lambda review: _draw(split, review.reading.text))
        before = _score(ordered[half:], reader, rules)
        for weighed, size in product((True, False), sizes):
            lessons = learn([*ordered[:size], *partial], reader, folders, rules, weighed)
            with lay_aspects(lessons.aspects, folders, reader) as wider:
                scored = ordered[half:] if wider is reader else read_again(ordered[half:], wider)
                pairs[weighed, size].append((before, _score(scored, wider, lessons.change_rules(rules))))
    with_weights, without = ([_row(size, pairs[weighed, size]) for size in sizes] for weighed in (True, False))
    by_weights = with_weights[-1].after.f1 - without[-1].after.f1
    return MeasuredGain(tuple(with_weights if by_weights >= 0 else without), len(whole), len(partial), by_weights)


def _score(taught: Sequence[TaughtReview], reader: Reader, rules: Sequence[Rule]) -> MeanScore:
    engine = make_engine(reader.lexicon, rules, "natural")
    given = {
        review.key: [(t.aspect.text, t.opinion.text, t.polarity) for t in extract(engine, review.reading)]
        for review in taught
    }
    score = micro({review.key: review.answers for review in taught}, given, "lenient")
    return MeanScore(score.precision, score.recall, score.f1)


def _row(size: int, scored: Sequence[tuple[MeanScore, MeanScore]]) -> GainRow:
    def mean(which: int) -> MeanScore:
        each = [pair[which] for pair in scored]
        return MeanScore(
            *(sum(getattr(score, part) for score in each) / len(each) for part in ("precision", "recall", "f1"))
        )

    return GainRow(size, mean(0), mean(1), tuple(after.f1 - before.f1 for before, after in scored))


def _draw(split: int, text: str) -> bytes:
    """By the text, so that ids and formats of the labels change nothing."""
    return hashlib.sha256(json.dumps([split, text]).encode()).digest()
