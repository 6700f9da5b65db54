"""The cycle collector paused, where a block only builds what stays; and memory that is free, given back.

In: nothing. Out: a context without collections; fewer pages in this process.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
