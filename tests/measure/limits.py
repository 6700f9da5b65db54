"""What a panel may drop, add and lengthen, and what its scores are worth: `python tests/measure/limits.py WORKDIR
COMPLETE_FOLDER SCORER.py`.

WORKDIR is that of a build with a judge, COMPLETE_FOLDER and SCORER are those of sizes.py. Prints two Markdown tables:
precision, recall and F1 of variant E by its four limits (builder.models.trust), and how often triplets are right by
the rank of their score among those of the rules' triplets of train, of which `--train` reviews are drawn
(builder.models.trust).
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
from pack_model import place
from sizes import Gold, judge, scorer

from builder.core.records import Triplet
from builder.engine import Doc, Engine
from builder.engine.reader import review_view, to_text, to_view
from builder.language import nlp
from builder.language.lexicon.resources import load_lexicon
from builder.language.lexicon.rules import load_rules
from builder.learning.task import Example
from builder.models.cotrain import Taggers, fresh, load_taggers, widened
from builder.models.panel import YY, seen, unseen
from builder.models.tagger import Proposal, in_place
from builder.models.trust import ADD, DROP, FIRM, WIDEN, TrustLimits
from builder.reviews.text import View, view
from builder.store import db, reviews, triplets

LIMITS = (
    *((0.0, FIRM, add, widen) for add in (math.inf, ADD) for widen in (math.inf, WIDEN)),
    *((drop, firm, ADD, WIDEN) for drop in (0.02, DROP, 0.2, 0.3) for firm in (0.5, FIRM, 0.75, math.inf)),
    *((DROP, FIRM, add, WIDEN) for add in (0.6, 0.7, 0.8, 0.95)),
)
"""Drop below, keep from so much margin, add from, lengthen from."""
RANKS = (0.0, 0.02, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.01)


@dataclass(frozen=True, slots=True)
class ReadText:
    """A text with the rules' triplets, and what the taggers propose as the engine weighs it."""

    id: str
    text: str
    view: View
    ruled: tuple[Triplet, ...]
    proposals: Sequence[Proposal]
    weighed: Sequence[Proposal]


def read_texts(path: Path, taggers: Taggers) -> list[ReadText]:
    lexicon = load_lexicon()
    backend, engine = nlp.load("embedded", lexicon.words()), Engine(lexicon, load_rules())
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    views = [view(row["text"], lexicon.variants) for row in rows]
    annotated = backend.annotate([shown.text for shown in views])
    docs = [Doc.of(shown.text, tokens) for shown, tokens in zip(views, annotated, strict=True)]
    out = []
    for row, shown, doc, proposals in zip(
        rows, views, docs, taggers.proposals([doc.text for doc in docs]), strict=True
    ):
        likely = [pair for pair in proposals if pair[0] >= WIDEN]
        weighed = engine.weigh(doc, [triplet for _, triplet in likely])
        sound = [(chance, triplet) for (chance, _), triplet in zip(likely, weighed, strict=True) if triplet]
        out.append(ReadText(row["id"], row["text"], shown, engine.extract(doc), proposals, sound))
    return out


def held(read: ReadText, limits: TrustLimits) -> list[Triplet]:
    """The text's triplets by these limits, in its own offsets, with the panel's score for a confidence."""
    placed = zip(read.ruled, place(limits, read.ruled, seen(read.ruled, read.proposals)), strict=True)
    kept = widened([triplet for triplet, (standing, _) in placed if standing != "rejected"], read.weighed, limits.widen)
    every = sorted(kept + fresh(kept, read.weighed, limits), key=in_place)
    scores = seen(every, read.proposals)[:, YY]
    return [
        replace(to_text(triplet, read.view, read.text), confidence=float(score))
        for triplet, score in zip(every, scores, strict=True)
    ]


def train_scores(workdir: Path, taggers: Taggers, most: int) -> list[float]:
    """The scores of rules' triplets of train by the members that were not trained on them, in order."""
    variants = load_lexicon().variants
    examples = []
    with db.reading(workdir) as connection:
        rules = triplets.source_id(connection, "rules")
        assert rules is not None, "seed has run"
        by_review: dict[int, list[Triplet]] = {}
        for stored in triplets.proposed(connection, rules, "train", most):
            by_review.setdefault(stored.review, []).append(stored.triplet)
        for review in reviews.in_split(connection, "train"):
            if review.id in by_review:
                shown = review_view(review, variants)
                moved = [to_view(triplet, shown) for triplet in by_review[review.id]]
                examples.append(Example(review.key, shown.text, tuple(triplet for triplet in moved if triplet)))
    return sorted(float(score) for shares in unseen(taggers, examples) for score in shares[:, YY])


def print_limits(module: ModuleType, texts: Sequence[ReadText]) -> None:
    print("| drop below | keep from a margin of | add from | lengthen from | P / R / F1 |\n|---|---|---|---|---|")
    for drop, firm, add, widen in LIMITS:
        answers = {
            read.id: [
                {"aspect": triplet.aspect.text, "opinion": triplet.opinion.text, "polarity": triplet.polarity}
                for triplet in held(read, TrustLimits(drop, add, widen, firm, add))
            ]
            for read in texts
        }
        values = module.score(answers)
        cells = ["never" if limit in (0.0, math.inf) else f"{limit:g}" for limit in (drop, firm, add, widen)]
        print(f"| {' | '.join(cells)} | {' / '.join(f'{values[name]:.1f}' for name in ('P', 'R', 'F1'))} |")


def print_ranks(module: ModuleType, texts: Sequence[ReadText], scores: Sequence[float]) -> None:
    required, optional = module.gold()
    undropped = TrustLimits(0.0, ADD, WIDEN)
    judged = [
        pair
        for read in texts
        for pair in judge(module, held(read, undropped), _rows(required, read.id), _rows(optional, read.id))
    ]
    ranks = np.searchsorted(np.array(scores), [score for score, _ in judged]) / len(scores)
    right = np.array([good for _, good in judged])
    print(f"\nmean score {np.mean(scores):.3f}\n\n| rank | triplets | right |\n|---|---|---|")
    for low, high in pairwise(RANKS):
        inside = right[(ranks >= low) & (ranks < high)]
        if len(inside):
            print(f"| {low:g} to {min(high, 1.0):g} | {len(inside)} | {100 * inside.mean():.0f}% |")


def _rows(gold: dict[str, Gold], key: str) -> Gold:
    return list(gold[key])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workdir", type=Path)
    parser.add_argument("complete", type=Path)
    parser.add_argument("scorer", type=Path)
    parser.add_argument("--train", type=int, default=3000, help="reviews of train that are judged for the ranks")
    options = parser.parse_args()
    taggers = load_taggers(options.workdir / "models" / "panel" / "taggers")
    module, texts = (
        scorer(options.scorer, options.complete),
        read_texts(options.complete / "texts.jsonl", taggers),
    )
    print_limits(module, texts)
    print_ranks(module, texts, train_scores(options.workdir, taggers, options.train))


if __name__ == "__main__":
    main()
