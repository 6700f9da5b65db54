"""Domain packs: what a domain adds, a new one from raw reviews, and errors that name the way out."""

from __future__ import annotations

import ast
import csv
import re
import shutil
from itertools import product
from pathlib import Path

import pytest
from chromium import Browser, serving
from click.testing import CliRunner
from conftest import Command
from reading import written

from builder import Extractor
from builder.cli.domain import domain, review
from builder.core.errors import ConfigError, InputError, ResourceError
from builder.core.records import Element, Polarity, Triplet
from builder.engine import make_engine
from builder.engine.reader import Recipe, extract, make_reader
from builder.language.lexicon.categories import guess_class
from builder.language.lexicon.domain_sheet import Proposal, order_proposals, read_sheet
from builder.language.lexicon.folders import Folders
from builder.language.lexicon.packs import find_pack, list_layers, list_packs
from builder.language.lexicon.resources import load_lexicon
from builder.language.lexicon.rules import Rule, load_rules
from builder.pages.word_page import SheetBook
from builder.pipeline.rule_report import quote
from builder.release.origin import name_reviews
from builder.reviews.text import view
from builder.teaching.domain_packs import blank_markup
from builder.teaching.word_proposals import Found, blank_repeated, can_be_proposed, choose_reviews, choose_words, locate

HOTEL = [
    "櫃檯人員很親切，可惜魚缸很髒", "魚缸很乾淨，珊瑚很舒服", "珊瑚很舒服，海葵不舒服",
    "魚缸很乾淨，海葵很舒服，隔音很差", "海葵很舒服，魚缸乾淨又舒服", "珊瑚很髒，海葵很髒，櫃檯人員冷漠",
]  # fmt: skip


