"""What is gained by labelled reviews, by cross-validation (`builder gold gain`).

In: labelled reviews (builder.teaching.label_sources), and the folders of words, rules and model. Out: precision, recall
and F1 on reviews that taught nothing, before and after so many labels; what each part of the lessons brings by itself;
and what the switches of a release would bring: those of borders by exact F1 of the longest forms. Rules and the shipped
model read together, as a build does. Triplets that people judged one by one teach along with every size; they are never
scored.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from builder.core.errors import InputError
from builder.core.records import Triplet
from builder.core.settings import ReleaseSettings
from builder.engine import make_engine
from builder.engine.reader import Reader, Recipe, extract, make_reader
from builder.gold.metrics import micro
from builder.gold.metrics.scores import Answer, name_answer
from builder.language.lexicon.categories import Categories
from builder.language.lexicon.folders import Folders
from builder.language.lexicon.rules import Rule
from builder.pipeline.borders import move_borders
from builder.pipeline.release_reviews import is_passable, is_whole
from builder.teaching.lessons import (
    KnownReadings,
    Rows,
    SharedJudge,
    TaughtReview,
    lay_aspects,
    learn_aspects,
    learn_rest,
    read_again,
    read_taught,
)

SIZES = (25, 50, 100, 200)
SPLITS = 5
LEAST = 20
"""Labelled reviews from which a gain can be measured."""
_ALL, _KEPT, _ASPECTS, _RULES, _WEIGHTS = "all", "all but the weights", "aspects", "rules switched off", "weights"
SWITCHES = ("release.whole_products=drop", "release.passable=POS", "release.passable=NEU")
BORDERS = (
    "release.modifiers=unpointed", "release.modifiers=drop", "release.lead=clause", "release.particles=add",
    "release.particles=drop",
)  # fmt: skip
"""Switches that are measured by exact F1."""
Found = Mapping[str, Sequence[Triplet]]
"""The triplets that are found in each review, by its key."""


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
    """What one part of the lessons brings by itself, or a switch on top of all: points of F1 in each split, of exact F1
    for what moves borders.
    """

    name: str
    gains: tuple[float, ...]

    @classmethod
    def of(cls, name: str, before: Sequence[MeanScore], after: Sequence[MeanScore]) -> PartGain:
        """By the scores of each split before and after."""
        return cls(name, _rise(before, after))

    @property
    def metric(self) -> str:
        return "exact F1" if self.name in BORDERS else "F1"

    @property
    def mean(self) -> float:
        return sum(self.gains) / len(self.gains)


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

    @property
    def weighed(self) -> bool:
        return self.by_weights > 0

    @property
    def wanted_switches(self) -> tuple[PartGain, ...]:
        """The switches that raise F1 in every split; of two values of a setting the better one."""
        ordered = sorted(self.switches, key=lambda switch: switch.mean)
        best = {switch.name.split("=")[0]: switch for switch in ordered if min(switch.gains) > 0}
        return tuple(switch for switch in self.switches if switch in best.values())


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
    trial = _Trial(folders, reader, folders.load_rules(), judge)
    orders = [sorted(whole, key=lambda review: _draw(split, review.reading.text)) for split in range(splits)]
    scored = [ordered[half:] for ordered in orders]
    before = [_score(own, trial.answer(own, reader, trial.rules, judge)) for own in scored]

    def measure(size: int, names: Sequence[str]) -> dict[str, list[Found]]:
        found = [trial.teach([*ordered[:size], *partial], ordered[half:], names) for ordered in orders]
        return {name: [own[name] for own in found] for name in names}

    def score(found: Sequence[Found], exact: bool = False) -> list[MeanScore]:
        return [_score(*pair, exact) for pair in zip(scored, found, strict=True)]

    def switch(name: str, found: Sequence[Found]) -> PartGain:
        switched = [trial.switch(name, own, reviews) for own, reviews in zip(found, scored, strict=True)]
        exact = name in BORDERS
        return PartGain.of(name, score(found, exact), score(switched, exact))

    most = measure(half, (_ALL, _KEPT, _ASPECTS, _RULES, _WEIGHTS))
    scores = {name: score(found) for name, found in most.items()}
    by_weights = PartGain.of(_WEIGHTS, scores[_KEPT], scores[_ALL]).mean
    best = _ALL if by_weights > 0 else _KEPT
    smaller = [_row(size, before, score(measure(size, (best,))[best])) for size in SIZES if size < half]
    parts = (_ASPECTS, _RULES, _WEIGHTS) if judge else (_ASPECTS, _RULES)
    return MeasuredGain(
        (*smaller, _row(half, before, scores[best])),
        len(whole),
        len(partial),
        tuple(PartGain.of(name, before, scores[name]) for name in parts),
        tuple(switch(name, most[best]) for name in (*SWITCHES, *BORDERS)),
        by_weights,
    )


@dataclass(frozen=True, slots=True)
class _Trial:
    """What reads before labels teach: words, rules and model."""

    folders: Folders
    reader: Reader
    rules: Sequence[Rule]
    judge: SharedJudge | None
    known: KnownReadings = field(default_factory=dict)

    def teach(
        self, taught: Sequence[TaughtReview], scored: Sequence[TaughtReview], names: Sequence[str]
    ) -> dict[str, Found]:
        """What is found in the scored reviews after the named parts of the lessons from others."""
        judge, out = self.judge, dict[str, Found]()
        aspects = learn_aspects(taught, self.reader.lexicon)
        with lay_aspects(aspects, self.folders, self.reader) as wider:
            again, seen = (read_again(reviews, wider, aspects, self.known) for reviews in (taught, scored))
            lessons = learn_rest(again, wider, self.rules, aspects, judge if _ALL in names else None)
            rules = lessons.change_rules(self.rules)
            if _ALL in names:
                out[_ALL] = self.answer(seen, wider, rules, judge and judge.weigh_by(lessons.combiner))
            if _KEPT in names:
                out[_KEPT] = self.answer(seen, wider, rules, judge)
            if _ASPECTS in names:
                out[_ASPECTS] = self.answer(seen, wider, self.rules, judge)
        if _RULES in names:
            plain = learn_rest(taught, self.reader, self.rules, {}, judge)
            out[_RULES] = self.answer(scored, self.reader, plain.change_rules(self.rules), judge)
            out[_WEIGHTS] = self.answer(scored, self.reader, self.rules, judge and judge.weigh_by(plain.combiner))
        return out

    def answer(
        self, reviews: Sequence[TaughtReview], reader: Reader, rules: Sequence[Rule], judge: SharedJudge | None
    ) -> Found:
        """What rules and model find in reviews together, or rules alone where no model is shipped."""
        engine = make_engine(reader.lexicon, rules, "natural")
        return {
            review.key: judge.hold(engine, review.reading) if judge else extract(engine, review.reading)
            for review in reviews
        }

    def switch(self, name: str, found: Found, reviews: Sequence[TaughtReview]) -> Found:
        """What is found in reviews as a release shows it with a switch."""
        categories, (setting, wanted) = Categories(self.reader.lexicon), name.removeprefix("release.").split("=")
        settings = replace(ReleaseSettings(), **{setting: wanted})

        def show(triplet: Triplet, text: str) -> Triplet | None:
            if setting == "whole_products" and is_whole(self.reader.lexicon, categories.aspect(triplet.aspect.text)):
                return None
            if settings.passable != "keep" and is_passable(categories.opinion(triplet.opinion.text)):
                return replace(triplet, polarity=settings.passable)
            return move_borders(triplet, text, settings)

        texts = {review.key: review.reading.text for review in reviews}
        shown = {key: [show(triplet, texts[key]) for triplet in own] for key, own in found.items()}
        return {key: [triplet for triplet in own if triplet] for key, own in shown.items()}


def _score(reviews: Sequence[TaughtReview], found: Found, exact: bool = False) -> MeanScore:
    """Lenient scores of aspects and opinions, or exact ones of their longest forms."""
    name = _name_longest if exact else name_answer
    due = {review.key: [name(triplet) for triplet in review.triplets] for review in reviews}
    answers = {key: [name(triplet) for triplet in own] for key, own in found.items()}
    score = micro(due, answers, "exact" if exact else "lenient")
    return MeanScore(score.precision, score.recall, score.f1)


def _name_longest(triplet: Triplet) -> Answer:
    return triplet.aspect_full.text, triplet.opinion_full.text, triplet.polarity


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
