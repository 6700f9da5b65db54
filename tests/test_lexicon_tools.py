"""Checking and importing lexicons, on lexicons and reviews written here."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from builder.core.errors import ConfigError, InputError, ResourceError
from builder.language.lexicon.categories import like_name
from builder.language.lexicon.check import KINDS, check
from builder.language.lexicon.importers import Options, import_lexicon, rescaled
from builder.language.lexicon.overlay import Overlay, write
from builder.language.lexicon.resources import Lexicon, load_lexicon

FILES = {
    "opinion_categories.tsv": "category\tvalence\tgloss\ntaste.good\t8\tgood\ntaste.bad\t2\tbad\nplain\t5\tplain\n",
    "aspect_classes.tsv": "class\trole\tgloss\nfood.dish\tthing\tdishes\nstaff\tperson\tpeople\n"
    "quality.taste\tattribute\ttaste\n",
    "opinions/taste.tsv": "word\tcategory\n好吃\ttaste.good\n難吃\ttaste.bad\n普通\tplain\n香\ttaste.good\n"
    "鹹\ttaste.bad\n親切\ttaste.good\n冷淡\ttaste.bad\n",
    "aspects/food.tsv": "word\tclass\n牛肉麵\tfood.dish\n湯頭\tfood.dish\n店員\tstaff\n味道\tquality.taste\n",
    "context.tsv": "opinion\taspect\tvalence\n鹹\t湯頭\t6\n",
    "degree.tsv": "word\tkind\n很\thigh\n非常\thigh\n超\thigh\n太\tover\n極了\tpost\n",
    "negators.tsv": "word\tkind\n不\tnot\n不夠\tfail\n",
    "irrealis.tsv": "word\tkind\n希望\twish\n",
    "contrast.tsv": "word\tkind\n但\tbut\n",
    "general.tsv": "word\tpos\n我們\tPRON\n看\tVERB\n公車\tNOUN\n",
    "not_aspects.tsv": "word\treason\n今天\ttime\n",
    "variants.tsv": "variant\tcanonical\n麪\t麵\n",
    "morphemes.tsv": "morpheme\trole\n牛\tnoun\n",
    "word_classes.tsv": "class\tgloss\nme\tthe one who writes\nguest\tthose who are served\n",
    "words/people.tsv": "word\tclass\n我\tguest\n客人\tguest\n我\tme\n",
}


def make(root: Path, **changes: str) -> Path:
    """A small lexicon; `changes` add lines to a file named with _ for / and without .tsv."""
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + changes.pop(name.removesuffix(".tsv").replace("/", "_"), ""), encoding="utf-8")
    assert not changes, changes
    return root


def found(root: Path, kind: str) -> list[tuple[str, str]]:
    return [(one.word, one.where) for one in check(root) if one.kind == kind]


# --- check


def test_a_sound_lexicon_has_no_findings(tmp_path: Path) -> None:
    assert check(make(tmp_path)) == []


@pytest.mark.parametrize(
    ("kind", "changes", "expected"),
    [
        ("duplicate", {"opinions_taste": "好吃\ttaste.good\n"}, ("好吃", "opinions/taste.tsv:9")),
        ("duplicate", {"aspects_food": "牛肉麪\tfood.dish\n"}, ("牛肉麪", "aspects/food.tsv:6")),
        ("contradiction", {"opinions_taste": "好吃\ttaste.bad\n"}, ("好吃", "opinions/taste.tsv:9")),
        ("contradiction", {"opinions_taste": "不好吃\ttaste.good\n"}, ("不好吃", "opinions/taste.tsv:9")),
        ("contradiction", {"opinions_taste": "不夠香\ttaste.good\n"}, ("不夠香", "opinions/taste.tsv:9")),
        ("contradiction", {"opinions_taste": "很好吃\ttaste.bad\n"}, ("很好吃", "opinions/taste.tsv:9")),
        ("contradiction", {"context": "鹹\t湯頭\t3\n"}, ("鹹", "context.tsv:3")),
        ("contradiction", {"variants": "麪\t面\n"}, ("麪", "variants.tsv:3")),
        ("context-orphan", {"context": "脆\t湯頭\t3\n"}, ("脆", "context.tsv:3")),
        ("context-orphan", {"context": "香\t@portion\t3\n"}, ("香", "context.tsv:3")),
        ("overlap", {"not_aspects": "湯頭\tabstract\n"}, ("湯頭", "aspects/food.tsv:3")),
        ("overlap", {"general": "好吃\tADJ\n"}, ("好吃", "general.tsv:5")),
        ("unknown-kind", {"opinions_taste": "脆\ttexture\n"}, ("脆", "opinions/taste.tsv:9")),
        ("unknown-kind", {"aspects_food": "桌子\tplace\n"}, ("桌子", "aspects/food.tsv:6")),
        ("unknown-kind", {"degree": "滿\tvery\n"}, ("滿", "degree.tsv:7")),
        ("unused-category", {"opinion_categories": "idle\t5\tnone\n"}, ("idle", "opinion_categories.tsv:5")),
        ("valence", {"opinion_categories": "taste.odd\t11\todd\n"}, ("taste.odd", "opinion_categories.tsv:5")),
        ("variant", {"variants": "方麵\t方面\n方麵食\t方麵食\n台\t台\n"}, ("台", "variants.tsv:5")),
        ("variant", {"variants": "喫飯\t吃\n"}, ("喫飯", "variants.tsv:3")),
        ("simplified", {"aspects_food": "汤圆\tfood.dish\n"}, ("汤圆", "aspects/food.tsv:6")),
        (
            "too-long",
            {"aspects_food": "一二三四五六七八九十甲乙丙\tfood.dish\n"},
            ("一二三四五六七八九十甲乙丙", "aspects/food.tsv:6"),
        ),
        ("format", {"opinions_taste": "脆\n"}, ("脆", "opinions/taste.tsv:9")),
        ("duplicate", {"words_people": "我\tme\n"}, ("我", "words/people.tsv:5")),
        ("unknown-kind", {"words_people": "我\tsinger\n"}, ("我", "words/people.tsv:5")),
        ("unused-category", {"word_classes": "crew\tthose who serve\n"}, ("crew", "word_classes.tsv:4")),
    ],
)
def test_each_kind_of_fault_is_found_where_it_stands(
    tmp_path: Path, kind: str, changes: Mapping[str, str], expected: tuple[str, str]
) -> None:
    assert expected in found(make(tmp_path, **changes), kind)


def test_words_that_agree_with_their_parts_are_no_contradiction(tmp_path: Path) -> None:
    root = make(tmp_path, opinions_taste="不好吃\ttaste.bad\n很好吃\ttaste.good\n太香\ttaste.bad\n不難吃\ttaste.good\n")
    assert found(root, "contradiction") == []


def test_a_broken_lexicon_is_checked_to_its_end(tmp_path: Path) -> None:
    root = make(tmp_path, opinions_taste="壞 行\n好吃\ttaste.bad\n脆\tnowhere\n", variants="甲乙\t丙\n")
    (root / "degree.tsv").unlink()
    (root / "general.tsv").write_bytes(b"word\tpos\n\xff\xfe\n")
    kinds = {one.kind for one in check(root)}
    assert {"format", "contradiction", "unknown-kind", "variant", "missing"} <= kinds <= set(KINDS)
    with pytest.raises(ResourceError):
        load_lexicon(root)


# --- import


@pytest.fixture
def lexicon(tmp_path: Path) -> Lexicon:
    return load_lexicon(make(tmp_path / "lexicons"))


def imported(
    tmp_path: Path, lexicon: Lexicon, text: str, kind: str, name: str = "list.txt", options: Options | None = None
) -> Overlay:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return import_lexicon(path, kind, lexicon, options or Options())


def reasons(overlay: Overlay) -> dict[str, str]:
    return {one.word: one.reason for one in overlay.refused}


def test_valences_are_rescaled_half_by_half_so_that_neutral_stays_neutral() -> None:
    assert [rescaled(value, 1, 9) for value in (1, 3, 5, 7, 9)] == [1, 3, 5, 7.5, 10]


@pytest.mark.parametrize("mark", [",", "\t"])
def test_a_valence_table_becomes_opinions_by_valence(tmp_path: Path, lexicon: Lexicon, mark: str) -> None:
    rows = [
        "No.|Word|Valence_Mean", "0|酥脆|7.0", "1|焦黑|2.5", "2|桌角|5.2", "3|空|8", "4|破碎|x", "5|好吃|8",
        "6|非常好吃|8.1", "7|焦黑|8", "8|不", "9|太|7",
    ]  # fmt: skip
    overlay = imported(tmp_path, lexicon, "\n".join(rows).replace("|", mark), "valence-csv", "my words.csv")
    assert overlay.opinions == (("酥脆", "imported.my_words.valence_7.5"), ("焦黑", "imported.my_words.valence_2.5"))
    assert [(name, value) for name, value, _ in overlay.categories] == [
        ("imported.my_words.valence_7.5", 7.5),
        ("imported.my_words.valence_2.5", 2.5),
    ]
    assert reasons(overlay) == {
        "桌角": "neutral", "空": "length", "破碎": "valence", "好吃": "known", "非常好吃": "compositional",
        "焦黑": "contradiction", "不": "valence", "太": "length",
    }  # fmt: skip
    assert [one.line for one in overlay.refused] == [4, 5, 6, 7, 8, 9, 10, 11]


def test_a_table_without_the_columns_is_an_error_that_names_them(tmp_path: Path, lexicon: Lexicon) -> None:
    with pytest.raises(InputError, match=r"no column Word or Phrase.*found: a, b"):
        imported(tmp_path, lexicon, "a,b\n1,2\n", "valence-csv")


def test_category_files_are_read_in_both_layouts(tmp_path: Path, lexicon: Lexicon) -> None:
    text = "{joyful|喜悅}\t8.5\t歡喜(VK1) 開懷、樂\n{sad|悲哀}\t2\n傷感.VH 哀愁_VH\n悲切\n{odd|怪}\n離奇\n"
    overlay = imported(tmp_path, lexicon, text, "ehownet", "cats.tsv")
    assert dict(overlay.opinions) == {
        "歡喜": "imported.cats.joyful|喜悅", "開懷": "imported.cats.joyful|喜悅", "樂": "imported.cats.joyful|喜悅",
        "傷感": "imported.cats.sad|悲哀", "哀愁": "imported.cats.sad|悲哀", "悲切": "imported.cats.sad|悲哀",
    }  # fmt: skip
    assert reasons(overlay) == {"{odd|怪}": "no-valence", "離奇": "no-valence"}


def test_a_polarity_list_says_its_polarity_by_option_or_name_and_is_never_guessed(
    tmp_path: Path, lexicon: Lexicon
) -> None:
    assert dict(imported(tmp_path, lexicon, "糟蹋,敗壞\n", "ntusd", "my_negative.txt").opinions) == dict.fromkeys(
        ("糟蹋", "敗壞"), "imported.my_negative.negative"
    )
    assert imported(tmp_path, lexicon, "美妙\n", "ntusd", options=Options(polarity="positive")).categories[0][1] == 7
    with pytest.raises(ConfigError, match="give the polarity"):
        imported(tmp_path, lexicon, "美妙\n", "ntusd")


def test_dishes_become_aspects_in_traditional_script(tmp_path: Path, lexicon: Lexicon) -> None:
    overlay = imported(
        tmp_path, lexicon, "name\tcount\n红烧肉\t3\n红烧肉\t1\n牛肉麵\t9\n牛肉麪\t9\n---\nsunny side\t1\n", "dishes"
    )
    assert overlay.aspects == (("紅燒肉", "food.dish"),)
    assert [one.reason for one in overlay.refused] == ["header", "duplicate", "known", "known", "no-word", "whitespace"]
    with pytest.raises(ConfigError, match=r"unknown aspect class .food\.nothing."):
        imported(tmp_path, lexicon, "紅燒肉\n", "dishes", options=Options(cls="food.nothing"))


def test_our_own_format_takes_known_categories_and_classes_only(tmp_path: Path, lexicon: Lexicon) -> None:
    overlay = imported(tmp_path, lexicon, "word\tcategory\n脆\ttaste.good\n滷蛋\tfood.dish\n酥\ttexture\n焦\n", "words")
    assert (overlay.opinions, overlay.categories) == ((("脆", "taste.good"),), ())
    assert overlay.aspects == (("滷蛋", "food.dish"),)
    assert reasons(overlay) == {"word": "header", "酥": "unknown-kind", "焦": "cells"}


def test_the_encoding_is_told_or_marked_never_guessed(tmp_path: Path, lexicon: Lexicon) -> None:
    path = tmp_path / "positive.txt"
    path.write_bytes("美妙".encode("cp950"))
    with pytest.raises(InputError, match="give its encoding"):
        import_lexicon(path, "ntusd", lexicon)
    assert import_lexicon(path, "ntusd", lexicon, Options(encoding="cp950")).opinions[0][0] == "美妙"
    path.write_bytes("美妙\n".encode("utf-16"))
    assert import_lexicon(path, "ntusd", lexicon).opinions[0][0] == "美妙"


def test_an_unknown_kind_lists_the_known_ones(tmp_path: Path, lexicon: Lexicon) -> None:
    with pytest.raises(ConfigError, match="dishes, ehownet, ntusd, valence-csv, words"):
        import_lexicon(tmp_path / "x", "xml", lexicon)


# --- overlays


def test_importing_again_replaces_and_does_not_refuse_its_own_words(tmp_path: Path, lexicon: Lexicon) -> None:
    folder = tmp_path / "mine"
    options = Options(name="moods")
    write(imported(tmp_path, lexicon, "開懷\t8\n", "words", options=options), folder)
    write(imported(tmp_path, lexicon, "好心情\t8\n{a}\t3\t鬱悶 煩悶\n", "ehownet", options=options), folder)
    write(Overlay("other", (("刺鼻", "imported.other.x"),), (), (("imported.other.x", 2.0, "x"),)), folder)
    used = load_lexicon(tmp_path / "lexicons", [folder])
    again = import_lexicon(tmp_path / "list.txt", "ehownet", used, options)
    assert {word for word, _ in again.opinions} == {"鬱悶", "煩悶"}
    before = {path: path.read_bytes() for path in folder.rglob("*.*")}
    write(again, folder)
    assert load_lexicon(tmp_path / "lexicons", [folder]).opinions["刺鼻"].valence == 2
    assert {path: path.read_bytes() for path in folder.rglob("*.*")} == before


def test_what_was_refused_is_kept_beside_the_overlay(tmp_path: Path, lexicon: Lexicon) -> None:
    write(imported(tmp_path, lexicon, "牛肉麵\n滷蛋\n", "dishes"), tmp_path / "mine")
    assert (tmp_path / "mine/refused/list.txt").read_text(
        encoding="utf-8"
    ) == "line\tword\treason\tdetail\n1\t牛肉麵\tknown\tfood.dish in aspects/food.tsv:2\n"
    assert not list((tmp_path / "mine").rglob(".*"))


def test_an_overlay_with_other_tables_or_none_at_all_is_an_error(tmp_path: Path, lexicon: Lexicon) -> None:
    (tmp_path / "bare").mkdir()
    with pytest.raises(ResourceError, match=r"bare: no table of a lexicon is here; put words into opinions"):
        load_lexicon(tmp_path / "lexicons", [tmp_path / "bare"])
    with pytest.raises(ResourceError, match=r'cannot hold variants\.tsv; .* lexicons\.mode = "replace"'):
        load_lexicon(tmp_path / "lexicons", [shutil.copytree(tmp_path / "lexicons", tmp_path / "copy")])


def test_an_overlay_holds_any_table_and_each_wins_over_what_lies_below(tmp_path: Path, lexicon: Lexicon) -> None:
    mine = tmp_path / "mine"
    for name, text in {
        "aspect_classes.tsv": "class\trole\tgloss\npets\tother\tanimals\n",
        "opinion_categories.tsv": "category\tvalence\tgloss\ntaste.good\t9\tgood\n",
        "aspects/animals.tsv": "word\tclass\n店貓\tpets\n",
        "negators.tsv": "word\tkind\n冷淡\tnot\n",
        "not_aspects.tsv": "word\treason\n味道\tabstract\n",
        "context.tsv": "opinion\taspect\tvalence\n鹹\t店貓\t3\n鹹\t湯頭\t2\n",
        "morphemes.tsv": "morpheme\trole\n牛\thead\n",
        "general.tsv": "word\tpos\n公車\tPROPN\n",
    }.items():
        (mine / name).parent.mkdir(parents=True, exist_ok=True)
        (mine / name).write_text(text, encoding="utf-8")
    both = load_lexicon(tmp_path / "lexicons", [mine])
    assert both.aspects["店貓"].cls == "pets" and both.opinions["香"].valence == 9
    assert "冷淡" not in both.opinions and both.negators["冷淡"] == "not" and both.negators["不夠"] == "fail"
    assert "味道" not in both.aspects and both.not_aspects["味道"] == "abstract"
    assert both.context["鹹"] == (("店貓", 3.0), ("湯頭", 2.0))
    assert both.morphemes["牛"] == "head" and both.general["公車"] == "PROPN"
    assert set(both.overridden) == {"冷淡", "味道"}


# --- names


@pytest.mark.parametrize("word", ["小美姐", "長安路", "陳師傅", "東區書店"])
def test_words_that_end_as_names_do_are_told_from_others(word: str) -> None:
    assert like_name(word) and not like_name("東坡肉") and not like_name("酥鬆")
