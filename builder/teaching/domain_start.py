"""The first hour of a new domain: reviews as the domain `none` reads them, and a pool of them to label.

In: files of reviews. Out: a working directory with a build of some of them by `none` and the shipped model, and a pool
of reviews with what was found in each. Labels come before words, for they show what is missing. Run again, it finds the
same build and pool, with every answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from builder.core.errors import InputError
from builder.core.files import write_atomically
from builder.core.records import Pool
from builder.core.settings import CORE
from builder.gold.pool import PoolSettings
from builder.pipeline.builds import new_build
from builder.pipeline.pipeline import run
from builder.store import db, pools
from builder.teaching.domain_packs import HowToRead, read_reviews
from builder.teaching.pooling import make_pool

_READ = 3
"""So many times as many reviews are read as are labelled."""
_SEED = 13
_LEAST = 40
"""Reviews below which labels could not be halved to measure what they bring."""
SAMPLE = "sample.jsonl"


@dataclass(frozen=True, slots=True)
class StartedDomain:
    """What `start_domain` made: how many reviews it read, and the pool to label."""

    read: int
    pool: Pool

    def describe_reviews(self, count: int) -> list[tuple[str, str]]:
        """The first reviews of the pool, each with its triplets."""
        return [
            (
                review.text,
                ", ".join(
                    f"{one.triplet.aspect.text} {one.triplet.opinion.text} {one.triplet.polarity}"
                    for one in review.candidates
                ),
            )
            for review in self.pool.reviews[:count]
        ]


def start_domain(
    files: Sequence[Path],
    workdir: Path,
    label: int,
    how: HowToRead,
    report: Callable[[str], None] = lambda line: None,
) -> StartedDomain:
    """Build some reviews of the files by the domain `none`, and draw a pool of `label` of them. `report` is called with
    a line for each stage. InputError where there are too few reviews.
    """
    sample = workdir / SAMPLE
    if not sample.is_file():
        texts = list(dict.fromkeys(text.strip() for text in read_reviews(files, how)[0]))
        if len(texts) < _LEAST:
            raise InputError(f"too few reviews: {len(texts)}", where=str(files[0]), fix=f"give {_LEAST} or more")
        chosen = texts[:: max(1, len(texts) // (_READ * label))]
        lines = (json.dumps({"id": str(number), "text": text}) + "\n" for number, text in enumerate(chosen, start=1))
        write_atomically(sample, "".join(lines).encode())
    settings = {"domain": CORE}
    run(new_build((sample,), workdir, workdir / "releases", None, settings), until="self_train", report=report)
    made = make_pool(workdir, PoolSettings(label, _SEED, "all"))
    with db.reading(workdir) as connection:
        return StartedDomain(made.available, pools.read(connection, made.pool.id))
