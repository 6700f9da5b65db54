"""numpy's multiplications of small matrices: on one thread, and with the instructions that the processor has.

In: nothing. Out: a context on one thread; a variable of the environment, which OpenBLAS reads as numpy loads.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

_KERNELS = "OPENBLAS_CORETYPE"
_AVX512 = frozenset({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})


def choose_kernels(processor: Path = Path("/proc/cpuinfo")) -> None:
    """Have OpenBLAS use AVX-512 on processors of AMD that have it.

    It knows the newer ones as their forebears without: the parser takes a third less time. What the user chose stays.
    """
    try:
        lines = dict(line.split(":", 1) for line in processor.read_text().split("\n\n")[0].splitlines() if ":" in line)
    except OSError:
        return
    shown = {name.strip(): value.split() for name, value in lines.items()}
    if shown.get("vendor_id") == ["AuthenticAMD"] and set(shown.get("flags", ())) >= _AVX512:
        os.environ.setdefault(_KERNELS, "SkylakeX")


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
