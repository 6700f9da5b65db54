"""Where no construction is sure, all candidates and none are weighed; the story of a triplet shows the scores."""

from __future__ import annotations

import math
from dataclasses import replace
from types import MappingProxyType

import pytest
from reading import reader

from builder.core.errors import ResourceError
from builder.engine import Engine
from builder.engine.constituents import AspectCandidate, Constituent, Term
from builder.engine.deciding import Decision, DecisionRule, rank_candidates
from builder.engine.symbols import ASPECT
from builder.language.lexicon.rules import Rule


def decision_with(**params: object) -> list[Rule]:
    """The shipped rules with other parameters of the decision."""
    rules = reader().rules
    return [
        replace(rule, params=MappingProxyType({**rule.params, **params})) if rule.kind == "decision" else rule
        for rule in rules
    ]


def made(rules: list[Rule], text: str) -> list[str]:
    engine = Engine(reader().lexicon, rules)
    return [f"{t.aspect.text}|{t.opinion.text}|{t.rules[0]}" for t in engine.extract(reader().docs([text])[0])]


def test_a_verdict_on_the_visit_goes_to_no_attribute_named_before() -> None:
    assert reader().found("價位偏高！值得推薦") == {"價位|偏高|NEG"}


def test_a_candidate_that_no_rule_proposes_wins_by_its_weights() -> None:
    weights = {"any": 1.0, "further back": 5.0}
    text = "雞排很脆，醬料很香，真的不錯"
    assert "雞排|不錯|decision" in made(decision_with(weights=weights), text)


def test_none_wins_where_every_candidate_scores_below_zero() -> None:
    text = "雞排很脆，非常好吃"
    assert made(decision_with(weights={"any": -1.0}), text) == []
    assert len(made(decision_with(weights={"any": 1.0}), text)) == 2


def test_a_sure_rule_is_not_weighed() -> None:
    text = "好吃的牛肉麵"
    assert made(decision_with(weights={"any": -9.0}), text) == ["牛肉麵|好吃|attributive"]


def test_the_story_names_the_candidates_with_their_scores_and_none() -> None:
    *_, last = reader().read("雞排皮很脆，醬料很香")
    story = dict(last.evidence)
    assert story["candidates"].startswith("醬料 ")
    assert "none 0.0" in story["candidates"]
    assert last.reasons is not None
    (_, first), (_, second), *_ = last.reasons.candidates
    assert last.reasons.margin == first - second > 0


def test_the_margin_is_by_how_much_an_aspect_is_ahead_of_the_next_candidate() -> None:
    soup, noodles, rice, joined = (
        Constituent(at, at + 1, ASPECT, word, at, term=Term("food")) for at, word in enumerate("湯麵飯菜")
    )
    weighed = [AspectCandidate(aspect, (), score=score) for score, aspect in ((2.04, soup), (1.5, noodles), (-1, rice))]
    shown = (("湯", 2.0), ("麵", 1.5), ("none", 0.0), ("飯", -1.0))
    assert rank_candidates(weighed, soup) == (shown, 0.5)
    assert rank_candidates(weighed, noodles) == (shown, -0.5)
    assert rank_candidates(weighed, joined) == (shown, 0.5), "what is joined to the best is as far ahead"
    assert rank_candidates([], soup) == ((), math.inf), "a construction that weighs nothing is certain"


def test_a_topic_from_before_the_clauses_that_are_weighed_is_described_as_of_its_own_clause() -> None:
    text = "雞排很脆，很香，很酥，很燙，很鹹，很油，很多汁"
    weights = {"rule carried-topic": 1.0, "same clause": -9.0}
    assert "雞排|多汁|carried-topic" in made(decision_with(weights=weights), text)
    assert made(decision_with(weights={**weights, "further back": -1.0}), text) == ["雞排|香|carried-topic"]


def test_groups_are_named_by_the_longest_prefix() -> None:
    groups = {"thing": ("food",), "part": ("food.part",)}
    decision = Decision("decision", DecisionRule(frozenset(), 1, {}, groups, {}))
    named = [decision.aspect_group(cls) for cls in ("food.part", "food.soup", "place", "")]
    assert named == ["part", "thing", "other", "none listed"]


def test_a_weight_that_is_no_number_is_refused_with_its_line() -> None:
    with pytest.raises(ResourceError, match="weights is not a table of numbers"):
        Engine(reader().lexicon, decision_with(weights={"any": "much"}))
