"""What a process spends on this machine: the cycle collector runs seldom, or never where a block only builds what
stays; free memory is given back; numpy's small matrices get one thread, and the processor's own instructions.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

_KERNELS = "OPENBLAS_CORETYPE"
_AVX512 = frozenset({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})
_GPUS = (Path("/dev/nvidiactl"), Path("/dev/kfd"), Path("/dev/dxg"))
"""Where drivers of NVIDIA, AMD, and Windows' subsystem for Linux show that there is a GPU."""


def choose_kernels() -> None:
    """Have OpenBLAS use AVX-512 on processors of AMD that have it.

    It knows the newer ones as their forebears without: the parser takes a third less time. What the user chose stays.
    """
    shown = _processor()
    if shown.get("vendor_id") == ["AuthenticAMD"] and set(shown.get("flags", ())) >= _AVX512:
        os.environ.setdefault(_KERNELS, "SkylakeX")


def has_gpu(device: str) -> bool:
    """Whether a setting may mean a GPU, for all that is seen without importing torch."""
    return device != "cpu" and (device != "auto" or any(path.exists() for path in _GPUS))


def _processor() -> Mapping[str, Sequence[str]]:
    """What Linux says of the first processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in lines if ":" in line)
    return {name.strip(): value.split() for name, value in pairs}


@contextmanager
def one_thread() -> Iterator[None]:
    """Threads of so small products mostly wait for each other: two take ten times the time of one."""
    with _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> Any:
    """Those that are loaded at the first call, after numpy."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


_COLLECT_EVERY = 100_000
"""Containers made and still there, where Python has 700. A collection of so many takes 5 ms."""


def collect_seldom() -> None:
    """Let the cycle collector run seldom, in a process that is ours: the command line, or a worker.

    At Python's own threshold it took a seventh of the rule engine's time, and half of that of parsing sources. At the
    end, where all memory goes at once, it would look through every object again: a tenth of a short command.
    """
    gc.set_threshold(_COLLECT_EVERY, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)


@contextmanager
def uncollected() -> Iterator[None]:
    """Without the cycle collector, which would walk millions of objects again and again.

    There are no cycles among rows of a release or entries of a lexicon, and torch alone brings a million objects.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def give_back() -> None:
    """Give the system the pages that no object uses: glibc keeps what a training leaves between objects that stay.

    Elsewhere than on Linux with glibc nothing happens.
    """
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):  # no such function; no library of that name (Windows)
        return
