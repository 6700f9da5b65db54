"""Kill builds at random moments: `python tests/measure/kills.py [--count 200] [--seed 1] [--folder F]`.

Makes the tiny build of the tests once, then kills builds like it (SIGKILL) at random moments over all stages, training
rounds and release included, and resumes each to its end. After every kill the database passes `PRAGMA integrity_check`
and a release is whole or not there; the final release is the same to the byte. Prints how many kills each stage met.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where builds go, and are removed again")
    options = parser.parse_args()
    from conftest import Built, Ran, environment, settings, small_input
    from nursery import killed, nursery_begun

    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir=options.folder) as name, nursery_begun() as nursery:
        folder = Path(name)
        reviews, gold = small_input(folder)
        words = [
            "build",
            str(reviews),
            "--workdir",
            str(folder / "w"),
            "--out",
            str(folder / "out"),
            *settings(evaluate__gold=str(gold)),
        ]
        made = subprocess.run(
            [sys.executable, "-m", "builder", *words], env=environment(), capture_output=True, text=True, check=True
        )
        built = Built(reviews, gold, folder / "w", folder / "out", Ran(0, made.stdout, made.stderr))
        met = killed(built, nursery, folder, options.count, options.seed)
    told = ", ".join(f"{stage} {number}" for stage, number in met.most_common())
    print(f"{met.total()} kills in {time.monotonic() - started:.0f} s: {told}; every build ended in the same release")


if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]
    main()
