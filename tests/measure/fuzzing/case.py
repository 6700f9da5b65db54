"""A hostile input, made and used in processes of their own, under a budget.

In: a family, a seed and a number. Out: what became of the input, and the time of a core and the memory that it took. An
input is a folder that is made from its seed and number alone; whatever the code under test does to its process is seen.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import random
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

SECONDS = 10
"""Of a core, for an input."""
MEMORY = 2 << 30
"""Resident bytes of a process, the libraries included."""
_MAKING = 300
_TRIED = 12
_REPLIES = 4_000


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of hostile input. `prepare` makes what its inputs begin with, once; `make` writes an input into an empty
    folder; `use` gives it to the code under test and says in a word or two what became of it, or raises.
    """

    name: str
    about: str
    share: int
    """Of 10,000 inputs."""
    prepare: Callable[[Path], None]
    load: Callable[[], None]
    """Import what every case needs, so that no case pays for it."""
    make: Callable[[Path, Path, random.Random], None]
    """(folder of `prepare`, folder of the input, chance)."""
    use: Callable[[Path, Path], str]
    """(folder of `prepare`, folder of the input)."""
    wall: float = 300.0
    """Seconds on the clock after which an input is a failure; servers may wait, files may not."""
    workers: int = 1
    """Processes for each core: more than one where the cases mostly wait."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an input: `what`, or why it is a `failure`; its seconds of a core and its peak of memory."""

    family: str
    number: int
    what: str
    failure: str
    seconds: float
    memory: int

    @property
    def line(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False) + "\n"


def chance(family: Family, seed: int, number: int) -> random.Random:
    """All randomness of an input."""
    return random.Random(f"{family.name} {seed} {number}")


def load_modules(family: Family, base: Path, folder: Path) -> None:
    """Import what the family's cases import: else each would pay for it, for each has a process of its own. Some are
    made and used in a process, and what that has imported is imported here.
    """
    family.load()

    def try_some() -> str:
        for number in range(_TRIED):
            with contextlib.suppress(BaseException):
                (folder / str(number)).mkdir(parents=True)
                family.make(base, folder / str(number), chance(family, -1, number))
                family.use(base, folder / str(number))
        return "\n".join(sys.modules)

    names, _ = _in_child(try_some, _MAKING, None)
    for name in names.split("\n"):
        with contextlib.suppress(BaseException):
            importlib.import_module(name)
    gc.freeze()  # else each child's first collection copies all the memory that it shares with this process


def make_input(family: Family, base: Path, folder: Path, seed: int, number: int) -> str:
    """Make an input in a process of its own, for its libraries are those under test; what went wrong, mostly nothing."""
    folder.mkdir(parents=True)
    made, _ = _in_child(lambda: family.make(base, folder, chance(family, seed, number)) or "made", _MAKING, None)
    return "" if made == "made" else f"the harness made no input: {made}"


def use_input(family: Family, base: Path, folder: Path, number: int) -> Outcome:
    """Give an input to the code under test."""
    answer, usage = _in_child(lambda: family.use(base, folder), family.wall, SECONDS)
    seconds, memory = round(usage.ru_utime + usage.ru_stime, 3), usage.ru_maxrss << 10
    failure = "" if answer and not answer.startswith("!") else answer.removeprefix("!") or "no answer"
    if not failure and seconds > SECONDS:
        failure = f"{seconds:.1f} s of a core"
    if not failure and memory > MEMORY:
        failure = f"{memory >> 20} MB"
    return Outcome(family.name, number, "" if failure else answer, failure, seconds, memory)


def _in_child(work: Callable[[], str], wall: float, core: int | None) -> tuple[str, resource.struct_rusage]:
    """What `work` answers in a process of its own; "!" and the reason where it raises, dies or takes too long."""
    receiving, sending = os.pipe()
    child = os.fork()
    if not child:
        os.close(receiving)
        os.setpgid(0, 0)
        _answer(work, sending, core)
    os.close(sending)
    answer, ended = b"", time.monotonic() + wall
    with open(receiving, "rb", buffering=0) as pipe:
        while (left := ended - time.monotonic()) > 0 and select.select([pipe], [], [], left)[0]:
            if not (part := pipe.read(1 << 16)):
                break
            answer += part
    late = time.monotonic() >= ended
    with contextlib.suppress(ProcessLookupError):
        if late:
            os.kill(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)  # a server that the case began
    if late:
        return f"!over {wall:.0f} s on the clock", usage
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return f"!the process died of {name}" + (" (time of a core)" if name in ("SIGXCPU", "SIGKILL") else ""), usage
    return answer.decode("utf-8", "replace"), usage


def _answer(work: Callable[[], str], sending: int, core: int | None) -> None:
    """The child: limits, work, answer, end."""
    try:
        if core is not None:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, resource.RLIM_INFINITY))
            resource.setrlimit(resource.RLIMIT_CPU, (core + 2, core + 3))
        answer = work()
    except BaseException:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        answer = "!" + traceback.format_exc()[-_REPLIES:]
    with contextlib.suppress(BaseException), open(sending, "wb") as pipe:
        pipe.write(answer.encode("utf-8", "replace"))
    os._exit(0)


# ---- the command line, in the child of a case


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that ended."""

    code: int
    out: str
    err: str


def run_command(folder: Path, *words: object) -> Ran:
    """`builder WORDS` in this process, with what it wrote to the terminal; what a user would see as a traceback escapes."""
    from builder.cli import main as cli

    code, argv = 0, sys.argv
    sys.argv = ["builder", *map(str, words)]
    with _captured(folder) as (out, err):
        try:
            cli.main()
        except SystemExit as stopped:
            code = stopped.code if isinstance(stopped.code, int) else int(bool(stopped.code))
        finally:
            sys.argv = argv
            sys.stdout.flush()
            sys.stderr.flush()
    return Ran(code, out.read_text("utf-8", "replace"), err.read_text("utf-8", "replace"))


@contextlib.contextmanager
def _captured(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Standard output and error of the process itself, for libraries write there too."""
    paths = folder / ".out", folder / ".err"
    before = os.dup(1), os.dup(2)
    for path, number in zip(paths, (1, 2), strict=True):
        handle = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        os.dup2(handle, number)
        os.close(handle)
    try:
        yield paths
    finally:
        for number, kept in zip((1, 2), before, strict=True):
            os.dup2(kept, number)
            os.close(kept)


def check_ran(ran: Ran, codes: tuple[int, ...] = (0, 2)) -> str:
    """AssertionError unless a command ended as one should: a known exit code, for 2 exactly one line of error."""
    assert "Traceback" not in ran.err + ran.out, f"a traceback: {ran.err[-_REPLIES:]}"
    assert ran.code in codes, f"exit {ran.code}: {ran.err[-_REPLIES:]}"
    errors = [line for line in ran.err.splitlines() if line.startswith("builder: error: ")]
    assert len(errors) == (ran.code == 2), f"{len(errors)} lines of error with exit {ran.code}: {ran.err[-_REPLIES:]}"
    assert all(line.isprintable() for line in errors), f"control characters: {errors}"
    return f"exit {ran.code}"


def check_message(error: BaseException) -> None:
    """AssertionError for a message of several lines or with control characters."""
    text = str(error)
    assert text.isprintable(), f"an error of several lines or with control characters: {text!r}"
    assert len(text) < 2_000, f"an error of {len(text)} characters: {text[:300]}"
