"""What numpy's multiplications run on: threads, and instructions of the processor."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from builder.core.machine import choose_kernels, one_thread

WIDE = "fpu avx avx2 avx512f avx512dq avx512cd avx512bw avx512vl"


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
