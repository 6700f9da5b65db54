"""One reader for the tests of the engine and of the rules:
the shipped lexicon, backend and rules, ready to read a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from builder.core.records import Triplet
from builder.engine import Doc, Engine, RuleEngine
from builder.engine.reader import Recipe, make_reader, read
from builder.language import nlp
from builder.language.lexicon.resources import Lexicon
from builder.language.lexicon.rules import Rule, load_rules


@dataclass(frozen=True, repr=False)
class Reader:
    """`reader()` makes the one of a session."""

    lexicon: Lexicon
    rules: tuple[Rule, ...]
    backend: nlp.Backend
    engine: RuleEngine
    paper: Engine
    words: tuple[str, ...]

    def docs(self, texts: Sequence[str]) -> list[Doc]:
        return [reading.doc for reading in read(texts, self.backend, self.lexicon.variants)]

    def read(self, text: str) -> tuple[Triplet, ...]:
        return self.engine.extract(self.docs([text])[0])

    def found(self, text: str) -> set[str]:
        return {written(one) for one in self.read(text)}

    def one(self, text: str) -> Triplet:
        (triplet,) = self.read(text)
        return triplet


def written(triplet: Triplet) -> str:
    """A triplet as the examples of rules write it."""
    return f"{triplet.aspect.text}|{triplet.opinion.text}|{triplet.polarity}"


@cache
def reader() -> Reader:
    made, rules = make_reader(Recipe()), load_rules()
    lexicon = made.lexicon
    words = [
        *lexicon.opinions,
        *lexicon.aspects,
        *lexicon.degree,
        *lexicon.negators,
        *lexicon.irrealis,
        *lexicon.not_aspects,
    ]
    return Reader(lexicon, rules, made.backend, made.engine, Engine(lexicon, rules, "paper"), tuple(sorted(words)))
