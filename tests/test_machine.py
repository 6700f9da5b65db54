"""What a stage held in memory at most is the kernel's count since it began."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from builder.core import machine

_MEASURED = """
from builder.core import machine

machine.begin_peak()
before = machine.read_peak()
held = bytearray(64 << 20)
held[:: 1 << 12] = b"x" * len(held[:: 1 << 12])  # every page is touched
most = machine.read_peak()
del held
machine.begin_peak()
print(before, most, machine.read_peak())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's count")
def test_the_peak_is_that_since_it_began() -> None:
    """In a process of its own: in this one, other tests leave memory that may be freed at any time."""
    run = subprocess.run([sys.executable, "-c", _MEASURED], check=True, capture_output=True, text=True)
    before, most, after = map(int, run.stdout.split())
    assert before and most > before + (56 << 20)
    assert after < most - (32 << 20)


def test_without_the_kernels_count_nothing_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "_SELF", tmp_path)
    machine.begin_peak()
    assert machine.read_peak() is None
