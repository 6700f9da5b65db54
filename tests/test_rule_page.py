"""Rules that a person edits: the text of a rule, what an edited one changes, where it is saved, and the page."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from chromium import Browser, serving
from click.testing import CliRunner

from builder.cli.words import edit, rules
from builder.core.errors import ConfigError, ResourceError
from builder.engine import make_engine
from builder.engine.engine import Engine
from builder.engine.reader import Reader, Recipe, make_reader
from builder.language.lexicon.folders import SHIPPED, folders_in
from builder.language.lexicon.rules import Rule, RuleExample, load_rules, read_name, write_rule
from builder.pages.rule_page import RuleBook, RuleWorker, rule_site
from builder.pipeline.drafting import draft as write_draft
from builder.pipeline.drafting import draft_rule
from builder.pipeline.rule_changes import compare_triplets, quote_triplet

OWN = """[odd-words]
kind = "refuse"
order = 440
about = "In these reviews these words judge nothing."
patterns = ["CURRENT&ODD"]
words = { ODD = ["好吃"] }
miss = [{ text = "牛肉麵很好吃", triplets = ["牛肉麵|好吃|POS"] }]
"""


def hear(doing: str, done: int, of: int) -> None:
    """Nobody waits."""


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> RuleBook:
    """Over a folder that nobody saves to."""
    return RuleBook(tmp_path_factory.mktemp("untouched"), 60)


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[RuleWorker]:
    made = RuleWorker(tmp_path, 40, seconds=60)
    yield made
    made.close()


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.name) for rule in load_rules()])
def test_the_text_of_a_rule_reads_as_the_same_rule(rule: Rule, tmp_path: Path) -> None:
    """Also where it was put together from the core and a domain."""
    (tmp_path / "one.toml").write_text(write_rule(rule), encoding="utf-8")
    (again,) = load_rules(tmp_path)
    for name in ("name", "kind", "order", "about", "params"):
        assert getattr(again, name) == getattr(rule, name)
    assert set(again.examples) == set(rule.examples)


def test_text_with_every_odd_character_survives() -> None:
    rule = load_rules()[0]
    odd = 'a"b\\c\n\t\x7f\x01\U0001f35c'
    written = write_rule(replace(rule, about=odd, written=MappingProxyType({"words": (odd,), "k": True, "n": 0.5})))
    body = tomllib.loads(written)[rule.name]
    assert (body["about"], body["words"], body["k"], body["n"]) == (odd, [odd], True, 0.5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[a]\nkind = x\n", "the rule:2: not TOML: Invalid value"),
        ("", "this holds no rule; write one rule, under a heading such as [my-rule]"),
        ("[a]\n[b]\n", "this holds 2 rules; write one rule, under a heading such as [my-rule]"),
        ('["../x"]\n', "'../x' cannot name a rule; use letters, digits, - and _"),
        ("a = " + "[" * 9000, "the rule: not TOML: nested too deeply"),
    ],
)
def test_a_text_that_is_no_rule_says_so_in_a_line(text: str, message: str) -> None:
    with pytest.raises(ResourceError) as caught:
        read_name(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "given",
    [
        "hit = 3",
        'hit = ["x"]',
        'hit = ["x → 甲|乙"]',
        "miss = [3]",
        'hit = [{ text = "x", triplets = [3] }]',
    ],
)
def test_an_example_that_is_none_is_an_error_with_its_line(given: str, tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(f'[a]\nkind = "words"\norder = 1\nabout = ""\n{given}\n', encoding="utf-8")
    with pytest.raises(ResourceError, match=r"one\.toml:5: rule 'a': .*example"):
        load_rules(tmp_path)


def test_an_example_is_written_in_a_line_and_read_again_whatever_its_text_holds(tmp_path: Path) -> None:
    told = [("座位很擠", ("座位|擠|NEG",)), ("a → b", ()), ("c → d, e", ("c|d, e|POS", "甲|乙|NEU")), ('"甲" \\', ())]
    examples = tuple(RuleExample(text, triplets, must=False) for text, triplets in told)
    rule = Rule("mine", "words", 1, "", MappingProxyType({"words": {}}), examples, "")
    (tmp_path / "mine.toml").write_text(write_rule(rule), encoding="utf-8")
    assert load_rules(tmp_path)[0].examples == examples
    table = (
        '[mine]\nkind = "words"\norder = 1\nabout = ""\nmiss = [{ text = "座位很擠", triplets = ["座位|擠|NEG"] }]\n'
    )
    (tmp_path / "mine.toml").write_text(table, encoding="utf-8")
    assert load_rules(tmp_path)[0].examples == examples[:1]


def test_every_rule_is_listed_with_where_it_comes_from(book: RuleBook) -> None:
    rows = {row["name"]: row for row in book.list_rules()["rules"]}
    assert rows.keys() == {rule.name for rule in load_rules()}
    assert rows["function-words"]["origin"] == "rules of the domain restaurant"
    assert rows["comparison"]["counts"]
    assert not rows["paper-extent"]["counts"]


def test_examples_run_live_and_say_where_they_do_not_hold(book: RuleBook) -> None:
    opened = book.open_rule("relative-subject")
    assert opened["examples"]
    assert all(example["well"] for example in opened["examples"])
    off = book.try_rule(opened["text"].replace("kind =", "enabled = false\nkind =", 1))
    assert [example["well"] for example in off["examples"] if example["text"] == "價格便宜的餐廳"] == [False]


def test_the_words_of_the_classes_that_a_rule_names_stand_beside_it(book: RuleBook) -> None:
    opened = book.open_rule("house-forgot")
    assert 'HOUSE = ["<house>"]' in opened["text"]
    assert [name for name, _ in opened["classes"]] == ["<house>"]
    assert {"@staff", "店家"} <= set(dict(opened["classes"])["<house>"])
    edited = book.try_rule(opened["text"].replace('["<house>"]', '["店家"]'))
    assert edited["classes"] == []


def test_examples_of_a_rule_for_another_convention_run_in_that(book: RuleBook) -> None:
    for row in book.list_rules()["rules"]:
        if not row["counts"]:
            examples = book.open_rule(row["name"])["examples"]
            assert all(example["well"] for example in examples), row["name"]


def test_an_edited_rule_is_compared_in_reviews_and_nothing_is_saved(tmp_path: Path) -> None:
    heard: list[tuple[str, int, int]] = []
    book = RuleBook(tmp_path, 60)
    answer = book.compare(OWN, lambda *parts: heard.append(parts))
    assert answer["reviews"] == 60
    assert answer["counts"]["lost"] > 0
    assert answer["after"] < answer["before"]
    change = answer["rows"][0]["changes"][0]
    assert change["before"][1] == "好吃"
    ((start, end),) = change["opinion"]
    assert change["text"][start:end] == "好吃"
    assert heard[-1][1:] == (50, 60)
    assert list(tmp_path.iterdir()) == []
    assert book.compare(book.open_rule("names")["text"], hear)["counts"] == {}


def test_a_rule_that_is_switched_off_still_counts_as_one_of_its_convention(tmp_path: Path) -> None:
    """That nothing changes without it says that others do its work, not that it is of another convention."""
    book = RuleBook(tmp_path, 20)
    for name, counting in (("hard-to-do", True), ("paper-terms", False)):
        text = book.open_rule(name)["text"].replace("kind =", "enabled = false\nkind =", 1)
        answer = book.compare(text, hear)
        assert (answer["counts"], answer["counting"], answer["off"]) == ({}, counting, True)
    book.save_rule(book.open_rule("hard-to-do")["text"].replace("kind =", "enabled = false\nkind =", 1))
    row = next(row for row in book.list_rules()["rules"] if row["name"] == "hard-to-do")
    assert (row["off"], row["counts"]) == (True, False)


def test_a_saved_rule_is_read_by_all_that_reads_the_working_directory_and_can_be_taken_back(tmp_path: Path) -> None:
    book = RuleBook(tmp_path, 60)
    before = folders_in(tmp_path).rules_digest
    assert book.save_rule(OWN) == {"name": "odd-words", "file": str(tmp_path / "rules" / "odd-words.toml")}
    names = {rule.name for rule in folders_in(None).load_rules()}
    assert "odd-words" not in names
    assert book.open_rule("odd-words") | {"examples": ()} == {
        "name": "odd-words", "text": OWN, "edited": True, "origin": "rules edited in the working directory",
        "where": "rules/odd-words.toml:1", "counts": True, "kind": "refuse", "examples": (), "classes": [],
        "about": "In these reviews these words judge nothing.",
    }  # fmt: skip
    assert book.compare(OWN, hear)["counts"] == {}
    assert book.drop_rule("odd-words") == {"name": "odd-words", "left": False}
    assert folders_in(tmp_path).rules_digest == before == SHIPPED.rules_digest


def test_a_copy_wins_over_the_rule_of_its_name_and_leaves_it_when_it_goes(tmp_path: Path) -> None:
    book = RuleBook(tmp_path, 20)
    shipped = book.open_rule("names")["text"]
    book.save_rule(shipped.replace("about = ", 'about = "Mine."  # ', 1))
    assert book.open_rule("names")["about"] == "Mine."
    assert book.drop_rule("names") == {"name": "names", "left": True}
    assert book.open_rule("names")["text"] == shipped


def test_a_rule_that_cannot_run_is_not_saved(tmp_path: Path) -> None:
    book = RuleBook(tmp_path, 20)
    for text, message in (
        (OWN.replace("refuse", "refuze"), r"odd-words\.toml:1: rule 'odd-words': unknown kind 'refuze'"),
        (OWN.replace("words = {", "wards = {"), r"odd-words\.toml:6: .*unknown parameter 'wards'"),
        (OWN.replace("[odd-words]", "[odd-words]\nextends = true"), "extends a rule that is not there"),
    ):
        with pytest.raises(ResourceError, match=message):
            book.save_rule(text)
    assert not (tmp_path / "rules").exists()


def test_a_rule_that_another_extends_is_not_taken_away(tmp_path: Path) -> None:
    book = RuleBook(tmp_path, 20)
    book.save_rule(OWN)
    (tmp_path / "rules" / "zz.toml").write_text(
        '[odd-words]\nextends = true\npatterns = ["CURRENT"]\n', encoding="utf-8"
    )
    with pytest.raises(ResourceError, match=r"stands in rules/odd-words\.toml:1 already"):
        book.list_rules()
    assert (tmp_path / "rules" / "odd-words.toml").is_file()


def test_lost_and_added_triplets_of_one_opinion_are_one_that_changed(book: RuleBook) -> None:
    rules = load_rules()
    text = "價格便宜的餐廳。湯很濃"
    reader = book.reader
    before = reader.extract([text])[0]
    without = make_engine(reader.lexicon, [rule for rule in rules if rule.name != "relative-subject"])
    after = without.extract(reader.read([text])[0].doc)
    (change,) = compare_triplets(before, after)
    assert change.before is not None
    assert change.after is not None
    assert (change.kind, change.before.aspect.text, change.after.aspect.text) == ("changed", "價格", "餐廳")
    assert [change.kind for change in compare_triplets(before, ())] == ["lost"] * len(before)
    assert [change.kind for change in compare_triplets((), before)] == ["added"] * len(before)
    quote = quote_triplet(text, change.before)
    assert quote.text == "價格便宜的餐廳。"
    assert [quote.text[start:end] for start, end in (*quote.aspect, *quote.opinion)] == ["價格", "便宜"]


def test_a_pattern_without_end_is_stopped_and_the_next_question_is_answered(worker: RuleWorker) -> None:
    pattern = 'pattern = "TARGET (WORD WORD|WORD)* THAN CURRENT"'
    endless = OWN.replace('"refuse"', '"pair-pattern"').replace('words = { ODD = ["好吃"] }\n', "")
    endless = endless.replace('patterns = ["CURRENT&ODD"]', pattern)
    endless = endless.replace(
        "牛肉麵很好吃",
        "牛肉麵我們昨天晚上七點半在那個很大的舊車站旁邊的小巷子裡跟他們兩個人一起坐著等了又等的時候好吃" * 2,
    )
    assert worker.ask("list_rules"), "it has loaded"
    worker._seconds = 2
    with pytest.raises(ResourceError, match="no answer within 2 seconds"):
        worker.ask("try_rule", endless)
    worker._seconds = 60
    assert worker.ask("try_rule", OWN)["name"] == "odd-words"


def test_the_site_answers_an_error_with_its_line(worker: RuleWorker) -> None:
    site = rule_site(worker)
    assert site.writes["/api/try_rule"]("you", {"text": OWN.replace("words = {", "wards = {")}) == {
        "fault": "line 6: rule 'odd-words': unknown parameter 'wards'; parameters of kind 'refuse': "
        "conventions, enabled, paired, patterns, unless, words",
        "line": 6,
    }
    assert site.writes["/api/open_rule"]("you", {"name": "nothing"}) == {
        "fault": "no rule is called 'nothing'",
        "line": None,
    }
    with pytest.raises(ValueError, match="a rule is a text"):
        site.writes["/api/try_rule"]("you", {"text": 3})
    assert site.reads["/api/progress"]("you", {}) == {"doing": "", "done": 0, "of": 0}


def test_the_page_edits_tries_and_saves_a_rule(tmp_path: Path, browser: Browser) -> None:
    pytest.importorskip("uvicorn", reason="the extra annotate is not installed")
    with serving(edit, "--workdir", tmp_path, "--port", "0", "--reviews", "60") as said:
        browser.open(said[0].removeprefix("open "))
        browser.run("document.querySelector('#new').click()")
        browser.wait("!!document.querySelector('#examples li.well')")
        browser.run(
            "(() => { const box = document.querySelector('#text'); box.value = box.value.replace('words', 'wards');"
            " box.dispatchEvent(new Event('input')) })()"
        )
        browser.wait("!document.querySelector('#fault').hidden")
        assert browser.text("#fault").startswith("line 6: rule 'my-rule': unknown parameter 'wards'")
        assert browser.run("document.querySelector('#save').disabled")
        browser.run(
            "(() => { const box = document.querySelector('#text'); box.value = box.value.replace('wards', 'words')"
            ".replaceAll('還行', '好吃'); box.dispatchEvent(new Event('input')) })()"
        )
        browser.wait("document.querySelector('#fault').hidden && !document.querySelector('#save').disabled")
        browser.run("document.querySelector('#compare').click()")
        browser.wait("!document.querySelector('#changes').hidden")
        assert "60 則評論 reviews" in browser.text("#summary")
        assert browser.run("document.querySelectorAll('#reviews li.lost').length") > 0
        assert not (tmp_path / "rules").exists()
        browser.run("document.querySelector('#save').click()")
        browser.wait("document.querySelector('#status').textContent.includes('saved')")
        assert browser.text("#list [aria-current] .mine") == "● 我的 mine"
        assert [rule.name for rule in load_rules(tmp_path / "rules")] == ["my-rule"]
        browser.run("window.confirm = () => true, document.querySelector('#drop').click()")
        browser.wait("!document.querySelector('#none').hidden")
        browser.wait("document.querySelector('#gone').textContent.includes('deleted: my-rule')")
        assert not list((tmp_path / "rules").iterdir())
        assert browser.faults == []


# ---- A first draft of a rule


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
    assert rule["hit"][0].endswith(f" → {shown}")
