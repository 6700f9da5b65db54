"""Do time and memory grow as they should: `python tests/measure/growth.py REVIEWS [--sizes 50000,200000,1000000]
[--until STAGE] [--folder F]`.

Makes files of so many rows by repeating REVIEWS (a CSV with `review_id` and `text`) under new ids, runs the stages up
to seed on each as a build does, and prints per stage rows, seconds, processor seconds, rows per second of these, peak
memory (resident, of the whole process tree, sampled), and the size of the database; at the end what questions to the
database take (`inspection.best`), and the exponents: n where seconds, megabytes or milliseconds grew as rows to the
power of n between the first size and the last. Every repetition after the first has the first half of a review and the
second half of another, so that few texts are near-duplicates; with `--same` the texts stay as they are, so that nearly
all are.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import tempfile
import threading
import tomllib
from collections.abc import Iterator
from functools import partial
from itertools import count, islice
from multiprocessing import get_context
from pathlib import Path

from builder.core.config import resolve
from builder.pages.plain_story import tell_story
from builder.pipeline.builds import Build
from builder.pipeline.pipeline import STAGES as PIPELINE
from builder.pipeline.pipeline import run
from builder.store import db, queries, search

STAGES = tuple(stage.name for stage in PIPELINE)
WORDS = ("服務", "好吃", "的", "服務態度很好", "麻辣 鴨血", "龘龘")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reviews", type=Path)
    parser.add_argument("--sizes", default="50000,200000,1000000")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where the files and working directories go, and are removed again")
    parser.add_argument("--until", choices=STAGES, default="seed")
    parser.add_argument("--same", action="store_true")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="a setting, as `builder build` takes it"
    )
    options = parser.parse_args()
    print(
        f"{'':34} {'rows':>9} {'seconds':>9} {'CPU s':>8} {'rows/s':>8} {'peak MB':>8} {'database MB':>12}", flush=True
    )
    told: dict[str, list[tuple[int, float]]] = {}
    for size in map(int, options.sizes.split(",")):
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            path = Path(folder) / "reviews.csv"
            repeat(options.reviews, path, size, options.same)
            given = dict(one.split("=", 1) for one in options.set) | {"workers": str(options.workers)}
            for stage in (*STAGES[: STAGES.index(options.until) + 1], None):
                fresh = get_context("spawn").Process(target=measure, args=(Path(folder), path, size, given, stage))
                fresh.start()
                fresh.join()
                if fresh.exitcode:
                    raise SystemExit(fresh.exitcode)
                for what, value in json.loads((Path(folder) / "told.json").read_text()).items():
                    told.setdefault(what, []).append((size, value))
    for what, values in told.items():
        (first, least), (last, most) = values[0], values[-1]
        if first < last and least > 0:
            print(f"{what:34} rows ** {math.log(most / least) / math.log(last / first):.2f}")


def repeat(source: Path, target: Path, rows: int, same: bool) -> None:
    with target.open("w", encoding="utf-8", newline="") as handle:
        out = csv.writer(handle)
        out.writerow(["review_id", "text"])
        for number, text in enumerate(islice(_texts(source, same), rows)):
            out.writerow([number, text])


def _texts(source: Path, same: bool) -> Iterator[str]:
    with source.open(encoding="utf-8-sig", newline="") as handle:
        texts = [row["text"] for row in csv.DictReader(handle)]
    for turn in count():
        for number, text in enumerate(texts):
            other = texts[(number + turn) % len(texts)]
            yield text if same or not turn else text[: len(text) // 2] + other[len(other) // 2 :]


def measure(folder: Path, path: Path, rows: int, given: dict[str, str], stage: str | None) -> None:
    """A stage, or the questions at the end; in a process of its own,
    so that what others have loaded and left does not count.
    """
    settings = {key: tomllib.loads(f"v = {value}")["v"] for key, value in given.items()}
    build, told = Build(folder / "work", folder / "out", (path,), resolve(options=settings)), dict[str, float]()
    if stage is None:
        for what, milliseconds in _asked(build.workdir):
            print(f"{what:34} {rows:9} {milliseconds:9.1f} ms", flush=True)
            told[what] = milliseconds
    else:
        with Watch() as seen:
            done = run(build, until=stage)[-1]
        spent = seen.seconds
        size = sum(file.stat().st_size for file in build.workdir.glob(f"{db.NAME}*")) / 1e6
        print(
            f"{stage:34} {rows:9} {done.seconds:9.1f} {spent:8.1f} {rows / spent:8.0f} {seen.megabytes:8.0f} "
            f"{size:12.0f}",
            flush=True,
        )
        told = {f"{stage} CPU s": spent, f"{stage} peak MB": seen.megabytes, f"{stage} database MB": size}
    (folder / "told.json").write_text(json.dumps(told))


def _asked(workdir: Path) -> Iterator[tuple[str, float]]:
    from inspection import best

    with db.reading(workdir) as connection:
        for name in queries.names():
            yield f"query {name}", best(partial(queries.named, connection, name, queries.lookup(name).params, 1001), 3)
        for words in WORDS:
            yield f"search {words}", best(partial(search.find, connection, search.words_of(words)), 3)
        middle = "SELECT review FROM triplets WHERE id >= (SELECT max(id) / 2 FROM triplets) ORDER BY id LIMIT 1"
        for (key,) in connection.execute(f"SELECT key FROM reviews WHERE id = ({middle})").fetchall():
            yield "explain KEY", best(partial(tell_story, connection, key, {}), 3)


class Watch:
    """The most memory that this process and those below it held at once, and the processor time they took;
    looked at five times a second.
    """

    def __init__(self) -> None:
        self.megabytes = 0.0
        self._spent: dict[int, float] = {}
        self._before: dict[int, float] = {}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @property
    def seconds(self) -> float:
        return sum(self._spent.values()) - sum(self._before.values())

    def __enter__(self) -> Watch:
        self._before = {process: seconds for process, _, seconds in map(_used, _tree(os.getpid()))}
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._thread.join()
        self._look()

    def _watch(self) -> None:
        while not self._done.wait(0.2):
            self._look()

    def _look(self) -> None:
        used = [_used(process) for process in _tree(os.getpid())]
        self.megabytes = max(self.megabytes, sum(megabytes for _, megabytes, _ in used))
        self._spent |= {process: seconds for process, _, seconds in used if seconds}


def _tree(process: int) -> Iterator[int]:
    yield process
    try:
        children = " ".join(file.read_text() for file in Path(f"/proc/{process}/task").glob("*/children"))
    except OSError:  # it has ended meanwhile
        return
    for child in map(int, children.split()):
        yield from _tree(child)


def _used(process: int) -> tuple[int, float, float]:
    """A process, its resident megabytes and its processor seconds; nothing of one that has ended meanwhile."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return process, 0.0, 0.0
    return process, int(fields[21]) * _PAGE / 1e6, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
