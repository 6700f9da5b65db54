"""All that the rules make of a document, for models that read it beside the text.

In: lexicon, rules and documents. Out: a `RuleReading` of each: its units, what its opinions are worth, its triplets,
and the candidates that were weighed for an opinion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from builder.core.records import Triplet
from builder.engine.constituents import Constituent
from builder.engine.deciding import Weighed
from builder.engine.engine import Doc, Engine
from builder.language.lexicon.resources import Lexicon
from builder.language.lexicon.rules import Rule


@dataclass(frozen=True, slots=True)
class RuleReading:
    """What the rules make of a document.

    `values`: what an opinion is worth whatever it is about, by the place where it begins. `weighed`: each opinion for
    which candidates were weighed, with these, the best first.
    """

    items: Sequence[Constituent]
    values: Mapping[int, float]
    triplets: tuple[Triplet, ...]
    weighed: tuple[tuple[Constituent, Sequence[Weighed]], ...]


class RuleReader:
    """Reads documents by the rules of the convention `natural`."""

    def __init__(self, lexicon: Lexicon, rules: Sequence[Rule]) -> None:
        self._seen: list[tuple[Constituent, Sequence[Weighed]]] = []
        self._engine = Engine(lexicon, rules, observe=lambda opinion, weighed: self._seen.append((opinion, weighed)))

    def read(self, doc: Doc) -> RuleReading:
        """All that the rules make of a document."""
        self._seen.clear()
        triplets, items = self._engine.extract_with_items(doc)
        values = {
            item.start: value
            for item in items
            if item.phrase is not None and (value := self._engine.value_phrase(item.phrase)) is not None
        }
        return RuleReading(items, values, triplets, tuple(self._seen))
