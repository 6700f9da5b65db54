"""A build may be killed at any moment: `resume` goes on, and the end is the same to the byte.

Most builds are forked from a process that has torch loaded: real processes, killed by real signals.
"""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from conftest import Built, Command, contents, environment, settings
from nursery import Running, killed, nursery_begun, sound

KILLS = 2  # tests/measure/kills.py kills many more
STOPPED = "builder: stopped; what is finished is kept, `builder resume --workdir {}` goes on"


@pytest.fixture(scope="module")
def nursery() -> Iterator[subprocess.Popen[str]]:
    with nursery_begun() as process:
        yield process


def test_a_build_killed_at_random_moments_ends_in_the_same_release(
    built: Built, nursery: subprocess.Popen[str], tmp_path: Path
) -> None:
    met = killed(built, nursery, tmp_path, KILLS, 20)
    assert met.total() == KILLS


def test_a_release_killed_while_it_is_written_is_whole_or_not_there(
    built: Built, nursery: subprocess.Popen[str], tmp_path: Path
) -> None:
    workdir, out = built.copy(tmp_path), tmp_path / "out"
    words = ["resume", "--workdir", str(workdir), "--out", str(out)]
    killed = 0
    for milliseconds in (0, 8, 32):
        running = Running(nursery, tmp_path / "told", words)
        if running.wait_for(" release "):
            time.sleep(milliseconds / 1000)
            running.send(signal.SIGKILL)
        killed += running.end() == -signal.SIGKILL
        sound(workdir, out)
    assert killed
    running = Running(nursery, tmp_path / "told", words)
    assert running.end() == 0, running.said
    assert contents(out) == contents(built.out), "and nothing is left beside it"


@pytest.mark.parametrize(("stage", "number"), [("annotate", signal.SIGINT), ("self_train", signal.SIGTERM)])
def test_a_build_that_is_told_to_stop_stops_with_one_line_and_goes_on_later(
    stage: str, number: signal.Signals, built: Built, nursery: subprocess.Popen[str], tmp_path: Path
) -> None:
    workdir, out = tmp_path / "w", tmp_path / "out"
    if stage == "self_train":  # begin where it is about to
        workdir = built.copy(tmp_path)
        words = ["run", "self_train", "--workdir", str(workdir), "--set", "self_train.epochs=18"]
    else:
        words = ["build", str(built.reviews), "--workdir", str(workdir), "--out", str(out), *settings()]
    running = Running(nursery, tmp_path / "told", words)
    assert running.wait_for(f" {stage} "), running.said
    time.sleep(0.05)
    running.send(number)
    started = time.monotonic()
    assert running.end() == 128 + number, running.said
    crowded = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))  # processes to a core: each is so many times slower
    assert time.monotonic() - started < 20 * crowded
    assert "Traceback" not in running.said
    assert running.said.splitlines()[-1] == STOPPED.format(workdir)
    assert not out.exists()
    sound(workdir, out)
    again = Running(nursery, tmp_path / "told", ["run", "annotate", "--workdir", str(workdir)])
    assert again.end() == 0, again.said


# ---- with worker processes


def session(number: int) -> list[int]:
    """The processes of a session that are not zombies."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, of = path.read_text().rpartition(")")[2].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(of) == number and state != "Z":
            found.append(int(path.parent.name))
    return found


def begun(built: Built, workdir: Path, out: Path) -> subprocess.Popen[str]:
    """A build in a session of its own that has two worker processes at work on annotate."""
    words = [
        "build", str(built.reviews), "--workdir", str(workdir), "--out", str(out),
        *settings(workers="2", annotate__chunk="2"),
    ]  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-m", "builder", *words],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 300
    while sum(b"spawn_main" in cmdline(pid) for pid in session(process.pid)) < 2:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "two workers begin"
        time.sleep(0.02)
    return process


def wait_for_words(workdir: Path, process: subprocess.Popen[str]) -> None:
    """Until a worker has read some reviews."""
    with closing(sqlite3.connect(workdir / "builder.db", timeout=60)) as connection:
        while not connection.execute("SELECT count(*) FROM annotations").fetchone()[0]:
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)


def cmdline(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def nobody_left(number: int, seconds: float = 120) -> bool:
    deadline = time.monotonic() + seconds
    while session(number) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not session(number)


@pytest.mark.parametrize("how", ["ctrl-c", "kill"])
def test_a_build_that_ends_early_takes_its_workers_with_it(
    how: str, built: Built, here: Command, tmp_path: Path
) -> None:
    workdir, out = tmp_path / "w", tmp_path / "out"
    process = begun(built, workdir, out)
    try:
        if how == "ctrl-c":
            second = here("resume", "--workdir", workdir)
            assert f"another build is running here (process {process.pid})" in second.error
            wait_for_words(workdir, process)
            os.killpg(process.pid, signal.SIGINT)  # a terminal tells the whole group
        else:
            process.kill()
        _, said = process.communicate(timeout=300)
        assert process.returncode == {"ctrl-c": 130, "kill": -9}[how], said
        if how != "kill":
            assert "Traceback" not in said, said[-3000:]
            assert said.splitlines()[-1] == STOPPED.format(workdir)
            stages = r"\n1/7 ingest  .+\n2/7 annotate  .+\n(\d/7 \w+  .+\n)*\nbuilder: stopped.*\n\Z"
            assert re.search(stages, said), said
        assert nobody_left(process.pid), "workers without a parent"
    finally:
        if process.poll() is None or session(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    sound(workdir, out)
    assert here("run", "annotate", "--workdir", workdir).code == 0
