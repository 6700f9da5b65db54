"""Files that nobody should write cost neither time nor memory nor rows."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
from hostile_files import TRAPS, make_file, read_rows


@pytest.mark.filterwarnings("ignore")
def test_hundreds_of_generated_files_are_read_or_refused_and_lose_no_row(tmp_path: Path) -> None:
    outcomes: Counter[str] = Counter()
    for number in range(300):
        path, rows = make_file(tmp_path, random.Random(f"reviews 9 {number}"))
        outcomes[read_rows(path, rows)] += 1
    assert outcomes["refused"] > 15 and outcomes["read"] + outcomes["rejected rows"] > 15, outcomes


@pytest.mark.parametrize("name", TRAPS)
def test_a_trap_costs_neither_time_nor_memory_nor_rows(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(TRAPS[name]())
    assert read_rows(path, None) in ("read", "rejected rows", "refused")
