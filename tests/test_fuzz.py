"""Some inputs of every cheap family of `tests/measure/fuzz.py`, and whether the harness notices what goes wrong."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
from measure import fuzz
from measure.fuzzing import case, columnar, reviews, workbooks
from measure.fuzzing.reading import read_rows
from measure.fuzzing.traps import TRAPS


@pytest.mark.parametrize("family", [reviews.FAMILY, workbooks.FAMILY, columnar.FAMILY], ids=lambda family: family.name)
@pytest.mark.filterwarnings("ignore")
def test_a_hundred_generated_files_are_read_or_refused_and_lose_no_row(family: case.Family, tmp_path: Path) -> None:
    outcomes: Counter[str] = Counter()
    for number in range(100):
        folder = tmp_path / str(number)
        folder.mkdir()
        family.make(tmp_path, folder, case.chance(family, 9, number))
        path = next(path for path in folder.iterdir() if path.name != ".case.json")
        rows = json.loads((folder / ".case.json").read_text())["rows"]
        outcomes[read_rows(path, rows)] += 1
    assert outcomes["refused"] > 5 and outcomes["read"] + outcomes["rejected rows"] > 5, outcomes


@pytest.mark.parametrize(
    "name",
    [
        "zeros.csv.gz",
        "bomb.xlsx",
        "laughs.xlsx",
        "gap.xlsx",
        "deep.jsonl",
        "depth.json",
        "number.jsonl",
        "zip.xlsx",
        "mac.csv",
        "strays.csv",
    ],
)
def test_a_trap_costs_neither_time_nor_memory_nor_rows(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(dict(TRAPS)[name](random.Random(1)))
    assert read_rows(path, None) in ("read", "rejected rows", "refused")


def test_an_input_is_a_function_of_its_seed_and_number(tmp_path: Path) -> None:
    contents = []
    for name in ("a", "b"):
        assert case.make_input(reviews.FAMILY, tmp_path, tmp_path / name, 3, 4) == ""
        contents.append({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()})
    assert contents[0] == contents[1]


def spend_memory(base: Path, folder: Path) -> str:
    return f"{len(bytearray(3 << 30))} bytes"


def spend_time(base: Path, folder: Path) -> str:
    while True:
        pass


def die(base: Path, folder: Path) -> str:
    os.kill(os.getpid(), signal.SIGTERM)
    return "alive"


def wait(base: Path, folder: Path) -> str:
    time.sleep(60)
    return "late"


def fail(base: Path, folder: Path) -> str:
    raise KeyError("odd")


def print_traceback(base: Path, folder: Path) -> str:
    return case.check_ran(case.Ran(2, "", "builder: error: a\nTraceback (most recent call last):\n"))


def print_two_lines(base: Path, folder: Path) -> str:
    return case.check_ran(case.Ran(2, "", "builder: error: a\nbuilder: error: b\n"))


@pytest.mark.parametrize(
    ("use", "failure"),
    [
        (spend_memory, "MemoryError"),
        (spend_time, "SIGXCPU"),
        (die, "SIGTERM"),
        (wait, "over 2 s on the clock"),
        (fail, "KeyError: 'odd'"),
        (print_traceback, "a traceback"),
        (print_two_lines, "2 lines of error with exit 2"),
    ],
)
def test_the_harness_notices_what_goes_wrong(
    use: Callable[[Path, Path], str], failure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(case, "SECONDS", -1)  # with two seconds more
    family = replace(reviews.FAMILY, use=use, wall=2 if use is wait else 300)
    outcome = case.use_input(family, tmp_path, tmp_path, 0)
    assert failure in outcome.failure and not outcome.what


def test_a_run_goes_on_where_it_was_stopped_and_its_failures_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing = case.Outcome("reviews", 1, "", "KeyError: 'odd'", 0.1, 1 << 20)
    (tmp_path / "reviews-3.jsonl").write_text(case.Outcome("reviews", 0, "read", "", 0.2, 5 << 20).line + failing.line)
    words = ["fuzz.py", "--count", "2", "--seed", "3", "--family", "reviews", "--state", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as ended:
        fuzz.main()
    out = capsys.readouterr().out
    assert ended.value.code == 1
    assert "| reviews  | 2       | read 1" in out and "FAILED reviews:3:1 KeyError: 'odd'" in out
    fuzz.keep(reviews.FAMILY, tmp_path, tmp_path / "kept", 3, failing)
    assert (tmp_path / "kept" / "failure.txt").read_text() == "KeyError: 'odd'\n"
    assert list((tmp_path / "kept" / "input").iterdir())
