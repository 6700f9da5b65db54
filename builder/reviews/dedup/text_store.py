"""Many texts to look into, in a temporary file instead of memory."""

from __future__ import annotations

import os
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from tempfile import TemporaryFile, gettempdir
from types import TracebackType
from typing import overload

_BLOCK = 1 << 18
"""Bytes that are read at a time, or one text where it is longer."""


@contextmanager
def named() -> Iterator[None]:
    """An OSError about a temporary file says in which folder it is: its name is nobody's."""
    try:
        yield
    except OSError as error:
        error.filename = gettempdir()
        raise


class Texts(Sequence[str]):
    """Eight bytes of each are in memory. The file (in TMPDIR) goes with `close`, or with the process."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._ends = array("Q", [0])
        self._waiting = False
        self._file = TemporaryFile(prefix="builder-texts-")  # noqa: SIM115 (`close` closes it)
        try:
            for text in texts:
                self.append(text)
            self._flush()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Texts:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        with suppress(OSError):  # what was not written yet need not be any more
            self._file.close()

    def append(self, text: str) -> None:
        with named():
            self._ends.append(self._ends[-1] + self._file.write(text.encode("utf-8", "surrogatepass")))
            self._waiting = True

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, i: int) -> str: ...

    @overload
    def __getitem__(self, i: slice) -> list[str]: ...

    def __getitem__(self, i: int | slice) -> str | list[str]:
        if isinstance(i, slice):
            return [self[n] for n in range(*i.indices(len(self)))]
        n = range(len(self))[i]
        return self._read(self._ends[n], self._ends[n + 1]).decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        """Many are read at a time."""
        first = 0
        while first < len(self):
            start = self._ends[first]
            last = max(first + 1, bisect_right(self._ends, start + _BLOCK, first) - 1)
            block = self._read(start, self._ends[last])
            for a, b in pairwise(self._ends[first : last + 1]):
                yield block[a - start : b - start].decode("utf-8", "surrogatepass")
            first = last

    def _read(self, start: int, end: int) -> bytes:
        if self._waiting:
            self._flush()
        return os.pread(self._file.fileno(), end - start, start)

    def _flush(self) -> None:
        with named():
            self._file.flush()
        self._waiting = False
