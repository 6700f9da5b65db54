"""A first draft of a rule: what it holds, that it does what it is drafted for, and what it says of a bad triplet."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from builder.cli.words import rules
from builder.core.errors import ConfigError
from builder.engine.drafting import draft_rule
from builder.engine.engine import Engine
from builder.engine.reader import Reader, Recipe, make_reader
from builder.language.lexicon.rules import Rule, load_rules
from builder.pipeline.rule_report import draft as write_draft


@pytest.fixture(scope="module")
def reader() -> Reader:
    return make_reader(Recipe())


def draft(reader: Reader, text: str, triplet: str) -> Rule:
    assert isinstance(reader.engine, Engine)
    (reading,) = reader.read([text])
    return draft_rule(text, triplet, reader.engine.read(reading.doc))


@pytest.mark.parametrize(
    ("text", "triplet", "pattern"),
    [
        ("座位可以說是非常舒適", "座位|舒適|POS", "TARGET CURRENT"),
        ("舒適得不得了的座位", "座位|舒適|POS", "CURRENT DE TARGET"),
        ("座位也不太舒適", "座位|不舒適|NEG", "TARGET ADV CURRENT"),
        ("好吃，麵好吃", "麵|好吃|POS", "TARGET CURRENT"),
        ("WiFi很快", "WiFi|快|POS", "TARGET CURRENT"),
    ],
)
def test_where_both_words_are_read_the_draft_pairs_them(reader: Reader, text: str, triplet: str, pattern: str) -> None:
    rule = draft(reader, text, triplet)
    assert rule.kind == "pair-pattern"
    assert rule.params["pattern"] == pattern


def test_a_draft_makes_the_opinion_that_no_lexicon_holds(reader: Reader) -> None:
    text, triplet = "桌子油到會黏手", "桌子|油到會黏手|NEG"
    rule = draft(reader, text, triplet)
    assert (rule.kind, rule.params["pattern"]) == ("predicate", "FIRST SECOND THIRD FOURTH")
    engine = Engine(reader.lexicon, [*load_rules(), rule])
    (made,) = engine.extract(reader.read([text])[0].doc)
    assert f"{made.aspect.text}|{made.opinion.text}|{made.polarity}" == triplet


@pytest.mark.parametrize("triplet", ["座位", "座位|舒適", "座位|舒適|GOOD", "|舒適|POS", "座位|舒適|POS|x"])
def test_what_is_no_triplet_is_an_error(reader: Reader, triplet: str) -> None:
    with pytest.raises(ConfigError, match="is no triplet"):
        draft(reader, "座位很舒適", triplet)


@pytest.mark.parametrize(
    ("text", "triplet", "message"),
    [
        ("座位很舒適", "座位|吵鬧|NEG", "no clause has '座位' and '吵鬧' as words"),
        ("湯頭鮮", "湯頭|鮮甜|POS", "no clause has '湯頭' and '鮮甜' as words"),
        ("好吃，麵很多", "麵|好吃|POS", "no clause has '麵' and '好吃' as words"),
        ("桌子油到會黏手", "椅子|油到會黏手|NEG", "the sentence has no '椅子'"),
        (
            "桌子油到我會一直黏在桌子上不能走",
            "桌子|油到我會一直黏在桌子上不能走|NEG",
            r"has \d+ words.*8 words or fewer",
        ),
    ],
)
def test_words_that_the_sentence_lacks_and_too_many_are_an_error(
    reader: Reader, text: str, triplet: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        draft(reader, text, triplet)


def test_the_command_prints_a_table_that_loads(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        rules, ["new", "桌子油到會黏手", "桌子|油到會黏手|NEG", "--workdir", str(tmp_path)], catch_exceptions=False
    )
    (rule,) = tomllib.loads(result.output).values()
    assert rule["words"]["FOURTH"] == ["黏手"]
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "mine.toml").write_text(result.output, encoding="utf-8")
    assert "my-rule" in {rule.name for rule in load_rules(added=[tmp_path / "rules"])}


@pytest.mark.parametrize(
    ("text", "triplet", "shown"),
    [
        ("服务油到会黏手", "服务|油到会黏手|NEG", "服務|油到會黏手|NEG"),
        ("座位也不太舒适", "座位|不舒适|NEG", "座位|不舒適|NEG"),
        ("鸡胸肉很干", "鸡胸肉|干|NEG", "雞胸肉|乾|NEG"),
    ],
)
def test_a_sentence_in_simplified_characters_has_a_draft(tmp_path: Path, text: str, triplet: str, shown: str) -> None:
    (rule,) = tomllib.loads(write_draft(tmp_path, text, triplet)).values()
    assert rule["hit"][0]["triplets"] == [shown]
