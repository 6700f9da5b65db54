"""The label model: what labellers are worth is estimated without labels, and only what is probable changes."""

from __future__ import annotations

import random

from builder.models.label_model import RECALL, SHARED_ERROR, VotedCandidate, chance_by_margin, fit_label_model
from builder.pipeline.variant_e import ADD, DROP


def simulate(
    named: tuple[float, ...], repeated: tuple[float, ...], invented: tuple[float, ...], seed: int = 1, size: int = 4000
) -> list[tuple[VotedCandidate, bool]]:
    """Candidates of a build that holds RECALL of what is right, with labellers of known rates, and the truth."""
    drawn = random.Random(seed)
    out = []
    for _ in range(size):
        chance = drawn.choice((0.5, 0.7, 0.9, 0.95))
        right = drawn.random() < chance
        rates = named if right else repeated
        out.append((VotedCandidate(chance, "food", tuple(drawn.random() < rate for rate in rates)), right))
    for _ in range(int(size * 0.76 * (1 - RECALL) / RECALL)):
        votes = tuple(drawn.random() < 0.8 * rate for rate in named)
        out.append((VotedCandidate(None, "food", votes), True))
    for _ in range(size):
        votes = tuple(drawn.random() < rate for rate in invented)
        out.append((VotedCandidate(None, "food", votes), False))
    return [(candidate, right) for candidate, right in out if candidate.chance is not None or any(candidate.votes)]


def f1(rows: list[tuple[bool, bool]]) -> float:
    hits = sum(kept and right for kept, right in rows)
    return 2 * hits / (sum(kept for kept, _ in rows) + sum(right for _, right in rows))


def decide(simulated: list[tuple[VotedCandidate, bool]], labellers: int) -> tuple[float, float]:
    """F1 of the build alone, and with the labellers."""
    model = fit_label_model([candidate for candidate, _ in simulated], labellers)
    before = [(candidate.chance is not None, right) for candidate, right in simulated]
    after = [
        (model.chance(candidate) >= (ADD if candidate.chance is None else DROP), right)
        for candidate, right in simulated
    ]
    return f1(before), f1(after)


def test_rates_of_labellers_are_estimated_without_labels() -> None:
    simulated = simulate((0.9, 0.6), (0.2, 0.5), (0.02, 0.1))
    rates = fit_label_model([candidate for candidate, _ in simulated], 2).rates[""]
    assert abs(rates[0].named - 0.9) < 0.04
    assert abs(rates[0].repeated - 0.2) < 0.08
    assert abs(rates[1].named - 0.6) < 0.04


def test_good_labellers_make_the_build_better() -> None:
    before, after = decide(simulate((0.9, 0.85), (0.2, 0.2), (0.02, 0.02)), 2)
    assert after > before + 0.05


def test_a_labeller_that_answers_at_random_changes_almost_nothing() -> None:
    before, after = decide(simulate((0.3,), (0.3,), (0.5,)), 1)
    assert after >= before - 0.001


def test_a_labeller_that_is_mostly_wrong_makes_nothing_worse() -> None:
    before, after = decide(simulate((0.2,), (0.7,), (0.6,)), 1)
    assert after >= before - 0.005


def test_one_silent_labeller_drops_nothing_of_which_the_build_is_sure() -> None:
    simulated = simulate((0.85,), (0.5,), (0.05,))
    model = fit_label_model([candidate for candidate, _ in simulated], 1)
    assert model.chance(VotedCandidate(0.9, "food", (False,))) > DROP


def test_a_review_that_was_not_read_says_nothing() -> None:
    simulated = simulate((0.85,), (0.4,), (0.05,))
    model = fit_label_model([candidate for candidate, _ in simulated], 1)
    assert abs(model.chance(VotedCandidate(0.8, "food", (None,))) - 0.8) < 1e-9


def test_judged_candidates_decide_what_a_labeller_alone_is_worth() -> None:
    candidates = [VotedCandidate(0.9, "", (True,))] * 300 + [VotedCandidate(None, "", (True,))] * 100
    unjudged = fit_label_model(candidates, 1).chance(VotedCandidate(None, "", (True,)))
    wrong = [VotedCandidate(None, "", (True,), right=False)] * 60
    judged = fit_label_model(candidates + wrong, 1).chance(VotedCandidate(None, "", (True,)))
    right = [VotedCandidate(None, "", (True,), right=True)] * 60
    approved = fit_label_model(candidates + right, 1).chance(VotedCandidate(None, "", (True,)))
    assert judged < 0.25 < unjudged
    assert approved > 0.7


def test_categories_differ_where_they_have_enough_to_show_it() -> None:
    food = [VotedCandidate(0.9, "food", (True,))] * 300
    price = [VotedCandidate(0.9, "price", (False,))] * 300
    few = [VotedCandidate(0.9, "staff", (False,))] * 3
    rates = fit_label_model(food + price + few, 1).rates
    assert rates["food"][0].named > 0.85 > 0.3 > rates["price"][0].named
    assert rates["staff"][0].named > 0.4


def test_nothing_is_known_of_a_labeller_before_it_has_read_anything() -> None:
    model = fit_label_model([], 1)
    assert model.rates[""][0].repeated == SHARED_ERROR
    assert model.chance(VotedCandidate(None, "food", (True,))) == 0.0


def test_a_rule_triplet_of_a_greater_margin_is_likelier_right() -> None:
    assert [chance_by_margin(margin) for margin in (0.1, 1.2, 3.0)] == [0.5, 0.7, 0.9]
    assert chance_by_margin(float("inf")) == 0.85
