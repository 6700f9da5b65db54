"""`builder gain`: what labelled reviews teach the rules, by cross-validation, and the rule that they teach.

In: a gold file whose rows have texts, or the labels of a working directory's pool. Out: precision, recall and F1 on
reviews that taught nothing, before and after so many labels; a folder of rules with the adapted weights of the
decision, and of the aspects learnt. Labels move the shipped weights (builder.model.decision_weights). An aspect is
learnt where most of its uses are labelled; opinions are not, since those of so few reviews cost more than they bring.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections import Counter
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
from builder.lexicon.candidate_scores import Endings
from builder.lexicon.folders import Folders
from builder.lexicon.overlay import Overlay, write
from builder.lexicon.resources import Lexicon
from builder.lexicon.rules import Rule
from builder.metrics import micro
from builder.metrics.matching import Answer
from builder.model.decision_weights import WeighedOpinion, adapt_weights
from builder.reader import Reader, Reading, Recipe, extract, make_reader
from builder.records import Review, Triplet
from builder.stages.parts import gold
from builder.stages.parts.pool_layers import read_layer
from builder.store import pools
from builder.text import HAN
from builder.usecases.labelling import opened

SIZES = (25, 50, 100, 200)
SPLITS = 5
LEAST = 20
"""Labelled reviews from which a gain can be measured."""
_SHORTEST, _LONGEST = 2, 8
Rows = Sequence[dict[str, Any]]


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


def measure_gain(rows: Rows, where: Path, folders: Folders, splits: int = SPLITS) -> tuple[int, list[GainRow]]:
    """How many labelled reviews there are, and a row for each size that half of them allow.

    Half of the reviews teach, half are scored; InputError where there are too few.
    """
    reader, rules = make_reader(Recipe(folders=folders)), folders.load_rules()
    taught = read_taught(rows, where, reader)
    if len(taught) < LEAST:
        raise InputError(
            f"{len(taught)} labelled reviews are too few to measure a gain",
            where=str(where),
            fix=f"label {LEAST} or more",
        )
    half = len(taught) // 2
    sizes = [size for size in SIZES if size < half] + [half]
    pairs: dict[int, list[tuple[MeanScore, MeanScore]]] = {size: [] for size in sizes}
    for split in range(splits):
        ordered = sorted(taught, key=lambda review: _draw(split, review.key))
        before = _score(ordered[half:], reader, rules)
        for size in sizes:
            with tempfile.TemporaryDirectory() as folder:
                wider = lay_aspects(learn_aspects(ordered[:size], reader.lexicon), Path(folder), folders)
                own_reader = make_reader(Recipe(folders=wider)) if wider is not folders else reader
                lessons, scored = ordered[:size], ordered[half:]
                if own_reader is not reader:
                    lessons, scored = read_again(lessons, own_reader), read_again(scored, own_reader)
                adapted = teach_weights(lessons, own_reader, rules)
                pairs[size].append((before, _score(scored, own_reader, change_weights(rules, adapted))))
    return len(taught), [_row(size, scored) for size, scored in pairs.items()]


def write_lessons(rows: Rows, where: Path, folders: Folders, folder: Path) -> tuple[Path, int]:
    """Write what all labelled reviews teach: a rule with weights, which wins over the rule of its name when the folder
    is added, and the aspects in its folder `lexicons`. The file of the rule, and how many aspects there are.
    """
    reader, rules = make_reader(Recipe(folders=folders)), folders.load_rules()
    taught = read_taught(rows, where, reader)
    aspects = learn_aspects(taught, reader.lexicon)
    wider = lay_aspects(aspects, folder / "lexicons", folders)
    if wider is not folders:
        reader = make_reader(Recipe(folders=wider))
        taught = read_again(taught, reader)
    weights = teach_weights(taught, reader, rules)
    source = next(file for place in reversed(folders.rule_folders) for file in sorted(place.glob("*.toml"))
                  if f"[{_decision(rules).name}.weights]" in file.read_text(encoding="utf-8"))  # fmt: skip
    mark = f"[{_decision(rules).name}.weights]\n"
    head = source.read_text(encoding="utf-8").partition(mark)[0]
    lines = [f"{json.dumps(name, ensure_ascii=False)} = {weight}" for name, weight in sorted(weights.items())]
    target = folder / source.name
    write_atomically(target, (head + mark + "\n".join(lines) + "\n").encode())
    return target, len(aspects)


def read_rows(path: Path) -> Rows:
    """The rows of a gold file."""
    return gold.rows(str(path))


def read_pool(workdir: Path, pool: str | None = None) -> Rows:
    """The reviews of a pool whose candidates people have all answered, as rows with texts."""
    with opened(workdir) as connection:
        layer = read_layer(connection, pools.chosen(connection, pool), "")
    return [{**review.row(layer.name), "text": review.text} for review in layer.reviews]


def read_taught(rows: Rows, where: Path, reader: Reader) -> list[TaughtReview]:
    """The labelled reviews; InputError for a row without a text."""
    for row in rows:
        if not isinstance(row.get("text"), str):
            raise InputError(
                f"review {row['id']} has no text",
                where=str(where),
                fix='each line is {"id", "text", "triplets"}; labels of a pool are read with --workdir',
            )
    reviews = [Review(n, str(row["id"]), str(row["text"]), "traditional") for n, row in enumerate(rows)]
    own: dict[int, list[Triplet]] = {review.id: [] for review in reviews}
    for review, triplet in gold.labelled(rows, reviews, str(where)):
        own[review].append(triplet)
    readings = reader.read([review.text for review in reviews])
    return [TaughtReview(review.key, reading, tuple(own[review.id]))
            for review, reading in zip(reviews, readings, strict=True)]  # fmt: skip


def read_again(taught: Sequence[TaughtReview], reader: Reader) -> list[TaughtReview]:
    """The same reviews as another reader reads them."""
    readings = reader.read([review.reading.text for review in taught])
    return [replace(review, reading=reading) for review, reading in zip(taught, readings, strict=True)]


def learn_aspects(taught: Sequence[TaughtReview], lexicon: Lexicon) -> dict[str, str]:
    """The aspects of labels that the lexicon lacks, with the class that known ones of their ending have: those whose
    uses in these reviews are labelled at least half of the time.
    """
    endings = Endings.of(lexicon)
    labelled = Counter(word for review in taught for word in {t.aspect.text for t in review.triplets})
    out = {}
    for word, count in sorted(labelled.items()):
        known = word in lexicon.aspects or word in lexicon.opinions or word in lexicon.not_aspects
        if known or not _SHORTEST <= len(word) <= _LONGEST or not all(map(HAN.match, word)):
            continue
        if 2 * count >= sum(word in review.reading.text for review in taught):
            classes = (endings.classes.get(word[-length:]) for length in (3, 2, 1))
            out[word] = next(filter(None, classes), lexicon.default_class)
    return out


def lay_aspects(aspects: Mapping[str, str], folder: Path, folders: Folders) -> Folders:
    """The folders with these aspects on top, which are written into `folder`; the same ones where there is none."""
    if not aspects:
        return folders
    write(Overlay("labels", aspects=tuple(aspects.items())), folder)
    return replace(folders, imported=(*folders.imported, folder))


def teach_weights(taught: Sequence[TaughtReview], reader: Reader, rules: Sequence[Rule]) -> dict[str, float]:
    """The weights of the decision after these labels."""
    opinions = collect_opinions(taught, reader, rules)
    return adapt_weights([opinion for own in opinions.values() for opinion in own], _weights(rules))


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
