"""Rules under `convention = "paper"` against the paper's released rule output: `python tests/measure/paper.py VALID_JSON`.

VALID_JSON is chn_review_aste/valid.json. Prints the paper's metric and micro scores for the first 1,600 reviews, on which the
convention was worked out, for the rest, and for all.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

from builder import metrics, nlp
from builder.engine import Doc, Engine
from builder.export.paper import aspect_text, parse
from builder.lexicon.resources import load_lexicon, load_rules
from builder.metrics import Answer
from builder.records import Triplet
from builder.text import View, view

SEEN = 1600


def told(triplet: Triplet, shown: View, text: str) -> Answer:
    """A triplet of the view as the paper writes it, in the words of `text`."""
    aspect = shown.element(triplet.aspect.spans, text)
    owner = shown.element(triplet.owner.spans, text) if triplet.owner else None
    opinion = shown.element(triplet.opinion.spans, text).text
    return aspect_text(replace(triplet, aspect=aspect, owner=owner)), opinion, triplet.polarity


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    rows = [json.loads(line) for line in parser.parse_args().data.read_text(encoding="utf-8").splitlines()]
    texts: dict[str, str] = {}
    gold: dict[str, list[Answer]] = {}
    for row in rows:
        try:
            gold[str(row["id"])] = list(parse(row["answer"]))
        except ValueError:
            continue
        texts[str(row["id"])] = row["question"].split("context: ", 1)[1]
    lexicon = load_lexicon()
    engine = Engine(lexicon, load_rules(), "paper")
    views = {key: view(text, lexicon.variants) for key, text in texts.items()}
    annotated = nlp.load("embedded", lexicon.words()).annotate([one.text for one in views.values()])
    found = {
        key: [told(one, shown, texts[key]) for one in engine.extract(Doc.of(shown.text, tokens))]
        for (key, shown), tokens in zip(views.items(), annotated, strict=True)
    }
    keys = list(gold)
    for name, part in ((f"first {SEEN:,}", keys[:SEEN]), ("rest", keys[SEEN:]), ("all", keys)):
        g, p = {key: gold[key] for key in part}, {key: found[key] for key in part}
        paper, exact = metrics.paper(g, p), metrics.micro(g, p)
        sides = "  ".join(f"{side} F1 {metrics.micro(g, p, 'exact', side).f1:.1f}" for side in ("pair", "aspect", "opinion"))
        print(
            f"{name:12} {len(part):,} reviews  paper P {paper.precision:.1f} R {paper.recall:.1f} F1 {paper.f1:.1f}  exact F1 {exact.f1:.1f}  {sides}"
        )


if __name__ == "__main__":
    main()
