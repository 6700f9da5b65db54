"""What the report says of quality: mistakes by kind, the rules side by side, and no more than is known."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from pathlib import Path

import pytest
from chromium import Browser
from test_report import collected, fill, rows

from builder.pages.report.blocks import Report, Section, Table
from builder.pages.report.collect import _judged, find_mistakes
from builder.pages.report.written import page, text
from builder.pages.report.yardsticks import Answers, Yardstick, find_yardsticks
from builder.store import db

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
    assert not next(table for table in without.tables() if table.name == "mistakes").rows
    assert "nobody knows which triplets are wrong" in text(without)


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
    with db.reading(fill(tmp_path)) as connection:
        right, known = _judged(connection, find_yardsticks(connection)[0])
    assert (known["subject"], right["subject"]) == (4, 4)
    analysis = next(table for table in without.tables() if table.name == "rule-analysis")
    assert "Accuracy is not known: no gold." in analysis.note
    measured = next(table for table in with_gold.tables() if table.name == "rule-analysis")
    assert "right by gold (not stated who labelled)" in measured.note


# ---- the report in a browser


_LIKED = tuple((f"湯{n}", 30 - n, "好喝 3、濃郁 2、香 1") for n in range(10))
_WORDS = ("紅燒牛肉麵 3、小籠湯包 2、冰糖紅豆豆花 1", "服務 3、等候時間 1")
_PLACES = tuple((f"店{n}", 90 - n, 60.0, *_WORDS) for n in range(8))
_BARS = ("aspect", "times", "in these words")
REPORT = Report(
    "a dataset",
    "found by rules",
    (("25", "places"),),
    (
        Section(
            "glance",
            "At a glance",
            "Machines read the reviews.",
            (
                Table("likes", "What customers like", _BARS, _LIKED, look="bars"),
                Table("dislikes", "What customers criticise", _BARS, _LIKED, look="bars"),
                Table("places", "Place by place", ("place", "triplets", "positive %", "liked", "criticised"), _PLACES),
            ),
            part="For the owner",
        ),
    ),
    "made by builder",
)
WITH_MORE = replace(
    REPORT,
    sections=(
        *REPORT.sections,
        Section(
            "rounds",
            "Self-training",
            "One round.",
            (Table("round", "Rounds", ("model", "new", "right %"), (("E0", 78, None), ("E1", 9, None))),),
        ),
        Section("mistakes", "Mistakes", "By kind.", (Table("kinds", "Kinds", ("kind",), (), missing="See `gold`."),)),
    ),
)


@pytest.fixture
def shown(tmp_path: Path, browser: Browser) -> Browser:
    """A browser that shows the report."""
    pytest.importorskip("jinja2", reason="the extra report is not installed")
    (tmp_path / "report.html").write_text(page(REPORT), encoding="utf-8")
    browser.open((tmp_path / "report.html").as_uri())
    return browser


def test_on_a_telephone_words_of_a_table_have_room(shown: Browser) -> None:
    shown.size(390, 800)
    widths = shown.run("[...document.querySelectorAll('#places td:not(.n)')].map(td => td.clientWidth)")
    assert min(widths) >= 140
    assert shown.run("document.documentElement.scrollWidth") == 390


def test_what_a_manager_reads_is_one_sheet_of_paper(shown: Browser) -> None:
    """Likes stand beside dislikes, places below them, and the last line is on no sheet of its own."""
    answer = shown.call("Page.printToPDF", printBackground=True, paperWidth=8.27, paperHeight=11.69)
    assert len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(answer["data"]))) == 1
    shown.call("Emulation.setEmulatedMedia", media="print")
    tops = shown.run("['likes', 'dislikes'].map(id => document.getElementById(id).getBoundingClientRect().top)")
    assert tops[0] == tops[1]


@pytest.mark.parametrize(("width", "beside"), [(1400, True), (1220, True), (1000, False), (390, False)])
def test_narrow_tables_stand_beside_each_other_where_there_is_room(width: int, beside: bool, shown: Browser) -> None:
    """Likes beside dislikes, and nothing wider than the screen; the wide table of places has the whole line."""
    shown.size(width, 900)
    likes, dislikes, places, section = shown.run(
        "['likes', 'dislikes', 'places', 'glance'].map(id => document.getElementById(id).getBoundingClientRect())"
        ".map(box => [box.top, box.left, box.width])"
    )
    assert (likes[0] == dislikes[0] and likes[1] < dislikes[1]) is beside
    assert places[0] > dislikes[0] and (places[2] == section[2] or not beside)
    assert shown.run("document.documentElement.scrollWidth") <= width


def test_a_table_alone_stands_beside_the_words_about_it_where_there_is_room(shown: Browser, tmp_path: Path) -> None:
    (tmp_path / "more.html").write_text(page(WITH_MORE), encoding="utf-8")
    shown.open((tmp_path / "more.html").as_uri())
    script = "['rounds', 'round'].map(id => document.querySelector(`#${id} h2, div#${id}`).getBoundingClientRect())"
    for width, beside in ((1400, True), (1000, False)):
        shown.size(width, 900)
        title, table = shown.run(f"{script}.map(box => [box.top, box.left])")
        assert (title[0] == table[0] and title[1] < table[1]) is beside


def test_what_is_not_there_stands_together_at_the_end_and_no_column_is_empty() -> None:
    pytest.importorskip("jinja2", reason="the extra report is not installed")
    written = page(WITH_MORE)
    assert re.findall(r'<section id="(\w+)"', written) == ["glance", "rounds", "absent"]
    assert "right %" not in written and "<bdi>See gold.</bdi>" in written


def test_only_tables_that_fit_into_half_of_the_page_are_narrow() -> None:
    pytest.importorskip("jinja2", reason="the extra report is not installed")
    narrow = re.findall(r'class="block half" id="(\w+)"', page(REPORT))
    assert narrow == ["likes", "dislikes"]
