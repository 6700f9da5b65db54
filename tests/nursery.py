"""Builds that are killed: real processes, forked from one that has torch loaded already,
without the seconds that each start would take.
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
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from conftest import Built, contents, environment, settings

from builder.pipeline.pipeline import STAGES
from builder.release.verify import verify

NURSERY = """
import importlib, json, os, pkgutil, sys
import briefly
import builder.pipeline.stages, builder.models.tagger, builder.models.discriminator, builder.models.saved, \
builder.language.nlp.embedded, \
builder.pipeline.pipeline, builder.cli.build, opencc, tabulate
for module in pkgutil.walk_packages(builder.pipeline.stages.__path__, "builder.pipeline.stages."):
    importlib.import_module(module.name)
from builder.cli import main as cli
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


_EACH = 3


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


@contextmanager
def nursery_begun() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", NURSERY],
        env=environment(),
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
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


def killed(built: Built, nursery: subprocess.Popen[str], folder: Path, kills: int, seed: int) -> Counter[str]:
    """Kill builds at so many random moments and let each end: the same release to the byte every time. The stages that
    kills met, counted.

    Half of the kills are meant for what comes next, half for any stage that is due, so that late stages meet as many
    as early ones; a stage of a build is killed three times at most.
    """
    rng, done, met, builds = random.Random(seed), 0, Counter[str](), 0
    while done < kills:
        workdir, out = folder / str(builds) / "workdir", folder / str(builds) / "out"
        build = [
            "build", str(built.reviews), "--workdir", str(workdir), "--out", str(out),
            *settings(evaluate__gold=str(built.gold)),
        ]  # fmt: skip
        resume = ["resume", "--workdir", str(workdir)]
        words, code, here = build, -signal.SIGKILL, Counter[str]()
        while code != 0:
            running = Running(nursery, folder / "told", words)
            left = [stage for stage in due(workdir) if here[stage] < _EACH]
            stage = rng.choice(left[:2] if rng.random() < 0.5 else left) if left else ""
            if stage and done < kills and running.wait_for(f" {stage} "):
                time.sleep(rng.choice([rng.uniform(0, 0.1), rng.uniform(0, 1.5)]))
                running.send(signal.SIGKILL)
            code = running.end()
            if code == -signal.SIGKILL:
                done += 1
                struck = re.findall(r"^\d/\d (\w+)", running.said, re.MULTILINE)[-1]
                met[struck], here[struck] = met[struck] + 1, here[struck] + 1
            else:
                assert code == 0 or re.search("no build was begun here|no database here", running.said), running.said
            words = build if code == 2 else resume
            sound(workdir, out)
        assert contents(out) == contents(built.out), f"build {builds} of seed {seed}"
        builds += 1
    return met
