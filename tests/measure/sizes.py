"""Is a release ever worse than the rules it starts from? `python tests/measure/sizes.py REVIEWS.csv COMPLETE_FOLDER
SCORER.py --work FOLDER`.

Builds from so many reviews of REVIEWS.csv (`--sizes`), those whose text is in COMPLETE_FOLDER/texts.jsonl left out,
each in a folder of FOLDER that a second run goes on with. Then `builder extract` reads the complete texts by the rules
and by variant E, with the very decisions that the release of the build makes, and SCORER, a file that offers
`score(predictions)`, says precision, recall and F1. Prints two Markdown tables: the sizes; and, of the largest build,
how often triplets of a calibrated confidence are right.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from types import ModuleType

from builder.core.records import Triplet
from builder.engine import Doc, Engine
from builder.engine.reader import to_text
from builder.language import nlp
from builder.language.lexicon.resources import load_lexicon
from builder.language.lexicon.rules import load_rules
from builder.pipeline.extracting import extract_file
from builder.pipeline.holding import hold, rated_panel
from builder.reviews.text import view
from builder.store import db, runs

SIZES = (150, 500, 1500, 5000, 15_000, 0)
BINS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.01)
Rows = list[dict[str, str]]
Gold = list[dict[str, str]]


def left_out(reviews: Path, texts: Path) -> Rows:
    """The reviews whose text, spaces aside, is none of the complete ones, in an order that says nothing of them."""
    known = {_bare(json.loads(line)["text"]) for line in texts.read_text(encoding="utf-8").splitlines()}
    with reviews.open(encoding="utf-8-sig", newline="") as file:
        rows = [row for row in csv.DictReader(file) if _bare(row["text"]) not in known]
    return sorted(rows, key=lambda row: hashlib.sha256("".join(row.values()).encode()).digest())


def _bare(text: str) -> str:
    return "".join(text.split())


def built(rows: Rows, folder: Path) -> float:
    """Build from `rows`, or go on with it; the seconds that its stages took."""
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "reviews.csv"
    if not source.exists():
        with source.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    command = [
        sys.executable,
        "-m",
        "builder",
        "build",
        str(source),
        "--workdir",
        str(folder / "workdir"),
        "--out",
        str(folder / "releases"),
    ]
    with (folder / "build.log").open("w", encoding="utf-8") as log:
        subprocess.run(
            [*command, "--set", "threads=1", "--set", "workers=1"], check=True, env=os.environ, stdout=log, stderr=log
        )
    with db.reading(folder / "workdir") as connection:
        return sum(run.seconds for run in runs.runs(connection).values())


def scorer(path: Path, folder: Path) -> ModuleType:
    """SCORER as a module that reads the gold of `folder`."""
    spec = importlib.util.spec_from_file_location("complete_scorer", path)
    assert spec is not None and spec.loader is not None, path
    module = importlib.util.module_from_spec(spec)
    arguments, sys.argv = sys.argv, [str(path), str(folder), str(folder)]
    spec.loader.exec_module(module)
    sys.argv = arguments
    return module


def scores(module: ModuleType, texts: Path, workdir: Path, system: str) -> dict[str, float]:
    target = workdir.parent / f"{system}.jsonl"
    extract_file(texts, target, system, workdir, "natural", 1)
    rows = map(json.loads, target.read_text(encoding="utf-8").splitlines())
    values: dict[str, float] = module.score({row["id"]: row["triplets"] for row in rows})
    return values


def reliability(module: ModuleType, texts: Path, workdir: Path) -> list[tuple[str, int, float, float]]:
    """(bin, triplets, mean confidence, share that is right) on the complete texts;
    what one annotator alone gave is left out, as SCORER does.
    """
    rated = rated_panel(workdir)
    if rated is None:
        return []
    lexicon = load_lexicon()
    backend, engine = nlp.load("embedded", lexicon.words()), Engine(lexicon, load_rules())
    rows = [json.loads(line) for line in texts.read_text(encoding="utf-8").splitlines()]
    views = [view(row["text"], lexicon.variants) for row in rows]
    docs = [
        Doc.of(shown.text, tokens)
        for shown, tokens in zip(views, backend.annotate([v.text for v in views]), strict=True)
    ]
    held = hold(rated, engine, docs, [engine.extract(doc) for doc in docs], 0.0)
    required, optional = module.gold()
    judged: list[tuple[float, bool]] = []
    for row, shown, triplets in zip(rows, views, held, strict=True):
        stored = [to_text(triplet, shown, row["text"]) for triplet in triplets]
        judged += judge(module, stored, list(required[row["id"]]), list(optional[row["id"]]))
    out = []
    for low, high in pairwise(BINS):
        inside = [pair for pair in judged if low <= pair[0] < high]
        if inside:
            mean, share = (sum(values) / len(inside) for values in zip(*inside, strict=True))
            out.append((f"{low:.1f} to {min(high, 1.0):.1f}", len(inside), mean, share))
    return out


def judge(module: ModuleType, triplets: list[Triplet], required: Gold, optional: Gold) -> list[tuple[float, bool]]:
    """(confidence, whether it is right) of each triplet, but for those that only one annotator gave."""
    out = []
    for triplet in triplets:
        answer = {"aspect": triplet.aspect.text, "opinion": triplet.opinion.text, "polarity": triplet.polarity}
        for gold, counts in ((required, True), (optional, False)):
            match = next((due for due in gold if module.match(answer, due, True)), None)
            if match is not None:
                gold.remove(match)
                if counts:
                    out.append((triplet.confidence or 0.0, True))
                break
        else:
            out.append((triplet.confidence or 0.0, False))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reviews", type=Path)
    parser.add_argument("complete", type=Path)
    parser.add_argument("scorer", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="numbers of reviews, 0: all")
    options = parser.parse_args()
    texts = options.complete / "texts.jsonl"
    rows, module = left_out(options.reviews, texts), scorer(options.scorer, options.complete)
    print("| reviews | judge | seconds | rules P / R / F1 | release P / R / F1 |\n|---|---|---|---|---|", flush=True)
    workdir = options.work
    for size in map(int, options.sizes.split(",")):
        number = size or len(rows)
        workdir = options.work / str(number) / "workdir"
        seconds = built(rows[:number], workdir.parent)
        rated = rated_panel(workdir)
        verdict = f"trusted to {rated.panel.trust:.0%}" if rated else "none"
        rules, release = (scores(module, texts, workdir, system) for system in ("rules", "E"))
        cells = [" / ".join(f"{values[name]:.1f}" for name in ("P", "R", "F1")) for values in (rules, release)]
        print(f"| {number:,} | {verdict} | {seconds:,.0f} | {cells[0]} | {cells[1]} |", flush=True)
    print(f"\n| confidence | triplets | mean | right |\n|---|---|---|---|  <!-- {time.strftime('%Y-%m-%d')} -->")
    for name, number, sure, share in reliability(module, texts, workdir):
        print(f"| {name} | {number} | {100 * sure:.1f}% | {100 * share:.1f}% |")


if __name__ == "__main__":
    main()
