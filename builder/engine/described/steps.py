"""The steps of section 3.2 as rules: what each kind of rule declares, and all of them made ready.

In: the rules in force in convention `described`. Out: `Steps`. A step without its rule, or with two, is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from builder.core.errors import ResourceError
from builder.engine.params import NoParams, Params, in_force, read_params
from builder.language.lexicon.rules import Rule


@dataclass(frozen=True, slots=True)
class OpinionStep:
    """Section 3.2.1. `barred`: parts of speech that are no opinions, whatever the word is (特別 before 好吃)."""

    barred: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class AspectStep:
    """Section 3.2.2. `dishes`: prefixes of the classes whose names add their parts to the lexicon.

    `parts`: roles of morphemes.tsv that such a part may have, and `shortest` how many characters it has at least.
    `composed`: prefixes of the classes whose entries of several words (餐點口感) are left to the attributes of 3.2.3.
    """

    dishes: tuple[str, ...] = ()
    parts: frozenset[str] = frozenset()
    shortest: int = 2
    composed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConjunctionStep:
    """Section 3.2.3. `relations`: arcs of coordination. `tags`: parts of speech that a conjunct may have."""

    relations: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class AttributeStep:
    """Section 3.2.3. `modifying`: arcs of a noun that modifies another (`amod`), `associative`: those of one before 的.

    `marks`: the arc of 的 below the latter (`assm`). `tags`: parts of speech that an attribute may have.
    """

    modifying: frozenset[str] = frozenset()
    associative: frozenset[str] = frozenset()
    marks: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PolarityStep:
    """Section 3.2.4. `relations`: arcs of negation. `kinds`: kinds of negators.tsv that negate by whatever arc."""

    relations: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()


DECLARED: Mapping[str, type] = {
    "described-opinions": OpinionStep,
    "described-aspects": AspectStep,
    "described-path": NoParams,
    "described-conjunction": ConjunctionStep,
    "described-attribute": AttributeStep,
    "described-polarity": PolarityStep,
}
"""Kind of a rule -> its parameters."""


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps with their parameters, and the names of the rules that make triplets.

    A conjunction or attribute that is switched off has no arcs and no name.
    """

    opinions: OpinionStep
    aspects: AspectStep
    conjunction: ConjunctionStep
    attribute: AttributeStep
    polarity: PolarityStep
    path_name: str
    conjunction_name: str
    attribute_name: str

    @classmethod
    def of(cls, rules: Sequence[Rule]) -> Steps:
        """The steps that rules declare. ResourceError names a kind that has not exactly one rule."""
        chosen = {kind: _choose_rule(rules, kind) for kind in DECLARED}

        def read(kind: str, declared: type[Params]) -> Params:
            rule = chosen[kind]
            return declared() if rule is None else read_params(rule, declared)

        def name(kind: str) -> str:
            rule = chosen[kind]
            return "" if rule is None else rule.name

        return cls(
            opinions=read("described-opinions", OpinionStep),
            aspects=read("described-aspects", AspectStep),
            conjunction=read("described-conjunction", ConjunctionStep),
            attribute=read("described-attribute", AttributeStep),
            polarity=read("described-polarity", PolarityStep),
            path_name=name("described-path"),
            conjunction_name=name("described-conjunction"),
            attribute_name=name("described-attribute"),
        )


_OPTIONAL = frozenset({"described-conjunction", "described-attribute"})
"""Kinds that may be switched off."""


def _choose_rule(rules: Sequence[Rule], kind: str) -> Rule | None:
    own = [rule for rule in rules if rule.kind == kind and in_force(rule, "described")]
    if len(own) == 1 or (not own and kind in _OPTIONAL):
        return own[0] if own else None
    names = ", ".join(rule.name for rule in own) or "none"
    raise ResourceError(
        f"{len(own)} rules of kind {kind} in convention described: {names}",
        where=own[-1].where if own else "rules/",
        fix="keep exactly one",
    )
