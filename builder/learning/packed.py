"""Training examples that take a fraction of their memory while nobody looks at them.

In: examples. Out: a sequence of them, each made anew whenever it is looked at. A review with its triplets is some
thirty objects, and there may be a hundred thousand reviews; a training looks at them before its first step alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

from builder.core.records import Triplet
from builder.learning.task import Example, element


class PackedExamples(Sequence[Example]):
    """Examples in their order, each as a line of JSON. Their triplets bring no reasons: nothing learns from it."""

    __slots__ = ("_lines",)

    def __init__(self, examples: Iterable[Example]) -> None:
        self._lines = [_pack(example) for example in examples]

    def __len__(self) -> int:
        return len(self._lines)

    def __iter__(self) -> Iterator[Example]:
        return map(_unpack, self._lines)

    @overload
    def __getitem__(self, i: int) -> Example: ...

    @overload
    def __getitem__(self, i: slice) -> list[Example]: ...

    def __getitem__(self, i: int | slice) -> Example | list[Example]:
        return [*map(_unpack, self._lines[i])] if isinstance(i, slice) else _unpack(self._lines[i])


def _pack(example: Example) -> bytes:
    return json.dumps([example.id, example.text, *map(_row, example.triplets)], ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )


def _row(triplet: Triplet) -> list[object]:
    assert triplet.reasons is None, triplet
    elements = (triplet.aspect, triplet.aspect_full, triplet.opinion, triplet.opinion_full, triplet.owner)
    rest = (triplet.polarity, triplet.valence, triplet.source, triplet.rules, triplet.confidence)
    return [*(part and part.spans for part in elements), *rest]


def _unpack(line: bytes) -> Example:
    key, text, *rows = json.loads(line.decode("utf-8", "surrogatepass"))
    return Example(key, text, tuple(_triplet(text, row) for row in rows))


def _triplet(text: str, row: Sequence[Any]) -> Triplet:
    *places, polarity, valence, source, rules, confidence = row
    parts = [[(start, end) for start, end in spans or ()] for spans in places]
    aspect, aspect_full, opinion, opinion_full = (element(text, spans) for spans in parts[:4])
    owner = element(text, parts[4]) if places[4] is not None else None
    return Triplet(
        aspect, aspect_full, opinion, opinion_full, polarity, valence, owner, source, tuple(rules), confidence
    )
