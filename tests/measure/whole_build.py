"""What a whole build takes: `python tests/measure/whole_build.py REVIEWS [options of builder build]`.

In: a file of reviews. Out: a line of JSON with its rows, seconds, rows a second, processor seconds of all processes,
the largest sum of their memory (shared pages counted once, looked at once a second), and the seconds of each stage.
The build lies in a temporary folder, which goes.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from builder.pipeline import pipeline


def main() -> None:
    """Build, watch, print."""
    reviews, options = Path(sys.argv[1]).resolve(), sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        workdir = Path(folder) / "workdir"
        command = [sys.executable, "-m", "builder", "build", str(reviews), "--workdir", str(workdir), "--quiet"]
        command += ["--out", str(Path(folder) / "releases"), "--licence", "CC0-1.0", *options]
        began, peak = time.monotonic(), 0.0
        build = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while build.poll() is None:
            peak = max(peak, sum(map(memory_of, processes_below(build.pid))))
            time.sleep(1)
        seconds = time.monotonic() - began
        if build.returncode:
            raise SystemExit(build.returncode)
        done = {stage.name: run for stage, _, run in pipeline.status(workdir) if run is not None}
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    rows = int(done["ingest"].counts["rows"])
    figures = {
        "rows": rows,
        "seconds": round(seconds, 1),
        "rows_a_second": round(rows / seconds),
        "processor_seconds": round(used.ru_utime + used.ru_stime, 1),
        "peak_mb": round(peak),
        "stages": {name: round(run.seconds, 1) for name, run in done.items()},
    }
    print(json.dumps(figures))


def processes_below(process: int) -> list[int]:
    """The process and all that it started, and these."""
    below = [process]
    for thread in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            children = thread.read_text().split()
        except OSError:  # it has ended
            continue
        below += [other for child in children for other in processes_below(int(child))]
    return below


def memory_of(process: int) -> float:
    """Its memory in MB; pages that several processes share count in parts. 0 where it has ended."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)


if __name__ == "__main__":
    main()
