"""The view maps every character back to the stored text, and clauses cover what it says."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.core.records import Span
from builder.language.lexicon.resources import load_lexicon
from builder.reviews.repair import repair
from builder.reviews.script import HAN, Variants, script_of
from builder.reviews.text import clauses, from_source, in_order, sentences, view

# What reviews are made of: both scripts, Han beyond the BMP, emoji with skin tones, joiners and selectors, widths,
# marks, line ends.
PIECES = [
    "好吃", "这家店的面条", "服務態度", "浓郁", "头发", "後", "后", "裏", "臺", "\U00020bb7", "\U0002a700",
    "\U00030000", "\ufa1b", "\u3447", "👍🏻", "👨\u200d👩\u200d👧", "❤\ufe0f", "1\ufe0f\u20e3", "🇹🇼", "葛\U000e0100",
    "\u200b", "\ufeff", "１２０", "ＣＰ", "\u3000", " ", "  ", "\t", "\r\n", "\n", "\u2028", "，", "。", "！！！！",
    "...", "……", "、", "~", "(", "）", "4.5", "11:30", "cp 值", "so good", "超超超超", "哈", "哈哈哈", "！",
    "&nbsp;", "&amp;lt;", "&#38388;", "&#x9EB5", "<br>", "</b>", "_x0008_", "\ue412", "\x08", "⽜⾁", "⻝",
    "麵 條 很 軟", "(Translated by Google)", "(Original)", "\n商家回复：亲", "おいしい",
]  # fmt: skip
TEXTS = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=12).map("".join)


def shown_clauses(text: str) -> list[str]:
    return [text[part.start : part.end] for part in clauses(text)]


def some_span(data: st.DataObject, size: int) -> Span:
    start = data.draw(st.integers(0, size - 1))
    return start, data.draw(st.integers(start + 1, size))


# ---- the view


@settings(deadline=None)  # the first example loads OpenCC
@given(TEXTS)
def test_every_view_character_comes_from_stored_code_points_in_order_and_apart(text: str) -> None:
    shown = view(text)
    spans = list(zip(shown.starts, shown.ends, strict=True))
    assert len(spans) == len(shown.text)
    assert in_order(spans)
    assert all(0 <= start < end <= len(text) for start, end in spans)


@given(TEXTS)
def test_a_view_character_is_its_stored_character_in_width_and_script_only(text: str) -> None:
    """Width, blank kind and script may differ from what was repaired; anything else would be another text."""
    shown = view(text)
    for char, start, end in zip(shown.text, shown.starts, shown.ends, strict=True):
        stored = repair(text[start:end]).text
        blank = unicodedata.category(stored) in ("Zs", "Zl", "Zp", "Cc", "Cs")
        assert (
            char in " \n"
            if blank
            else char == stored or char == unicodedata.normalize("NFKC", stored) or HAN.match(stored)
        )


@given(TEXTS, st.data())
def test_a_view_span_comes_back_from_the_stored_text(text: str, data: st.DataObject) -> None:
    shown = view(text)
    if not shown.text:
        return
    span = some_span(data, len(shown.text))
    assert from_source(shown, [shown.to_source(span)]) == (span,)


@given(TEXTS, st.data())
def test_a_stored_span_shrinks_to_what_is_shown_or_is_refused_where_nothing_is(text: str, data: st.DataObject) -> None:
    if not text:
        return
    shown = view(text)
    start, end = some_span(data, len(text))
    found = from_source(shown, [(start, end)])
    seen = [i for i, (a, b) in enumerate(zip(shown.starts, shown.ends, strict=True)) if a < end and start < b]
    assert found == (((seen[0], seen[-1] + 1),) if seen else None)


def test_stored_spans_that_meet_in_the_view_become_one() -> None:
    shown = view("湯\u200b頭鹹")
    assert from_source(shown, [(0, 1), (2, 3)]) == ((0, 2),)
    assert from_source(shown, [(0, 1), (3, 4)]) == ((0, 1), (2, 3))
    assert from_source(shown, [(0, 1), (1, 2)]) is None


def test_an_element_of_the_stored_text_has_its_surface_and_merged_spans() -> None:
    stored = "湯不會太咸❤\ufe0f"
    shown = view(stored, Variants({"咸": "鹹"}))
    assert shown.text == "湯不會太鹹❤"
    element = shown.element([(4, 5), (1, 3)], stored)
    assert (element.text, element.spans) == ("不會咸", ((1, 3), (4, 5)))
    assert shown.element([(1, 3), (3, 5)], stored).spans == ((1, 5),)


@given(TEXTS)
def test_viewing_a_view_changes_nothing(text: str) -> None:
    once = view(text, script="traditional").text
    assert view(once, script="traditional").text == once


@pytest.mark.parametrize(
    ("stored", "shown", "starts"),
    [
        ("", "", ()),
        ("❤\ufe0f好吃", "❤好吃", (0, 2, 3)),
        ("👨\u200d👩\u200d👧好", "👨👩👧好", (0, 2, 4, 5)),
        ("讚👍🏻讚", "讚👍🏻讚", (0, 1, 2, 3)),
        ("葛\U000e0100粉", "葛粉", (0, 2)),
        ("\U00020bb7野家", "\U00020bb7野家", (0, 1, 2)),
        ("ＣＰ值，高！", "CP值，高！", (0, 1, 2, 3, 4, 5)),
        ("好吃\u3000便宜", "好吃 便宜", (0, 1, 2, 3, 4)),
        ("好\u00a0吃\t嗎", "好 吃 嗎", (0, 1, 2, 3, 4)),
        ("好\r吃", "好\n吃", (0, 1, 2)),
        ("超超超超好吃", "超好吃", (0, 4, 5)),
        ("好好吃", "好好吃", (0, 1, 2)),
        ("哈\u200b哈\u200b哈好", "哈好", (0, 5)),
        ("讚！！！！", "讚！", (0, 1)),
        ("goood", "goood", (0, 1, 2, 3, 4)),
        ("\ufeff\u200b", "", ()),
    ],
)
def test_the_view_folds_widths_and_repetitions_and_drops_what_is_not_seen(
    stored: str, shown: str, starts: tuple[int, ...]
) -> None:
    found = view(stored)
    assert (found.text, found.starts) == (shown, starts)
    assert found.ends == tuple(start + 1 for start in starts)


@pytest.mark.parametrize(
    ("simplified", "traditional"),
    [
        ("这家店的面条很好吃，服务态度也很亲切", "這家店的麵條很好吃，服務態度也很親切"),
        ("汤头浓郁，头发掉进去", "湯頭濃郁，頭髮掉進去"),
        ("干净的餐厅，饼干很脆", "乾淨的餐廳，餅乾很脆"),
        ("面很劲道，就是面有点坨", "麵很勁道，就是麵有點坨"),
        ("面泡糊了，还有素面和面片，面皮太厚", "麵泡糊了，還有素麵和麵片，麵皮太厚"),
        ("面对面坐，面积不大，里面包着肉，两面都煎过", "面對面坐，面積不大，裡面包著肉，兩面都煎過"),
    ],
)
def test_a_simplified_review_is_read_in_traditional_script_of_equal_length(simplified: str, traditional: str) -> None:
    shown = view(simplified)
    assert shown.text == traditional
    assert shown.starts == tuple(range(len(simplified)))


@pytest.mark.parametrize(
    "text", ["后來里面只有面包，台北才有", "濃郁的湯頭配上乾麵，裡面很乾淨", "老板娘很親切，價格公道"]
)
def test_a_traditional_review_is_read_as_it_stands(text: str) -> None:
    assert view(text).text == text


@pytest.mark.parametrize("text", ["虱目魚粥好吃", "服務生很凶", "岩漿巧克力"])
def test_a_character_of_both_scripts_does_not_make_a_short_traditional_review_mixed(text: str) -> None:
    assert script_of(text) == "traditional"
    assert view(text).text == text


def test_the_mended_fang_mian_leaves_noodles_alone() -> None:
    """OpenCC writes 方麵 for 方面 at times; 北方麵食 and 東方麵館 are about noodles."""
    variants = load_lexicon().variants
    assert view("這方麵不錯", variants).text == "這方面不錯"
    assert view("北方麵食，東方麵館", variants).text == "北方麵食，東方麵館"
    assert view("这个鸡肉又柴又干，让人欲罢不能的是家常面", variants).text == "這個雞肉又柴又乾，讓人欲罷不能的是家常麵"
    assert view("很疗愈的餐厅，不闹哄哄", variants).text == "很療癒的餐廳，不鬧哄哄"


# ---- clauses and sentences


@given(TEXTS)
def test_clauses_lie_in_order_without_overlap_and_hold_every_letter_and_digit(text: str) -> None:
    shown = view(text).text
    parts = clauses(shown)
    assert in_order((part.start, part.end) for part in parts)
    assert all(part.start >= 0 and part.end <= len(shown) and shown[part.start : part.end].strip() for part in parts)
    inside = {i for part in parts for i in range(part.start, part.end)}
    assert not [char for i, char in enumerate(shown) if char.isalnum() and i not in inside]


@given(TEXTS)
def test_sentences_are_numbered_from_zero_and_cover_their_clauses(text: str) -> None:
    parts = clauses(view(text).text)
    spans = sentences(parts)
    assert in_order(spans)
    assert not parts or parts[0].sentence == 0
    assert all(b.sentence - a.sentence in (0, 1) for a, b in pairwise(parts))
    assert len(spans) == len({part.sentence for part in parts})
    assert all(spans[part.sentence][0] <= part.start and part.end <= spans[part.sentence][1] for part in parts)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("餐點好吃 服務親切 環境乾淨", ["餐點好吃", "服務親切", "環境乾淨"]),
        ("餐點好吃， 服務親切", ["餐點好吃", "服務親切"]),
        ("\U00020bb7好吃 \U00020bb7便宜", ["\U00020bb7好吃", "\U00020bb7便宜"]),
        ("餐點好吃👍服務親切", ["餐點好吃", "服務親切"]),
        ("餐點好吃（很香）服務親切", ["餐點好吃", "很香", "服務親切"]),
        ("漢堡、薯條好吃", ["漢堡、薯條好吃"]),
        ("cp 值很高", ["cp 值很高"]),
        ("C/P值很高", ["C/P值很高"]),
        ("漢堡/薯條好吃", ["漢堡", "薯條好吃"]),
        ("真的 so good 推薦", ["真的 so good 推薦"]),
        ("點了 2 份", ["點了 2 份"]),
        ("給4.5分", ["給4.5分"]),
        ("一份1,200元", ["一份1,200元"]),
        ("等5~10分鐘", ["等5~10分鐘"]),
        ("評分4/5", ["評分4/5"]),
        ("", []),
        (" 。！\n", []),
    ],
)
def test_a_clause_ends_at_marks_emoji_and_spaces_between_han_only(text: str, parts: list[str]) -> None:
    assert shown_clauses(text) == parts


def test_a_line_break_or_a_full_stop_ends_a_sentence_and_a_comma_does_not() -> None:
    text = "好吃，便宜。服務好\n環境好!停車難...地點好？"
    assert [(text[c.start : c.end], c.sentence) for c in clauses(text)] == [
        ("好吃", 0), ("便宜", 0), ("服務好", 1), ("環境好", 2), ("停車難", 3), ("地點好", 4),
    ]  # fmt: skip
    shown = [text[start:end] for start, end in sentences(clauses(text))]
    assert shown == ["好吃，便宜", "服務好", "環境好", "停車難", "地點好"]
    assert sentences([]) == []


def test_in_order_refuses_empty_overlapping_and_unordered_spans() -> None:
    assert in_order([(0, 1), (1, 3), (5, 6)])
    assert in_order([])
    assert not in_order([(0, 0)])
    assert not in_order([(0, 2), (1, 3)])
    assert not in_order([(4, 5), (0, 1)])


def test_a_span_outside_the_view_is_our_own_mistake() -> None:
    shown = view("好吃")
    for span in ((0, 3), (1, 1), (-1, 1)):
        with pytest.raises(AssertionError, match="outside a view of 2 characters"):
            shown.to_source(span)


# ---- the expressions that views and clauses are made by


def test_every_separator_surrogate_and_space_shows_as_a_space_or_a_line_break_and_nothing_else_does() -> None:
    """The table of the view is written out; this holds it to the Unicode categories it stands for. Of the planes that
    hold Chinese characters, private ones or none yet, every 97th and those about their edges.
    """
    edges = (code for edge in range(0x20000, 0x110000, 0x10000) for code in range(edge - 2, edge + 2))
    for code in (*range(0x20000), *range(0x20000, 0x110000, 97), *range(0xE0000, 0xE0200), *edges):
        char = chr(code)
        if char in "\n\r\v\f\x85\u2028\u2029":
            assert view(char, script="none").text == "\n", hex(code)
        elif (code < 0x1C and char != "\t") or code == 0x7F:
            assert view(char, script="none").text == "", hex(code)
        elif unicodedata.category(char) in ("Zs", "Cc", "Cs", "Co") or code >= 0xF0000:
            assert view(char, script="none").text == " ", hex(code)
        else:
            assert view(char, script="none").text not in (" ", "\n"), hex(code)


def test_no_symbol_that_ends_a_clause_is_a_word_character() -> None:
    """`clauses` asks only about characters that are none."""
    symbols = [char for char in map(chr, range(0x110000)) if unicodedata.category(char) in ("So", "Sk")]
    assert all(len(clauses(f"好{char}吃")) == 2 for char in symbols)
