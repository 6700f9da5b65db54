"""The rule engine of section 3.2 of the paper, pure.

In: an annotated view. Out: triplets with their reasons. `make_engine` chooses by convention: `natural` and `paper` are
one engine under two sets of rules, `described` is the system of section 3.2.

Start reading at `engine`, then `units`, `pairing`, `deciding` and `weighing`; `reader` goes from a text to triplets.
"""

from __future__ import annotations

from collections.abc import Sequence

from builder.core.settings import Convention
from builder.engine.compiled import check_rules
from builder.engine.constituents import Doc
from builder.engine.described import DescribedEngine
from builder.engine.engine import Engine
from builder.language.lexicon.resources import Lexicon
from builder.language.lexicon.rules import Rule

RuleEngine = Engine | DescribedEngine
"""What reads documents by rules; `make_engine` makes the one of a convention."""


def make_engine(lexicon: Lexicon, rules: Sequence[Rule], convention: Convention = "natural") -> RuleEngine:
    """The rule system of a convention. ResourceError names a rule that cannot run, of whatever convention."""
    if convention == "described":
        check_rules(rules)
        return DescribedEngine(lexicon, rules)
    return Engine(lexicon, rules, convention)


__all__ = ["Doc", "Engine", "RuleEngine", "make_engine"]
