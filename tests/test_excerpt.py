"""The guest's own words are read, once: no translation beside them, no owner's reply behind them."""

from __future__ import annotations

import time

import pytest

from builder.reviews.near_duplicates import normal
from builder.reviews.text import read_part

GUEST = "湯頭很濃，麵條偏軟，店員親切。"
ENGLISH = "Rich soup, soft noodles, kind staff."


@pytest.mark.parametrize(
    "text",
    [
        f"{GUEST}\n\n(Translated by Google)\n{ENGLISH}",
        f"(Translated by Google) {ENGLISH}\n\n(Original)\n{GUEST}",
        f"{GUEST}\n\n(Translated by Google)\n{ENGLISH}\n\n(Original)\n{GUEST}",
        f"(由 Google 提供翻譯) 湯很濃，麵有點軟，人很好。\n\n(原始評論)\n{GUEST}",
        f"（由Google翻译）汤很浓，面条有点软。（原文）{GUEST}",
        f"由 Google 提供翻譯\n{ENGLISH}\n原文\n{GUEST}",
        f"翻譯自英文\n{ENGLISH}\n查看原文\n{GUEST}",
        f"【機器翻譯】{ENGLISH}【顯示原文】{GUEST}",
        f"Translated by Booking.com\n{ENGLISH}\nShow original\n{GUEST}",
        f"翻譯：{ENGLISH}\n原文：{GUEST}",
        f"(翻譯) {ENGLISH} (原文) {GUEST}",
        f"(Translated from Chinese by Google) {ENGLISH}\n(Original)\n{GUEST}",
        f"以下為機器翻譯\n{ENGLISH}\n原文\n{GUEST}",
        f"(Translated by Google) {ENGLISH}&lt;br&gt;(Original)&lt;br&gt;{GUEST}",
        f"(由 Google 提供翻譯) {GUEST}",
        f"(由 Google 提供翻譯) {GUEST}\n\n(原始評論)\n{ENGLISH}",
        f"(由 Google 提供翻譯) {GUEST}\n\n(原始評論)\nスープがとても濃厚で麺は柔らかく、店員さんも親切です。",
        f"(由 Google 提供翻譯) {GUEST}\n\n(原始評論)\n국물이 진하고 직원이 친절해요",
        f"{ENGLISH}\n\n(由 Google 提供翻譯)\n{GUEST}",
    ],
)
def test_a_review_reads_as_its_own_words_wherever_a_translation_stands(text: str) -> None:
    assert read_part(text) == GUEST
    assert normal(text) == normal(GUEST)


@pytest.mark.parametrize(
    "text",
    [
        "看不懂原文，用 Google 翻譯 也沒用",
        "菜單：有圖\n翻譯：很差\n服務：很好",
        "導遊翻譯得很好，原文書也有",
        "原味(Original)好吃",
    ],
)
def test_a_word_about_translations_is_no_mark(text: str) -> None:
    assert read_part(text) == text


def test_two_different_originals_are_both_read() -> None:
    assert read_part("湯很濃\n(Translated by Google) Rich\n(Original) 麵很軟") == "湯很濃\n麵很軟"


@pytest.mark.parametrize(
    "reply",
    [
        "\n業主回應 3 週前\n謝謝您，我們的環境會更好。", "\n店家的回覆：\n親愛的顧客您好，環境舒適。",
        "商家回复：亲，我们的环境很好。", " 商家回复:亲，我们的环境很好。", " 店家回應 感謝您的支持，環境會更好",
        "\n老闆回覆 您好，環境會更好", "【商家回复】环境会更好。", "（老板回复 2024-03-05）环境会更好。",
        "\n掌柜解释：环境一直很好", "\n來自店主的回應\n環境會更好",
        "\nResponse from the owner 2 weeks ago\nThe 環境 will be better", " Owner's reply: 環境會更好",
        "\n小編 回覆：謝謝，環境會更好", "\n小巷麵館 (業主)\n1 年前\n環境會更好",
    ],
)  # fmt: skip
def test_a_review_ends_where_the_owners_reply_begins(reply: str) -> None:
    assert read_part(GUEST + reply) == GUEST
    assert normal(GUEST + reply) == normal(GUEST)


@pytest.mark.parametrize(
    "text",
    [
        "老闆回覆很快，湯好喝", "湯好喝\n老闆回覆 很快也很親切", "湯好喝。商家回复也慢", "店家回應2次都不一樣",
        "傳訊息問有沒有位子。店家回覆：沒有，態度差", "問了兩次，店家回覆：「不行」，態度差", "我喜歡店長回應的態度",
    ],
)  # fmt: skip
def test_what_the_guest_says_of_an_answer_is_his_own(text: str) -> None:
    assert read_part(text) == text


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("味道差，商家回复：亲，环境会更好", "味道差，"),
        ("味道差商家回复：您好，环境会更好", "味道差"),
        ("湯好喝👍店家回覆：環境會更好", "湯好喝👍"),
    ],
)
def test_a_reply_may_follow_without_a_blank(text: str, part: str) -> None:
    assert read_part(text) == part


def test_nothing_is_read_of_a_reply_alone() -> None:
    assert read_part("業主回應：謝謝您的支持，環境會更好") == ""
    assert read_part("宾馆反馈 2023年5月17日 ： 环境会更好") == ""
    assert read_part("跟酒店反馈：环境不好") == "跟酒店反馈：环境不好"


@pytest.mark.parametrize(
    "piece", ["商家回复 ", "\n", " ", "(", "翻譯 ", "翻譯自", "(Original", "由 Google ", "a week ", "業主回應 2 ", "問"]
)
def test_a_long_text_takes_its_length(piece: str) -> None:
    started = time.process_time()
    read_part("湯翻" + piece * 20_000)
    assert time.process_time() - started < 2.0
