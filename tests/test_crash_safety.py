"""A build may be killed at any moment: what is committed stays whole, `resume` goes on, and the end is the same to the byte.

Most builds here are forked from a process that has torch loaded already: real processes, killed by real signals, without the seconds
that each start would take.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import Built, Command, contents, environment, settings

from builder.export.verify import verify
from builder.pipeline import STAGES

KILLS = 20
STOPPED = "builder: stopped; what is finished is kept, `builder resume` goes on"
NURSERY = """
import importlib, json, os, pkgutil, sys
import builder.stages, builder.model.tagger, builder.model.discriminator, builder.model.store, builder.nlp.embedded, builder.pipeline, builder.commands.build, opencc, tabulate
for module in pkgutil.iter_modules(builder.stages.__path__):
    importlib.import_module("builder.stages." + module.name)
from builder import cli
print("ready", flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    child = os.fork()
    if child == 0:
        for number, name in ((0, os.devnull), (1, asked["out"]), (2, asked["err"])):
            os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND), number)
        sys.argv = ["builder", *asked["words"]]
        cli.main()
        sys.exit(0)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Running:
    """A command that runs: what it has said so far, and its end."""

    def __init__(self, nursery: subprocess.Popen[str], folder: Path, words: list[str]) -> None:
        folder.mkdir(exist_ok=True)
        self._said, self._told = folder / f"{time.monotonic_ns()}.err", folder / f"{time.monotonic_ns()}.out"
        self._said.touch()
        assert nursery.stdin is not None and nursery.stdout is not None
        self._nursery = nursery.stdout
        nursery.stdin.write(json.dumps({"words": words, "out": str(self._told), "err": str(self._said)}) + "\n")
        nursery.stdin.flush()
        self.pid = int(self._nursery.readline())

    @property
    def said(self) -> str:
        return self._said.read_text(encoding="utf-8")

    def alive(self) -> bool:
        """A process that has ended stays a zombie until its nursery has waited for it, which is at once."""
        try:
            return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except (FileNotFoundError, ProcessLookupError):  # gone before the opening, or between opening and reading
            return False

    def wait_for(self, word: str) -> bool:
        """Until it has said `word`; False if it ended before."""
        while self.alive():
            if word in self.said:
                return True
            time.sleep(0.002)
        return False

    def send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def end(self) -> int:
        return int(self._nursery.readline())


@pytest.fixture(scope="module")
def nursery() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", NURSERY], env=environment(), cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.stdin.close()


def sound(workdir: Path, out: Path) -> None:
    """Whatever was killed: the database is whole, and a release is whole or not there."""
    if (workdir / "builder.db").exists():
        connection = sqlite3.connect(workdir / "builder.db")
        try:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        finally:
            connection.close()
    for release in out.glob("v*"):
        assert verify(release) == []


def due(workdir: Path) -> list[str]:
    """The stages that are not done; the last one counts as due, lest there is none."""
    done: set[str] = set()
    if (workdir / "builder.db").exists():
        connection = sqlite3.connect(workdir / "builder.db")
        try:
            if connection.execute("PRAGMA user_version").fetchone()[0]:
                done = {row[0] for row in connection.execute("SELECT stage FROM runs")}
        finally:
            connection.close()
    names = [stage.name for stage in STAGES]
    return [name for name in names if name not in done] or names[-1:]


def test_a_build_killed_at_twenty_random_moments_ends_in_the_same_release(
    built: Built, nursery: subprocess.Popen[str], tmp_path: Path
) -> None:
    rng = random.Random(20)
    kills, builds, reached = 0, 0, set[str]()
    while kills < KILLS:
        workdir, out = tmp_path / f"w{builds}", tmp_path / f"out{builds}"
        build = ["build", str(built.reviews), "--workdir", str(workdir), "--out", str(out), *settings(evaluate__gold=str(built.gold))]
        resume = ["resume", "--workdir", str(workdir)]
        words, code = build, -signal.SIGKILL
        while code != 0:
            running = Running(nursery, tmp_path / "told", words)
            stage = rng.choice(due(workdir)[:2])  # not the last one at once: a build should meet many kills
            if kills < KILLS and running.wait_for(f"{stage}:"):
                time.sleep(rng.choice([rng.uniform(0, 0.1), rng.uniform(0, 1.5)]))
                running.send(signal.SIGKILL)
            code = running.end()
            if code == -signal.SIGKILL:
                kills += 1
                reached.add(running.said.splitlines()[-1].split(":")[0])
            else:
                assert code == 0 or re.search("no build was begun here|no database here", running.said), running.said
            words = build if code == 2 else resume
            sound(workdir, out)
        assert contents(out) == contents(built.out)
        builds += 1
    assert len(reached) >= 4, reached


