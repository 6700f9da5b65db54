"""One reader for the tests of the engine and of the rules: the shipped lexicon, backend and rules, ready to read a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch

from builder import nlp
from builder.engine import Doc, Engine
from builder.lexicon.resources import Lexicon, Rule, load_lexicon, load_rules
from builder.records import Triplet
from builder.text import view


@dataclass(frozen=True, repr=False)
class Reader:
    """`reader()` makes the one of a session."""

    lexicon: Lexicon
    rules: tuple[Rule, ...]
    backend: nlp.Backend
    engine: Engine
    paper: Engine
    words: tuple[str, ...]

    def docs(self, texts: Sequence[str]) -> list[Doc]:
        """On one thread: two threads of torch on one sentence only wait for each other."""
        shown = [view(text, self.lexicon.variants).text for text in texts]
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            return [Doc.of(text, tokens) for text, tokens in zip(shown, self.backend.annotate(shown), strict=True)]
        finally:
            torch.set_num_threads(before)

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
    lexicon, rules = load_lexicon(), load_rules()
    words = [*lexicon.opinions, *lexicon.aspects, *lexicon.degree, *lexicon.negators, *lexicon.irrealis, *lexicon.not_aspects]
    return Reader(
        lexicon, rules, nlp.load("embedded", lexicon.words()), Engine(lexicon, rules), Engine(lexicon, rules, "paper"), tuple(sorted(words))
    )
