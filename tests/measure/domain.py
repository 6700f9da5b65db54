"""A domain's words and rules against human gold: `python tests/measure/domain.py GOLD DOMAIN… [--errors N]`.

GOLD holds sentences as JSON lines with `Text` and `Triplet` (dimABSA 2026), DOMAIN is a name or the folder of a pack.
Prints for each domain micro scores, lenient against `opinion` and exact against `opinion_full`, NULL parts left out;
with --errors N that many sentences of the last domain with what is wrong there.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

from builder.lexicon.folders import Folders
from builder.metrics import Answer, micro
from builder.reader import Recipe, make_reader

Answers = dict[str, list[Answer]]


def read_gold(path: Path) -> tuple[dict[str, str], Answers]:
    """Texts and triplets by id."""
    texts: dict[str, str] = {}
    gold: Answers = {}
    for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        triplets = [(part["Aspect"], part["Opinion"], part["Polarity"]) for part in row["Triplet"]]
        texts[row["ID"]] = row["Text"]
        gold[row["ID"]] = [triplet for triplet in triplets if "NULL" not in triplet[:2]]
    return texts, gold


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gold", type=Path)
    parser.add_argument("domains", nargs="+")
    parser.add_argument("--errors", type=int, default=0)
    options = parser.parse_args()
    texts, gold = read_gold(options.gold)
    short: Answers = {}
    for domain in options.domains:
        reader = make_reader(Recipe(folders=Folders(domain=domain)))
        found = dict(zip(texts, reader.extract(list(texts.values())), strict=True))
        short = {key: [(t.aspect.text, t.opinion.text, t.polarity) for t in found[key]] for key in found}
        full: Answers = {key: [(t.aspect.text, t.opinion_full.text, t.polarity) for t in found[key]] for key in found}
        lenient, exact = micro(gold, short, "lenient"), micro(gold, full)
        print(
            f"| {domain} | {lenient.precision:.1f} | {lenient.recall:.1f} | {lenient.f1:.1f} | {exact.precision:.1f} "
            f"| {exact.recall:.1f} | {exact.f1:.1f} |"
        )
    keys = [key for key in texts if micro({key: gold[key]}, {key: short[key]}, "lenient").f1 < 100]
    for key in random.Random(7).sample(keys, min(options.errors, len(keys))):
        print(texts[key], "\n   gold", *map("|".join, gold[key]), "\n   made", *map("|".join, short[key]))


if __name__ == "__main__":
    main()
