"""Rules against whole reviews: `python tests/measure/complete.py COMPLETE_DIR SCORER`.

COMPLETE_DIR holds reviews in which two annotators, language models, marked every triplet (texts.jsonl, A.jsonl,
B.jsonl), SCORER the script that scores them. Prints precision, recall and F1 of the rules, F1 of pairs, and F1 of both
halves (by the parity of the id's SHA-256), then the same with one part switched off at a time.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from builder.engine import Engine
from builder.engine.reader import Recipe, extract, make_reader
from builder.language.lexicon.rules import Rule, load_rules
from builder.release.export.native_rows import extracted


def change(rules: Sequence[Rule], name: str, **params: object) -> list[Rule]:
    """The rules with other parameters of one."""
    return [
        replace(rule, params=MappingProxyType({**rule.params, **params})) if rule.name == name else rule
        for rule in rules
    ]


def vary(rules: Sequence[Rule]) -> Iterator[tuple[str, Sequence[Rule]]]:
    """All rules, then each part of the decision off, then each rule that was written for whole reviews."""
    yield "all", rules
    yield "without the decision", [rule for rule in rules if rule.kind != "decision"]
    yield "candidates of the own clause alone", change(rules, "decision", clauses=0)
    weights = next(rule.params["weights"] for rule in rules if rule.kind == "decision")
    assert isinstance(weights, dict)
    plain = {name: weight for name, weight in weights.items() if name not in ("fits", "does not fit")}
    yield "without what fits what", change(rules, "decision", weights=plain)
    yield "without predicates", [rule for rule in rules if rule.kind != "predicate"]
    for part, prefixes in (
        ("what stands between the two", ("same clause,", "behind the opinion,")),
        ("groups of opinions", ("any ", "earlier clause of ")),
        ("what stands behind the opinion", ("before ", "ends its clause")),
    ):
        rest = {name: weight for name, weight in weights.items() if not name.startswith(prefixes)}
        yield f"without {part}", change(rules, "decision", weights=rest)
    for name in ("carried-topic", "subject-noun", "leaning"):
        yield f"without {name}", [rule for rule in rules if rule.name != name]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("complete", type=Path)
    parser.add_argument("scorer", type=Path)
    options = parser.parse_args()
    spec = importlib.util.spec_from_file_location("scorer", options.scorer)
    assert spec is not None
    assert spec.loader is not None
    scorer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scorer)
    scorer.HERE = options.complete
    lines = (options.complete / "texts.jsonl").read_text(encoding="utf-8").splitlines()
    texts = {row["id"]: row["text"] for row in map(json.loads, lines)}
    reader = make_reader(Recipe())
    readings = reader.read(list(texts.values()))
    halves = [
        [key for key in texts if int(hashlib.sha256(key.encode()).hexdigest(), 16) % 2 == half] for half in (0, 1)
    ]
    for name, rules in vary(load_rules()):
        engine = Engine(reader.lexicon, rules)
        answers = {
            key: [dict(extracted(triplet)) for triplet in extract(engine, reading)]
            for key, reading in zip(texts, readings, strict=True)
        }
        score, pair = scorer.score(answers), scorer.score(answers, polarity=False)
        first, second = (scorer.score(answers, True, ids)["F1"] for ids in halves)
        print(f"| {name} | {score['P']} | {score['R']} | {score['F1']} | {pair['F1']} | {first} | {second} |")


if __name__ == "__main__":
    main()
