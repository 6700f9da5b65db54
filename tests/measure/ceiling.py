"""What a judge that never errs would find: `python tests/measure/ceiling.py LABELS DOMAIN`.

LABELS is what `builder gold gain --gold` reads. Candidates are all that the rules find, and what the reader proposes
with a probability of 0.05 or more. Prints lenient F1 as a build reads; the share of labels that some candidate names,
and F1 if these candidates alone were kept; and in percent of the labels why others have none: another polarity, both
words named but not as a pair, the opinion in no candidate, the aspect in none, or neither.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from builder.engine.reader import Recipe, make_reader, to_text
from builder.gold.metrics import micro
from builder.gold.metrics.scores import Answer, Part, distinct, name_answer, right
from builder.language.lexicon.folders import Folders
from builder.models.combiner import describe_all
from builder.teaching.label_sources import read_labels
from builder.teaching.lessons import SharedJudge, read_taught

REASONS = ("another polarity", "no pair", "no opinion", "no aspect", "neither")


def find_reason(due: Answer, candidates: Sequence[Answer]) -> str:
    """Why no candidate is the triplet that is due."""

    def has(part: Part) -> bool:
        return any(right(distinct([due], part), distinct([one], part), "lenient") for one in candidates)

    if has("pair"):
        return REASONS[0]
    return {(True, True): REASONS[1], (True, False): REASONS[2], (False, True): REASONS[3]}.get(
        (has("aspect"), has("opinion")), REASONS[4]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("labels", type=Path)
    parser.add_argument("domain")
    options = parser.parse_args()
    folders = Folders(domain=options.domain)
    reader = make_reader(Recipe(folders=folders))
    taught = read_taught(read_labels(options.labels).rows, options.labels, reader)
    taught = [review for review in taught if review.wrong is None]
    assert folders.model is not None, "a model is shipped for every domain"
    judge = SharedJudge.read(folders.model, taught, reader.engine)
    gold, held, kept, reasons = {}, {}, {}, Counter[str]()
    for review in taught:
        reading, ruled = review.reading, reader.engine.extract(review.reading.doc)
        found = [triplet for triplet, _ in describe_all(ruled, judge.ask(reading, ruled))]
        candidates = [name_answer(to_text(triplet, reading.view, reading.text)) for triplet in (*ruled, *found)]
        gold[review.key] = due = distinct(review.answers, "triplet")
        held[review.key] = list(map(name_answer, judge.hold(reader.engine, reading)))
        kept[review.key] = [one for one in due if any(right([one], [other], "lenient") for other in candidates)]
        reasons.update(find_reason(one, candidates) for one in due if one not in kept[review.key])
    score, best = micro(gold, held, "lenient"), micro(gold, kept, "exact")
    total = sum(map(len, gold.values()))
    shares = " | ".join(f"{100 * reasons[reason] / total:.1f}" for reason in REASONS)
    print(f"| F1 | named | F1 of these | {' | '.join(REASONS)} |")
    print(f"| {score.f1:.1f} | {best.recall:.1f} | {best.f1:.1f} | {shares} |")


if __name__ == "__main__":
    main()
