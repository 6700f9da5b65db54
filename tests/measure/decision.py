"""Choose the weights of the decision: `python tests/measure/decision.py COMPLETE_DIR DIMABSA_DIR SCORER [--write]`.

COMPLETE_DIR holds whole reviews that two people annotated completely (texts.jsonl, A.jsonl, B.jsonl), DIMABSA_DIR the
dimABSA files, of which the 2024 training sets count a tenth each and the set of 2026 half; the examples of the rules
are taught on as well. SCORER is the script that scores whole reviews. Every opinion that the rules weigh is a case:
the candidates that the annotators name for it are right, else none is. The weights are those of a conditional
log-linear model with a Gaussian prior. Prints the scores of cross-validation, in which no review is scored with weights
that saw it; --write puts the weights of all texts into rules/15_decision.toml, and those of food
into the file of that name of domains/restaurant.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
from dimabsa import gold as read_dimabsa
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from builder.engine.constituents import AspectCandidate
from builder.engine.engine import Engine
from builder.engine.params import in_force
from builder.engine.reader import Reader, Reading, Recipe, extract, make_reader
from builder.language.lexicon.rules import Rule, load_rules
from builder.release.export.native_rows import extracted
from builder.reviews.text import view

ROOT = Path(__file__).parents[2]
CORE, PACK = (ROOT / folder / "rules" / "15_decision.toml" for folder in ("", "domains/restaurant"))
"""The weights of the core, and those of the restaurant's own opinions and aspects."""
LEAST = 40
"""How many candidates a feature holds of that gets a weight."""
PRIOR = 2.0
FOLDS = 6
DIMABSA_SHARES = {"Training": 0.1, "2026": 0.5}
EXAMPLE_SHARE = 1.5
"""An example of a rule must hold, so it counts for more than a review."""
Named = tuple[str, str, str]
"""Aspect, opinion and longest form of the opinion as annotated, in the view's script."""


class Text(NamedTuple):
    """A text with what is annotated in it, `required` by both annotators or by one alone, and what its cases count."""

    reading: Reading
    required: Sequence[Named]
    optional: Sequence[Named]
    share: float
    fold: int


class Case(NamedTuple):
    """The candidates of an opinion, which of them are right, none last, with what the case counts and its fold."""

    candidates: Sequence[AspectCandidate]
    right: Sequence[bool]
    share: float
    fold: int


def is_part(part: str, whole: str) -> bool:
    """Whether the characters of one stand in the other in order."""
    rest = iter(whole)
    return bool(part) and all(character in rest for character in part)


def meets(named: str, ours: str) -> bool:
    """Whether what is annotated and what we read are the same but for modifiers."""
    return bool(named and ours) and (named in ours or ours in named)


def load_scorer(path: Path, complete: Path) -> ModuleType:
    """The scorer's module, which reads the annotation of `complete`."""
    spec = importlib.util.spec_from_file_location("scorer", path)
    assert spec is not None
    assert spec.loader is not None
    scorer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scorer)
    scorer.HERE = complete
    return scorer


def read_whole(complete: Path, scorer: ModuleType, reader: Reader) -> dict[str, Text]:
    """The whole reviews by id; the fold comes from the id."""
    rows = [json.loads(line) for line in (complete / "texts.jsonl").read_text(encoding="utf-8").splitlines()]
    required, optional = scorer.gold()

    def show(triplets: Sequence[Mapping[str, str]]) -> list[Named]:
        keys = ("aspect", "opinion", "opinion_full")
        return [tuple(view(t[key], reader.lexicon.variants).text for key in keys) for t in triplets]  # type: ignore[misc]

    return {
        row["id"]: Text(
            reading,
            show(required[row["id"]]),
            show(optional[row["id"]]),
            1.0,
            int(hashlib.sha256(row["id"].encode()).hexdigest(), 16) // 2 % FOLDS,
        )
        for row, reading in zip(rows, reader.read([row["text"] for row in rows]), strict=True)
    }


def read_sentences(dimabsa: Path, reader: Reader) -> Iterator[Text]:
    """The sentences of dimABSA, which are in no fold."""
    gold = read_dimabsa(dimabsa)
    readings = reader.read([text for text, _ in gold.values()])
    for (key, (_, triplets)), reading in zip(gold.items(), readings, strict=True):
        share = next(share for part, share in DIMABSA_SHARES.items() if part in key)
        yield Text(reading, [(aspect, opinion, opinion) for aspect, opinion, _ in triplets], [], share, -1)


def read_examples(reader: Reader) -> Iterator[Text]:
    """The examples of the rules, which are in no fold."""
    hits = [example for rule in load_rules() if in_force(rule, "natural") for example in rule.examples if example.must]
    readings = reader.read([example.text for example in hits])
    for example, reading in zip(hits, readings, strict=True):
        pairs = [triplet.split("|")[:2] for triplet in example.triplets]
        yield Text(reading, [(aspect, opinion, opinion) for aspect, opinion in pairs], [], EXAMPLE_SHARE, -1)


