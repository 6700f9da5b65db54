"""Do time and memory grow as they should: `python tests/bench/growth.py REVIEWS [--sizes 50000,200000,1000000] [--folder F]`.

Makes files of so many rows by repeating REVIEWS (a CSV with `review_id` and `text`) under new ids, runs ingest, annotate and seed on each
as a build does, and prints per stage rows, seconds, rows per second, peak memory (resident, of the whole process tree, sampled), and the
size of the database. Every repetition after the first ends with a numbered sentence, so that no text is a duplicate; with `--same` the
texts stay as they are, so that nearly all are.
"""

from __future__ import annotations

import argparse
import csv
import os
import tempfile
import threading
from collections.abc import Iterator
from itertools import count, islice
from multiprocessing import get_context
from pathlib import Path

from builder.config import resolve
from builder.pipeline import Build, run
from builder.store import db

STAGES = ("ingest", "annotate", "seed")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reviews", type=Path)
    parser.add_argument("--sizes", default="50000,200000,1000000")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where the files and working directories go, and are removed again")
    parser.add_argument("--until", choices=STAGES, default=STAGES[-1])
    parser.add_argument("--same", action="store_true")
    options = parser.parse_args()
    print(f"{'stage':10} {'rows':>9} {'seconds':>9} {'rows/s':>8} {'peak MB':>8} {'database MB':>12}", flush=True)
    for size in map(int, options.sizes.split(",")):
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            path = Path(folder) / "reviews.csv"
            repeat(options.reviews, path, size, options.same)
            fresh = get_context("spawn").Process(target=measure, args=(Path(folder), path, size, options.workers, options.until))
            fresh.start()
            fresh.join()
            if fresh.exitcode:
                raise SystemExit(fresh.exitcode)


def repeat(source: Path, target: Path, rows: int, same: bool) -> None:
    with target.open("w", encoding="utf-8", newline="") as handle:
        out = csv.writer(handle)
        out.writerow(["review_id", "text"])
        for number, text in enumerate(islice(_texts(source, same), rows)):
            out.writerow([number, text])


def _texts(source: Path, same: bool) -> Iterator[str]:
    for turn in count():
        with source.open(encoding="utf-8-sig", newline="") as handle:
            for number, row in enumerate(csv.DictReader(handle)):
                yield row["text"] if same or not turn else f"{row['text']}。第{turn}次來，單號{number}。"


def measure(folder: Path, path: Path, rows: int, workers: int, until: str) -> None:
    """In a process of its own, so that what another size has loaded and left does not count."""
    build = Build(folder / "work", folder / "out", (path,), resolve(options={"workers": workers}))
    for stage in STAGES[: STAGES.index(until) + 1]:
        with Peak() as peak:
            done = run(build, until=stage)[-1]
        size = sum(file.stat().st_size for file in build.workdir.glob(f"{db.NAME}*")) / 1e6
        print(f"{stage:10} {rows:9} {done.seconds:9.1f} {rows / done.seconds:8.0f} {peak.megabytes:8.0f} {size:12.0f}", flush=True)


class Peak:
    """The most memory that this process and those below it held at once, looked at five times a second."""

    def __init__(self) -> None:
        self.megabytes = 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.2):
            self.megabytes = max(self.megabytes, sum(map(_resident, _tree(os.getpid()))) * _PAGE / 1e6)


def _tree(process: int) -> Iterator[int]:
    yield process
    try:
        children = " ".join(file.read_text() for file in Path(f"/proc/{process}/task").glob("*/children"))
    except OSError:  # it has ended meanwhile
        return
    for child in map(int, children.split()):
        yield from _tree(child)


def _resident(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0


if __name__ == "__main__":
    main()
