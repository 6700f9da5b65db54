"""Files that nobody should write cost neither time nor memory nor rows."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
from hostile_files import TRAPS, make_file, read_rows
from test_bombs import limited


@pytest.mark.filterwarnings("ignore")
def test_hundreds_of_generated_files_are_read_or_refused_and_lose_no_row(tmp_path: Path) -> None:
    outcomes: Counter[str] = Counter()
    for number in range(300):
        path, rows = make_file(tmp_path, random.Random(f"reviews 9 {number}"))
        outcomes[read_rows(path, rows)] += 1
    assert outcomes["refused"] > 15 and outcomes["read"] + outcomes["rejected rows"] > 15, outcomes


def test_a_trap_costs_neither_time_nor_memory_nor_rows(tmp_path: Path) -> None:
    """Each is read in one process that may take what SECURITY.md promises."""
    paths = [tmp_path / name for name in TRAPS]
    for path in paths:
        path.write_bytes(TRAPS[path.name]())
    script = (
        "import sys, time; from pathlib import Path; from hostile_files import read_rows\n"
        "for path in sys.argv[1:]:\n"
        "    began = time.process_time()\n"
        "    print(read_rows(Path(path), None), time.process_time() - began, sep='\\t')"
    )
    answers = [line.split("\t") for line in limited(script, *paths, seconds=10 * len(paths))]
    assert len(answers) == len(TRAPS) >= 10
    assert {outcome for outcome, _ in answers} <= {"read", "rejected rows", "refused"}
    slow = [path.name for path, (_, seconds) in zip(paths, answers, strict=True) if float(seconds) > 10]
    assert not slow
