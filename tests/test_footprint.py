"""What a stage held in memory at most is the kernel's count since it began."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from builder.shards import footprint


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's count")
def test_the_peak_is_that_since_it_began() -> None:
    footprint.begin()
    before = footprint.peak()
    assert before
    held = bytearray(64 << 20)
    held[:: 1 << 12] = b"x" * len(held[:: 1 << 12])  # every page is touched
    most = footprint.peak()
    assert most and most > before + (56 << 20)
    del held
    footprint.begin()
    after = footprint.peak()
    assert after and after < most - (32 << 20)


def test_without_the_kernels_count_nothing_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(footprint, "_SELF", tmp_path)
    footprint.begin()
    assert footprint.peak() is None
