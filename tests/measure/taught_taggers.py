"""What labels bring as training examples of the taggers: `python tests/measure/taught_taggers.py WORKDIR COMPLETE_DIR
DIMABSA_DIR SCORER [--splits N]`.

WORKDIR is that of a build with a judge that left the complete reviews out; the other arguments are those of
decision.py. As in labels.py, 100 reviews of one half teach and the other half is scored, with weights of the decision
that saw none of them. As in a build, each tagger learns the labels of the other folds alone (builder.models.tuning).
Prints mean precision, recall and F1 of variant E, and by how much F1 rose in each split: by the weight of the labels,
by the score from which proposals are added, with a score that the labels choose, and with the rules that they teach.
For each split it first prints how well the confidence fits before and after the labels: its mean error over tenths of
the triplets, and its mean squared error.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from types import ModuleType

from decision import change_weights, collect, fit, load_scorer, read_examples, read_sentences, read_whole
from gain import to_answer
from labels import TEACH, write_required
from limits import ReadText, held, judge, train_scores

from builder.core.settings import Discriminate
from builder.engine.engine import Engine
from builder.engine.reader import Reader, Recipe, make_reader, review_view, to_view
from builder.gold.metrics import micro
from builder.language.lexicon.folders import Folders
from builder.language.lexicon.resources import load_lexicon
from builder.language.lexicon.rules import Rule, load_rules
from builder.learning.task import Example
from builder.models.cotrain import Taggers, load_taggers
from builder.models.trust import ADD, DROP, WIDEN, Calibration, Standing, TrustLimits, fitted, ranked
from builder.models.tuning import TaughtExamples, tune_taggers
from builder.store import db, reviews, triplets
from builder.teaching.label_sources import read_labels
from builder.teaching.lessons import TaughtReview, lay_aspects, learn, read_again, read_taught

ADDS, WEIGHTS = (0.4, 0.5, 0.6, 0.7), (10, 20)
Texts = Mapping[str, ReadText]
Answers = dict[str, list[dict[str, str]]]


@dataclass(frozen=True, slots=True)
class Split:
    """The reviews that teach and those that are scored, with their gold, and the rules before teaching."""

    lessons: list[TaughtReview]
    test: list[TaughtReview]
    rules: tuple[Rule, ...]


def read_reviews(
    labelled: Sequence[TaughtReview], taggers: Taggers, reader: Reader, rules: Sequence[Rule], *, apart: bool = False
) -> dict[str, ReadText]:
    """The reviews as rules and taggers read them; `apart`: by the taggers that were not trained on them."""
    engine = Engine(reader.lexicon, rules)
    docs = [review.reading.doc for review in labelled]
    texts = [doc.text for doc in docs]
    every = taggers.apart([review.key for review in labelled], texts) if apart else taggers.proposals(texts)
    out = {}
    for review, doc, proposals in zip(labelled, docs, every, strict=True):
        likely = [pair for pair in proposals if pair[0] >= min(*ADDS, WIDEN)]
        weighed = engine.weigh(doc, [triplet for _, triplet in likely])
        sound = [(chance, triplet) for (chance, _), triplet in zip(likely, weighed, strict=True) if triplet]
        reading = review.reading
        out[review.key] = ReadText(review.key, reading.text, reading.view, engine.extract(doc), proposals, sound)
    return out


def answer(texts: Texts, add: float) -> Answers:
    """What variant E holds of the texts."""
    limits = TrustLimits(DROP, add, WIDEN, add_unread=add)
    return {key: [to_answer(triplet) for triplet in held(read, limits)] for key, read in texts.items()}


def choose_add(labelled: Sequence[TaughtReview], texts: Texts) -> float:
    """The score from which proposals are added that is best on labelled reviews; the shipped one of equals."""
    gold = {review.key: review.answers for review in labelled}

    def score(add: float) -> float:
        given = {
            key: [(row["aspect"], row["opinion"], row["polarity"]) for row in rows]
            for key, rows in answer(texts, add).items()
        }
        return micro(gold, given, "lenient").f1  # type: ignore[arg-type]

    return max(ADDS, key=lambda add: (score(add), add == ADD))


def tune(taggers: Taggers, rule_examples: Sequence[Example], lessons: Sequence[TaughtReview], weight: int) -> Taggers:
    """The taggers after the labels of the folds that each was trained on."""
    examples = tuple(
        Example(
            review.key,
            review.reading.view.text,
            tuple(filter(None, (to_view(triplet, review.reading.view) for triplet in review.triplets))),
        )
        for review in lessons
    )
    return tune_taggers(taggers, rule_examples, TaughtExamples(examples, weight), 0)


def read_rule_examples(workdir: Path, most: int) -> list[Example]:
    """Reviews of train with the rules' triplets, as the taggers read them."""
    variants, out = load_lexicon().variants, []
    with db.reading(workdir) as connection:
        rules = triplets.source_id(connection, "rules")
        assert rules is not None, "seed has run"
        stored = list(triplets.proposed(connection, rules, "train", most))
        known = {review.id: review for review in reviews.in_split(connection, "train")}
    for number, own in groupby(stored, key=lambda row: row.review):
        shown = review_view(known[number], variants)
        moved = (to_view(row.triplet, shown) for row in own)
        out.append(Example(known[number].key, shown.text, tuple(triplet for triplet in moved if triplet)))
    return out


