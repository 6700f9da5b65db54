"""How fast are annotate, seed and the engine: `python tests/bench/rates.py REVIEWS [--rows N]`.

Reads N reviews (all, if not given), runs ingest, annotate and seed in a temporary working directory as a build does, then the engine
alone on the annotations it stored, in this process. Prints reviews per second and the peak memory of the processes.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

from builder.config import resolve
from builder.engine import Engine
from builder.pipeline import Build, run
from builder.resources import load_lexicon, load_rules
from builder.stages.seed import extract
from builder.store import db, reviews


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reviews", type=Path)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        workdir, path = Path(folder), options.reviews
        if options.rows:
            path = workdir / options.reviews.name
            lines = options.reviews.read_text(encoding="utf-8-sig").splitlines(keepends=True)
            path.write_text("".join(lines[: options.rows + 1]), encoding="utf-8")
        done = {
            one.stage: one for one in run(Build(workdir, workdir, (path,), resolve(options={"workers": options.workers})), until="seed")
        }
        number = int(done["ingest"].counts["reviews"])
        both = done["annotate"].seconds + done["seed"].seconds
        for name, seconds in (
            ("ingest", done["ingest"].seconds),
            ("annotate", done["annotate"].seconds),
            ("seed", done["seed"].seconds),
            ("annotate + seed", both),
        ):
            print(f"{name:16} {seconds:8.1f} s {number / seconds:8.0f} reviews/s")
        lexicon = load_lexicon()
        engine = Engine(lexicon, load_rules())
        with db.reading(workdir) as connection:
            rows = reviews.annotated(connection, 0, 10_000)
        started = time.perf_counter()
        for review, words in rows:
            extract(engine, lexicon, review, words)
        seconds = time.perf_counter() - started
        print(f"{'engine, 1 process':16} {seconds:8.1f} s {len(rows) / seconds:8.0f} reviews/s, view and stored words included")
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024
    print(f"peak memory of one process {peak:.0f} MB")


if __name__ == "__main__":
    main()
