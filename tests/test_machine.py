"""What a process takes of its machine: memory at most, and threads and instructions of multiplications."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from builder.core import machine
from builder.core.machine import choose_kernels, one_thread

WIDE = "fpu avx avx2 avx512f avx512dq avx512cd avx512bw avx512vl"
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


@pytest.mark.parametrize(
    ("vendor", "flags", "before", "due"),
    [
        ("AuthenticAMD", WIDE, None, "SkylakeX"),
        ("AuthenticAMD", WIDE, "Zen", "Zen"),
        ("AuthenticAMD", "fpu avx avx2 avx512f", None, None),
        ("GenuineIntel", WIDE, None, None),
    ],
)
def test_a_processor_of_amd_with_avx_512_uses_it_unless_the_user_chose(
    vendor: str, flags: str, before: str | None, due: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = f"processor\t: 0\nvendor_id\t: {vendor}\nflags\t\t: {flags}\nbugs\t\t:\n"
    (tmp_path / "cpuinfo").write_text(f"{one}\n{one}")
    monkeypatch.setattr(os, "environ", {"OPENBLAS_CORETYPE": before} if before else {})
    choose_kernels(tmp_path / "cpuinfo")
    assert os.environ.get("OPENBLAS_CORETYPE") == due


def test_a_machine_that_does_not_show_its_processor_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", {})
    choose_kernels(tmp_path / "none")
    assert "OPENBLAS_CORETYPE" not in os.environ


def test_one_thread_multiplies_and_the_number_before_comes_back() -> None:
    def threads() -> set[int]:
        return {
            lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas" and "numpy" in lib["filepath"]
        }

    np.ones((2, 2)) @ np.ones((2, 2))
    with threadpool_limits(2, "blas"):
        with one_thread():
            assert threads() == {1}
        assert threads() == {2}