def command(*arguments: object) -> str:
    ran = CliRunner().invoke(domain, [str(argument) for argument in arguments], standalone_mode=False)
    if ran.exception is not None:
        raise ran.exception
    return ran.output


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hotel") / "hotel.csv"
    path.write_text("text,rating\n" + "".join(f'"{text}",4\n' for text in HOTEL), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def proposed(reviews: Path) -> Path:
    """A new pack of the reviews, which no test changes."""
    command("new", "pet", "--reviews", reviews, "--out", reviews.parent / "pet", "--support", 2)
    return reviews.parent / "pet"


@pytest.fixture
def pack(proposed: Path, tmp_path: Path) -> Path:
    """A copy of the new pack."""
    return Path(shutil.copytree(proposed, tmp_path / "pet"))


# ---- packs


def test_every_shipped_pack_has_a_card_and_lexicons_that_load_over_the_core() -> None:
    assert {"hotels", "laptop", "restaurant"} <= list_packs().keys()
    for name, folder in list_packs().items():
        card = (folder / "README.md").read_text(encoding="utf-8")
        assert "licence" in card and "source" in card and "figures" in card, name
        assert len(load_lexicon(domain=name).aspects) > len(load_lexicon(domain="none").aspects)
        assert len(load_rules(domain=name)) >= len(load_rules(domain="none"))


def test_every_shipped_rule_says_what_it_is_for() -> None:
    for name in ("none", *list_packs()):
        assert not [rule.at("about") for rule in load_rules(domain=name) if not rule.about.strip()]


def test_the_core_holds_no_class_of_food_and_the_restaurant_has_them_all() -> None:
    core, restaurant = load_lexicon(domain="none"), load_lexicon()
    assert not [name for name in core.classes if name.startswith(("food", "drink"))]
    assert not core.morphemes and "牛肉麵" not in core.aspects
    assert restaurant.role("牛肉麵") == "thing" and restaurant.aspects["湯頭"].cls == "food.part"


def test_neither_the_code_nor_what_the_core_says_of_its_rules_names_food() -> None:
    entries, others = load_lexicon(domain="restaurant").aspects, load_lexicon(domain="none").aspects
    named = {word for word in entries if entries[word].cls.startswith(("food", "drink")) and len(word) > 1}
    foods = {word for word in named - set(others) if not word.isascii()}
    assert "牛肉麵" in foods
    core = [
        rule.about for rule in load_rules(domain="none") if "natural" in rule.params.get("conventions", ["natural"])
    ]
    for text in (*core, *_list_strings("builder/engine"), *_list_strings("builder/language/lexicon")):
        assert not [food for food in foods if food in text], text


def test_no_rule_of_the_core_and_no_word_of_the_engine_is_shaped_by_food() -> None:
    food = re.compile(r"\b(food|drink|dish)", re.IGNORECASE)
    for rule in load_rules(domain="none"):
        if not rule.kind.startswith("described-") and rule.params.get("conventions") != ["paper"]:
            assert not food.search(f"{rule.name} {rule.about} {dict(rule.params)}"), rule.name
    assert not [text for text in _list_strings("builder/engine") if food.search(text)]


def test_weights_of_food_stand_in_the_restaurant_alone_and_general_ones_in_both() -> None:
    weights, groups = {}, {}
    for name in ("none", "restaurant", "laptop"):
        rule = next(rule for rule in load_rules(domain=name) if rule.kind == "decision")
        weights[name], groups[name] = dict(rule.params["weights"]), rule.params["aspects"]
    changed = {name for name, weight in weights["laptop"].items() if weights["none"][name] != weight}
    assert weights["none"].keys() == weights["laptop"].keys() and changed == {"behind the opinion"}
    assert weights["none"].items() < weights["restaurant"].items()
    assert "taste of food" in weights["restaurant"] and "speed of service" in weights["none"]
    assert groups["laptop"]["thing"] == ["thing", "laptop"]
    assert groups["restaurant"]["thing"] == ["thing", "food", "drink"]


def _list_strings(folder: str) -> list[str]:
    """The string constants of a package's modules, without their docstrings."""
    strings: list[str] = []
    for path in (Path(__file__).parent.parent / folder).rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        texts = [node.value for node in nodes if isinstance(node, ast.Constant) and id(node) not in docs]
        strings += [text for text in texts if isinstance(text, str)]
    return strings


def test_a_domain_reads_its_own_things_and_what_any_review_says() -> None:
    text = "鍵盤手感很好，客服很親切"
    found = [str(triplet) for triplet in Extractor(domain="laptop")(text)]
    assert found == ["鍵盤手感 · 好 · POS", "客服 · 親切 · POS"]
    found = [str(triplet) for triplet in Extractor(domain="hotels")("豪華行政大床房很寬敞，枕頭太高")]
    assert found == ["豪華行政大床房 · 寬敞 · POS", "枕頭 · 高 · NEG"]
    assert [str(triplet) for triplet in Extractor(domain="none")("價格很便宜，服務很差")] == [
        "價格 · 便宜 · POS",
        "服務 · 差 · NEG",
    ]


@pytest.mark.parametrize(
    ("domain", "text", "found"),
    [
        ("laptop", "内存大，玩游戏不卡", "内存 · 大 · POS, 玩游戏 · 不卡 · POS"),
        ("laptop", "硬盘小，携带方便", "硬盘 · 小 · NEG, 携带 · 方便 · POS"),
        ("laptop", "办公够用，看视频很流畅", "办公 · 够用 · POS, 看视频 · 流畅 · POS"),
        ("laptop", "键盘声音大，发热量大", "键盘声音 · 大 · NEG, 发热量 · 大 · NEG"),
        ("none", "愚蠢的規定", "規定 · 愚蠢 · NEG"),
        ("none", "古老的沙發", "沙發 · 古老 · NEG"),
        ("none", "古老的建築", "建築 · 古老 · POS"),
        ("none", "鍵盤有點澀", "鍵盤 · 澀 · NEG"),
        ("none", "面膜很貼臉", "面膜 · 貼臉 · POS"),
        ("none", "鈴聲響亮", "鈴聲 · 響亮 · POS"),
        ("none", "枕頭偏軟", "枕頭 · 偏軟 · NEG"),
        ("none", "上網很快", "上網 · 快 · POS"),
        ("none", "毛巾浴巾都發霉", "浴巾 · 發霉 · NEG, 毛巾 · 發霉 · NEG"),
        ("none", "用餐逛街都方便", "逛街 · 方便 · POS, 用餐 · 方便 · POS"),
        ("none", "浴缸比較短，價格比較高", "浴缸 · 短 · NEG, 價格 · 高 · NEG"),
        ("none", "鈴聲響亮清楚好聽", "鈴聲 · 響亮 · POS, 鈴聲 · 清楚 · POS, 鈴聲 · 好聽 · POS"),
        ("none", "背包側袋都不好拿", "背包側袋 · 不好拿 · NEG"),
    ],
)
def test_laptops_of_either_shore_and_what_any_goods_are_called_are_read(domain: str, text: str, found: str) -> None:
    """Two names before a word for all are two aspects, and a thing with its part is one."""
    assert ", ".join(map(str, Extractor(domain=domain)(text))) == found


def test_common_words_serve_every_domain_but_those_that_do_without(tmp_path: Path) -> None:
    text = "外套很輕便，拉鍊老是卡住；房間隔音很差"
    read = [str(triplet) for triplet in Extractor(domain="none")(text)]
    assert read == ["外套 · 輕便 · POS", "拉鍊 · 卡住 · NEG", "房間隔音 · 差 · NEG"]
    layers = {name: [pack.name for pack in list_layers(name)] for name in ("none", "laptop", "restaurant")}
    assert layers == {"none": ["common words"], "laptop": ["common words", "laptop"], "restaurant": ["restaurant"]}
    for name, expected in (("lean", 1), ("rich", 2)):
        (tmp_path / name / "lexicons").mkdir(parents=True)
        (tmp_path / name / "lexicons/general.tsv").write_text("word\tpos\n喵喵\tNOUN\n", encoding="utf-8")
        if name == "lean":
            (tmp_path / name / "no-common-words").touch()
        assert len(list_layers(str(tmp_path / name))) == expected
    assert "拉鍊" in load_lexicon(domain=str(tmp_path / "lean")).aspects  # the core has it
    assert "浴缸" not in load_lexicon(domain=str(tmp_path / "lean")).aspects
    assert "浴缸" in load_lexicon(domain=str(tmp_path / "rich")).aspects
    roles = [folder.role for folder in Folders(domain="none").describe()]
    assert "lexicons of common words" in roles and "rules of common words" in roles


def test_a_domain_that_is_unknown_or_no_pack_is_an_error_that_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no domain and no folder 'laptops'; known: hotels, laptop, none, rest"):
        Extractor(domain="laptops")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match=r"no domain pack: it has neither lexicons/\*.tsv nor rules/\*.toml"):
        find_pack(str(tmp_path / "empty"))


def test_folders_name_the_domain_with_its_digest(tmp_path: Path) -> None:
    roles = [folder.role for folder in Folders(domain="laptop").describe()]
    assert "lexicons of the domain laptop" in roles and "rules of the domain laptop" in roles
    assert len({Folders(domain=name).files_digest for name in ("laptop", "none", "restaurant")}) == 3


def extend(folder: Path, below: str, above: str) -> list[Rule]:
    """The rules of a table that takes up another."""
    for name, text in (("low", below), ("high", above)):
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "a.toml").write_text(text, encoding="utf-8")
    return load_rules(folder / "low", [folder / "high"])


def test_a_rule_that_extends_adds_lists_tables_and_examples_to_the_one_below(tmp_path: Path) -> None:
    below = '[limits]\nkind = "compatible"\norder = 1\nabout = "low"\nmiss = [{ text = "甲" }]\n'
    below += '[limits.classes]\n"price" = ["price"]\n'
    above = '[limits]\nextends = true\nmiss = [{ text = "乙" }]\n'
    (rule,) = extend(tmp_path, below, above + '[limits.classes]\n"price" = ["room"]\n"bed" = ["room"]\n')
    assert rule.params["classes"] == {"price": ["price", "room"], "bed": ["room"]}
    assert [example.text for example in rule.examples] == ["甲", "乙"]
    with pytest.raises(ResourceError, match="rule 'other' extends a rule that is not there"):
        extend(tmp_path, below, "[other]\nextends = true\n")


