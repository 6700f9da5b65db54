"""Script, language and conversion of a text: what tells them, and what a conversion must not touch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.language.lexicon.resources import load_lexicon
from builder.reviews.script import (
    HAN,
    Script,
    Variants,
    converter,
    find_other_language,
    language_tag,
    same_script,
    script_of,
)

HAN_TEXTS = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), max_size=12)
TEXTS = st.one_of(HAN_TEXTS, st.text(max_size=12))


# ---- script


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("這家餐廳的服務態度很親切", "traditional"),
        ("好吃", "traditional"),
        ("台北的店只有吃到飽，才兩公里", "traditional"),
        ("头发", "simplified"),
        ("这家餐厅的服务态度很亲切，干净", "simplified"),
        ("台北的这家店，面条很赞", "simplified"),
        ("這家餐廳的服务态度很親切", "mixed"),
        ("菜品丰富", "simplified"),
        ("面很好吃，等了十分钟", "simplified"),
        ("方面", "traditional"),
        ("一夜干不准吃，吧台的余先生", "traditional"),
        ("家具好看，里肌好吃，食欲大增", "traditional"),
        ("面", "traditional"),
        ("so good 123 😀", "none"),
        ("", "none"),
        ("\U00020bb7", "traditional"),
    ],
)
def test_the_script_of_a_text_is_told_from_characters_or_words_of_one_script_only(text: str, script: Script) -> None:
    assert script_of(text) == script


@pytest.mark.parametrize(
    "char",
    ["\u3400", "\u4e00", "\u9fff", "\uf900", "\U00020000", "\U0002a700", "\U0002b740", "\U0002ceb0", "\U00030000"],
)
def test_han_has_a_character_from_each_block(char: str) -> None:
    assert HAN.fullmatch(char)


@pytest.mark.parametrize("char", ["a", "1", "，", "ㄅ", "あ", "한", "😀", "\u3005"])
def test_han_has_no_letter_kana_mark_or_emoji(char: str) -> None:
    assert not HAN.search(char)


def test_a_variant_is_replaced_at_any_place_and_the_longest_one_first() -> None:
    variants = Variants({"裏": "裡", "裏頭": "裡面", "好裏": "好哩"})
    due = {"裏": "裡", "這裏": "這裡", "裏頭好": "裡面好", "好裏頭": "好哩頭", "裡頭": "裡頭", "": ""}
    assert {text: variants.canonical(text) for text in due} == due
    assert Variants({}).canonical("裏") == "裏"


def test_the_script_of_a_long_text_costs_one_look_at_each_different_character(monkeypatch: pytest.MonkeyPatch) -> None:
    from builder.reviews import script as module

    looked: list[str] = []

    class CountingPattern:
        def match(self, char: str) -> object:
            looked.append(char)
            return HAN.match(char)

        def search(self, text: str) -> object:
            return HAN.search(text)

    monkeypatch.setattr(module, "HAN", CountingPattern())
    module._votes.clear()
    assert module.script_of("湯頭濃, 很鹹。" * 1_000) == "traditional"
    assert sorted(looked) == sorted(set("湯頭濃, 很鹹。"))


# ---- conversion for a release


@pytest.mark.parametrize(
    ("text", "simplified"),
    [
        ("坐著等，看著別人吃", "坐着等，看着别人吃"),
        ("藉著燈光看菜單，著名的店", "借着灯光看菜单，著名的店"),
        ("裏面喫麪包，裡面吃麵", "里面吃面包，里面吃面"),
    ],
)
def test_simplified_script_knows_the_variants_of_taiwan(text: str, simplified: str) -> None:
    assert same_script(text, "simplified") == simplified


@pytest.mark.parametrize(
    ("text", "traditional"),
    [
        ("面很软，吃面的人很多，里面干净", "麵很軟，吃麵的人很多，裡面乾淨"),
        ("这方面说明了如何上菜", "這方面說明了如何上菜"),
        ("濃郁的湯，皇后飯店，裏面有台面", "濃郁的湯，皇后飯店，裏面有台面"),
        ("濃郁的湯头，这家店裏面很大", "濃郁的湯頭，這家店裏面很大"),
        ("濃郁的湯頭配麵條，裏面很乾淨，厨房也看得見", "濃郁的湯頭配麵條，裏面很乾淨，廚房也看得見"),
    ],
)
def test_traditional_script_converts_only_what_is_simplified(text: str, traditional: str) -> None:
    """OpenCC reads all as Simplified: 濃郁 becomes 濃鬱, 裏 becomes 裡."""
    assert same_script(text, "traditional", load_lexicon().variants) == traditional


# ---- language


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("這家店", "zh-Hant"),
        ("这家店", "zh-Hans"),
        ("這家店和那间店，还有这间", "zh"),
        ("很好吃", "zh"),
        ("so good", "und"),
    ],
)
def test_a_text_is_tagged_by_its_script_only_where_a_character_tells_it(text: str, tag: str) -> None:
    assert language_tag(text) == tag


def test_a_text_that_does_not_tell_its_script_is_tagged_by_the_next() -> None:
    assert language_tag("好吃", "这家") == "zh-Hans"
    assert language_tag("好吃", "這家", script="simplified") == "zh-Hans"
    assert language_tag("好吃", "很好", script="simplified") == "zh"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("スープがとても濃厚で、麺も美味しかったです", "Japanese"),
        ("接客は丁寧、駅から近い", "Japanese"),
        ("국물이 진하고 맛있어요 湯", "Korean"),
        ("The 湯 was rich and the waiters were kind", "words in Latin letters"),
        ("Nước dùng rất ngon, 湯", "words in Latin letters"),
        ("น้ำซุปอร่อยมาก 湯", "letters of another script"),
    ],
)
def test_a_text_mostly_in_another_language_is_not_chinese(text: str, language: str) -> None:
    assert find_other_language(text) == language


@pytest.mark.parametrize(
    "text",
    [
        "京の味，湯頭很濃", "拉麵很おいしい，服務也很好", "點了カルビ和ホルモン，肉都很嫩", "떡볶이很辣，炸雞很酥",
        "點了 Fish and Chips、Caesar Salad，都很好吃", "菜單在 https://example.org/menu/of/the/day，湯好喝",
        "#乾淨 @somebody_there 湯好喝", "湯好喝(๑•̀ㅂ•́)و✧", "好吃 so good",
    ],
)  # fmt: skip
def test_foreign_names_and_exclamations_leave_a_text_chinese(text: str) -> None:
    assert find_other_language(text) is None


@given(HAN_TEXTS, st.sampled_from(["s2tw", "t2s", "s2t"]))
def test_a_script_conversion_never_changes_a_length(text: str, name: str) -> None:
    assert len(converter(name)(text)) == len(text)


def test_where_a_phrase_would_change_length_its_characters_are_converted_one_by_one() -> None:
    """s2twp writes 網際網路 for 互联网."""
    assert converter("s2twp")("互联网餐厅") == "互聯網餐廳"


@given(TEXTS, st.sampled_from(["keep", "traditional", "simplified"]))
def test_a_release_script_keeps_the_length(text: str, script: str) -> None:
    assert len(same_script(text, script)) == len(text)  # type: ignore[arg-type]
