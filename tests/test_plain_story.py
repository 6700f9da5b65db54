"""What `builder explain` says in plain words, before its details."""

from __future__ import annotations

import pytest

from builder.core.records import Element, StoredTriplet, Triplet
from builder.pages.plain_story import explain_pair, explain_polarity, explain_verdict, list_legend
from builder.store.stories import JudgeVerdict, Outcome, Step, TripletStory

TEXT = "湯不會\n太鹹"


def element(*spans: tuple[int, int]) -> Element:
    return Element("".join(TEXT[start:end] for start, end in spans), spans)


SALTY = Triplet(element((0, 1)), element((0, 1)), element((1, 3), (5, 6)), element((1, 6)), "POS", 7.0, "rules")
ENDS = Outcome(True, "in v0.1.0, train, silver")


def told(*steps: tuple[str, str], sources: tuple[str, ...] = ("rules",), triplet: Triplet = SALTY) -> TripletStory:
    made = tuple(Step("E0" if kind == "proposed" else sources[0], kind, detail) for kind, detail in steps)
    return TripletStory(StoredTriplet(1, 1, triplet), "r:1", sources, made, ENDS)


def test_a_pair_is_explained_by_its_rule_or_by_who_found_it() -> None:
    rules = {"subject": "環境很乾淨: the nearest aspect. It is more than that."}
    assert explain_pair(told(("rule", "subject")), rules) == (
        "不會鹹 is about 湯 by the rule subject (環境很乾淨: the nearest aspect)."
    )
    assert explain_pair(told(("rule", "of-mine")), rules) == "不會鹹 is about 湯 by the rule of-mine."
    by_both = told(("rule", "of-mine"), ("words", "(湯, 鹹)"))
    assert explain_pair(by_both, rules).endswith(
        " by the rule of-mine. Its words are the model's; the rule found (湯, 鹹)."
    )
    assert list_legend("discriminator words (湯, 鹹)") == [
        "words: what the rule found, where the model gave it other words"
    ]
    assert list_legend("discriminator words") == []
    by_model = told(("proposed", ""), sources=("discriminator",))
    assert explain_pair(by_model, rules) == "No rule pairs 不會鹹 with 湯: the model found the pair by itself."
    assert explain_pair(told(sources=("gold",)), rules) == (
        "Neither rules nor model pair 不會鹹 with 湯: it comes from gold."
    )


@pytest.mark.parametrize(
    ("steps", "reasons"),
    [
        ([("opinion", "鹹 taste.salty 3 (opinions/food_taste.tsv:7)"), ("negation", "flip"), ("negator", "不會")],
         ": 鹹 counts 3 of 10 in the lexicon, 不會 turns it round."),
        ([("context", "鹹 of @food 3.6"), ("context", "鹹 of 湯 3")],
         ": beside aspects of the class food it counts 3.6, beside 湯 it counts 3."),
        ([("opinion", "慢 speed.slow 2.8 (opinions/service_speed.tsv:80)"), ("context", "慢 of 上菜速度 2.8")],
         ": 慢 counts 2.8 of 10 in the lexicon."),
        ([("opinion", "強 context.only 5 (opinions/context_only.tsv:5)"), ("context", "強 of 冷氣 6.5")],
         ": 強 says neither good nor bad by itself, beside 冷氣 it counts 6.5."),
        ([("excess", "over before taste.salty")], ": a degree word says that it is too much or too little."),
        ([], "; no entry of the lexicon says so."),
    ],
)  # fmt: skip
def test_a_polarity_is_explained_by_what_gave_it(steps: list[tuple[str, str]], reasons: str) -> None:
    assert explain_polarity(told(*steps)) == f"It is positive, 7 of 10{reasons}"


@pytest.mark.parametrize(
    ("verdict", "judge", "steps", "said"),
    [
        (JudgeVerdict("model", "YY", 0.7583, 0.8927), "shipped model", [("rule", "subject")],
         "The model that comes with builder finds the pair too, and the same polarity: raw score 0.758, calibrated "
         "confidence 0.893."),
        (JudgeVerdict("model", "YY", 0.7583, None), "shipped model", [],
         "The model that comes with builder proposes it: raw score 0.758."),
        (JudgeVerdict("discriminator", None, 0.5, None), "discriminator", [("rule", "subject")],
         "The judge that this build trained does not say whether it finds this pair: raw score 0.500."),
    ],
)  # fmt: skip
def test_a_verdict_names_who_judged_and_each_of_its_numbers(
    verdict: JudgeVerdict, judge: str, steps: list[tuple[str, str]], said: str
) -> None:
    assert explain_verdict(told(*steps), verdict, judge) == said
