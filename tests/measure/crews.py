"""Is a build the same by any crew: `python tests/measure/crews.py [--crews
local:1,local:2,local:3,dask:1,dask:2,dask:4]`.

Builds the small input of the tests once, in one process, then again from annotate on by each crew (the models are the
same to the byte, so they are trained once), in shards of 8 reviews; of a crew of two or more one worker is killed in
the middle. Prints the digest over the release and over all that the database holds of triplets and verdicts, the
seconds, and whether all are the same.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sqlite3
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

QUESTIONS = (
    "SELECT review, words FROM annotations ORDER BY review",
    "SELECT s.name, p.* FROM proposals p JOIN sources s ON s.id = p.source ORDER BY s.name, p.triplet",
    "SELECT * FROM triplets ORDER BY id",
    "SELECT v.triplet, v.label, v.score FROM verdicts v ORDER BY v.triplet",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--crews", default="local:1,local:2,local:3,dask:1,dask:2,dask:4")
    options = parser.parse_args()
    import psutil
    from conftest import FAST, contents, small_input

    from builder.core.config import resolve
    from builder.pipeline import pipeline
    from builder.pipeline.builds import Build
    from builder.store import reviews

    given = {key: tomllib.loads(f"v = {value}")["v"] for key, value in FAST.items()} | {"shard": 8}
    real, digests = reviews.annotate, set[str]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, gold = small_input(folder)
        first = folder / "first"

        def build(workdir: Path, **more: Any) -> Build:
            return Build(
                workdir, workdir / "out", (source,), resolve(options=given | {"evaluate.gold": str(gold)} | more)
            )

        pipeline.run(build(first))
        for crew in options.crews.split(","):
            engine, _, workers = crew.partition(":")
            workdir, met = folder / crew.replace(":", ""), list[int]()
            shutil.copytree(first, workdir, ignore=shutil.ignore_patterns("out"))

            def kill(*arguments: Any, count: int = int(workers), met: list[int] = met) -> None:
                real(*arguments)
                if count > 1 and not met:
                    worker = next(
                        one
                        for one in psutil.Process().children(recursive=True)
                        if "spawn_main" in " ".join(one.cmdline())
                    )
                    worker.kill()
                    met.append(worker.pid)

            reviews.annotate = kill
            started = time.perf_counter()
            pipeline.run(build(workdir, engine=engine, workers=int(workers)), force=("annotate",))
            seconds = time.perf_counter() - started
            digest = hashlib.sha256(repr(sorted(contents(workdir / "out").items())).encode())
            connection = sqlite3.connect(workdir / "builder.db")
            for question in QUESTIONS:
                digest.update(repr(connection.execute(question).fetchall()).encode())
            connection.close()
            digests.add(digest.hexdigest())
            print(
                f"{crew:8} {digest.hexdigest()[:16]} {seconds:6.1f} s" + (f", worker {met[0]} killed" if met else ""),
                flush=True,
            )
    print("all the same" if len(digests) == 1 else "NOT the same")
    raise SystemExit(len(digests) != 1)


if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]
    main()
