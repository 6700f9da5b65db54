"""The cycle collector paused: a block that only builds what stays gains nothing from it.

In: nothing. Out: a context without collections.
"""

from __future__ import annotations

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
