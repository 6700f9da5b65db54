"""The rules as a system that finds triplets in texts. It stands alone, so that it is ready soon."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice
from typing import TypeVar

from builder.core.shards import Job, opened
from builder.engine.reader import Reader, Recipe, Triplets, make_reader

_CHUNK = 256
Part = TypeVar("Part")


class RuleSystem:
    """The rule engine. It loads with the first text that is read in this process."""

    name = "rules"

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe

    @cached_property
    def reader(self) -> Reader:
        """Lexicon, backend and engine."""
        return make_reader(self.recipe)

    def extract(self, texts: Sequence[str]) -> list[Triplets]:
        return self.reader.extract(texts)

    def stream(self, texts: Iterable[str], workers: int) -> Iterator[Triplets]:
        """A short input is read here: it would be done before a second process has started."""
        left = iter(texts)
        head = list(islice(left, 4 * _CHUNK + 1)) if workers > 1 else []
        batches = split_batches(chain(head, left), _CHUNK)
        if workers <= 1 or len(head) <= 4 * _CHUNK:
            for batch in batches:
                yield from self.reader.extract(batch)
            return
        with opened("local", workers) as crew:
            for answers in crew.map(Job(make_reader, (self.recipe,), Reader.extract), batches):
                yield from answers


def split_batches(items: Iterator[Part], size: int) -> Iterator[list[Part]]:
    """Lists of `size` items, the last one shorter; `items` may be endless."""
    return iter(lambda: list(islice(items, size)), [])
