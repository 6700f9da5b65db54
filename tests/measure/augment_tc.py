"""Table 2 of Wu et al. (2019) from scratch: `python tests/measure/augment_tc.py TC_DIR WORKDIR [--rows 1000] [--seeds
2] [--sets …] [--methods …] [--models cnn,rnn]`.

TC_DIR has a folder for each set (SST-2 is stsa.binary, SST-5 stsa.fine, RT rt-polarity) with train.tsv and dev.tsv; of
the first as many rows as asked for are trained on (none whose text is in the second), the second is the test. Each set
is one `builder bench`, which keeps every training: the same command goes on, and says at once what is there. Prints
accuracies, means over seeds, and their mean over the sets. Table 3 (epochs of fine-tuning until cbert overtakes bert)
is `--sets TREC --methods bert,cbert:epochs=1,cbert:epochs=2,cbert:epochs=4,cbert:epochs=8`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from builder.augment.bench.labelled_texts import normalised

SETS = ["stsa.fine", "stsa.binary", "subj", "mpqa", "rt-polarity", "TREC"]
METHODS = "synonym,context,context+label,bert,cbert"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("workdir", type=Path)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--models", default="cnn,rnn")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of the methods: context.epochs=5"
    )
    options = parser.parse_args()
    found: dict[tuple[str, str], dict[str, tuple[float, float]]] = {}
    for name in options.sets:
        started = time.monotonic()
        for line in benched(name, options)["lines"]:
            accuracy = line["spreads"]["accuracy"]["values"]
            spread = statistics.stdev(accuracy) if len(accuracy) > 1 else 0.0
            found.setdefault((line["model"], line["method"]), {})[name] = statistics.mean(accuracy), spread
        print(f"{name}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    print(f"{'model':6}{'method':16}" + "".join(f"{name:>14}" for name in options.sets) + f"{'mean':>8}")
    for (model, method), scores in sorted(found.items(), key=lambda item: item[0][0]):
        cells = "".join("{:8.2f} ±{:4.2f}".format(*scores[name]) for name in options.sets)
        print(f"{model:6}{method:16}{cells}{statistics.mean(mean for mean, _ in scores.values()):8.2f}")


def benched(name: str, options: argparse.Namespace) -> dict[str, list[dict[str, Any]]]:
    """What `builder bench` writes of a set."""
    given, test = (options.folder / name / f"{part}.tsv" for part in ("train", "dev"))
    workdir = options.workdir / name
    train = workdir / "train.tsv"
    workdir.mkdir(parents=True, exist_ok=True)
    rows = apart(given, test)
    train.write_text("".join(rows), encoding="utf-8")
    share = min(1.0, options.rows / (len(rows) - 1))
    command = [sys.executable, "-m", "builder", "bench", "--task", "tc", "--train", str(train), "--test", str(test),
    "--share", f"{share:.6f}",
               "--methods", f"none,{options.methods}", "--models", options.models, "--seeds", str(options.seeds),
               "--copies", "1", "--workdir", str(workdir),
               *(part for one in options.set for part in ("--set", one))]  # fmt: skip
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    told: dict[str, list[dict[str, Any]]] = json.loads((workdir / "bench.json").read_text("utf-8"))
    return told


def apart(train: Path, test: Path) -> list[str]:
    """The lines of a training set, its head first, without those whose text is in the test set."""
    head, *rows = train.read_text(encoding="utf-8").splitlines(keepends=True)
    held = {normalised(row.rpartition("\t")[0]) for row in test.read_text(encoding="utf-8").splitlines()}
    return [head, *(row for row in rows if normalised(row.rpartition("\t")[0]) not in held)]


if __name__ == "__main__":
    main()