def collect(texts: Sequence[Text], reader: Reader) -> list[Case]:
    """The cases of all texts, read with the present weights."""
    seen: list[tuple[str, Sequence[AspectCandidate]]] = []
    reading_engine = Engine(
        reader.lexicon, load_rules(), observe=lambda opinion, weighed: seen.append((opinion.word, weighed))
    )
    cases = []
    for text in texts:
        seen.clear()
        reading_engine.extract(text.reading.doc)
        for opinion, weighed in seen:
            required, optional = (
                [aspect for aspect, core, full in named if is_part(core, opinion) or is_part(opinion, full)]
                for named in (text.required, text.optional)
            )
            right = [any(meets(aspect, item.aspect.word) for aspect in required + optional) for item in weighed]
            none = not any(meets(aspect, item.aspect.word) for aspect in required for item in weighed)
            if weighed:
                cases.append(Case(weighed, [*right, none], text.share, text.fold))
    return cases


def change_weights(rules: Sequence[Rule], weights: Mapping[str, float]) -> tuple[Rule, ...]:
    """The rules with other weights of the decision."""
    return tuple(rule.changed("weights", weights) if rule.kind == "decision" else rule for rule in rules)


def fit(cases: Sequence[Case]) -> dict[str, float]:
    """Weights of the features by the likelihood of right candidates, or of none where none is right.

    That a rule proposes a candidate never counts against it.
    """
    counts = Counter(name for case in cases for candidate in case.candidates for name in set(candidate.features))
    names = sorted(name for name, count in counts.items() if count >= LEAST)
    column = {name: i for i, name in enumerate(names)}
    options = [features for case in cases for features in (*(item.features for item in case.candidates), ())]
    cells = [(row, column[name]) for row, features in enumerate(options) for name in features if name in column]
    matrix = csr_matrix((np.ones(len(cells)), np.array(cells).T), shape=(len(options), len(names)))
    sizes = [len(case.right) for case in cases]
    starts = np.cumsum([0, *sizes[:-1]])
    of = np.repeat(np.arange(len(cases)), sizes)
    right = np.array([good for case in cases for good in case.right], float)
    share = np.array([case.share for case in cases])

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        scores = matrix @ weights
        chance = np.exp(scores - np.maximum.reduceat(scores, starts)[of])
        chance /= np.add.reduceat(chance, starts)[of]
        good = np.add.reduceat(chance * right, starts) + 1e-12
        slope = share[of] * (chance * right / good[of] - chance)
        return PRIOR * float(weights @ weights) / 2 - float(share @ np.log(good)), PRIOR * weights - matrix.T @ slope

    bounds = [(0 if name.startswith("rule ") else None, None) for name in names]
    best = minimize(loss, np.zeros(len(names)), jac=True, method="L-BFGS-B", bounds=bounds).x
    return {name: round(float(weight), 2) for name, weight in zip(names, best, strict=True) if abs(weight) >= 0.05}


def answer(whole: Mapping[str, Text], weights: Mapping[str, float], reader: Reader) -> dict[str, list[object]]:
    """The triplets of whole reviews with these weights."""
    reading_engine = Engine(reader.lexicon, change_weights(load_rules(), weights))
    return {key: [dict(extracted(t)) for t in extract(reading_engine, text.reading)] for key, text in whole.items()}


def read_own_names(pack: Path) -> set[str]:
    """Categories of opinions and classes of aspects that the decision of a pack adds to the core's."""
    decision = tomllib.loads(pack.read_text(encoding="utf-8"))["decision"]
    tables = (decision["opinions"], decision["aspects"])
    return {prefix.partition(".")[0] for table in tables for group in table.values() for prefix in group}


def is_of_pack(line: str, names: Collection[str]) -> bool:
    """Whether a line is the weight of a kind of opinion or aspect that only the pack has: `"taste of drink" = 0.28`."""
    category, of, cls = line.split('"')[1].partition(" of ")
    return bool(of) and (category in names or cls in names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("complete", type=Path)
    parser.add_argument("dimabsa", type=Path)
    parser.add_argument("scorer", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    scorer = load_scorer(options.scorer, options.complete)
    reader = make_reader(Recipe())
    whole = read_whole(options.complete, scorer, reader)
    texts = [*whole.values(), *read_sentences(options.dimabsa, reader), *read_examples(reader)]
    cases = collect(texts, reader)
    held: dict[str, list[object]] = {}
    for fold in range(FOLDS):
        weights = fit([case for case in cases if case.fold != fold])
        held |= answer({key: text for key, text in whole.items() if text.fold == fold}, weights, reader)
    weights = fit(cases)
    halves = [[key for key in whole if int(hashlib.sha256(key.encode()).hexdigest(), 16) % 2 == n] for n in (0, 1)]
    for name, answers in (("cross-validation", held), ("all texts", answer(whole, weights, reader))):
        print(name, scorer.score(answers), *(scorer.score(answers, True, half)["F1"] for half in halves))
    table = [f'"{name}" = {weight}' for name, weight in sorted(weights.items())]
    print(f"{len(cases):,} cases, {len(table)} weights", *table, sep="\n")
    if options.write:
        names = read_own_names(PACK)
        for path, is_pack in ((CORE, False), (PACK, True)):
            own = [line for line in table if is_of_pack(line, names) == is_pack]
            head, mark, _ = path.read_text(encoding="utf-8").partition("[decision.weights]\n")
            path.write_text(head + mark + "\n".join(own) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
