"""Do an augmentation's labels survive by judges that took no part: `python tests/measure/augment_survival.py
CHILD_RELEASE LAYER WORKDIR [--rows 1000] [--show 30]`.

`builder augment` rejects what the rules no longer find, so that its own figure of the rules is 100% by construction.
Here rows of a layer of triplets are drawn with a fixed seed, and the model and the discriminators of a working
directory are asked for the triplets of each row and of its source. `--show` prints some.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from builder.augment.survival import Held, judges, survival
from builder.release.export.records import triplet
from builder.release.reading import rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", type=Path)
    parser.add_argument("layer")
    parser.add_argument("workdir", type=Path)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--show", type=int, default=0)
    options = parser.parse_args()
    sources: dict[str, Mapping[str, Any]] = {row["id"]: row for row in rows(options.release, "train")}
    made: list[Mapping[str, Any]] = list(rows(options.release, f"train-{options.layer}"))
    drawn = random.Random(1).sample(made, min(options.rows, len(made)))
    for row in drawn[: options.show]:
        told = "; ".join(
            f"{one['aspect']['text']} {one['opinion']['text']} {one['polarity']}" for one in row["triplets"]
        )
        start, end = row["source_span"]
        print(f"- {sources[row['source']]['text'][start:end]}\n  {row['text']}\n  {told}")
    for name, shares in survival([pair(sources[row["source"]], row) for row in drawn], judges(options.workdir)).items():
        print(f"{name}: {shares}")


def pair(source: Mapping[str, Any], row: Mapping[str, Any]) -> tuple[Held, Held]:
    """The rewritten part of the source and what was made of it, with the same triplets in the same order:
    ids end alike.
    """
    start, end = row["source_span"]
    before = {one["id"].rpartition(":")[2]: one for one in source["triplets"]}
    kept = [before[one["id"].rpartition(":")[2]] for one in row["triplets"]]
    return (source["text"][start:end], [triplet(one).shifted(-start) for one in kept]), (
        row["text"],
        [triplet(one) for one in row["triplets"]],
    )


if __name__ == "__main__":
    main()