def test_a_rule_that_extends_takes_members_away_and_says_which_are_not_there(tmp_path: Path) -> None:
    below = '[limits]\nkind = "compatible"\norder = 1\nabout = "low"\nwords = ["甲", "乙"]\n'
    below += '[limits.classes]\n"price" = ["price"]\n"bed" = ["room"]\n'
    above = "[limits]\nextends = true\n"
    (rule,) = extend(tmp_path, below, above + 'words = ["丙"]\nwithout = { words = ["甲"], classes = ["bed"] }\n')
    assert (rule.params["words"], rule.params["classes"]) == (["乙", "丙"], {"price": ["price"]})
    with pytest.raises(ResourceError, match="rule 'limits': words has no '丁' to take away"):
        extend(tmp_path, below, above + '[limits.without]\nwords = ["丁"]\n')
    with pytest.raises(ResourceError, match="rule 'limits': without is not a table of lists"):
        extend(tmp_path, below, above + 'without = ["甲"]\n')


def test_adjectives_in_a_row_are_one_opinion_where_a_rule_says_so(tmp_path: Path) -> None:
    text = "裝潢清新別致"
    assert [written(triplet) for triplet in Extractor()(text)] == ["裝潢|清新|POS", "裝潢|別致|POS"]
    (tmp_path / "own.toml").write_text("[joined-opinions]\nextends = true\nmerge = 2\n", encoding="utf-8")
    reader = make_reader(Recipe(folders=Folders(edited=(tmp_path,))))
    (reading,) = reader.read([text])
    assert [written(triplet) for triplet in reader.engine.extract(reading.doc)] == ["裝潢|清新別致|POS"]


def test_a_pack_states_what_the_core_takes_for_a_wish() -> None:
    texts = [written(triplet) for triplet in Extractor(domain="laptop")("建議買效能好的筆電")]
    assert texts == ["效能|好|POS"]
    assert Extractor(domain="none")("建議買效能好的筆電") == ()


@pytest.mark.parametrize("name", ["hotels", "laptop", "none"])
def test_rules_hold_to_their_examples_in_their_own_domain(name: str) -> None:
    """Those of the restaurant are tested in test_rules."""
    below = {} if name == "none" else {rule.name: rule.examples for rule in load_rules(domain="none")}
    tested = 0
    engines = {}
    reader = make_reader(Recipe(folders=Folders(domain=name)))
    for rule in load_rules(domain=name):
        convention = rule.params.get("conventions", ["natural"])
        convention = "natural" if "natural" in convention else convention[0]
        if convention not in engines:
            engines[convention] = make_engine(reader.lexicon, load_rules(domain=name), convention)
        for example in rule.examples:
            if example in below.get(rule.name, ()):
                continue
            made = {written(triplet) for triplet in extract(engines[convention], reader.read([example.text])[0])}
            if example.must:
                assert set(example.triplets) <= made, (rule.name, example.text, made)
            else:
                assert made.isdisjoint(example.triplets), (rule.name, example.text, made)
            tested += 1
    assert tested >= 4


# ---- a new domain


def test_a_pack_is_made_answered_and_used_from_raw_reviews_alone(reviews: Path, tmp_path: Path) -> None:
    pack = tmp_path / "hotel"
    told = command("new", "hotel", "--reviews", reviews, "--out", pack, "--support", 2)
    assert "proposals from 6 reviews" in told
    proposals = {row.word: row for row in read_sheet(pack)}
    assert {"魚缸", "珊瑚", "海葵"} <= proposals.keys()
    assert proposals["魚缸"].kind == "aspect" and "that the model read" in proposals["魚缸"].evidence
    assert "魚缸" in proposals["魚缸"].sentence
    sheet = pack / "candidates.csv"
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["answer"] = "yes" if row["word"] in ("魚缸", "珊瑚", "海葵") else "no"
        row["meaning"] = "hotel.room" if row["kind"] == "aspect" else row["meaning"]
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    told = command("accept", pack)
    assert f"3 aspects and 0 opinions of {len(rows)} proposals\n" in told
    assert "new classes: hotel.room (thing)\n" in told and "next: `builder words domain check" in told
    assert load_lexicon(domain=str(pack)).role("魚缸") == "thing"
    assert [str(triplet) for triplet in Extractor(domain=pack)("魚缸很乾淨")] == ["魚缸 · 乾淨 · POS"]
    shown = command("check", pack, "--reviews", reviews, "--draw", 3)
    assert shown.startswith("6 reviews, 6 with triplets (100%)") and "unknown words, by reviews:" in shown
    assert command("check", pack, "--reviews", reviews, "--draw", 3) == shown


def test_a_new_pack_composes_the_names_of_its_classes(pack: Path) -> None:
    (names,) = [rule for rule in load_rules(domain=str(pack)) if rule.name == "names"]
    assert "pet." in names.params["composed"]


def test_a_neutral_opinion_is_taken_by_answer_alone(tmp_path: Path) -> None:
    pack = tmp_path / "hotel"
    pack.mkdir()
    header = "kind,word,meaning,confidence,reviews,evidence,sentence,answer,role\n"
    (pack / "candidates.csv").write_text(
        header + "opinion,斑駁,NEU,0.99,9,,,yes,\nopinion,走心,neu,0.99,9,,,,\nopinion,幽謐,POS,0.99,9,,,,\n",
        encoding="utf-8",
    )
    lines = command("accept", pack).splitlines()
    assert lines[0].endswith("0 aspects and 2 opinions of 3 proposals")
    assert lines[1] == "neutral: 斑駁; if one praises or blames, write POS or NEG into its meaning"
    valences = {word: entry.valence for word, entry in load_lexicon(domain=str(pack)).opinions.items()}
    assert (valences["斑駁"], valences["幽謐"]) == (5.0, 7.5)


