"""What files and pages leave in a text is read as it was meant, and every character knows where it stood."""

from __future__ import annotations

import time

import pytest

from builder.reviews.repair import fold, repair
from builder.reviews.text import repaired_view, view


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("湯&nbsp;好喝", "湯\u00a0好喝"),
        ("湯&amp;amp;麵", "湯&麵"),
        ("湯&#40629;條", "湯麵條"),
        ("湯&#x9EB5;條", "湯麵條"),
        ("湯&#40629條", "湯麵條"),
        ("湯&hellip;麵&mdash;", "湯…麵—"),
        ("5&lt;6&gt3", "5<6&gt3"),
        ("湯&lt麵", "湯<麵"),
        ("R&D 湯&copy=2 A&B; &unknown; &", "R&D 湯&copy=2 A&B; &unknown; &"),
        ("湯<br/>麵<BR>飯&lt;br&gt;餅", "湯\n麵\n飯\n餅"),
        ("&amp;lt;p&amp;gt;湯", "\n湯"),
        ("<b>湯</b><span class='x'>麵</span>", "湯麵"),
        ("排隊到死也要喝<3 <店名> a<b", "排隊到死也要喝<3 <店名> a<b"),
        ("湯_x0008_麵_x000D_飯", "湯麵\r飯"),
        ("湯_x4E2D__xD83D_", "湯中 "),
        ("湯\x07麵\x1f飯\ue412\U000f1234", "湯麵 飯  "),
        ("湯\u200b頭\ufeff\u2060", "湯頭"),
        ("讚\u200d 👨\u200d👩 ❤\ufe0f", "讚 👨\u200d👩 ❤\ufe0f"),
        ("⽜⾁⻝堂⻣", "牛肉食堂骨"),
        ("\uf9d1\U0002f81a好﹐棒﹗", "六\u51ac好,棒!"),
        ("𝐆𝐨𝐨𝐝 ①㎏ (>﹏<)", "Good ①㎏ (>﹏<)"),
    ],
)
def test_a_text_is_shown_as_it_was_meant(text: str, shown: str) -> None:
    assert repair(text).text == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("湯 頭 很 濃 ， 麵 很 軟 。", "湯頭很濃，麵很軟。"),
        ("湯\u3000頭\u3000很\u3000濃", "湯頭很濃"),
        ("湯 頭 濃  麵 軟", "湯頭濃  麵軟"),
        ("推薦 非 常 非 常 好吃", "推薦 非常非常 好吃"),
        ("C P 值 很 高 ， 讚 ！", "CP值很高，讚！"),
        ("湯 頭 很 濃\n麵 條 很 軟", "湯頭很濃\n麵條很軟"),
        ("湯好 麵好 讚", "湯好 麵好 讚"),
        ("湯 麵 讚", "湯 麵 讚"),
        ("湯\n麵\n飯\n餅\n讚", "湯\n麵\n飯\n餅\n讚"),
    ],
)
def test_words_are_joined_only_where_four_characters_in_a_row_stand_alone(text: str, shown: str) -> None:
    assert repair(text).text == shown


def test_each_character_knows_all_that_it_stands_for() -> None:
    paragraph = repaired_view("<p> 湯好 \n飯香</p><br>")
    assert paragraph.text == "湯好 \n飯香", "no blank stands around it"
    assert paragraph.to_source((0, 2)) == (4, 6)
    shown = repaired_view("湯&#40629;\u200b<br>好")
    assert (shown.text, shown.starts, shown.ends) == ("湯麵\n好", (0, 1, 10, 14), (1, 9, 14, 15))


@pytest.mark.parametrize(
    ("text", "words", "surface", "spans"),
    [
        ("湯 頭 很 濃", (0, 2), "湯頭", ((0, 1), (2, 3))),
        ("湯\u200b頭很濃", (0, 2), "湯頭", ((0, 1), (2, 3))),
        ("<b>湯</b>頭很濃", (0, 2), "湯頭", ((3, 4), (8, 9))),
        ("&#28271;頭很濃", (0, 2), "&#28271;頭", ((0, 9),)),
        ("⻝堂", (0, 2), "⻝堂", ((0, 2),)),
        ("哈哈哈哈好", (0, 2), "哈哈哈哈好", ((0, 5),)),
        ("❤\ufe0f❤\ufe0f", (0, 2), "❤\ufe0f❤", ((0, 3),)),
    ],
)
def test_an_element_of_the_text_as_given_holds_nothing_that_is_not_seen(
    text: str, words: tuple[int, int], surface: str, spans: tuple[tuple[int, int], ...]
) -> None:
    element = view(text).element([words], text)
    assert (element.text, element.spans) == (surface, spans)
    assert "".join(text[start:end] for start, end in spans) == surface


def test_a_search_finds_what_radicals_spell() -> None:
    assert fold("⽜⾁⻝堂") == fold("牛肉食堂")
    assert fold("①，²") == "①，²"


@pytest.mark.parametrize("piece", ["&amp;", "<b ", "味 ", "_x0", "&#38;#", "\u200b", "&", "<"])
def test_a_long_text_takes_its_length(piece: str) -> None:
    started = time.process_time()
    repair(piece * 40_000)
    assert time.process_time() - started < 2.0
