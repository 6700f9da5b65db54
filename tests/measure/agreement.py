"""How far two annotators agree, and the shipped model with each: `python tests/measure/agreement.py MODEL FIRST SECOND
--texts CSV --scorer SCORER`.

FIRST and SECOND are files of annotation as `pack_model.py` reads them; the reviews of SECOND count. Where a triplet of
the first is one of the second too, it is due; one that only either of them has costs nothing, found or not.
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
    for name in ("model", "first", "second"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--domain", default="restaurant")
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--scorer", type=Path, required=True)
    options = parser.parse_args()
    csv.field_size_limit(10**9)
    texts, scorer = read_texts(options.texts), load_scorer(options.scorer, options.scorer.parent)
    again = {row["id"]: row for row in read_annotation(options.second, texts)}
    first = [row for row in read_annotation(options.first, texts) if row["id"] in again]
    second = [again[row["id"]] for row in first]
    reader, model = make_reader(Recipe(folders=Folders(domain=options.domain))), open_model(options.model)
    reads = weigh_all(read_all(first, model.reader, reader), model.combiner)
    by_rules = [[to_answer(triplet, read) for triplet in read.ruled] for read in reads]
    both = [[to_answer(triplet, read) for *_, triplet in hold(reader.engine, read, model.limits)] for read in reads]
    by_second = [[{key: label[key] for key in ANSWERED} for label in row["triplets"]] for row in second]
    print(f"{len(first)} reviews; P / R / F1\n\n| | first | second | both |\n|---|---|---|---|")
    for name, answers in (("second annotator", by_second), ("rules", by_rules), ("rules and model", both)):
        agreed = score_agreed(scorer, first, second, answers)
        scores = [score(scorer, list(zip(rows, answers, strict=True))) for rows in (first, second)]
        print(f"| {name} |", " | ".join(" / ".join(f"{v:.1f}" for v in own) for own in (*scores, agreed)), "|")


def score_agreed(
    scorer: Any, first: Sequence[Row], second: Sequence[Row], answered: Sequence[Answers]
) -> tuple[float, float, float]:
    """Precision, recall and F1 in percent, of the triplets that both annotators have."""
    right = given = met = due = 0
    for row, other, answers in zip(first, second, answered, strict=True):
        known, added = row["triplets"], other["triplets"]
        agreed = [label for label in known if any(scorer.match(one, label, True) for one in added)]
        unique = [answer for i, answer in enumerate(answers) if answer not in answers[:i]]
        hits = [answer for answer in unique if any(scorer.match(answer, label, True) for label in agreed)]
        named = [answer for answer in unique if any(scorer.match(answer, label, True) for label in (*known, *added))]
        right, given = right + len(hits), given + len(unique) - len(named) + len(hits)
        met += sum(any(scorer.match(answer, label, True) for answer in unique) for label in agreed)
        due += len(agreed)
    precision, recall = right / max(1, given), met / max(1, due)
    return 100 * precision, 100 * recall, 200 * precision * recall / max(1e-9, precision + recall)


if __name__ == "__main__":
    main()