def test_a_class_of_ones_own_can_be_described_by_every_opinion(tmp_path: Path) -> None:
    for cls in ("hotel.pool", "price.pool"):
        lexicons = tmp_path / cls / "lexicons"
        (lexicons / "aspects").mkdir(parents=True)
        (lexicons / "aspect_classes.tsv").write_text(f"class\trole\tgloss\n{cls}\tthing\tpools\n", encoding="utf-8")
        (lexicons / "aspects" / "pools.tsv").write_text(f"word\tclass\n球池\t{cls}\n", encoding="utf-8")
    assert [str(triplet) for triplet in Extractor(domain=tmp_path / "hotel.pool")("球池很寬敞")] == [
        "球池 · 寬敞 · POS"
    ]
    assert not list(Extractor(domain=tmp_path / "price.pool")("球池很寬敞"))


def test_a_pack_quotes_reviews_in_their_own_script_and_proposes_no_markup(tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    lines = [
        "这个鱼缸很干净，水草<b>漂亮</b>",
        "鱼缸很舒服 <script>alert(1)</script>",
        "<img src=x onerror=alert(2)>鱼缸很亮&nbsp;推荐",
    ]
    file.write_text("text\n" + "".join(f"{line}{mark}\n" for line in lines for mark in ("", "。", "！")), "utf-8")
    command("new", "pet", "--reviews", file, "--out", tmp_path / "pet", "--support", 2)
    proposals = {row.word: row for row in read_sheet(tmp_path / "pet")}
    assert "鱼缸" in proposals and not any(word.isascii() for word in proposals)
    assert proposals["鱼缸"].sentence == "这个【鱼缸】很干净，水草 漂亮"
    (row,) = [row for row in SheetBook(tmp_path / "pet").list()["rows"] if row["word"] == "鱼缸"]
    assert row["sentence"] == "这个【鱼缸】很干净，水草 漂亮"


def test_what_people_write_is_no_markup() -> None:
    for text in ("價格 <3 很好 > 別家", "a < b & c", "&很好；", "好吃>_<推薦"):
        assert blank_markup(text) == text


def test_the_page_of_a_pack_keeps_answers_and_names_classes(pack: Path) -> None:
    book = SheetBook(pack)
    rows = {row["word"]: row for row in book.list()["rows"]}
    assert "【魚缸】" in rows["魚缸"]["sentence"]
    for row in rows.values():
        taken = row["word"] in ("魚缸", "珊瑚")
        book.answer({"place": row["place"], "answer": "yes" if taken else "no", "meaning": row["meaning"]})
    again = SheetBook(pack)  # as after a kill: every answer stands in the sheet
    assert {row["word"] for row in again.list()["rows"] if row["answer"] == "yes"} == {"魚缸", "珊瑚"}
    for name in {rows["魚缸"]["meaning"], rows["珊瑚"]["meaning"]}:
        again.change_class({"name": name, "new": "pet.tank", "role": "part"})
    assert {"name": "pet.tank", "role": "part", "known": False} in again.list()["own_classes"]
    again.answer({"place": rows["珊瑚"]["place"], "answer": "yes", "meaning": "place.generic"})
    assert again.take() == {"opinions": 0, "aspects": 2}
    lexicon = load_lexicon(domain=str(pack))
    assert (lexicon.role("魚缸"), lexicon.aspects["珊瑚"].cls) == ("part", "place.generic")


def test_the_page_of_a_pack_is_worked_by_key_and_hides_no_character(pack: Path, browser: Browser) -> None:
    pytest.importorskip("uvicorn", reason="the extra annotate is not installed")
    sheet = pack / "candidates.csv"
    rows = list(csv.DictReader(sheet.read_text(encoding="utf-8-sig").splitlines()))
    rows[0]["sentence"] = f"【<b>很</b>】\u202e{rows[0]['word']}\u2066\x07好"
    with sheet.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    place = [row["word"] for row in SheetBook(pack).list()["rows"]].index(rows[0]["word"])
    with serving(review, pack, "--port", "0") as said:
        browser.open(said[0].removeprefix("open "))
        shown = browser.text(f"#w{place}")
        assert "【<b>很</b>】\u2426" in shown and "\u2426\u2407好" in shown
        assert not {"\u202e", "\u2066", "\x07"} & set(browser.text("body"))
        browser.press("y", "n", "ArrowUp", "ArrowUp", "n")
        assert browser.text("#count") == f"2 / {len(rows)}"
        browser.run("document.querySelector('#classes').open = true")
        assert "thing" in browser.text("#own")
        other = browser.run("sentence('【特價】这个【鱼缸】很亮', '魚缸').innerHTML")
        assert other == '【特價】这个<mark class="o">鱼缸</mark>很亮'
        assert browser.faults == []
    assert [row["answer"] for row in SheetBook(pack).list()["rows"]][:2] == ["no", "no"]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"name": "pet.other", "new": "two words", "role": "thing"}, "one word"),
        ({"name": "pet.other", "new": "pet.tank", "role": "fish"}, "no role 'fish'"),
    ],
)
def test_a_class_with_a_strange_name_or_role_changes_nothing(change: dict[str, str], fault: str, pack: Path) -> None:
    before = (pack / "candidates.csv").read_bytes()
    with pytest.raises(ValueError, match=fault):
        SheetBook(pack).change_class(change)
    assert (pack / "candidates.csv").read_bytes() == before


def test_an_aspect_is_offered_a_known_class_by_its_ending_or_else_a_role() -> None:
    words = {"魚塘經理": "staff", "水族館大廳": "place.generic", "鱗": "thing", "koi": "thing", "芒果": "thing"}
    assert {word: guess_class(word, load_lexicon(domain="none")) for word in words} == words


def test_a_role_becomes_one_class_of_the_pack_that_rules_read_as_the_core_s(tmp_path: Path) -> None:
    write_rows(tmp_path / "pond", *(f"aspect;珊瑚{word};{role};;;;;;" for word, role in ROLED.items()))
    told = command("accept", tmp_path / "pond")
    assert "new classes: part.pond (part), pond.thing (thing), quality.pond (attribute), staff.pond (person)" in told
    lexicon = load_lexicon(domain=str(tmp_path / "pond"))
    assert {word: lexicon.role(f"珊瑚{word}") for word in ROLED} == ROLED


