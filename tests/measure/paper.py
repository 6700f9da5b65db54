"""Rules under `convention = "paper"` against the paper's released rule output: `python tests/measure/paper.py
VALID_JSON`.

VALID_JSON is chn_review_aste/valid.json. Prints the paper's metric and micro scores for the first 1,600 reviews, on
which the convention was worked out, for the rest, and for all.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from builder.core.records import Triplet, aspect_text
from builder.engine.reader import Recipe, make_reader
from builder.gold import metrics
from builder.gold.metrics import Answer
from builder.release.export.research import parse_paper

SEEN = 1600


def answer(triplet: Triplet) -> Answer:
    """A triplet as the paper writes it."""
    return aspect_text(triplet), triplet.opinion.text, triplet.polarity


def read_valid(path: Path) -> tuple[dict[str, str], dict[str, list[Answer]]]:
    """Texts and triplets by id; the few answers that do not parse are left out."""
    texts: dict[str, str] = {}
    gold: dict[str, list[Answer]] = {}
    for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        try:
            gold[str(row["id"])] = list(parse_paper(row["answer"]))
        except ValueError:
            continue
        texts[str(row["id"])] = row["question"].split("context: ", 1)[1]
    return texts, gold


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    texts, gold = read_valid(parser.parse_args().data)
    extracted = make_reader(Recipe("paper")).extract(list(texts.values()))
    found = {key: [answer(triplet) for triplet in triplets] for key, triplets in zip(texts, extracted, strict=True)}
    keys = list(gold)
    for name, part in ((f"first {SEEN:,}", keys[:SEEN]), ("rest", keys[SEEN:]), ("all", keys)):
        g, p = {key: gold[key] for key in part}, {key: found[key] for key in part}
        paper, exact = metrics.paper(g, p), metrics.micro(g, p)
        sides = "  ".join(
            f"{side} F1 {metrics.micro(g, p, 'exact', side).f1:.1f}" for side in ("pair", "aspect", "opinion")
        )
        print(
            f"{name:12} {len(part):,} reviews  paper P {paper.precision:.1f} R {paper.recall:.1f} F1 {paper.f1:.1f}  "
            f"exact F1 {exact.f1:.1f}  {sides}"
        )


if __name__ == "__main__":
    main()