def test_a_release_killed_while_it_is_written_is_whole_or_not_there(built: Built, nursery: subprocess.Popen[str], tmp_path: Path) -> None:
    workdir, out = built.copy(tmp_path), tmp_path / "out"
    words = ["resume", "--workdir", str(workdir), "--out", str(out)]
    killed = 0
    for milliseconds in (0, 4, 8, 16, 32, 64):
        running = Running(nursery, tmp_path / "told", words)
        if running.wait_for("release:"):
            time.sleep(milliseconds / 1000)
            running.send(signal.SIGKILL)
        killed += running.end() == -signal.SIGKILL
        sound(workdir, out)
    assert killed >= 2
    running = Running(nursery, tmp_path / "told", words)
    assert running.end() == 0, running.said
    assert contents(out) == contents(built.out), "and nothing is left beside it"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("stage", ["ingest", "annotate", "discriminate", "self_train"])
def test_a_build_that_is_told_to_stop_stops_with_one_line_and_goes_on_later(
    number: signal.Signals, stage: str, built: Built, nursery: subprocess.Popen[str], tmp_path: Path
) -> None:
    workdir, out = tmp_path / "w", tmp_path / "out"
    if stage in ("discriminate", "self_train"):  # begin where it is about to
        workdir = built.copy(tmp_path)
        words = ["run", "self_train", "--workdir", str(workdir), "--set", f"{stage}.epochs=18"]
    else:
        words = ["build", str(built.reviews), "--workdir", str(workdir), "--out", str(out), *settings()]
    running = Running(nursery, tmp_path / "told", words)
    assert running.wait_for(f"{stage}:"), running.said
    time.sleep(0.05)
    running.send(number)
    started = time.monotonic()
    assert running.end() == 128 + number, running.said
    assert time.monotonic() - started < 10
    assert "Traceback" not in running.said
    assert running.said.splitlines()[-1] == STOPPED
    assert not out.exists()
    sound(workdir, out)
    if (workdir / "builder.db").exists() and "annotate" in stage:
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
    words = ["build", str(built.reviews), "--workdir", str(workdir), "--out", str(out), *settings(workers="2", annotate__chunk="2")]
    process = subprocess.Popen(
        [sys.executable, "-m", "builder", *words],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while sum(b"spawn_main" in cmdline(pid) for pid in session(process.pid)) < 2:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "two workers begin"
        time.sleep(0.02)
    return process


def cmdline(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def nobody_left(number: int, seconds: float = 30) -> bool:
    deadline = time.monotonic() + seconds
    while session(number) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not session(number)


@pytest.mark.parametrize("how", ["ctrl-c", "terminate", "kill"])
def test_a_build_that_ends_early_takes_its_workers_with_it(how: str, built: Built, here: Command, tmp_path: Path) -> None:
    workdir, out = tmp_path / "w", tmp_path / "out"
    process = begun(built, workdir, out)
    try:
        if how == "ctrl-c":
            second = here("resume", "--workdir", workdir)
            assert f"another build is running here (process {process.pid})" in second.error
            time.sleep(1)  # workers that are still being born, and workers at work
            os.killpg(process.pid, signal.SIGINT)  # a terminal tells the whole group
        else:
            process.send_signal(signal.SIGTERM if how == "terminate" else signal.SIGKILL)
        _, said = process.communicate(timeout=60)
        assert process.returncode == {"ctrl-c": 130, "terminate": 143, "kill": -9}[how], said
        if how != "kill":
            assert "Traceback" not in said
            assert said.splitlines()[-1] == STOPPED
            assert re.fullmatch(r"(\w+: .+\n)+\nbuilder: stopped.*\n", said), said
        assert nobody_left(process.pid), "workers without a parent"
    finally:
        if process.poll() is None or session(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    sound(workdir, out)
    assert here("run", "annotate", "--workdir", workdir).code == 0
