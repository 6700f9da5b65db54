"""Rules and every variant of a working directory against other people's labels, with intervals: `python
tests/measure/intervals.py WORKDIR DATA_DIR`.

DATA_DIR holds `dimabsa/` (human labels) and `chn_review_aste/valid.json` (the paper's rule output). A dimABSA sentence
that the build read gets what the build stored for it (for variant E by taggers that were not trained on it); all
others are extracted with the build's models, those of valid.json with `--convention paper`. Prints a Markdown table.
`--keep DIR` keeps each system's answers as DIR/SET.SYSTEM.jsonl, which `builder gold score --gold FILE --pred
DIR/SET.SYSTEM.jsonl --against DIR/SET.rules.jsonl` scores as well.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from builder.gold.metrics.scores import Metric
from builder.gold.metrics.systems import Settings, SystemScores, measure
from builder.models.tagger import in_place
from builder.pipeline.extracting import extract_file
from builder.release.export import answers
from builder.release.export.records import extracted
from builder.reviews.sources.texts import texts
from builder.store import db, runs, triplets

SETS = (
    ("dimABSA 2024 training set 1", "dimabsa/SIGHAN2024_dimABSA_TrainingSet1_Traditional.json", ""),
    ("dimABSA 2024 training set 2", "dimabsa/SIGHAN2024_dimABSA_TrainingSet2_Traditional.json", ""),
    (
        "dimABSA 2024 validation",
        "dimabsa/SIGHAN2024_dimABSA_Validation_Task2+3_Traditional_truth.txt",
        "dimabsa/SIGHAN2024_dimABSA_Validation_Task2+3_Traditional.txt",
    ),
    ("dimABSA 2026 development", "dimabsa/dimabsa2026_restaurant_dev_polarity.jsonl", ""),
    ("valid.json (rule output of the paper)", "chn_review_aste/valid.json", ""),
)
"""Name, gold, and where its texts stand if not there."""


def stored(workdir: Path, system: str) -> dict[str, list[object]]:
    """Text -> the triplets that the build stored for it, as `builder extract` writes them."""
    with db.reading(workdir) as connection:
        source = triplets.source_id(connection, system)
        assert source is not None, system
        read = dict(connection.execute("SELECT id, text FROM reviews WHERE duplicate_of IS NULL AND split IS NOT NULL"))
        found: dict[str, list[object]] = {text: [] for text in read.values()}
        listed = [one for split in ("train", "valid", "test") for one in triplets.proposed(connection, source, split)]
        for one in sorted(listed, key=lambda one: (one.review, in_place(one.triplet))):
            found[read[one.review]].append(extracted(one.triplet))
    return found


def predicted(
    workdir: Path, system: str, source: Path, known: dict[str, list[object]], convention: str, target: Path
) -> None:
    """Write the answers of a system for the texts of a file."""
    rows = list(texts(source))
    left = [{"id": key, "text": text} for key, text in rows if text not in known]
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder) / "in.jsonl", Path(folder) / "out.jsonl"
        given.write_text("".join(json.dumps(row) + "\n" for row in left), encoding="utf-8")
        if left:
            extract_file(given, made, system, workdir, convention, 1)
        told = (
            {row["id"]: row["triplets"] for row in map(json.loads, made.read_text(encoding="utf-8").splitlines())}
            if left
            else {}
        )
    out = [{"id": key, "triplets": known[text] if text in known else told[key]} for key, text in rows]
    target.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in out), encoding="utf-8")


def table(options: argparse.Namespace, kept: Path) -> Iterator[str]:
    with db.reading(options.workdir) as connection:
        last = {done.variant: f"{done.variant}{done.round}" for done in runs.rounds(connection)}
    yield "| gold | system | lenient P / R / F1 | exact P / R / F1 | paper F1 | gain on the rules, lenient |"
    yield "|---|---|---|---|---|---|"
    for name, gold, beside in SETS:
        paper = gold.endswith("valid.json")
        source = options.data / (beside or gold)
        for system in ("rules", *last.values()):
            known = {} if paper else stored(options.workdir, system)
            predicted(
                options.workdir,
                system,
                source,
                known,
                "paper" if paper else "natural",
                kept / f"{_slug(gold)}.{system}.jsonl",
            )
        for system in ("rules", *last.values()):
            yield _line(
                name, system, options.data / gold, kept, "opinion" if paper else "opinion_full", options.samples
            )


def _line(name: str, system: str, gold: Path, kept: Path, whole: str, samples: int) -> str:
    told, rules = (answers.load(kept / f"{_slug(gold.name)}.{one}.jsonl") for one in (system, "rules"))
    due, settings = answers.read(gold).answers, Settings(samples=samples)
    other = None if system == "rules" else rules.read("opinion").answers
    lenient, paper = measure(
        due, told.read("opinion").answers, [Metric("lenient", "triplet"), Metric("paper", "triplet")], settings, other
    )
    (exact,) = measure(due, told.read(whole).answers, [Metric("exact", "triplet")], settings)
    gain = (
        ""
        if lenient.against is None
        else f"{lenient.against.value:+.1f} ({lenient.against.low:+.1f} to {lenient.against.high:+.1f})"
    )
    return (
        f"| {name} ({len(due):,}) | {system} | {_shown(lenient)} | {_shown(exact)} | "
        f"{_shown(paper, ('f1',))} | {gain} |"
    )


def _shown(one: SystemScores, values: tuple[str, ...] = ("precision", "recall", "f1")) -> str:
    last = one.values["f1"]
    return " / ".join(f"{one.values[name].value:.1f}" for name in values) + f" ({last.low:.1f}–{last.high:.1f})"


def _slug(gold: str) -> str:
    return Path(gold).stem


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workdir", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--samples", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kept = options.keep or Path(folder)
        kept.mkdir(parents=True, exist_ok=True)
        for line in table(options, kept):
            print(line, flush=True)


if __name__ == "__main__":
    main()