ROLED = {"輪": "part", "魚": "thing", "度": "attribute", "員": "person"}


def test_words_of_a_sheet_in_simplified_script_are_read_as_lexicons_write_them(tmp_path: Path) -> None:
    write_rows(tmp_path / "pond", "aspect;珊瑚轮;part;;;;;;", "opinion;莹亮;pos;;;;;;")
    command("accept", tmp_path / "pond")
    lexicon = load_lexicon(domain=str(tmp_path / "pond"))
    assert "珊瑚輪" in lexicon.aspects and lexicon.opinions["瑩亮"].valence == 7.5


def test_what_words_change_in_reviews_is_shown_and_those_that_lose_are_left_out(tmp_path: Path) -> None:
    write_rows(tmp_path / "pond", "aspect;珊瑚缸;thing;;;;;;", "opinion;漂亮;NEG;;;;;;")
    path = tmp_path / "reviews.csv"
    path.write_text("text\n珊瑚缸很乾淨\n房間很漂亮\n", encoding="utf-8")
    lines = command("accept", tmp_path / "pond", "--reviews", path).splitlines()
    assert lines[:2] == ["漂亮: 1 turned; left out", "珊瑚缸: 1 added"]
    lexicon = load_lexicon(domain=str(tmp_path / "pond"))
    assert "珊瑚缸" in lexicon.aspects and lexicon.opinions["漂亮"].valence > 5
    assert "left out" not in command("accept", tmp_path / "pond", "--reviews", path, "--keep-losing")
    assert load_lexicon(domain=str(tmp_path / "pond")).opinions["漂亮"].valence < 5


def test_what_a_page_says_is_read_once_and_what_a_person_says_every_time() -> None:
    texts = ["[補充點評 2024-05-06] 房間好。服務親切又周到極了！", "[補充點評 2023-11-12] 服務親切又周到極了！房間好。"]
    first, second = blank_repeated(texts)
    assert first == texts[0]
    assert second == "[" + " " * 15 + "] " + " " * 9 + "！房間好。" and len(second) == len(texts[1])


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        *(("aspect", word) for word in ("上海", "夜裡", "長安路", "房間", "房間隔音", "舒服房間", "老闆的魚")),
        *(("opinion", word) for word in ("此時", "個問題", "不乾淨", "乾淨舒服", "vivace")),
    ],
)
def test_names_times_known_words_and_what_rules_compose_are_not_proposed(kind: str, word: str) -> None:
    lexicon = load_lexicon(domain="none")
    assert not can_be_proposed(kind, word, lexicon)
    assert can_be_proposed("aspect", "珊瑚缸", lexicon) and can_be_proposed("aspect", "vivace", lexicon)
    assert can_be_proposed("opinion", "瑩亮", lexicon)
    assert "細" in lexicon.opinions and "嫩" in lexicon.opinions and can_be_proposed("opinion", "細嫩", lexicon)


def test_a_noun_of_the_dictionary_is_an_opinion_where_the_model_is_sure() -> None:
    lexicon, texts = load_lexicon(domain="none"), ["珊瑚彈牙", "海葵彈牙", "彈牙的魚", "這裡彈牙"]
    views = [view(text, lexicon.variants) for text in texts]
    sure = {at: [Found("opinion", texts[at].index("彈"), texts[at].index("彈") + 2, 1)] for at in range(4)}
    assert [row.word for row in choose_words(texts, views, sure, lexicon, support=2)] == ["彈牙"]
    assert not choose_words(texts, views, {**sure, 0: [], 1: [], 2: []}, lexicon, support=2)


def test_what_stands_behind_a_number_is_a_part_of_a_size() -> None:
    lexicon, found = load_lexicon(domain="none"), {at: [Found("aspect", 2, 5)] for at in range(2)}
    for texts, words in ((["14寸魚缸很亮", "16寸魚缸好"], []), (["14寸魚缸很亮", "一個寸魚缸"], ["寸魚缸"])):
        views = [view(text, lexicon.variants) for text in texts]
        assert [row.word for row in choose_words(texts, views, found, lexicon, support=2)] == words


def test_what_a_model_finds_is_counted_without_words_of_degree() -> None:
    lexicon = load_lexicon(domain="none")
    aspect = Element("珊瑚", ((0, 2),))

    def find(opinion: str, polarity: Polarity) -> Found:
        element = Element(opinion, ((3, 3 + len(opinion)),))
        made = Triplet(aspect, aspect, element, element, polarity, 5.0)
        first, second = locate((made,), lexicon)
        assert first == Found("aspect", 0, 2)
        return second

    assert find("很瑩亮", "POS") == Found("opinion", 4, 6, 1)
    assert find("不瑩亮", "NEG") == Found("opinion", 3, 6, -1)
    assert find("無可挑剔", "POS") == Found("opinion", 3, 7, 1), "挑剔 in it says nothing"


def test_a_word_is_proposed_by_the_reviews_that_hold_it_and_not_beside_its_parts() -> None:
    lexicon = load_lexicon(domain="none")
    texts = ["珊瑚很瑩亮", "珊瑚瑩亮", "珊瑚缸不瑩亮", "珊瑚缸好", "珊瑚態度好"]
    places = [*[("珊瑚", "瑩亮", 1)] * 2, ("珊瑚缸", "不瑩亮", -1), ("珊瑚缸", "好", 1), ("珊瑚態度", "好", 1)]
    found = {}
    for at, (text, (aspect, opinion, sign)) in enumerate(zip(texts, places, strict=True)):
        start = text.index(opinion)
        found[at] = [Found("aspect", 0, len(aspect)), Found("opinion", start, start + len(opinion), sign)]
    views = [view(text, lexicon.variants) for text in texts]
    rows = choose_words(texts, views, found, lexicon, support=2)
    assert [(row.kind, row.word, row.meaning, row.reviews) for row in rows] == [
        ("aspect", "珊瑚", "thing", 5),
        ("opinion", "瑩亮", "POS", 3),
        ("aspect", "珊瑚缸", guess_class("珊瑚缸", lexicon), 2),
    ]
    assert rows[1].sentence == "珊瑚很【瑩亮】" and "2 of 3 reviews" in rows[1].evidence


