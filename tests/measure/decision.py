"""Choose the weights of the decision: `python tests/measure/decision.py COMPLETE_DIR DIMABSA_DIR [--write]`.

COMPLETE_DIR holds whole reviews that two people annotated completely (texts.jsonl, A.jsonl, B.jsonl), of which those
whose id has an even SHA-256 are taught on; DIMABSA_DIR the dimABSA files, of which the two training sets count a tenth
each. Every opinion that the rules weigh, and that the annotators name, is a case: the candidates that are its aspect
are right, else none is. The weights are those of a conditional log-linear model with a Gaussian prior. --write puts
them into rules/15_decision.toml.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from dimabsa import gold as dimabsa_gold
from scipy.optimize import minimize

from builder.engine import Engine, engine
from builder.engine.deciding import Weighed, weigh_candidates
from builder.lexicon.rules import load_rules
from builder.reader import Reader, Recipe, make_reader
from builder.text import view

RULES = Path(__file__).parents[2] / "rules" / "15_decision.toml"
LEAST = 8
"""How often a feature occurs that gets a weight."""
Named = tuple[str, str]
"""Aspect and opinion as annotated, in the view's script."""


class Case(NamedTuple):
    """The candidates of an opinion, which of them are right, and what the case counts."""

    candidates: Sequence[Weighed]
    right: Sequence[bool]
    count: float


def is_part(part: str, whole: str) -> bool:
    """Whether the characters of one stand in the other in order."""
    rest = iter(whole)
    return bool(part) and all(character in rest for character in part)


def meets(named: str, ours: str) -> bool:
    """Whether what is annotated and what we read are the same but for modifiers."""
    return bool(named and ours) and (named in ours or ours in named)


def annotated(complete: Path, dimabsa: Path, reader: Reader) -> Iterator[tuple[str, list[Named], float]]:
    """Texts with what is annotated in them, and what a case of theirs counts."""
    labels: dict[str, list[Named]] = {}
    for name in ("A", "B"):
        for row in map(json.loads, (complete / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()):
            labels.setdefault(row["id"], []).extend((t["aspect"], t["opinion"]) for t in row["triplets"])
    for row in map(json.loads, (complete / "texts.jsonl").read_text(encoding="utf-8").splitlines()):
        if int(hashlib.sha256(row["id"].encode()).hexdigest(), 16) % 2 == 0:
            shown = [tuple(view(part, reader.lexicon.variants).text for part in pair) for pair in labels[row["id"]]]
            yield row["text"], shown, 1.0  # type: ignore[misc]
    for key, (text, triplets) in dimabsa_gold(dimabsa).items():
        if "Training" in key:
            yield text, [(aspect, opinion) for aspect, opinion, _ in triplets], 0.1


def collect(complete: Path, dimabsa: Path) -> list[Case]:
    """The cases of all texts, as an engine without weights takes the first proposal."""
    reader = make_reader(Recipe())
    bare = [
        replace(rule, params=MappingProxyType({**rule.params, "weights": {"any": 1.0, "rule": 1.0}}))
        if rule.kind == "decision"
        else rule
        for rule in load_rules()
    ]
    reading_engine = Engine(reader.lexicon, bare)
    seen: list[tuple[str, list[Weighed]]] = []

    def record(scene, proposal, before, fits, rule):  # type: ignore[no-untyped-def]
        weighed = weigh_candidates(scene, proposal, before, fits, rule)
        seen.append((scene.opinion.word, weighed))
        first = [candidate for candidate in weighed if candidate.choice is not None]
        return [candidate._replace(score=1.0) for candidate in first]

    engine.weigh_candidates = record
    cases = []
    for text, named, count in annotated(complete, dimabsa, reader):
        seen.clear()
        reading_engine.extract(reader.read([text])[0].doc)
        for opinion, weighed in seen:
            aspects = [a for a, o in named if is_part(o, opinion) or is_part(opinion, o)]
            right = [any(meets(a, candidate.aspect.word) for a in aspects) for candidate in weighed]
            cases.append(Case(weighed, right, count))
    return cases


def fit(cases: Sequence[Case], prior: float) -> dict[str, float]:
    """Weights of the features by the likelihood of right candidates, or of none where none is right.

    That a rule proposes a candidate never counts against it.
    """
    counts = Counter(name for case in cases for candidate in case.candidates for name in set(candidate.features))
    names = sorted(name for name, count in counts.items() if count >= LEAST)
    column = {name: i for i, name in enumerate(names)}
    matrices = []
    for case in cases:
        if not case.candidates:
            continue
        matrix = np.zeros((len(case.candidates) + 1, len(names)))
        for row, candidate in enumerate(case.candidates):
            for name in candidate.features:
                if name in column:
                    matrix[row, column[name]] += 1
        matrices.append((matrix, np.array([*case.right, not any(case.right)], float), case.count))

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        total, slope = prior * float(weights @ weights) / 2, prior * weights
        for matrix, right, count in matrices:
            scores = matrix @ weights
            chance = np.exp(scores - scores.max())
            chance /= chance.sum()
            good = float(chance @ right) + 1e-12
            total -= count * float(np.log(good))
            slope = slope - count * ((chance * right / good - chance) @ matrix)
        return total, slope

    best = minimize(loss, np.zeros(len(names)), jac=True, method="L-BFGS-B").x
    weights = {name: round(float(weight), 2) for name, weight in zip(names, best, strict=True)}
    return {name: max(weight, 0.0) if name.startswith("rule ") else weight for name, weight in weights.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("complete", type=Path)
    parser.add_argument("dimabsa", type=Path)
    parser.add_argument("--prior", type=float, default=1.0)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    cases = collect(options.complete, options.dimabsa)
    weights = fit(cases, options.prior)
    table = [f'"{name}" = {weight}' for name, weight in sorted(weights.items()) if abs(weight) >= 0.05]
    print(f"{len(cases):,} cases, {len(table)} weights", *table, sep="\n")
    if options.write:
        head, mark, _ = RULES.read_text(encoding="utf-8").partition("[decision.weights]\n")
        RULES.write_text(head + mark + "\n".join(table) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
