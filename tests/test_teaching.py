"""Corrections become entries of the working directory's own lexicon, and the rules then find what they had missed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from chromium import Browser
from conftest import Command
from goldwork import draw, pooled, triplet, work
from test_gold_page import served

from builder.core.errors import ResourceError
from builder.core.records import Triplet
from builder.engine.reader import Recipe, make_reader
from builder.language.lexicon.check import Lesson, add_entry, find_lessons
from builder.language.lexicon.folders import folders_in
from builder.language.lexicon.resources import load_lexicon
from builder.language.lexicon.rules import load_rules
from builder.pages.annotation_page import DatabaseBook
from builder.pages.rule_page import RuleBook
from builder.teaching.label_sources import Teacher
from builder.teaching.labelling import opened

NEW = "湯頭很冰裂裂"


def lessons(text: str, aspect: str, opinion: str, polarity: str) -> list[tuple[str, str, str, str]]:
    lexicon = load_lexicon()
    due = triplet(text, aspect, opinion, polarity)  # type: ignore[arg-type]
    return [(row.table, row.word, row.meaning, row.before) for row in find_lessons(due, lexicon)]


def test_a_word_that_the_lexicon_lacks_is_proposed_with_the_meaning_of_the_correction() -> None:
    assert lessons(NEW, "湯頭", "冰裂裂", "NEG") == [("opinion", "冰裂裂", "3", "")]
    assert lessons("紫炁飯好吃", "紫炁飯", "好吃", "POS")[0][:2] == ("aspect", "紫炁飯")
    assert lessons("湯頭好喝", "湯頭", "好喝", "POS") == []


def test_a_denied_word_is_learnt_without_its_negator_and_with_the_polarity_turned() -> None:
    assert lessons("湯頭不冰裂裂", "湯頭", "不冰裂裂", "POS") == [("opinion", "冰裂裂", "3", "")]


@pytest.mark.parametrize("domain", ["restaurant", "laptop", "none"])
def test_an_aspect_of_no_known_ending_gets_a_class_that_the_domain_has(domain: str, tmp_path: Path) -> None:
    lexicon = load_lexicon(domain=domain)
    due = triplet("啾啾很好", "啾啾", "好", "POS")
    (lesson,) = [row for row in find_lessons(due, lexicon) if row.table == "aspect"]
    assert lesson.meaning in lexicon.classes
    add_entry(tmp_path, lesson, lexicon)  # refuses a class that there is not


def test_a_known_word_of_another_polarity_says_what_it_is_now() -> None:
    (row,) = lessons("湯頭好喝", "湯頭", "好喝", "NEG")
    assert row[:3] == ("opinion", "好喝", "3")
    assert float(row[3]) > 6


def test_a_lesson_is_tried_before_it_is_added_and_the_next_extraction_finds_it(tmp_path: Path, here: Command) -> None:
    workdir = work(tmp_path)
    teacher, due = Teacher(workdir), triplet(NEW, "湯頭", "冰裂裂", "NEG")
    proposed = teacher.propose(NEW, due)
    assert proposed["works"] is True
    assert not (workdir / "lexicon").exists()
    for lesson in proposed["lessons"]:
        teacher.teach(lesson["table"], lesson["word"], lesson["meaning"])
    assert teacher.propose(NEW, due)["lessons"] == []
    (tmp_path / "in.jsonl").write_text(json.dumps({"id": "1", "text": NEW}) + "\n", encoding="utf-8")
    own = tmp_path / "own"  # a working directory without a build: extract needs none for the words
    own.mkdir()
    found = []
    for name in ("before", "after"):
        out = tmp_path / f"{name}.jsonl"
        ran = here("extract", "--input", tmp_path / "in.jsonl", "--source", "rules", "--workdir", own, "--output", out)
        assert ran.code == 0, ran.err
        found.append([(t["aspect"], t["opinion"]) for t in json.loads(out.read_text(encoding="utf-8"))["triplets"]])
        if name == "before":
            (workdir / "lexicon").rename(own / "lexicon")
    assert ("湯頭", "冰裂裂") not in found[0]
    assert found[1] == [("湯頭", "冰裂裂")]


def test_lessons_of_several_days_lie_in_one_overlay_and_an_import_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "lexicon"
    lexicon = load_lexicon()
    add_entry(folder, Lesson("opinion", "冰裂裂", "3"), lexicon)
    add_entry(folder, Lesson("opinion", "暖呼呼呼", "8"), lexicon)
    add_entry(folder, Lesson("aspect", "紫炁飯", "food.dish"), lexicon)
    add_entry(folder, Lesson("exception", "湯頭", "abstract"), lexicon)
    add_entry(folder, Lesson("opinion", "冰裂裂", "2"), lexicon)
    learnt = load_lexicon(overlays=[folder])
    assert (learnt.opinions["冰裂裂"].valence, learnt.opinions["暖呼呼呼"].valence) == (2, 8)
    assert learnt.aspects["紫炁飯"].cls == "food.dish"
    assert "湯頭" in learnt.not_aspects and "湯頭" not in learnt.aspects
    mine = folder / "opinions" / "imported_mine.tsv"
    mine.write_text("word\tcategory\n亮晶晶晶\ttaste.delicious\n", encoding="utf-8")
    with pytest.raises(ResourceError, match=r"stands there already.*change that line"):
        add_entry(folder, Lesson("opinion", "亮晶晶晶", "3"), lexicon)


@pytest.mark.parametrize(
    "lesson",
    [
        Lesson("opinion", "x", "11"),
        Lesson("opinion", "x", "good"),
        Lesson("aspect", "x", "no.class"),
        Lesson("exception", "x", "because"),
        Lesson("opinion", "a\tb", "3"),
    ],
)
def test_what_is_no_entry_is_refused(lesson: Lesson, tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match="is no"):
        add_entry(tmp_path, lesson, load_lexicon())
    assert not list(tmp_path.rglob("*.tsv"))


def test_a_word_that_is_always_wrong_is_proposed_as_an_exception(tmp_path: Path) -> None:
    workdir = work(tmp_path)
    text = "湯頭好喝"
    teacher, wrong = Teacher(workdir), triplet(text, "湯頭", "好喝", "POS")
    assert teacher.propose_exceptions(text, wrong, [], pair=False) == {"lessons": [], "works": False}
    proposed = teacher.propose_exceptions(text, wrong, ["湯頭"])
    assert (proposed["lessons"][0]["table"], proposed["works"]) == ("exception", True)


def test_a_refused_triplet_of_a_rule_becomes_an_exception_with_its_sentence(tmp_path: Path) -> None:
    workdir = work(tmp_path)
    text = "上週去的。湯頭好喝，服務也好"
    teacher, wrong = Teacher(workdir), triplet(text, "湯頭", "好喝", "POS")
    proposed = teacher.propose_exceptions(text, wrong, [])
    assert proposed == {
        "lessons": [{"table": "pair", "word": "湯頭|好喝", "meaning": "subject", "before": ""}],
        "works": True,
    }
    assert not (workdir / "rules").exists()
    assert teacher.teach_pair(text, wrong) == {"added": "湯頭|好喝"}
    assert teacher.propose_exceptions(text, wrong, []) == {"lessons": [], "works": False}
    teacher.teach_pair(text, triplet(text, "服務", "好", "POS"))
    (rule,) = load_rules(workdir / "rules")
    assert (rule.name, rule.kind, rule.params["pairs"]) == ("refused-pairs", "exception", ["湯頭|好喝", "服務|好"])
    assert rule.examples[0].text == "湯頭好喝，服務也好"
    book = RuleBook(workdir, 10)
    assert all(example["well"] for example in book.open_rule("refused-pairs")["examples"])
    assert [t.aspect.text for t in make_reader(Recipe(folders=folders_in(workdir))).extract(["湯頭好喝"])[0]] == []


def test_a_triplet_that_no_rule_makes_teaches_the_rules_nothing(tmp_path: Path) -> None:
    text = "湯頭好喝"
    assert Teacher(work(tmp_path)).propose_exceptions(text, triplet(text, "湯", "好喝", "POS"), [])["lessons"] == []


@pytest.mark.parametrize(
    ("aspect", "opinion", "folded"), [("湯頭", "好喝", "湯頭|好喝"), ("顏色", "鮮豔", "顏色|鮮艷")]
)
def test_the_page_proposes_a_refused_pair_and_adds_it_to_the_rules(
    aspect: str, opinion: str, folded: str, tmp_path: Path, browser: Browser
) -> None:
    """It names the words as the review writes them; the rules keep them as they fold variants."""
    pytest.importorskip("uvicorn", reason="the extra annotate is not installed")
    text = aspect + opinion
    workdir = work(tmp_path, (text,), {"rules": [(1, triplet(text, aspect, opinion, "POS"))]})
    with served(workdir, draw(workdir, 10, 13)) as page:
        browser.open(page.address)
        browser.press("3")
        browser.wait("!document.querySelector('#teach').hidden")
        assert f"「{opinion}」不是說「{aspect}」（規則 subject）" in browser.text("#lessons")
        assert f"propose ({aspect}, {opinion}) in that review no more" in browser.text("#works")
        browser.press("l")
        assert f"added to the rules: {folded}" in browser.text("#done")
        assert browser.faults == []
    assert load_rules(workdir / "rules")[0].params["pairs"] == [folded]


def test_a_pair_that_is_right_elsewhere_is_not_proposed(tmp_path: Path) -> None:
    workdir, pool = pooled(tmp_path)
    with opened(workdir) as connection:
        book = DatabaseBook(connection, pool.id, "amy")
        rows = [row for row in book.items(0, 11) if row["candidate"]]
        wrong = book.often_wrong(rows[0]["place"], 2)[0]
        book.answer(rows[0]["place"], {"op": "label", "label": "NX"})
        assert not book.has_right_pair(wrong)
        book.answer(rows[0]["place"], {"op": "label", "label": "YY"})
        assert book.has_right_pair(wrong)


def test_the_page_proposes_what_a_correction_teaches_and_adds_it(tmp_path: Path, browser: Browser) -> None:
    pytest.importorskip("uvicorn", reason="the extra annotate is not installed")
    texts = (NEW, "餐點好吃")
    made: dict[str, list[tuple[int, Triplet]]] = {"rules": [(2, triplet(texts[1], "餐點", "好吃", "POS"))]}
    workdir = work(tmp_path, texts, made)
    with served(workdir, draw(workdir, 10, 13)) as page:
        browser.open(page.address)
        if "Nobody proposed" not in browser.text("#question"):
            browser.press("ArrowRight")
        browser.press("m")
        browser.press("Home")
        browser.press("ArrowRight", shift=True)
        browser.press("a", *["ArrowRight"] * 2)
        browser.press("ArrowRight", "ArrowRight", shift=True)
        browser.press("o", "2")
        assert browser.text("#picked").split()[2:5:2] == ["湯頭", "opinion"]
        browser.press("Enter")
        browser.wait("!document.querySelector('#teach').hidden")
        assert "「冰裂裂」是意見" in browser.text("#lessons")
        assert "valence 3 of 1 to 10" in browser.text("#lessons")
        assert "the rules find (湯頭, 冰裂裂) in that review" in browser.text("#works")
        browser.press("l")
        assert "added to the lexicon: 冰裂裂" in browser.text("#done")
        assert browser.run("document.querySelector('#teach').hidden")
    assert "冰裂裂" in (workdir / "lexicon" / "opinions" / "imported_corrections.tsv").read_text(encoding="utf-8")


def test_the_book_counts_words_whose_pairs_are_all_wrong(tmp_path: Path) -> None:
    workdir, pool = pooled(tmp_path)
    with opened(workdir) as connection:
        book = DatabaseBook(connection, pool.id, "amy")
        meals = [row["place"] for row in book.items(0, 11) if row["candidate"] and row["candidate"]["aspect"] == "餐點"]
        assert len(meals) == 2
        book.answer(meals[0], {"op": "label", "label": "NX"})
        assert book.often_wrong(meals[0], 2)[1] == []
        book.answer(meals[1], {"op": "label", "label": "NX"})
        assert book.often_wrong(meals[1], 2)[1] == ["餐點"]
        book.answer(meals[0], {"op": "label", "label": "YY"})
        assert book.often_wrong(meals[1], 2)[1] == []
