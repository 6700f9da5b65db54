"""What the report says of quality: mistakes by kind, the rules side by side, and no more than is known."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_report import collected, fill, rows

from builder.pages.report.blocks import Report
from builder.pages.report.collect import find_mistakes
from builder.pages.report.written import page, text
from builder.pages.report.yardsticks import Answers, Yardstick

GOLD: Answers = {
    "a": [("湯頭", "好喝", "POS"), ("服務", "慢", "NEG")],
    "b": [("甜點", "太甜", "NEG")],
    "c": [],
}
RULES: Answers = {
    "a": [("湯頭", "好喝", "NEG"), ("環境", "慢", "NEG")],
    "b": [("甜點", "便宜", "POS")],
    "c": [("早餐", "可惜", "NEG")],
}


def test_every_mistake_has_its_kind_and_the_gold_it_comes_nearest_to() -> None:
    yardstick = Yardstick("gold", "test", True, GOLD, {"rules": RULES}, (), {})
    found = [(kind, review, answer and answer[0], gold and gold[0]) for kind, review, answer, gold in
             find_mistakes(yardstick, "rules")]  # fmt: skip
    assert found == [
        ("polarity", "a", "湯頭", "湯頭"),
        ("aspect", "a", "環境", "服務"),
        ("missed", "a", None, "服務"),
        ("opinion", "b", "甜點", "甜點"),
        ("missed", "b", None, "甜點"),
        ("nothing", "c", "早餐", None),
    ]


def test_a_wrong_polarity_that_people_named_is_none_of_the_other_kinds() -> None:
    """They may say YN without the right polarity: gold then holds nothing of the pair."""
    judged = {("c", "早餐", "可惜", "NEG"): "YN"}
    yardstick = Yardstick("people", "test", True, {"c": []}, {"rules": {"c": RULES["c"]}}, (), judged)
    assert [kind for kind, *_ in find_mistakes(yardstick, "rules")] == ["polarity"]


@pytest.fixture(scope="module")
def with_gold(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return collected(fill(tmp_path_factory.mktemp("gold")))


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return collected(fill(tmp_path_factory.mktemp("none"), models=False, gold=False))


def test_mistakes_are_counted_and_quoted_where_there_is_gold(with_gold: Report) -> None:
    counts = {row["kind"]: row for row in rows(with_gold, "mistakes")}
    assert counts["missed"]["of rules"] == 2
    assert counts["opinion given to another aspect"]["of C1"] == 1
    quoted = rows(with_gold, "mistake-examples")
    assert quoted and not any("0912345678" in row["review"] for row in quoted)
    assert "<script>" not in page(with_gold)


def test_without_gold_nothing_is_called_quality(without: Report) -> None:
    titles = {section.name: section.title for section in without.sections}
    assert titles["scores"] == "Agreement of models and rules, which is not quality"
    assert titles["sharing"] == "Agreement of the sources, which is not quality"
    assert not next(table for table in without.tables() if table.name == "mistakes").rows
    assert "nobody knows which triplets are wrong" in text(without)


def test_a_chart_of_one_dot_is_not_drawn(with_gold: Report, without: Report) -> None:
    figures = [figure for report in (with_gold, without) for section in report.sections for figure in section.figures]
    assert any(figure.bars for figure in figures)
    assert all(len(figure.bars) != 1 and len(figure.histogram) != 1 for figure in figures)


def test_the_page_for_the_place_comes_before_that_for_the_data(with_gold: Report) -> None:
    assert [(section.name, section.part) for section in with_gold.sections if section.part] == [
        ("glance", "For the owner"),
        ("in-and-out", "For users of the data"),
    ]
    written = page(with_gold)
    assert written.index("For the owner") < written.index('id="glance"') < written.index('id="in-and-out"')


def test_rules_stand_side_by_side_with_accuracy_where_gold_knows_it(
    tmp_path: Path, with_gold: Report, without: Report
) -> None:
    from builder.language.lexicon.folders import folders_in
    from builder.pages.report.collect import _judged
    from builder.pages.report.yardsticks import find_yardsticks
    from builder.store import db

    workdir = fill(tmp_path)
    assert folders_in(workdir).load_rules()
    with db.reading(workdir) as connection:
        right, known = _judged(connection, find_yardsticks(connection)[0])
    assert (known["subject"], right["subject"]) == (4, 4)
    analysis = next(table for table in without.tables() if table.name == "rule-analysis")
    assert "Accuracy is not known: no gold." in analysis.note
    measured = next(table for table in with_gold.tables() if table.name == "rule-analysis")
    assert "right by gold (not stated who labelled)" in measured.note
