"""How far annotators agree, and the shipped model with each: `python tests/measure/agreement.py MODEL ANNOTATION
ANNOTATION... --texts CSV --scorer SCORER`.

Each is a file of annotation as `pack_model.py` reads them; the reviews that all of them have count. A triplet that at
least two annotators have is due; one that only one of them has costs nothing, found or not.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from decision import load_scorer
from pack_model import Row, hold, read_all, read_annotation, read_texts, score, to_answer, weigh_all

from builder.engine.reader import Recipe, make_reader
from builder.language.lexicon.folders import Folders
from builder.models.shipped import open_model

Answers = Sequence[Mapping[str, str]]
ANSWERED = ("aspect", "opinion", "polarity")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("annotations", type=Path, nargs="+")
    parser.add_argument("--domain", default="restaurant")
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--scorer", type=Path, required=True)
    options = parser.parse_args()
    if len(options.annotations) < 2:
        parser.error("give two files of annotation at least")
    csv.field_size_limit(10**9)
    texts, scorer = read_texts(options.texts), load_scorer(options.scorer, options.scorer.parent)
    found = [{row["id"]: row for row in read_annotation(path, texts)} for path in options.annotations]
    annotated = [[own[name] for own in found] for name in found[0] if all(name in own for own in found)]
    reader, model = make_reader(Recipe(folders=Folders(domain=options.domain))), open_model(options.model)
    reads = weigh_all(read_all([rows[0] for rows in annotated], model.reader, reader), model.combiner)
    by_rules = [[to_answer(triplet, read) for triplet in read.ruled] for read in reads]
    both = [[to_answer(triplet, read) for *_, triplet in hold(reader.engine, read, model.limits)] for read in reads]
    systems = {
        f"annotator {number + 1}": [[to_own_answer(label) for label in rows[number]["triplets"]] for rows in annotated]
        for number in range(1, len(found))
    }
    names = [f"annotator {number + 1}" for number in range(len(found))]
    print(f"{len(annotated)} reviews; P / R / F1\n\n| |", " | ".join([*names, "at least two"]), "|")
    print("|---" * (len(names) + 2) + "|")
    for name, answers in (systems | {"rules": by_rules, "rules and model": both}).items():
        scores = [
            score(scorer, [(rows[number], own) for rows, own in zip(annotated, answers, strict=True)])
            for number in range(len(found))
        ]
        scores.append(score_agreed(scorer, annotated, answers))
        print(f"| {name} |", " | ".join(" / ".join(f"{v:.1f}" for v in own) for own in scores), "|")


def to_own_answer(label: Mapping[str, str]) -> dict[str, str]:
    return {key: label[key] for key in ANSWERED}


def score_agreed(
    scorer: Any, annotated: Sequence[Sequence[Row]], answered: Sequence[Answers]
) -> tuple[float, float, float]:
    """Precision, recall and F1 in percent, of the triplets that at least two annotators of each review have."""
    right = given = met = due = 0
    for rows, answers in zip(annotated, answered, strict=True):
        named = [label for row in rows for label in row["triplets"]]
        agreed = find_agreed(scorer, rows)
        unique = [answer for i, answer in enumerate(answers) if answer not in answers[:i]]
        hits = [answer for answer in unique if any(scorer.match(answer, label, True) for label in agreed)]
        known = [answer for answer in unique if any(scorer.match(answer, label, True) for label in named)]
        right, given = right + len(hits), given + len(unique) - len(known) + len(hits)
        met += sum(any(scorer.match(answer, label, True) for answer in unique) for label in agreed)
        due += len(agreed)
    precision, recall = right / max(1, given), met / max(1, due)
    return 100 * precision, 100 * recall, 200 * precision * recall / max(1e-9, precision + recall)


def find_agreed(scorer: Any, rows: Sequence[Row]) -> list[Any]:
    """The triplets that at least two annotators of a review have, each as the first of them has it; they may differ in
    edges, where one's are within the other's.
    """

    def is_in(label: Any, labels: Sequence[Any]) -> bool:
        return any(scorer.match(one, label, True) or scorer.match(label, one, True) for one in labels)

    agreed = list[Any]()
    for number, row in enumerate(rows):
        later = [label for other in rows[number + 1 :] for label in other["triplets"]]
        agreed += [label for label in row["triplets"] if is_in(label, later) and not is_in(label, agreed)]
    return agreed


if __name__ == "__main__":
    main()