def test_a_part_of_a_word_is_no_opinion() -> None:
    lexicon, texts = load_lexicon(domain="none"), ["珊瑚賞心悅目", "海葵賞心悅目"]
    views = [view(text, lexicon.variants) for text in texts]
    found = {at: [Found("opinion", 3, 6, 1)] for at in range(2)}
    assert can_be_proposed("opinion", "心悅目", lexicon)
    assert not choose_words(texts, views, found, lexicon, support=2)


def test_reviews_that_hold_aspects_found_too_seldom_are_read_besides() -> None:
    lexicon = load_lexicon(domain="none")
    texts = ["珊瑚很美", "海葵好", "房間好", "這裡的珊瑚", "珊瑚", "珊瑚海葵房間"]
    views = [view(text, lexicon.variants) for text in texts]
    found = {at: [Found("aspect", 0, 2), Found("opinion", 2, len(texts[at]), 1)] for at in range(3)}
    assert choose_reviews(views, found, lexicon, support=2, most=100) == [4, 5, 3]
    assert choose_reviews(views, found, lexicon, support=2, most=8) == [4, 5]
    found[3] = [Found("aspect", 3, 5)]
    assert choose_reviews(views, found, lexicon, support=2, most=100) == [5], "珊瑚 was found twice"


def test_every_third_proposal_is_an_opinion() -> None:
    rows = [Proposal("aspect", f"珊瑚{n}", "thing", 0.9, 9, "", "") for n in range(6)]
    rows += [Proposal("opinion", f"瑩{n}", "POS", 0.5, 2, "", "") for n in range(3)]
    assert [row.kind for row in order_proposals(rows)] == ["aspect", "aspect", "opinion"] * 3


