"""Masking hides what identifies a person or a place, nothing else, and its offset map holds for any text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.reviews.masking import REPLACEMENTS, mask, worded
from builder.reviews.place_names import forms

PLACE = "鼎香園-台北信義店"
SECRETS = [
    ("phone", "0912345678"), ("phone", "0912-345-678"), ("phone", "0912 345 678"),
    ("phone", "０９１２－３４５－６７８"), ("phone", "(02)2345-6789"), ("phone", "02-2345-6789"),
    ("phone", "（04）2345 6789"), ("phone", "05-2345678"), ("phone", "037-234567"), ("phone", "+886 912 345 678"),
    ("phone", "+886-2-2345-6789"), ("phone", "886-0912345678"), ("phone", "0800-000-123"), ("phone", "13812345678"),
    ("phone", "138-1234-5678"), ("phone", "+86 138 1234 5678"), ("phone", "02-2345-6789#12"),
    ("email", "foo.bar@mail.example.com"), ("email", "ｆｏｏ＠ｇｍａｉｌ．ｃｏｍ"), ("email", "foo @ gmail.com"),
    ("url", "https://example.com/a?b=c&d=%E5"), ("url", "http://goo.gl/AbC"), ("url", "www.example.com.tw/menu"),
    ("url", "reurl.cc/abc12"), ("url", "example.com"), ("url", "maps.app.goo.gl/xyz"), ("handle", "@food_lover"),
    ("handle", "@abc.123"), ("place", "鼎香園"), ("place", "鼎 香園"), ("place", "鼎香园"),
    ("place", "鼎香園 台北信義店"),
]  # fmt: skip
HARMLESS = [
    "吃到飽399元", "2023/05/01", "2023-09-12 1130-1400", "11:30-14:00", "0930-1130 1700-2100", "營業0800-1000",
    "1130-1400 1700-2130", "一生一世1314", "給4.5/5分", "4.5/5", "@ 199元", "@199元", "一份@450", "約@5pm", "$1,200",
    "1200-1500元", "滿1000送100", "20230501晚餐", "統編12345678", "電話 1130-1400 都打不通", "電話打了 3 次",
    "好吃55555555", "LINE Pay 付款", "line pay5%", "IG 打卡送小菜", "FB: 好吃", "QQ: so good", "QQ的珍珠",
    "waiting in line", "關注微信送蛋", "超多人@@！", "No.1", "so good.me too", "鼎香", "香園", "1.5倍", "0.5公里",
    "消費 150 200 300",
]  # fmt: skip
TEXTS = st.text(
    st.one_of(
        st.sampled_from("鼎香園好吃 ，。@＠.09-０９:：/abLINEig#🍜\U00020bb7[]電話"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=40,
)
MIXED = st.lists(
    st.one_of(TEXTS, st.sampled_from([secret for _, secret in SECRETS] + list(REPLACEMENTS.values()))), max_size=8
).map("".join)
NAMES = st.lists(
    st.one_of(st.sampled_from([PLACE, "Mos Burger 摩斯漢堡", "電話", "50嵐", "A+B (C)"]), TEXTS), max_size=2
)


@pytest.mark.parametrize(("kind", "secret"), SECRETS)
def test_a_secret_is_masked_and_the_words_around_it_stay(kind: str, secret: str) -> None:
    text = f"很好吃🍜，{secret}，下次\U00020bb7再來"
    masked = mask(text, [PLACE])
    assert masked.text == f"很好吃🍜，{REPLACEMENTS[kind]}，下次\U00020bb7再來"  # type: ignore[index]
    assert masked.masks == ((5, 5 + len(secret), kind),)


@pytest.mark.parametrize("text", HARMLESS)
def test_prices_times_dates_ratings_and_plain_words_stay(text: str) -> None:
    assert mask(text, [PLACE]).text == text


PEOPLE = [
    ("服務的林小姐很親切", "服務的[人名]小姐很親切"), ("謝謝陳店長的招待", "謝謝[人名]店長的招待"),
    ("吳經理有來關心", "[人名]經理有來關心"), ("由周士豪先生服務", "由[人名]先生服務"),
    ("找吴师傅就对了", "找[人名]师傅就对了"),
    ("店員小葵很貼心", "店員[人名]很貼心"), ("服務員阿泰也很幽默", "服務員[人名]也很幽默"),
    ("店長林士豪真的很熱情", "店長[人名]真的很熱情"), ("阿葵姐的手藝", "[人名]的手藝"), ("阿泰師的菜", "[人名]的菜"),
    ("蔡姐人好", "[人名]人好"), ("有位叫小葵的店員", "有位叫[人名]的店員"), ("感謝小葵的服務", "感謝[人名]的服務"),
    ("服務員：圓圓", "服務員：[人名]"),
    ("店員Debby很親切", "店員[人名]很親切"), ("店員葵葵人很好", "店員[人名]人很好"),
    ("店長邱士豪，後來也沒道歉", "店長[人名]，後來也沒道歉"),
    ("一位女生，叫小陳，很親切", "一位女生，叫[人名]，很親切"), ("服務生好像叫葵葵", "服務生好像叫[人名]"),
    ("店員叫 Debby。", "店員叫 [人名]。"), ("調酒師Debby Chen很專業", "調酒師[人名]很專業"),
    ("謝謝林騎士", "謝謝[人名]騎士"), ("有個叫周葵葵的女孩", "有個叫[人名]的女孩"),
    ("曾經理、外場都好", "[人名]經理、外場都好"), ("黃宥廷 先生接待", "[人名] 先生接待"),
    ("林獸醫師很溫柔", "[人名]獸醫師很溫柔"), ("感謝陳醫師", "感謝[人名]醫師"), ("小兒科林醫師", "小兒科[人名]醫師"),
    ("李設計師剪得好", "[人名]設計師剪得好"), ("張護理師親切", "[人名]護理師親切"),
    ("劉院長很專業", "[人名]院長很專業"),
    ("店長小林很熱情", "店長[人名]很熱情"), ("謝謝美容師小安", "謝謝美容師[人名]"), ("管家Kevin很好", "管家[人名]很好"),
]  # fmt: skip
NOBODY = [
    "老闆娘很熱情", "王品的服務", "小姐態度不好", "陳年紹興酒", "黃金泡菜好吃", "林口店不錯", "林口店店長", "高雄店長",
    "高雄的經理", "店員高興地說", "曾經理解過", "店員曾經說過", "那位先生", "許多小姐", "何時店長才來", "謝謝店長",
    "感謝師傅", "謝謝老闆", "大姐很親切", "空姐很美", "外送小哥很快", "店員小心翼翼", "店員小聲地說",
    "服務員小姑娘可愛", "店員慢慢來", "店員個個親切", "店員酷酷的很好", "服務員高顏值，", "店員黃頭髮，", "米其林主廚",
    "門名叫福福", "這叫做小籠包", "我叫Uber", "謝謝騎士", "不知道3號會不會開", "味道5號最好", "從路口走到3號門",
    "羊毛小姐", "阿姨很親切", "阿華田好喝", "阿里山咖啡", "老闆阿莎力", "墨西哥捲餅", "的哥的姐", "大哥很好",
    "姊姊和姊夫", "羅宋湯", "店員nice", "店員 Nice 又親切", "表哥推薦", "王子麵", "老師推薦", "周先前來過",
    "馬上師傅就來", "江浙師傅", "方便先生女士", "白色小姐", "石頭火鍋店長", "湯會由老闆送", "全名叫蒜蓉蝦的菜",
    "老百姓小姐", "董事長", "忠孝東路四段這一帶", "師大附近的巷弄", "買的時候280號", "二號出口", "2號店", "一路走來",
    "桌號12號", "地鐵1號線", "8月16號", "店名和店面都有特色", "店名取得很好", "這家叫做好吃的店", "「必吃」的店",
]  # fmt: skip


@pytest.mark.parametrize(("text", "shown"), PEOPLE)
def test_people_are_masked_where_a_title_a_role_or_thanks_shows_that_they_are(text: str, shown: str) -> None:
    masked = mask(text)
    assert masked.text == shown
    assert mask(masked.text).masks == ()


@pytest.mark.parametrize("text", NOBODY)
def test_titles_words_and_brands_that_name_nobody_stay(text: str) -> None:
    assert mask(text).text == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("在臺北市中山區長安路二段12巷3號2樓吃的", "在[地址]吃的"),
        ("位于长安路12号，很近", "位于[地址]，很近"),
        ("地址：長安街15之2號", "地址：[地址]"),
        ("在葵花市長安大道南側文化館B棟3號，很近", "在[地址]，很近"),
        ("葵花園二區6號樓對面", "[地址]對面"),
        ("長安街五號樓3樓", "[地址]"),
        ("在長安街8巷，不好找", "在[地址]，不好找"),
        ("地址在中山路三段十二號旁邊", "地址在[地址]旁邊"),
        ("更多分享 foodie__葵 或 eat_with_me 都可", "更多分享 foodie__葵 或 [帳號] 都可"),
        ("店名是葵花樓，葵花樓的菜好", "店名是[店名]，[店名]的菜好"),
        ("這家叫「葵花樓」的湯", "這家叫「[店名]」的湯"),
        ("比「葵花樓」這家好", "比「[店名]」這家好"),
    ],
)
def test_addresses_bare_handles_and_announced_shops_are_masked(text: str, shown: str) -> None:
    assert mask(text).text == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("LINE：abc123", "LINE：[帳號]"),
        ("line id: xx_yy", "line id: [帳號]"),
        ("line的id是abc12喔", "line的id是[帳號]喔"),
        ("IG: foodie 追蹤", "IG: [帳號] 追蹤"),
        ("ig @foodie", "ig @[帳號]"),
        ("ig foodie_tw", "ig [帳號]"),
        ("加LINE abc123", "加LINE [帳號]"),
        ("微信號abc_1", "微信號[帳號]"),
        ("QQ：12345678", "QQ：[帳號]"),
        ("電話:2345-6789", "電話:[電話]"),
        ("☎️ 2345 6789", "☎️ [電話]"),
        ("02-2345-6789/0912-345-678", "[電話]/[電話]"),
        ("05-2345678 #05-2345679", "[電話] #[電話]"),
        ("(https://example.com)。", "([網址])。"),
        ("我的信箱foo@example.com與電話0912345678", "我的信箱[信箱]與電話[電話]"),
    ],
)
def test_a_cue_stays_readable_and_only_what_it_announces_is_masked(text: str, shown: str) -> None:
    assert mask(text).text == shown


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("鼎香園-台北信義店", {"鼎香園-台北信義店", "鼎香園"}),
        ("鼎香園信義店", {"鼎香園信義店", "鼎香園"}),
        ("鼎香園（信義店）", {"鼎香園(信義店)", "鼎香園"}),
        ("【鼎香園】台北店", {"【鼎香園】台北店", "鼎香園"}),
        ("鼎香園餐廳", {"鼎香園餐廳", "鼎香園"}),
        ("鼎香園 ｜信義區美食｜必吃", {"鼎香園 |信義區美食|必吃", "鼎香園"}),
        ("台北-鼎香園", {"台北-鼎香園", "鼎香園"}),
        ("鼎香園(Ding Xiang)", {"鼎香園(Ding Xiang)", "鼎香園", "Ding Xiang"}),
        ("50嵐 永康店", {"50嵐 永康店", "50嵐"}),
        ("85度C", {"85度C"}),
        ("老王牛肉麵", {"老王牛肉麵", "老王"}),
        ("阿忠 Bistro", {"阿忠 Bistro", "阿忠"}),
    ],
)
def test_a_name_gives_its_sensible_short_forms(name: str, expected: set[str]) -> None:
    assert set(forms(name)) == expected


@pytest.mark.parametrize(
    "name",
    [
        "餐廳", "小吃店", "火鍋", "牛肉麵", "咖啡", "麻辣火鍋", "台北牛肉麵", "老台北牛肉麵店", "好吃", "好好吃餐廳",
        "嵐", "AB", "7-11", "The Coffee Shop", "🍜", "", " ",
    ],
)  # fmt: skip
def test_generic_and_short_names_are_never_masked(name: str) -> None:
    assert forms(name) == ()
    assert mask("這家餐廳火鍋牛肉麵咖啡好吃 coffee 7-11 AB", [name]).masks == ()


def test_a_latin_name_is_masked_as_a_word_only() -> None:
    assert mask("cosmos burger、ＭＯＳ　burger、Mosburger", ["Mos Burger"]).text == "cosmos burger、[店名]、[店名]"


def test_a_two_character_name_is_not_found_across_a_space() -> None:
    assert mask("價格親民 生意好", ["民生"]).masks == ()


def test_replacements_that_stand_in_a_text_are_left_alone() -> None:
    assert mask("請打[電話]訂位", ["電話訂位", "電話"]).text == "請打[電話]訂位"


def test_a_span_that_touches_a_mask_has_no_place_in_the_masked_text() -> None:
    masked = mask("打0912345678訂位")
    assert masked.text == "打[電話]訂位"
    due = {(0, 1): (0, 1), (0, 2): None, (5, 6): None, (10, 12): None, (11, 13): (5, 7)}
    assert {span: masked.to_masked(span) for span in due} == due


def test_what_stands_between_several_masks_is_converted_and_every_mask_stays() -> None:
    masked = mask("请打0912345678，或写信到foo@example.com，谢谢")
    assert [kind for _, _, kind in masked.masks] == ["phone", "email"]
    assert masked.in_script(lambda text: text.translate(str.maketrans("请写谢电话", "請寫謝電話"))) == (
        "請打[電話]，或寫信到[信箱]，謝謝"
    )
    assert masked.in_script(lambda text: "x" * len(text)) == "xx[電話]xxxxx[信箱]xxx"
    assert [masked.to_masked((start, start + 1)) for start in (1, 12, 33)] == [(1, 2), (6, 7), (16, 17)]


@given(MIXED, NAMES)
def test_outside_the_masks_nothing_changes(text: str, names: list[str]) -> None:
    masked = mask(text, names)
    rebuilt, at = "", 0
    for start, end, kind in masked.masks:
        assert at <= start < end <= len(text)
        rebuilt += text[at:start] + REPLACEMENTS[kind]
        at = end
    assert masked.text == rebuilt + text[at:]


@given(MIXED, NAMES, st.data())
def test_a_span_outside_the_masks_maps_to_equal_text(text: str, names: list[str], data: st.DataObject) -> None:
    masked = mask(text, names)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    moved = masked.to_masked((start, end))
    if moved is None:
        assert any(a < end and start < b for a, b, _ in masked.masks)
    else:
        assert masked.text[slice(*moved)] == text[start:end]


@given(MIXED, NAMES)
def test_masking_a_masked_text_changes_nothing(text: str, names: list[str]) -> None:
    once = mask(text, names)
    assert mask(once.text, names).text == once.text
    assert mask(once.text, names).masks == ()


@pytest.mark.parametrize(
    "piece", ["0", "a.", "@", "09 ", "line ", "鼎 ", "https://", "店員", "叫", "中山", "路1號", "是的", "名牌寫的"]
)
def test_a_hostile_text_takes_linear_time(piece: str) -> None:
    start = time.process_time()
    mask(piece * (20_000 // len(piece)) + "路1號", [PLACE, "A+B (C)", "鼎汐牛排台北店"])
    assert time.process_time() - start < 30


def test_masks_are_read_as_words_of_the_same_length() -> None:
    """So that what stands around them keeps its place."""
    for token in REPLACEMENTS.values():
        assert worded(f"找{token}問") == f"找{'名' * len(token)}問"
    assert worded("湯頭很濃") == "湯頭很濃"
