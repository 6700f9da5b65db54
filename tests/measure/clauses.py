"""Rules against human gold whose opinions are whole clauses: `python tests/measure/clauses.py FILE [--draw N --gold
NEG --told POS]`.

FILE is in PyABSA's layout (spaced tokens, `####`, inclusive ranges; -1 for what is implicit), as Chinese_Zhang's
train.txt and dev.txt are. Its opinions are clauses, its aspects the dish where ours are the attribute, and not all
that is said is annotated, so that neither exact nor lenient scores tell much. What can be held against it: in how many
of its opinions one of ours lies (half of it at least), whether one of those has its polarity, and how often all of
them have the opposite one. `--draw` prints N errors of one kind, drawn with a fixed seed; without `--told` those in
which none of ours lies.
"""

from __future__ import annotations

import argparse
import ast
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from builder.core.records import Span
from builder.engine.reader import Recipe, make_reader

Gold = tuple[Span, str]
"""Where an opinion stands, and its polarity."""
Told = tuple[Sequence[Span], str, str, str]
"""Where one of ours stands, aspect, opinion, polarity."""


def read(path: Path) -> Iterator[tuple[str, list[Gold]]]:
    for line in filter(None, path.read_text("utf-8-sig").splitlines()):
        spaced, listed = line.rsplit("####", 1)
        tokens = spaced.split(" ")
        starts = [0, *accumulate(map(len, tokens))]
        gold = [
            ((starts[first], starts[min(last + 1, len(tokens))]), word[:3].upper())
            for _, (first, last), word in ast.literal_eval(listed)
        ]
        yield "".join(tokens), [one for one in gold if one[0][1] > one[0][0]]


def predict(texts: Sequence[str]) -> Iterator[list[Told]]:
    for triplets in make_reader(Recipe()).extract(texts):
        yield [(one.opinion_full.spans, one.aspect.text, one.opinion_full.text, one.polarity) for one in triplets]


def within(spans: Sequence[Span], clause: Span) -> bool:
    """Whether half of an opinion lies in the clause."""
    inside = sum(max(0, min(end, clause[1]) - max(start, clause[0])) for start, end in spans)
    return 2 * inside >= sum(end - start for start, end in spans)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--draw", type=int, default=0)
    parser.add_argument("--gold", default="NEG", choices=["POS", "NEU", "NEG"])
    parser.add_argument("--told", default="", choices=["POS", "NEU", "NEG", ""])
    options = parser.parse_args()
    rows = list(read(options.file))
    counts: Counter[tuple[str, str]] = Counter()
    drawn: list[str] = []
    for (text, gold), told in zip(rows, predict([text for text, _ in rows]), strict=True):
        for clause, due in gold:
            hit = [one for one in told if within(one[0], clause)]
            said = {one[3] for one in hit}
            counts[due, due if due in said else "/".join(sorted(said))] += 1
            if said == ({options.told} if options.told else set()) and due == options.gold:
                ours = "; ".join(f"{aspect} {opinion} {polarity}" for _, aspect, opinion, polarity in hit)
                drawn.append(
                    f"{text[max(0, clause[0] - 14) : clause[0]]}[{text[slice(*clause)]}]"
                    f"{text[clause[1] : clause[1] + 8]} | {ours}"
                )
    total, found = counts.total(), sum(number for (_, said), number in counts.items() if said)
    agreed = sum(number for (due, said), number in counts.items() if due == said)
    print(
        f"{len(rows):,} sentences, {total:,} opinions: one of ours in {found / total:.1%}; "
        f"of those {agreed / found:.1%} have the gold polarity"
    )
    print(
        "gold / ours: "
        + ", ".join(f"{due} / {said or 'none'} {number:,}" for (due, said), number in counts.most_common(12))
    )
    print(*random.Random(1).sample(drawn, min(options.draw, len(drawn))), sep="\n" if options.draw else "")


if __name__ == "__main__":
    main()
