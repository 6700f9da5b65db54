"""The rule engine of section 3.2 of the paper, pure.

In: an annotated view. Out: triplets with their reasons. `make_engine` chooses by convention: `natural` and `paper` are
one engine under two sets of rules, `described` is the system of section 3.2.

Start reading at `engine`, then `units`, `pairing`, `deciding` and `weighing`; `reader` goes from a text to triplets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from builder.core.records import Triplet
from builder.core.settings import Convention
from builder.engine.compiled import check_rules
from builder.engine.constituents import Doc
from builder.engine.described import DescribedEngine
from builder.engine.engine import Engine
from builder.engine.matching import Refusal
from builder.language.lexicon.resources import Lexicon
from builder.language.lexicon.rules import Rule


class RuleEngine(Protocol):
    """What reads documents by rules; `make_engine` makes the one of a convention."""

    def extract(self, doc: Doc) -> tuple[Triplet, ...]:
        """The triplets of a review in text order of their opinions, each once."""
        ...

    def votes(self, doc: Doc) -> Iterator[tuple[str | None, dict[str, int]]]:
        """For each opinion the rule that decides, and the place of the aspect that every rule would choose."""
        ...

    def find_refusals(self, doc: Doc) -> list[Refusal]:
        """The opinion words of a document that judge nothing where they stand, and the aspects of which nothing is
        said, in text order.
        """
        ...

    def weigh(self, doc: Doc, proposed: Sequence[Triplet]) -> list[Triplet | None]:
        """What models propose for a document, with the spans and the polarity that the rules would give them."""
        ...

    def excepts(self, triplet: Triplet) -> bool:
        """Whether a rule says that it is none, whatever finds it."""
        ...

    def value(self, triplet: Triplet) -> Triplet:
        """A triplet that the rules do not read, with the valence that the lexicon gives its opinion."""
        ...


def make_engine(lexicon: Lexicon, rules: Sequence[Rule], convention: Convention = "natural") -> RuleEngine:
    """The rule system of a convention. ResourceError names a rule that cannot run, of whatever convention."""
    if convention == "described":
        check_rules(rules)
        return DescribedEngine(lexicon, rules)
    return Engine(lexicon, rules, convention)


__all__ = ["Doc", "Engine", "RuleEngine", "make_engine"]
