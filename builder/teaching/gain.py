"""What is gained by labelled reviews, by cross-validation (`builder gold gain`).

In: labelled reviews (builder.teaching.label_sources), and the folders of words, rules and model. Out: precision, recall
and F1 on reviews that taught nothing, before and after so many labels; what each part of the lessons brings by itself;
and what the switches of a release would bring. Rules and the shipped model read together, as a build does. Triplets
that people judged one by one teach along with every size; they are never scored.

Where labels let the longest forms begin and end is a habit, not a word to learn: the settings of a release that raise
exact F1 are chosen on all labelled reviews, and how easily edges of the reader replace those of the rules.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from builder.core.errors import InputError
from builder.core.records import Triplet
from builder.core.settings import ReleaseSettings
from builder.engine.reader import Reader, Recipe, extract, make_reader
from builder.gold.metrics import micro
from builder.gold.metrics.scores import Answer, Metric, name_answer, tally
from builder.language.lexicon.categories import Categories
from builder.language.lexicon.folders import Folders
from builder.pipeline.borders import move_borders
from builder.pipeline.release_reviews import is_passable, is_whole
from builder.teaching.lessons import (
    KnownReadings,
    Rows,
    SharedJudge,
    TaughtReview,
    lay_aspects,
    learn_aspects,
    read_again,
    read_taught,
)

SIZES = (25, 50, 100, 200)
SPLITS = 5
LEAST = 20
"""Labelled reviews from which a gain can be measured."""
_ALL, _ASPECTS, _WEIGHTS = "all", "aspects", "weights"
SWITCHES = ("release.whole_products=drop", "release.passable=POS", "release.passable=NEU")
BORDERS = (
    ("modifiers", "unpointed"), ("modifiers", "drop"), ("lead", "clause"), ("particles", "add"), ("particles", "drop"),
)  # fmt: skip
"""Settings of a release, and their values that move borders."""
_EDGES, LOOSE = "edges", 0.0
"""The `Combiner.edge_margin` by which edges of the reader replace those of the rules wherever they are likelier."""
_DRAWS, _SURE = 200, 0.8
"""So many draws of the labelled reviews, and in what share of them a setting must raise exact F1."""
Answers = Mapping[str, Sequence[Answer]]
Extracted = Mapping[str, Sequence[Triplet]]
"""What is found in each review, by its key."""


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
class PartGain:
    """What one part of the lessons brings by itself, or a switch on top of all: points of F1 in each split."""

    name: str
    gains: tuple[float, ...]

    @classmethod
    def of(cls, name: str, before: Sequence[MeanScore], after: Sequence[MeanScore]) -> PartGain:
        """By the scores of each split before and after."""
        return cls(name, _rise(before, after))

    @property
    def mean(self) -> float:
        return sum(self.gains) / len(self.gains)


@dataclass(frozen=True, slots=True)
class BorderHabit:
    """The settings of a release that let longest forms begin and end as labels have them, and exact F1 of the labelled
    reviews without and with these. `edge_margin` is that of a combiner, None where the shipped one stays.
    """

    settings: tuple[tuple[str, str], ...]
    before: float
    after: float
    edge_margin: float | None = None


@dataclass(frozen=True, slots=True)
class MeasuredGain:
    """The gain by the number of labels; how many reviews are labelled in full, and in how many others triplets are.

    `parts` and `switches` are of the row of the most labels. `weighed`: whether the labels move the weights of rules
    and reader. They do where F1 is higher with moved weights than without; `by_weights` is how much higher.
    """

    rows: tuple[GainRow, ...]
    whole: int
    partial: int
    parts: tuple[PartGain, ...]
    switches: tuple[PartGain, ...]
    by_weights: float
    borders: BorderHabit

    @property
    def weighed(self) -> bool:
        return self.by_weights > 0

    @property
    def wanted_switches(self) -> tuple[PartGain, ...]:
        """The switches that raise F1 in every split."""
        return tuple(switch for switch in self.switches if min(switch.gains) > 0)


def measure_gain(rows: Rows, where: Path, folders: Folders, splits: int = SPLITS) -> MeasuredGain:
    """A row for each size that half of the labelled reviews allow.

    Half of the reviews teach, half are scored; InputError where there are too few.
    """
    reader = make_reader(Recipe(folders=folders))
    taught = read_taught(rows, where, reader)
    whole = [review for review in taught if review.wrong is None]
    partial = [review for review in taught if review.wrong is not None]
    if len(whole) < LEAST:
        fix = f"label {LEAST} or more"
        raise InputError(f"too few labelled reviews to measure a gain: {len(whole)}", where=str(where), fix=fix)
    half = len(whole) // 2
    judge = SharedJudge.read(folders.model, taught, reader.engine) if folders.model else None
    trial = _Trial(folders, reader, judge)
    orders = [sorted(whole, key=lambda review: _draw(split, review.reading.text)) for split in range(splits)]
    scored = [ordered[half:] for ordered in orders]
    extracted = trial.find(whole, reader, judge)
    before = [_score(own, _name_all(extracted)) for own in scored]

    def measure(size: int, names: Sequence[str]) -> dict[str, list[Answers]]:
        answers = [trial.teach([*ordered[:size], *partial], ordered[half:], names) for ordered in orders]
        return {name: [own[name] for own in answers] for name in names}

    def score(answered: Sequence[Answers]) -> list[MeanScore]:
        return [_score(*pair) for pair in zip(scored, answered, strict=True)]

    most = measure(half, (_ALL, _ASPECTS, _WEIGHTS))
    scores = {name: score(answered) for name, answered in most.items()}
    by_weights = PartGain.of(_WEIGHTS, scores[_ASPECTS], scores[_ALL]).mean
    best = _ALL if by_weights > 0 else _ASPECTS
    smaller = [_row(size, before, score(measure(size, (best,))[best])) for size in SIZES if size < half]
    parts = (_ASPECTS, _WEIGHTS) if judge else (_ASPECTS,)
    switched = ((name, [trial.switch(name, own) for own in most[best]]) for name in SWITCHES)
    return MeasuredGain(
        (*smaller, _row(half, before, scores[best])),
        len(whole),
        len(partial),
        tuple(PartGain.of(name, before, scores[name]) for name in parts),
        tuple(PartGain.of(name, scores[best], score(answered)) for name, answered in switched),
        by_weights,
        choose_borders(whole, extracted, trial.find(whole, reader, judge.set_edges(LOOSE)) if judge else None),
    )


def choose_borders(
    reviews: Sequence[TaughtReview], extracted: Extracted, loose: Extracted | None = None
) -> BorderHabit:
    """The borders that labels ask for, the setting that brings most first, and others on top of it. Each raises exact
    F1 in most draws of the reviews with replacement, so that a few reviews say nothing. `loose`: what is found with the
    margin `LOOSE`.
    """
    wanted, chosen = ReleaseSettings(), dict[str, Any]()
    counts = _count_exact(reviews, extracted, wanted)
    drawn = np.random.default_rng(0).integers(len(counts), size=(_DRAWS, len(counts)))
    before = _f1(counts.sum(0))
    while True:
        sure = []
        tried: list[tuple[str, Any, ReleaseSettings, Extracted]] = []
        if loose is not None:
            tried.append((_EDGES, LOOSE, wanted, loose))
        for setting, value in BORDERS:
            tried.append((setting, value, replace(wanted, **{setting: value}), extracted))  # type: ignore[arg-type]
        for setting, value, moved, triplets in tried:
            if setting not in chosen:
                own = _count_exact(reviews, triplets, moved)
                rises = _f1(own[drawn].sum(1)) - _f1(counts[drawn].sum(1))
                if (rises > 0).mean() >= _SURE:
                    sure.append((float(rises.mean()), setting, value, moved, triplets, own))
        if not sure:
            margin = chosen.pop(_EDGES, None)
            return BorderHabit(tuple(chosen.items()), float(before), float(_f1(counts.sum(0))), margin)
        _, setting, value, wanted, extracted, counts = max(sure, key=lambda one: one[0])
        chosen[setting] = value


def _count_exact(reviews: Sequence[TaughtReview], extracted: Extracted, wanted: ReleaseSettings) -> NDArray[np.float64]:
    """Of each review how many longest forms are hit, found and labelled, where a release wants these borders [n, 3]."""
    due = {review.key: [_name_longest(triplet) for triplet in review.triplets] for review in reviews}
    answers = {
        review.key: [
            _name_longest(move_borders(triplet, review.reading.text, wanted, extracted[review.key]))
            for triplet in extracted[review.key]
        ]
        for review in reviews
    }
    return np.array(tally(due, answers, Metric("exact", "triplet")), float)


def _f1(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """F1 in percent of counts [..., 3]."""
    return np.asarray(200 * counts[..., 0] / np.maximum(counts[..., 1:].sum(-1), 1))


def _name_longest(triplet: Triplet) -> Answer:
    return triplet.aspect_full.text, triplet.opinion_full.text, triplet.polarity


def _name_all(extracted: Extracted) -> Answers:
    return {key: list(map(name_answer, own)) for key, own in extracted.items()}


@dataclass(frozen=True, slots=True)
class _Trial:
    """What reads before labels teach: words, rules and model."""

    folders: Folders
    reader: Reader
    judge: SharedJudge | None
    known: KnownReadings = field(default_factory=dict)

    def teach(
        self, taught: Sequence[TaughtReview], scored: Sequence[TaughtReview], names: Sequence[str]
    ) -> dict[str, Answers]:
        """What is found in the scored reviews after the named parts of the lessons from others."""
        judge, out = self.judge, dict[str, Answers]()
        aspects = learn_aspects(taught, self.reader.lexicon)
        with lay_aspects(aspects, self.folders, self.reader) as wider:
            again, seen = (read_again(reviews, wider, aspects, self.known) for reviews in (taught, scored))
            if _ALL in names:
                weighed = judge and judge.weigh_by(judge.learn(again, wider.engine))
                out[_ALL] = _name_all(self.find(seen, wider, weighed))
            if _ASPECTS in names:
                out[_ASPECTS] = _name_all(self.find(seen, wider, judge))
        if _WEIGHTS in names:
            weighed = judge and judge.weigh_by(judge.learn(taught, self.reader.engine))
            out[_WEIGHTS] = _name_all(self.find(scored, self.reader, weighed))
        return out

    def find(self, reviews: Sequence[TaughtReview], reader: Reader, judge: SharedJudge | None) -> Extracted:
        """What rules and model find in reviews together, or rules alone where no model is shipped."""
        return {
            review.key: judge.hold(reader.engine, review.reading) if judge else extract(reader.engine, review.reading)
            for review in reviews
        }

    def switch(self, name: str, answers: Answers) -> Answers:
        """The answers as a release shows them with a switch."""
        categories, (_, wanted) = Categories(self.reader.lexicon), name.split("=")
        if wanted == "drop":
            whole = {
                one
                for own in answers.values()
                for one in own
                if is_whole(self.reader.lexicon, categories.aspect(one[0]))
            }
            return {key: [one for one in own if one not in whole] for key, own in answers.items()}
        return {
            key: [(*one[:2], wanted) if is_passable(categories.opinion(one[1])) else one for one in own]
            for key, own in answers.items()
        }


def _score(reviews: Sequence[TaughtReview], answers: Answers) -> MeanScore:
    score = micro({review.key: review.answers for review in reviews}, answers, "lenient")
    return MeanScore(score.precision, score.recall, score.f1)


def _row(size: int, before: Sequence[MeanScore], after: Sequence[MeanScore]) -> GainRow:
    return GainRow(size, _mean(before), _mean(after), _rise(before, after))


def _rise(before: Sequence[MeanScore], after: Sequence[MeanScore]) -> tuple[float, ...]:
    return tuple(own.f1 - first.f1 for first, own in zip(before, after, strict=True))


def _mean(scores: Sequence[MeanScore]) -> MeanScore:
    parts = ([getattr(score, part) for score in scores] for part in ("precision", "recall", "f1"))
    return MeanScore(*(sum(values) / len(values) for values in parts))


def _draw(split: int, text: str) -> bytes:
    """By the text, so that ids and formats of the labels change nothing."""
    return hashlib.sha256(json.dumps([split, text]).encode()).digest()
