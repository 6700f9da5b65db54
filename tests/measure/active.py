"""What the order of labelling is worth: `python tests/measure/active.py COMPLETE_DIR DIMABSA_DIR SCORER [--splits N]`.

The folders and the script are those of labels.py, and so are the weights before teaching. In each split one half of the
whole reviews is scored. Of the other half so many are labelled and teach: by chance, by the review's most uncertain
opinion (as `annotate serve --order uncertain` asks), or by the sum of the chances of error. Prints mean F1 by order
and number of labelled reviews.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from decision import Case, Text, answer, collect, fit, load_scorer, read_examples, read_sentences, read_whole
from labels import move

from builder.engine.reader import Recipe, make_reader

SIZES = (10, 20, 40, 80)
PRIOR = 10.0


def doubt(case: Case, weights: Mapping[str, float]) -> float:
    """How likely the choice of an opinion's aspect, or of none, is wrong by the weights."""
    scores = [sum(weights.get(name, 0.0) for name in candidate.features) for candidate in case.candidates]
    highest = max([*scores, 0.0])
    chances = [math.exp(score - highest) for score in [*scores, 0.0]]
    return 1 - max(chances) / sum(chances)


def order(
    keys: Sequence[str], cases: Mapping[str, Sequence[Case]], weights: Mapping[str, float]
) -> dict[str, list[str]]:
    """The reviews in each order; `keys` are in an order of chance."""
    doubts = {key: [doubt(case, weights) for case in cases[key]] for key in keys}
    return {
        "chance": list(keys),
        "most uncertain opinion": sorted(keys, key=lambda key: -max(doubts[key], default=0.0)),
        "sum of the chances of error": sorted(keys, key=lambda key: -sum(doubts[key])),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("complete", type=Path)
    parser.add_argument("dimabsa", type=Path)
    parser.add_argument("scorer", type=Path)
    parser.add_argument("--splits", type=int, default=10)
    options = parser.parse_args()
    scorer, reader = load_scorer(options.scorer, options.complete), make_reader(Recipe())
    weights = fit(collect([*read_sentences(options.dimabsa, reader), *read_examples(reader)], reader))
    whole: dict[str, Text] = read_whole(options.complete, scorer, reader)
    cases = {key: collect([text], reader) for key, text in whole.items()}
    scores: dict[tuple[str, int], list[float]] = {}
    for split in range(options.splits):
        keys = sorted(whole)
        random.Random(split).shuffle(keys)
        test, pool = sorted(keys[: len(keys) // 2]), keys[len(keys) // 2 :]
        held = {key: whole[key] for key in test}
        before = scorer.score(answer(held, weights, reader), True, test)["F1"]
        for name, ordered in order(pool, cases, weights).items():
            scores.setdefault((name, 0), []).append(before)
            for size in SIZES:
                taught = move(weights, [case for key in ordered[:size] for case in cases[key]], PRIOR)
                f1 = scorer.score(answer(held, taught, reader), True, test)["F1"]
                scores.setdefault((name, size), []).append(f1)
    print("| order |", " | ".join(map(str, (0, *SIZES))), "|")
    for name in dict.fromkeys(name for name, _ in scores):
        means = [sum(scores[name, size]) / options.splits for size in (0, *SIZES)]
        print(f"| {name} | {' | '.join(f'{mean:.1f}' for mean in means)} |")


if __name__ == "__main__":
    main()
