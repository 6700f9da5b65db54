"""What the shipped model adds to rules that never saw the reviews: `python tests/measure/gain.py MODEL COMPLETE_DIR
DIMABSA_DIR SCORER`.

MODEL is the folder of a model that is shipped; the other arguments are those of decision.py. The shipped weights of the
rules' decision were chosen on the complete reviews. So every review is also read with weights that saw the others alone
(decision.py's cross-validation). Prints precision, recall and F1, with F1 of both halves, of the rules and of variant
E, both ways, and what share of the triplets that the rules miss variant E finds.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from decision import FOLDS, change_weights, collect, fit, load_scorer, read_examples, read_sentences, read_whole
from pack_model import ReadReview, hold, read_all, to_answer, weigh_all

from builder.engine import Engine
from builder.engine.reader import Recipe, make_reader
from builder.language.lexicon.rules import load_rules
from builder.models.shipped import open_model

Answers = Mapping[str, Sequence[dict[str, str]]]


def print_scores(name: str, scorer: ModuleType, answered: Answers) -> None:
    halves = [
        [key for key in answered if int(hashlib.sha256(key.encode()).hexdigest(), 16) % 2 == half] for half in (0, 1)
    ]
    values = scorer.score(answered)
    parts = [scorer.score(answered, True, half)["F1"] for half in halves]
    print(f"| {name} | {values['P']} / {values['R']} / {values['F1']} | {parts[0]} / {parts[1]} |", flush=True)


def count_found(scorer: ModuleType, ruled: Answers, held: Answers) -> tuple[int, int]:
    """How many required triplets the rules miss, and how many of those variant E has."""
    missed = [
        (key, gold)
        for key, due in scorer.gold()[0].items()
        for gold in due
        if not any(scorer.match(answer, gold, True) for answer in ruled[key])
    ]
    return len(missed), sum(any(scorer.match(answer, gold, True) for answer in held[key]) for key, gold in missed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("complete", type=Path)
    parser.add_argument("dimabsa", type=Path)
    parser.add_argument("scorer", type=Path)
    options = parser.parse_args()
    scorer, reader = load_scorer(options.scorer, options.complete), make_reader(Recipe())
    whole = read_whole(options.complete, scorer, reader)
    cases = collect([*whole.values(), *read_sentences(options.dimabsa, reader), *read_examples(reader)], reader)
    engines = [
        Engine(reader.lexicon, change_weights(load_rules(), fit([case for case in cases if case.fold != fold])))
        for fold in range(FOLDS)
    ]
    model = open_model(options.model)
    rows = [{"id": key, "text": text.reading.text, "triplets": []} for key, text in whole.items()]
    reads = weigh_all(read_all(rows, model.reader, reader), model.combiner)
    unseen = weigh_all([read_unseen(read, whole[read.row["id"]].fold, engines) for read in reads], model.combiner)
    print("| system | P / R / F1 | F1 of the halves |\n|---|---|---|")
    for weights, own in (("weights of these reviews", reads), ("weights of other reviews", unseen)):
        ruled = {read.row["id"]: [to_answer(t, read) for t in read.ruled] for read in own}
        held = {
            read.row["id"]: [to_answer(t, read) for *_, t in hold(reader.engine, read, model.limits)] for read in own
        }
        print_scores(f"rules, {weights}", scorer, ruled)
        print_scores(f"E, {weights}", scorer, held)
        print("missed by the rules {}, of those found {}".format(*count_found(scorer, ruled, held)), flush=True)


def read_unseen(read: ReadReview, fold: int, engines: Sequence[Engine]) -> ReadReview:
    """The review as the rules read it by weights of the others."""
    return replace(read, ruled=engines[fold].extract(read.reading.doc))


if __name__ == "__main__":
    main()
