"""How fast are annotate, seed and the engine: `python tests/measure/rates.py REVIEWS [--rows N] [--workdir W]`.

Reads N reviews (all, if not given), runs ingest, annotate and seed in a temporary working directory (or in W, where
they may be done already) as a build does, then the engine alone, from stored words and text to triplets, on all that
annotate stored: in one process and in `--workers`. Prints reviews per second and the peak memory of a process.
"""

from __future__ import annotations

import argparse
import gc
import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

from builder.core.config import resolve
from builder.core.records import Review
from builder.core.shards import Job, opened
from builder.engine import Engine
from builder.engine.reader import extract, restored
from builder.language.lexicon.resources import Lexicon, load_lexicon
from builder.language.lexicon.rules import load_rules
from builder.pipeline.builds import Build
from builder.pipeline.pipeline import run
from builder.store import db, reviews

_Ready = tuple[Engine, Lexicon]
_Task = list[tuple[Review, str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reviews", type=Path)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--workdir", type=Path)
    options = parser.parse_args()
    with nullcontext(options.workdir) if options.workdir else tempfile.TemporaryDirectory() as folder:
        workdir, path = Path(folder), options.reviews
        if options.rows:
            path = workdir / options.reviews.name
            lines = options.reviews.read_text(encoding="utf-8-sig").splitlines(keepends=True)
            path.write_text("".join(lines[: options.rows + 1]), encoding="utf-8")
        stages(Build(workdir, workdir, (path,), resolve(options={"workers": options.workers})))
        with db.reading(workdir) as connection:
            for workers in dict.fromkeys((1, options.workers)):
                number, seconds, triplets = engine(connection, workers)
                shown = f"engine, {workers} process{'es' if workers > 1 else ''}"
                print(
                    f"{shown:18} {seconds:8.1f} s {number / seconds:8.0f} reviews/s, {triplets} triplets; "
                    "view and stored words included"
                )
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024
    print(f"peak memory of one process {peak:.0f} MB")


def stages(build: Build) -> None:
    done = {result.stage: result for result in run(build, until="seed")}
    number = int(done["ingest"].counts["reviews"])
    both = done["annotate"].seconds + done["seed"].seconds
    timed = [*((name, done[name].seconds) for name in ("ingest", "annotate", "seed")), ("annotate + seed", both)]
    for name, seconds in timed:
        print(f"{name:18} {seconds:8.1f} s {number / seconds:8.0f} reviews/s")


def engine(connection: sqlite3.Connection, workers: int) -> tuple[int, float, int]:
    """Reviews, seconds and triplets, from the first answer on:
    starting processes and reading the lexicon is not the engine.
    """
    number = triplets = 0
    started = 0.0
    with opened("local", workers) as crew:
        for size, extracted in crew.map(Job(_prepare, (), _count), _tasks(connection)):
            if started:
                number, triplets = number + size, triplets + extracted
            started = started or time.perf_counter()
    return number, time.perf_counter() - started, triplets


def _tasks(connection: sqlite3.Connection) -> Iterator[_Task]:
    at = 0
    while rows := reviews.annotated(connection, at, 1024):
        at = rows[-1][0].id
        yield rows


def _prepare() -> _Ready:
    lexicon = load_lexicon()
    engine = Engine(lexicon, load_rules())
    gc.freeze()  # as seed does
    return engine, lexicon


def _count(ready: _Ready, task: _Task) -> tuple[int, int]:
    engine, lexicon = ready
    return len(task), sum(
        len(extract(engine, restored(review, reviews.load_words(words), lexicon.variants))) for review, words in task
    )


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from measure import rates  # by the name under which worker processes find its functions

    rates.main()
