"""The cycle collector, seldom or paused where a block only builds what stays; and memory that is free, given back.

In: nothing. Out: fewer collections in this process, a context without any, and fewer pages.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager

_COLLECT_EVERY = 100_000
"""Containers made and still there, where Python has 700. A collection of so many takes 5 ms."""


def collect_seldom() -> None:
    """Let the cycle collector run seldom, in a process that is ours: the command line, or a worker.

    At Python's own threshold it took a seventh of the rule engine's time, and half of that of parsing sources.
    """
    gc.set_threshold(_COLLECT_EVERY, *gc.get_threshold()[1:])


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
