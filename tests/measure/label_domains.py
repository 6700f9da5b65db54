"""What labels teach the rules in another domain: `python tests/measure/label_domains.py TRAIN GOLD DOMAIN… [--new]
[--sizes 25 50 100] [--draws N]`.

TRAIN holds the sentences that a user would label, GOLD those that are scored, both as JSON lines with `Text` and
`Triplet` or `Quadruplet` (dimABSA 2026). Of TRAIN so many sentences are drawn, N times; DOMAIN is a name or the folder
of a pack, --new adds the pack that `builder words domain new` makes of the texts of TRAIN. Prints mean lenient
precision, recall and F1 against `opinion` and mean F1 exact against `opinion_full`: with no labels, and with what
aspects labels teach; behind them the least and the most that lenient F1 rose in a draw.
It is of the rules alone: what labels bring to rules and reader together, `builder gold gain` says.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

from domain import induce_pack, read_gold

from builder.engine.reader import Reader, Recipe, extract, make_reader
from builder.gold.metrics import Answer, micro
from builder.language.lexicon.folders import Folders
from builder.teaching.label_sources import Row, read_labels
from builder.teaching.lessons import lay_aspects, learn_aspects, read_taught

Scores = tuple[float, float, float, float]


def read_train(path: Path, folder: Path) -> tuple[Row, ...]:
    """The sentences with their labels, as `builder gold gain` reads them."""
    lines = []
    for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        given = row.get("Triplet") or row.get("Quadruplet") or ()
        labels = [{name.lower(): part[name] for name in ("Aspect", "Opinion", "Polarity")} for part in given]
        labels = [label for label in labels if "NULL" not in label.values()]
        lines.append(json.dumps({"id": row["ID"], "text": row["Text"], "triplets": labels}) + "\n")
    (folder / "labels.jsonl").write_text("".join(lines), encoding="utf-8")
    return read_labels(folder / "labels.jsonl").rows


def score(reader: Reader, gold: Path) -> Scores:
    """Lenient precision, recall and F1, and exact F1."""
    texts, due, _ = read_gold(gold)
    read = dict(zip(texts, reader.read(list(texts.values())), strict=True))
    given = {key: extract(reader.engine, reading) for key, reading in read.items()}
    short: dict[str, list[Answer]]
    short = {key: [(t.aspect.text, t.opinion.text, t.polarity) for t in own] for key, own in given.items()}
    full = {key: [(t.aspect.text, t.opinion_full.text, t.polarity) for t in own] for key, own in given.items()}
    lenient, exact = micro(due, short, "lenient"), micro(due, full)
    return lenient.precision, lenient.recall, lenient.f1, exact.f1


def score_taught(rows: Sequence[Row], folders: Folders, reader: Reader, gold: Path) -> Scores:
    """The scores with the aspects that these labels teach."""
    taught = read_taught(rows, Path("labels"), reader)
    with lay_aspects(learn_aspects(taught, reader.lexicon), folders, reader) as wider:
        return score(wider, gold)


def measure(rows: Sequence[Row], gold: Path, domain: str, sizes: Sequence[int], draws: int) -> None:
    """Print a row without labels and one for each size."""
    folders = Folders(domain=domain)
    reader = make_reader(Recipe(folders=folders))
    before = score(reader, gold)
    print_row(Path(domain).name, 0, "nothing", [before], before)
    for size in sizes:
        drawn = [random.Random(draw).sample(rows, size) for draw in range(draws)]
        scores = [score_taught(own, folders, reader, gold) for own in drawn]
        print_row(Path(domain).name, size, "aspects", scores, before)


def print_row(domain: str, size: int, part: str, scores: Sequence[Scores], before: Scores) -> None:
    means = " | ".join(f"{sum(column) / len(scores):.1f}" for column in zip(*scores, strict=True))
    gains = [own[2] - before[2] for own in scores]
    print(f"| {domain} | {size} | {part} | {means} | {min(gains):+.1f} to {max(gains):+.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("train", type=Path)
    parser.add_argument("gold", type=Path)
    parser.add_argument("domains", nargs="+")
    parser.add_argument("--new", action="store_true")
    parser.add_argument("--sizes", nargs="+", type=int, default=[25, 50, 100, 200, 400])
    parser.add_argument("--draws", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = read_train(options.train, Path(folder))
        made = [str(induce_pack(options.train, Path(folder)))] if options.new else []
        for domain in (*options.domains, *made):
            measure(rows, options.gold, domain, options.sizes, options.draws)


if __name__ == "__main__":
    main()
