"""`builder gain`: what labelled reviews teach the rules, by cross-validation, and the rule that they teach.

In: a gold file whose rows have texts. Out: precision, recall and F1 on reviews that taught nothing, before and after so
many labels; a folder of rules with the adapted weights of the decision. Labels move the shipped weights
(builder.model.decision_weights); words are not learnt, since the words of so few reviews cost more than they bring.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from builder.engine import Doc, make_engine
from builder.engine.deciding import Weighed
from builder.engine.engine import Engine
from builder.errors import ConfigError, InputError
from builder.files import write_atomically
from builder.folding import fold
from builder.lexicon.folders import Folders
from builder.lexicon.rules import Rule
from builder.metrics import micro
from builder.metrics.matching import Answer
from builder.model.decision_weights import WeighedOpinion, adapt_weights
from builder.reader import Reader, Reading, Recipe, extract, make_reader
from builder.records import Review, Triplet
from builder.stages.parts import gold

SIZES = (25, 50, 100, 200)
SPLITS = 5
LEAST = 20
"""Labelled reviews from which a gain can be measured."""


@dataclass(frozen=True, slots=True)
class TaughtReview:
    """A labelled review as the engine reads it."""

    key: str
    reading: Reading
    triplets: tuple[Triplet, ...]

    @property
    def answers(self) -> list[Answer]:
        return [(t.aspect.text, t.opinion.text, t.polarity) for t in self.triplets]


@dataclass(frozen=True, slots=True)
class MeanScore:
    """Precision, recall and F1 in percent."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class GainRow:
    """What so many labelled reviews bring, on average over the splits; `better`: in how many splits F1 rose."""

    labels: int
    before: MeanScore
    after: MeanScore
    better: int


def measure_gain(path: Path, folders: Folders, splits: int = SPLITS) -> tuple[int, list[GainRow]]:
    """How many labelled reviews there are, and a row for each size that half of them allow.

    Half of the reviews teach, half are scored; InputError where there are too few.
    """
    reader, rules = make_reader(Recipe(folders=folders)), folders.load_rules()
    taught = read_taught(path, reader)
    if len(taught) < LEAST:
        raise InputError(
            f"{len(taught)} labelled reviews are too few to measure a gain",
            where=str(path),
            fix=f"label {LEAST} or more",
        )
    half = len(taught) // 2
    sizes = [size for size in SIZES if size < half] + [half]
    shipped, opinions = _weights(rules), collect_opinions(taught, reader, rules)
    pairs: dict[int, list[tuple[MeanScore, MeanScore]]] = {size: [] for size in sizes}
    for split in range(splits):
        ordered = sorted(taught, key=lambda review: _draw(split, review.key))
        before = _score(ordered[half:], reader, rules)
        for size in sizes:
            lessons = [opinion for review in ordered[:size] for opinion in opinions[review.key]]
            adapted = change_weights(rules, adapt_weights(lessons, shipped))
            pairs[size].append((before, _score(ordered[half:], reader, adapted)))
    return len(taught), [_row(size, scored) for size, scored in pairs.items()]


def write_lessons(path: Path, folders: Folders, folder: Path) -> Path:
    """Write a rule with the weights that all labelled reviews teach; it wins over the rule of its name when the folder
    is added.
    """
    reader, rules = make_reader(Recipe(folders=folders)), folders.load_rules()
    opinions = collect_opinions(read_taught(path, reader), reader, rules)
    weights = adapt_weights([opinion for own in opinions.values() for opinion in own], _weights(rules))
    source = next(file for place in reversed(folders.rule_folders) for file in sorted(place.glob("*.toml"))
                  if f"[{_decision(rules).name}.weights]" in file.read_text(encoding="utf-8"))  # fmt: skip
    mark = f"[{_decision(rules).name}.weights]\n"
    head = source.read_text(encoding="utf-8").partition(mark)[0]
    lines = [f"{json.dumps(name, ensure_ascii=False)} = {weight}" for name, weight in sorted(weights.items())]
    target = folder / source.name
    write_atomically(target, (head + mark + "\n".join(lines) + "\n").encode())
    return target


def read_taught(path: Path, reader: Reader) -> list[TaughtReview]:
    """The labelled reviews of a gold file; InputError for a row without a text."""
    rows = gold.rows(str(path))
    for row in rows:
        if not isinstance(row.get("text"), str):
            raise InputError(
                f"review {row['id']} has no text", where=str(path), fix='each line is {"id", "text", "triplets"}'
            )
    reviews = [Review(n, str(row["id"]), str(row["text"]), "traditional") for n, row in enumerate(rows)]
    own: dict[int, list[Triplet]] = {review.id: [] for review in reviews}
    for review, triplet in gold.labelled(rows, reviews, str(path)):
        own[review].append(triplet)
    readings = reader.read([review.text for review in reviews])
    return [TaughtReview(review.key, reading, tuple(own[review.id]))
            for review, reading in zip(reviews, readings, strict=True)]  # fmt: skip


def collect_opinions(
    taught: Sequence[TaughtReview], reader: Reader, rules: Sequence[Rule]
) -> dict[str, list[WeighedOpinion]]:
    """The opinions that the rules weigh in each review, with the candidates that its labels name for them."""
    seen: list[tuple[str, Sequence[Weighed]]] = []
    engine = Engine(reader.lexicon, rules, observe=lambda word, weighed: seen.append((word, weighed)))
    out: dict[str, list[WeighedOpinion]] = {}
    for review in taught:
        seen.clear()
        engine.extract(Doc.of(review.reading.view.text, review.reading.tokens))
        out[review.key] = [_case(word, weighed, review.triplets) for word, weighed in seen]
    return out


def _case(word: str, weighed: Sequence[Weighed], triplets: Sequence[Triplet]) -> WeighedOpinion:
    """Which candidates are right for an opinion: those that a label with this opinion names, else none."""
    opinion, named = fold(word), []
    for t in triplets:
        if _is_part(fold(t.opinion.text), opinion) or _is_part(opinion, fold(t.opinion_full.text)):
            named.append(fold(t.aspect.text))
    right = [any(other in fold(c.aspect.word) or fold(c.aspect.word) in other for other in named) for c in weighed]
    return WeighedOpinion(tuple(candidate.features for candidate in weighed), (*right, not any(right)))


def _is_part(part: str, whole: str) -> bool:
    """Whether the characters of one stand in the other in order."""
    rest = iter(whole)
    return bool(part) and all(char in rest for char in part)


def _decision(rules: Sequence[Rule]) -> Rule:
    """The rule that weighs candidates; ConfigError where the rules have none."""
    rule = next((rule for rule in rules if rule.kind == "decision"), None)
    if rule is None:
        raise ConfigError(
            "there is no rule of kind decision to teach", where="rules.dir", fix="add yours to the shipped"
        )
    return rule


def _weights(rules: Sequence[Rule]) -> Mapping[str, float]:
    weights: Any = _decision(rules).params["weights"]
    return {str(name): float(weight) for name, weight in weights.items()}


def change_weights(rules: Sequence[Rule], weights: Mapping[str, float]) -> tuple[Rule, ...]:
    """The rules with other weights of the decision."""
    return tuple(
        replace(rule, params=MappingProxyType({**rule.params, "weights": weights})) if rule.kind == "decision" else rule
        for rule in rules
    )


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

    return GainRow(size, mean(0), mean(1), sum(after.f1 > before.f1 for before, after in scored))


def _draw(split: int, key: str) -> bytes:
    return hashlib.sha256(json.dumps([split, key]).encode()).digest()
