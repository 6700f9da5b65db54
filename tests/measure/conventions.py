"""The three conventions side by side: `python tests/measure/conventions.py DATA_DIR [--backend embedded]`.

DATA_DIR holds complete_dev/, dimabsa/ and chn_review_aste/valid.json. Prints a row of Markdown for each convention and
set: precision, recall and F1 against whole reviews (`complete`), against human labels (lenient), and against the
released rule output (the paper's metric). Words and trees are made once: they are the same in every convention.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import get_args

from dimabsa import gold as read_dimabsa
from paper import read_valid

from builder.core.records import aspect_text
from builder.core.settings import Convention
from builder.engine import RuleEngine, make_engine
from builder.engine.reader import Reader, Reading, Recipe, extract, make_reader
from builder.gold import metrics
from builder.gold.metrics import Answer
from builder.gold.metrics.complete import tally_complete
from builder.gold.metrics.scores import f1, share
from builder.language.lexicon.rules import load_rules
from builder.release.export.answers import load_complete

Readings = Mapping[str, Reading]
Answers = dict[str, list[Answer]]
Row = tuple[str, str, float, float, float]
"""Set, convention, precision, recall, F1."""


def read_texts(reader: Reader, texts: Mapping[str, str]) -> Readings:
    """The words and trees of texts by their ids."""
    return dict(zip(texts, reader.read(list(texts.values())), strict=True))


def answer(engine: RuleEngine, readings: Readings, bracketed: bool = False) -> Answers:
    """What an engine finds; `bracketed` writes attributes as the paper does."""
    return {
        key: [
            (aspect_text(triplet) if bracketed else triplet.aspect.text, triplet.opinion.text, triplet.polarity)
            for triplet in extract(engine, reading)
        ]
        for key, reading in readings.items()
    }


def measure(data: Path, reader: Reader, engines: Mapping[Convention, RuleEngine]) -> Iterator[Row]:
    """A row for each set and convention."""
    complete = load_complete(data / "complete_dev")
    rows = map(json.loads, (data / "complete_dev" / "texts.jsonl").read_text(encoding="utf-8").splitlines())
    readings = read_texts(reader, {row["id"]: row["text"] for row in rows})
    for name, engine in engines.items():
        hits, claimed, due = map(sum, zip(*tally_complete(complete, answer(engine, readings)), strict=True))
        precision, recall = share(hits, claimed, due), share(hits, due, claimed)
        yield "complete_dev", name, precision, recall, f1(precision, recall)
    labelled = read_dimabsa(data / "dimabsa")
    readings = read_texts(reader, {key: text for key, (text, _) in labelled.items()})
    human = {key: answers for key, (_, answers) in labelled.items()}
    for name, engine in engines.items():
        lenient = metrics.micro(human, answer(engine, readings), "lenient")
        yield "dimABSA, lenient", name, lenient.precision, lenient.recall, lenient.f1
    texts, released = read_valid(data / "chn_review_aste" / "valid.json")
    readings = read_texts(reader, texts)
    for name, engine in engines.items():
        paper = metrics.paper(released, answer(engine, readings, bracketed=True))
        yield "valid.json, the paper's metric", name, paper.precision, paper.recall, paper.f1


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--backend", default="embedded")
    parser.add_argument("--models", type=Path)
    options = parser.parse_args(arguments)
    reader = make_reader(Recipe(backend=options.backend, models=options.models))
    rules = load_rules()
    engines: dict[Convention, RuleEngine] = {
        name: make_engine(reader.lexicon, rules, name) for name in get_args(Convention)
    }
    print(f"| {options.backend} backend | convention | P | R | F1 |\n|---|---|---|---|---|")
    for name, convention, *scores in measure(options.data, reader, engines):
        print(f"| {name} | `{convention}` | " + " | ".join(f"{score:.1f}" for score in scores) + " |")


if __name__ == "__main__":
    main()
