"""Every rule file holds to its own examples, on the lexicons and the backend as shipped; a rule that cannot run says why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from reading import reader, written

from builder.config import Convention
from builder.engine import Engine
from builder.errors import ResourceError
from builder.lexicon.resources import Example, Lexicon, Rule, load_rules
from builder.records import Triplet

RULES = load_rules()
EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.name}-{'hit' if example.must else 'miss'}-{example.text}")
    for rule in RULES
    for example in rule.examples
]
MAKERS = ("pair-", "conjunction", "excess")
"""Kinds that make or turn triplets: they must show what they make. The others, apart from word lists, must show what they keep out."""
FILTERS = ("irrealis", "question", "compatible", "block")
Extract = Callable[[str, Convention], tuple[Triplet, ...]]


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return reader().lexicon


@pytest.fixture(scope="module")
def extract() -> Extract:
    """The triplets of a text as the shipped engine finds them."""
    engines = {"natural": reader().engine, "paper": reader().paper}
    return lambda text, convention: engines[convention].extract(reader().docs([text])[0])


def convention_of(rule: Rule) -> Convention:
    """The convention in which a rule's examples are meant: natural, unless the rule is for the paper's alone."""
    listed: Any = rule.params.get("conventions", ("natural",))
    return "natural" if "natural" in listed else "paper"


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_a_rule_makes_what_it_must_and_nothing_that_it_must_not(rule: Rule, example: Example, extract: Extract) -> None:
    """A miss without triplets says that the text yields none at all."""
    found = {written(triplet) for triplet in extract(example.text, convention_of(rule))}
    if example.must:
        assert set(example.triplets) <= found
    elif example.triplets:
        assert found.isdisjoint(example.triplets)
    else:
        assert found == set()


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.name) for rule in RULES if rule.kind.startswith("pair-")])
def test_a_pairing_rule_makes_a_triplet_of_its_own_examples_itself(rule: Rule, extract: Extract) -> None:
    """Else its examples would hold without it."""
    makers = {name for example in rule.examples if example.must for one in extract(example.text, convention_of(rule)) for name in one.rules}
    assert rule.name in makers


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.name) for rule in RULES])
def test_a_rule_brings_the_examples_that_its_kind_needs(rule: Rule) -> None:
    """What makes triplets brings a hit, what keeps them out a miss; a hit names what must be found."""
    hits = [example for example in rule.examples if example.must]
    assert all(example.triplets for example in hits)
    if rule.kind.startswith(MAKERS):
        assert hits
    elif rule.kind in FILTERS:
        assert len(hits) < len(rule.examples)


def test_switching_a_rule_off_takes_away_what_it_made(lexicon: Lexicon, extract: Extract) -> None:
    text = "這裡有好吃的牛肉麵"
    (name,) = extract(text, "natural")[0].rules
    without = Engine(lexicon, [with_params(rule, enabled=False) if rule.name == name else rule for rule in RULES])
    assert not any(name in triplet.rules for triplet in without.extract(reader().docs([text])[0]))


# ---- rules that cannot run


def with_params(rule: Rule, **params: object) -> Rule:
    return replace(rule, params=MappingProxyType({**rule.params, **params}))


def refused(lexicon: Lexicon, *rules: Rule) -> str:
    with pytest.raises(ResourceError) as caught:
        Engine(lexicon, rules)
    return str(caught.value)


def one_of(kind: str) -> Rule:
    return next(rule for rule in RULES if rule.kind == kind)


def test_a_rule_of_unknown_kind_is_refused_with_the_known_ones(lexicon: Lexicon) -> None:
    message = refused(lexicon, *RULES, replace(one_of("pair-path"), name="mine", kind="pair-magic", where="rules/mine.toml"))
    assert message.startswith("rules/mine.toml: rule 'mine' has unknown kind 'pair-magic'; known: ")
    assert "pair-pattern" in message


def test_there_is_exactly_one_grammar(lexicon: Lexicon) -> None:
    assert "0 rules of kind grammar" in refused(lexicon, one_of("pair-path"))
    grammar = one_of("grammar")
    assert "2 rules of kind grammar; " in refused(lexicon, grammar, replace(grammar, name="again"))


@pytest.mark.parametrize(
    ("kind", "params", "message"),
    [
        ("pair-pattern", {"pattern": "TARGET OPINOIN* CURRENT"}, "unknown unit 'OPINOIN' in pattern 'TARGET OPINOIN* CURRENT'; known: "),
        ("pair-pattern", {"pattern": "TARGET ( CURRENT"}, "pattern 'TARGET ( CURRENT': "),
        ("pair-pattern", {"pattern": 3}, "needs pattern = "),
        ("pair-path", {"longest": "far"}, "needs longest = a whole number"),
        ("pair-carry", {"blockers": "NOUN"}, "blockers is no list of strings"),
        ("irrealis", {"kinds": [1]}, "kinds is no list of strings"),
    ],
)
def test_a_rule_with_a_broken_parameter_is_named_with_its_file(
    lexicon: Lexicon, kind: str, params: dict[str, object], message: str
) -> None:
    told = refused(lexicon, one_of("grammar"), replace(with_params(one_of(kind), **params), where="rules/x.toml"))
    assert told.startswith("rules/x.toml: ")
    assert message in told
