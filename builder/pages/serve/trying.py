"""The page on which a sentence is typed and its triplets are shown, with the candidates that were weighed.

In: a sentence, by its address. Out: its triplets as the rules of this build make them. Nothing is kept: not the
sentence, not the answer. A sentence has a longest length and an answer a longest time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

from builder.core.records import Token, Triplet

LONGEST = 300
SECONDS = 3.0
EXAMPLE = "餐點不會太鹹，服務人員也很親切，可惜等太久"


class Reads(Protocol):
    """A `builder.Extractor`, by what is needed of it."""

    def __call__(self, text: str) -> Sequence[Triplet]:
        """The triplets of a text."""
        ...

    def tokens(self, text: str) -> tuple[Token, ...]:
        """The words of a text."""
        ...


@dataclass(frozen=True, slots=True)
class ReadSentence:
    """A sentence with its triplets and words."""

    text: str
    triplets: tuple[Triplet, ...]
    tokens: tuple[Token, ...]


@dataclass(slots=True)
class Extracting:
    """Reads sentences one after another, in a thread of its own; the extractor is made when the first one comes."""

    make: Callable[[], Reads]
    seconds: float = SECONDS
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "extracting"))
    _extractor: Reads | None = None

    async def read(self, text: str) -> ReadSentence | None:
        """What a sentence says; None where that takes too long, or where others are before it for so long."""
        work = asyncio.get_running_loop().run_in_executor(self._thread, self._read, text)
        try:
            limit = self.seconds if self._extractor is not None else 20 * self.seconds  # making it takes a while
            return await asyncio.wait_for(work, limit)
        except TimeoutError:
            return None

    def _read(self, text: str) -> ReadSentence:
        if self._extractor is None:
            self._extractor = self.make()
        return ReadSentence(text, tuple(self._extractor(text)), self._extractor.tokens(text))