def score_split(split: Split, taggers: Taggers, rule_examples: Sequence[Example], reader: Reader) -> dict[str, Answers]:
    """What variant E finds in the test reviews, by what the labels taught."""
    plain = read_reviews(split.test, taggers, reader, split.rules)
    out = {f"no labels, added from {add:g}": answer(plain, add) for add in (ADD, 0.5, 0.4)}
    before = read_reviews(split.lessons, taggers, reader, split.rules)
    out["no labels but a chosen score"] = answer(plain, choose_add(split.lessons, before))
    for weight in WEIGHTS:
        tuned = tune(taggers, rule_examples, split.lessons, weight)
        texts = read_reviews(split.test, tuned, reader, split.rules)
        out |= {f"weight {weight}, added from {add:g}": answer(texts, add) for add in (ADD, 0.5)}
        own = read_reviews(split.lessons, tuned, reader, split.rules, apart=True)
        out[f"weight {weight}, a chosen score"] = answer(texts, choose_add(split.lessons, own))
        if weight == Discriminate().label_weight:
            out |= score_taught_rules(split, tuned, reader)
    return out


def score_taught_rules(split: Split, taggers: Taggers, reader: Reader) -> dict[str, Answers]:
    """The same with the rules and aspects that `builder gold gain --teach` keeps."""
    lessons = learn(split.lessons, reader, Folders(), split.rules, weighed=False)
    with lay_aspects(lessons.aspects, Folders(), reader) as wider:
        rules = lessons.change_rules(split.rules)
        texts = read_reviews(read_again(split.test, wider, lessons.aspects), taggers, wider, rules)
        return {f"as built, with taught rules, added from {add:g}": answer(texts, add) for add in (ADD, 0.5)}


def judge_texts(module: ModuleType, texts: Texts) -> list[tuple[Standing, float, bool]]:
    """(standing, score, right) of what variant E holds; one curve rates all of it."""
    required, optional = module.gold()
    return [
        ("shared", *pair)
        for key, read in texts.items()
        for pair in judge(module, held(read, TrustLimits.of(1.0)), list(required[key]), list(optional[key]))
    ]


def measure_fit(calibration: Calibration, judged: Sequence[tuple[Standing, float, bool]]) -> tuple[float, float]:
    """The mean distance of confidence and share right over tenths of the triplets, and the mean squared error."""
    ordered = sorted((calibration.rate(standing, score), good) for standing, score, good in judged)
    tenths = [ordered[len(ordered) * n // 10 : len(ordered) * (n + 1) // 10] for n in range(10)]
    off = sum(abs(sum(sure for sure, _ in part) - sum(good for _, good in part)) for part in tenths) / len(ordered)
    return off, sum((sure - good) ** 2 for sure, good in ordered) / len(ordered)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("workdir", "complete", "dimabsa", "scorer"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--train", type=int, default=3000, help="triplets of train that give ranks and are read again")
    options = parser.parse_args()
    scorer, reader = load_scorer(options.scorer, options.complete), make_reader(Recipe())
    weights = fit(collect([*read_sentences(options.dimabsa, reader), *read_examples(reader)], reader))
    rules = change_weights(load_rules(), weights)
    whole = read_whole(options.complete, scorer, reader)
    taggers = load_taggers(options.workdir / "models" / "panel" / "taggers")
    lines = (options.complete / "texts.jsonl").read_text(encoding="utf-8").splitlines()
    texts = {row["id"]: row["text"] for row in map(json.loads, lines)}
    with tempfile.TemporaryDirectory() as folder:
        gold = Path(folder) / "required.jsonl"
        write_required(gold, texts, scorer.gold()[0])
        taught = {review.key: review for review in read_taught(read_labels(gold).rows, gold, reader)}
    rule_examples = read_rule_examples(options.workdir, options.train)
    calibration = Calibration.of(ranked(train_scores(options.workdir, taggers, options.train)))
    scores: dict[str, list[Mapping[str, float]]] = {}
    for number in range(options.splits):
        ordered = sorted(whole)
        random.Random(number).shuffle(ordered)
        half = len(ordered) // 2
        test = sorted(ordered[:half])
        split = Split([taught[key] for key in ordered[half:][:TEACH]], [taught[key] for key in test], rules)
        for name, answers in score_split(split, taggers, rule_examples, reader).items():
            scores.setdefault(name, []).append(scorer.score(answers, True, test))
        own, other = (
            judge_texts(scorer, read_reviews(labelled, taggers, reader, rules))
            for labelled in (split.lessons, split.test)
        )
        moved = fitted(own, calibration)
        fits = measure_fit(calibration, other), measure_fit(moved, other)
        print(f"split {number}: confidence off by, squared error:", *fits)
        base = scores[f"no labels, added from {ADD:g}"]
        for name, own_scores in scores.items():
            means = [sum(score[part] for score in own_scores) / len(own_scores) for part in ("P", "R", "F1")]
            gains = [round(score["F1"] - before["F1"], 1) for score, before in zip(own_scores, base, strict=True)]
            mean = sum(gains) / len(gains)
            print(f"| {name} | {' | '.join(f'{mean:.1f}' for mean in means)} | {mean:+.2f} | {gains} |", flush=True)


if __name__ == "__main__":
    main()