def test_a_domain_starts_with_labels_by_one_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "pond.csv"
    path.write_text("text\n珊瑚很漂亮\n", encoding="utf-8")
    with pytest.raises(InputError, match="too few reviews: 1"):
        command("start", "pond", path, "--no-page")
    texts = [
        f"第{n}次來，{a}很{o}"
        for n, (a, o) in enumerate(product(["魚缸", "服務", "價格", "環境"], "好差貴髒新舊大小香亮"))
    ]
    path.write_text("text\n" + "\n".join(texts) + "\n", encoding="utf-8")
    told = command("start", "pond", path, "--no-page", "--label", 20, "--look", 5)
    assert "40 reviews read, 20 reviews to label" in told and "builder gold annotate serve" in told
    assert told.count("\n    ") == 5 and " POS" in command("start", "pond", path, "--no-page", "--label", 20)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../pond", "'../pond' is no name for a domain; use small Latin letters"),
        (".pond", "'.pond' is no name for a domain; use small Latin letters"),
        ("hotels", "'hotels' is a domain that comes with builder; choose another name: my-hotels"),
    ],
)
def test_a_domain_does_not_start_with_a_path_or_a_shipped_name(
    name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(ConfigError, match=re.escape(message)):
        command("start", name, tmp_path / "pond.csv", "--no-page")
    assert [path.name for path in tmp_path.rglob("*")] == ["here"]


def test_reviews_without_a_new_word_say_so(tmp_path: Path) -> None:
    path = tmp_path / "reviews.csv"
    path.write_text("text\n房間很乾淨\n房間很乾淨\n", encoding="utf-8")
    told = command("new", "inn", "--reviews", path, "--out", tmp_path / "inn")
    assert "few words are new" in told and "answer" not in told


def test_a_pack_adds_to_the_words_of_a_shipped_domain(tmp_path: Path) -> None:
    path, pack = tmp_path / "reviews.csv", tmp_path / "mine"
    path.write_text("text\n" + "珊瑚飯很好吃，牛肉麵很香\n" * 3, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"'food' is no shipped domain; known: hotels, laptop, none, rest"):
        command("new", "mine", "--reviews", path, "--out", pack, "--over", "food")
    command("new", "mine", "--reviews", path, "--out", pack, "--over", "restaurant")
    assert not {"牛肉麵", "好吃", "香"} & {row.word for row in read_sheet(pack)}
    assert [layer.name for layer in list_layers(str(pack))] == ["restaurant", "mine"]
    write_rows(pack, "aspect;珊瑚飯;food.dish;;;;;;")
    command("accept", pack)
    assert [str(triplet) for triplet in Extractor(domain=pack)("珊瑚飯很Q，牛肉麵很香")] == [
        "珊瑚飯 · Q · POS",
        "牛肉麵 · 香 · POS",
    ]
    assert "beside the domain restaurant:" in command("check", pack, "--reviews", path)
    (pack / "over").write_text("food\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"over: 'food' is no shipped domain"):
        Extractor(domain=pack)
    (pack / "over").write_bytes("餐廳".encode("big5"))
    with pytest.raises(
        ConfigError, match=r"over: no readable name of a domain: line 1 is not UTF-8; save it as UTF-8$"
    ):
        Folders(domain=str(pack)).load_rules()


def test_a_sentence_is_quoted_around_its_word_and_cut_where_it_is_long() -> None:
    text = "昨天來。湯頭很冰裂裂，下次再來！"
    assert quote(text, 7, 10) == "湯頭很【冰裂裂】，下次再來"
    assert quote(text, 0, 2) == "【昨天】來"
    assert quote("好" * 100, 50, 51) == "…" + "好" * 24 + "【好】" + "好" * 24 + "…"


def test_a_name_that_comes_with_builder_is_refused(reviews: Path, tmp_path: Path) -> None:
    for name in ("none", "laptop"):
        with pytest.raises(ConfigError, match=f"'{name}' is a domain that comes with builder; choose another name"):
            command("new", name, "--reviews", reviews, "--out", tmp_path / name)
    assert not list(tmp_path.glob("laptop"))
    with pytest.raises(ConfigError, match="this folder is not empty"):
        command("new", "hotel", "--reviews", reviews, "--out", reviews.parent)


def write_rows(pack: Path, *rows: str) -> None:
    """A sheet of these rows, with semicolons as some spreadsheets save it."""
    pack.mkdir(exist_ok=True)
    head = "kind;word;meaning;confidence;reviews;evidence;sentence;answer;role"
    (pack / "candidates.csv").write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")


def test_rows_of_ones_own_join_the_sheet_and_other_tables_of_the_pack_stay(tmp_path: Path) -> None:
    pack = tmp_path / "stay"
    for folder in ("aspects", "opinions"):
        (pack / "lexicons" / folder).mkdir(parents=True)
    classes = pack / "lexicons" / "aspect_classes.tsv"
    classes.write_text("class\trole\tgloss\n# pools\nplace.pool\tpart\tpools\n", encoding="utf-8")
    (pack / "lexicons" / "aspects" / "stay.tsv").write_text("word\tclass\n跳水池\tplace.pool\n", encoding="utf-8")
    write_rows(
        pack, "aspect;入浴劑;stay.gift;;;;;;part", "opinion;療癒;POS;;;;;;", "aspect;班機;stay.other;0.9;3;;;no;thing"
    )
    told = command("accept", pack)
    assert "1 aspect and 1 opinion of 3 proposals" in told and "new classes: stay.gift (part)" in told
    write_rows(pack, "aspect;入浴劑;stay.bath;;;;;;", "opinion;療癒;POS;;;;;;")
    command("accept", pack)
    assert classes.read_text(encoding="utf-8").splitlines()[1:] == [
        "# pools",
        "place.pool\tpart\tpools",
        "stay.bath\tthing\tinduced from reviews: 入浴劑",
    ]
    renamed = pack.rename(tmp_path / "inn")
    command("accept", renamed)
    triplets = [str(triplet) for triplet in Extractor(domain=renamed)("跳水池很乾淨，入浴劑很療癒")]
    assert triplets == ["跳水池 · 乾淨 · POS", "入浴劑 · 療癒 · POS"]


def test_what_a_person_states_wins_over_a_proposal_and_two_statements_are_an_error(tmp_path: Path) -> None:
    pack = tmp_path / "stay"
    own = ("aspect;跳水池;place.pool;;;;;;part", "opinion;療癒;POS;0,9;3;seen;;yes;")
    proposed = ("aspect;跳水池;stay.other;0,9;3;seen;;;thing", "aspect;療癒;stay.other;0.6;3;seen;;;thing")
    write_rows(pack, *own, *proposed, ";;;;;;;;")
    assert "1 aspect and 1 opinion of 4 proposals" in command("accept", pack)
    lexicon = load_lexicon(domain=str(pack))
    assert lexicon.aspects["跳水池"].cls == "place.pool" and lexicon.opinions["療癒"].valence == 7.5
    write_rows(pack, *own, "aspect;跳水池;stay.other;0.9;3;seen;;yes;thing")
    with pytest.raises(ResourceError, match=r"'跳水池' is aspect place\.pool and aspect stay\.other; say no to one"):
        command("accept", pack)


def test_a_sheet_with_other_columns_or_an_open_quote_is_refused(tmp_path: Path) -> None:
    write_rows(tmp_path / "stay", 'aspect;"跳水池;stay.other;;;;;;', "opinion;療癒;POS;;;;;;")
    with pytest.raises(ResourceError, match=r"candidates\.csv:2: broken CSV \(unexpected end of data\); save it as"):
        command("accept", tmp_path / "stay")
    (tmp_path / "stay" / "candidates.csv").write_text("kind,word,note\n", encoding="utf-8")
    with pytest.raises(ResourceError, match="the columns are kind, word, note; keep these: kind, word, meaning"):
        command("accept", tmp_path / "stay")


def test_a_new_class_that_is_nearly_a_known_one_or_one_of_more_words_is_asked_about(tmp_path: Path) -> None:
    own = [f"aspect;珊瑚{end};stay.gear;;;;;;" for end in "輪館"]
    write_rows(tmp_path / "stay", "aspect;入浴劑;place.rom;;;;;;part", *own, "aspect;珊瑚燈;stay.gears;;;;;;")
    told = command("accept", tmp_path / "stay")
    assert "place.rom is new; did you mean place.room?" in told
    assert "stay.gears is new; did you mean stay.gear?" in told and "stay.gear is new" not in told


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("thing;泳池;stay.pool;;;;;;", "'thing' in the column kind; write aspect or opinion"),
        ("aspect;;stay.pool;;;;;;", "'' in the column word; write the word"),
        (
            "aspect;泳池;two words;;;;;;",
            "'two words' in the column meaning; write a role such as thing or part, or a class: one word",
        ),
        ("opinion;療癒;8;;;;;;", "'8' in the column meaning; write the polarity of the opinion: POS, NEG or NEU"),
        ("opinion;療癒;good;;;;;;", "'good' in the column meaning"),
        ("opinion;療癒;POS;much;;;;;", "'much' in the column confidence; leave it as it was"),
        ("opinion;療癒;POS;;;;;;part", "'part' in the column role; for an aspect one of"),
        ("opinion;療癒", "'' in the column meaning"),
        ("opinion;療癒;POS;;;;;;;more", "10 cells where 9 are due"),
        ('opinion;"療\n癒";POS;;;;;;', "'療\\n癒' in the column word; write the word on one line"),
        ("opinion;療癒;POS;;;;;perhaps;", "'perhaps' in the column answer; write yes or no"),
    ],
)
def test_a_row_that_is_broken_names_its_cell(row: str, fault: str, tmp_path: Path) -> None:
    write_rows(tmp_path / "stay", row)
    with pytest.raises(ResourceError, match=re.escape(f"candidates.csv:2: {fault}")):
        command("accept", tmp_path / "stay")


