"""Many texts to look into, in a temporary file instead of memory."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Sequence
from tempfile import TemporaryFile
from types import TracebackType
from typing import overload


class Texts(Sequence[str]):
    """Eight bytes of each are in memory. The file (in TMPDIR) goes with `close`, or with the process."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._ends = array("Q", [0])
        self._file = TemporaryFile(prefix="builder-texts-")  # noqa: SIM115 (`close` closes it)
        try:
            for text in texts:
                self.append(text)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Texts:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    def append(self, text: str) -> None:
        self._ends.append(self._ends[-1] + self._file.write(text.encode("utf-8", "surrogatepass")))

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
        return self._read(self._ends[n], self._ends[n + 1])

    def _read(self, start: int, end: int) -> str:
        self._file.flush()  # nothing, where nothing was written since
        return os.pread(self._file.fileno(), end - start, start).decode("utf-8", "surrogatepass")