def test_a_broken_row_is_named_by_its_line_below_a_cell_with_a_line_break(tmp_path: Path) -> None:
    write_rows(tmp_path / "stay", 'opinion;療癒;POS;;;;"湯\n好喝";;', "opinion;香;good;;;;;;")
    with pytest.raises(ResourceError, match=re.escape("candidates.csv:4: 'good' in the column meaning")):
        command("accept", tmp_path / "stay")


def test_a_check_says_what_the_pack_adds_and_lists_no_word_of_one_review_or_of_a_triplet(tmp_path: Path) -> None:
    write_rows(tmp_path / "stay", "aspect;珊瑚缸;stay.tank;;;;;;thing")
    command("accept", tmp_path / "stay")
    path = tmp_path / "reviews.csv"
    path.write_text("text\n珊瑚缸很漂亮\n服務親切，海葵在缸裡\n海葵在缸裡\n", encoding="utf-8")
    shown = command("check", tmp_path / "stay", "--reviews", path)
    assert "beside the domain none: 1 triplet more, 0 fewer, 0 with other words" in shown
    unknown, advice = shown.splitlines()[-2:]
    assert unknown.startswith("unknown words, by reviews:") and "海葵 2" in unknown and "珊瑚" not in unknown
    assert f"{tmp_path / 'stay'}/candidates.csv (kind" in advice and f"accept {tmp_path / 'stay'}`" in advice
    simplified = tmp_path / "simplified.csv"
    simplified.write_text("text\n蓝鲸便当很好吃\n蓝鲸便当不好吃\n", encoding="utf-8")
    assert command("check", "restaurant", "--reviews", simplified).endswith("none stands in two reviews\n")
    plain = command("check", "none", "--reviews", path, "--draw", 0)
    assert "beside the domain" not in plain and "FOLDER/candidates.csv after `builder words domain new`" in plain


def test_a_check_shows_what_a_pack_loses_and_counts_what_it_only_words_otherwise(tmp_path: Path) -> None:
    write_rows(tmp_path / "stay", "aspect;珊瑚服務;service.coral;;;;;;other", "opinion;親切;NEU;;;;;yes;")
    command("accept", tmp_path / "stay")
    never = tmp_path / "stay" / "lexicons" / "not_aspects.tsv"
    never.write_text("word\treason\n地點\ttime\n", encoding="utf-8")
    path = tmp_path / "reviews.csv"
    path.write_text("text\n地點很方便\n好親切的服務\n", encoding="utf-8")
    shown = command("check", tmp_path / "stay", "--reviews", path)
    assert "0 triplets more, 1 fewer, 1 with other words or another polarity" in shown
    assert "fewer: 地點\t很方便\tPOS\t地點很【方便】" in shown


def test_an_opinion_has_the_valence_of_its_polarity_and_a_class_the_role_of_its_name(tmp_path: Path) -> None:
    polarities = {"掉漆": "NEG", "普普": "NEU", "好收": "POS"}
    rows = [f"opinion;{word};{polarity};;;;;yes;" for word, polarity in polarities.items()]
    write_rows(tmp_path / "shop", *rows, "aspect;珊瑚輪;part.wheel;;;;;;", "aspect;珊瑚館;shop.house;;;;;;")
    shown = command("accept", tmp_path / "shop")
    assert "part.wheel (part), shop.house (thing)" in shown
    lexicon = load_lexicon(domain=str(tmp_path / "shop"))
    assert [lexicon.opinions[word].valence for word in polarities] == [2.8, 5.0, 7.5]


def test_a_release_of_another_domain_says_what_its_reviews_are_about() -> None:
    named = [name_reviews(domain) for domain in ("restaurant", "none", "packs/pets")]
    assert named == ["restaurant reviews", "reviews", "pets reviews"]


def test_the_tables_of_a_pack_are_checked_like_the_others(tmp_path: Path, here: Command) -> None:
    write_rows(tmp_path / "stay", "aspect;珊瑚缸;stay.tank;;;;;;thing")
    command("accept", tmp_path / "stay")
    table = tmp_path / "stay" / "lexicons" / "context.tsv"
    table.write_text("opinion\taspect\tvalence\n少\t@plaec\t8\n", encoding="utf-8")
    ran = here("lexicon", "check", "--domain", tmp_path / "stay")
    (fault,) = ran.out.splitlines()  # what the core's words lack is no fault of the pack
    assert "no class begins with 'plaec'" in fault and ran.code == 0
    own = tmp_path / "w" / "lexicon" / "aspects"
    own.mkdir(parents=True)
    (own / "more.tsv").write_text("word\tclass\n月光粥\tfood.dream\n", encoding="utf-8")
    ran = here("lexicon", "check", "--domain", tmp_path / "stay", "--workdir", tmp_path / "w")
    assert "'plaec'" in ran.out and "unknown-kind\t月光粥" in ran.out and ran.code == 1
    assert len(ran.out.splitlines()) == 2


def test_files_in_another_encoding_or_with_two_texts_are_read_as_the_message_says(tmp_path: Path) -> None:
    path = tmp_path / "reviews.csv"
    rows = "".join(f"{text},{text[::-1]}\n" for text in HOTEL if "," not in text)
    path.write_bytes(f"a,b\n{rows}".encode("big5"))
    with pytest.raises(InputError, match="add --encoding cp950"):
        command("new", "pet", "--reviews", path, "--out", tmp_path / "pet")
    with pytest.raises(InputError, match="name it with --text-column"):
        command("new", "pet", "--reviews", path, "--encoding", "cp950", "--out", tmp_path / "pet")
    how = ("--reviews", path, "--encoding", "cp950", "--text-column", "a")
    assert "proposals from 6 reviews" in command("new", "pet", *how, "--out", tmp_path / "pet", "--support", 2)
    assert command("check", tmp_path / "pet", *how).startswith("6 reviews, ")


def test_a_sheet_that_is_not_utf8_is_one_line(pack: Path) -> None:
    (pack / "candidates.csv").write_bytes((pack / "candidates.csv").read_text(encoding="utf-8-sig").encode("utf-16"))
    with pytest.raises(ResourceError, match=r"candidates\.csv:1: is not UTF-8; save it as CSV UTF-8"):
        command("accept", pack)
