"""What the engine reads in a review: hand-written sentences on the shipped data, and laws that hold for any text."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from os import sep
from random import Random
from types import FrameType
from typing import TYPE_CHECKING, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading import Reader, written
from reading import reader as shipped

from builder.core.records import Element, Token, Triplet, aspect_text, polarity_of
from builder.core.settings import Convention
from builder.engine import Doc, Engine, make_engine
from builder.engine.pairing import dependency_path
from builder.language.lexicon.packs import data_dir
from builder.reviews.text import in_order, view

if TYPE_CHECKING:
    from _typeshed import TraceFunction

SOUP = st.integers(0, 2**32 - 1)
MARKS = [
    "，", "。", "！", "？", "、", " ", "\n", "～", "(", ")", "的", "和", "比", "但", "是", "有", "了", "嗎", "👍",
    "❤\ufe0f", "4.5", "Ok", "\U00020bb7", "5", "İ",
]  # fmt: skip
TAGS = ["NOUN", "VERB", "ADJ", "ADV", "PRON", "PUNCT", "X", "PART", "CONJ", "ADP", "NUM"]


@pytest.fixture(scope="module")
def reader() -> Reader:
    return shipped()


# ---- pairing


@pytest.mark.parametrize(
    ("text", "triplets"),
    [
        ("湯濃麵硬叉燒嫩", {"湯|濃|POS", "麵|硬|NEG", "叉燒|嫩|POS"}),
        # what brackets only name is no topic
        ("湯頭（紅湯）很濃", {"湯頭|濃|POS"}),
        ("炒飯（小）份量剛好", {"份量|剛好|POS"}),
        # a verb before what it takes
        ("也可以選擇清淡湯頭", set()),
        # what another is fond of, and the kind of place that something is measured by
        ("起司控一定會喜歡", set()),
        ("以一般火鍋店來說算便宜", set()),
        ("又香又濃的湯頭", {"湯頭|香|POS", "湯頭|濃|POS"}),
        ("漢堡、薯條跟可樂都很好吃", {"漢堡|好吃|POS", "薯條|好吃|POS", "可樂|好吃|POS"}),
        # a crowd, with what follows from it in the same clause
        ("客人太多位子太少", {"客人|多|NEG", "位子|少|NEG"}),
        # listed opinions share their aspect
        ("湯頭濃郁、香醇、順口", {"湯頭|濃郁|POS", "湯頭|香醇|POS", "湯頭|順口|POS"}),
        # a clause without a subject goes on about the last aspect
        ("雞排外酥內嫩，很入味", {"雞排|外酥內嫩|POS", "雞排|入味|POS"}),
        # contrast
        ("牛肉麵好吃，但是服務很差", {"牛肉麵|好吃|POS", "服務|差|NEG"}),
        ("雖然服務很好，牛肉麵卻難吃", {"服務|好|POS", "牛肉麵|難吃|NEG"}),
        ("環境小但是很乾淨", {"環境|小|NEG", "環境|乾淨|POS"}),
        ("肉超好吃", {"肉|好吃|POS"}),
        ("餐點口感：好吃", {"餐點口感|好吃|POS"}),
        ("低消是飲料但是甜點超棒", {"甜點|棒|POS"}),
        ("薯條可是漢堡很好吃", {"漢堡|好吃|POS"}),
        ("還有雞排也吃了蛋糕很好吃", {"蛋糕|好吃|POS"}),
        # comparison: about what is compared, never about the standard
        ("羊肉比牛肉好吃", {"羊肉|好吃|POS"}),
        ("羊肉跟牛肉比起來羊肉好吃", {"羊肉|好吃|POS"}),
        # polarity by aspect
        ("CP值很高", {"CP值|高|POS"}),
        ("價格很高", {"價格|高|NEG"}),
        # a list of aspects shares its opinion over commas and modifiers
        ("牛肉湯、滷味，雞排都很好吃", {"牛肉湯|好吃|POS", "滷味|好吃|POS", "雞排|好吃|POS"}),
        ("牛肉湯/滷味都很好吃", {"牛肉湯|好吃|POS", "滷味|好吃|POS"}),
        ("牛肉湯和送的滷味也都很好吃", {"牛肉湯|好吃|POS", "滷味|好吃|POS"}),
        ("豆腐，青菜，滷味都好吃", {"豆腐|好吃|POS", "青菜|好吃|POS", "滷味|好吃|POS"}),
        ("牛肉湯，滷味，雞排等等都不錯", {"牛肉湯|不錯|POS", "滷味|不錯|POS", "雞排|不錯|POS"}),
        ("味道，服務都很好", {"味道|好|POS", "服務|好|POS"}),
        # no list: nothing gathers, another kind of aspect, nothing joins
        ("店員和老闆煮的牛肉湯都很好喝", {"牛肉湯|好喝|POS"}),
        ("牛肉湯，服務以及環境不錯", {"服務|不錯|POS", "環境|不錯|POS"}),
        ("氣氛，服務，餐點都很好吃", {"餐點|好吃|POS"}),
        ("牛肉湯、滷味，雞排很好吃", {"雞排|好吃|POS"}),
        ("點了牛肉湯，滷味跟雞排都很好吃", {"滷味|好吃|POS", "雞排|好吃|POS"}),
        ("想吃牛肉湯還是滷味好吃", {"滷味|好吃|POS"}),
        # quotation marks part no name from what is said of it
        ("推薦「滷肉飯」", {"滷肉飯|推薦|POS"}),
        ('最愛"滷肉飯"', {"滷肉飯|最愛|POS"}),
        ("「滷肉飯」很香", {"滷肉飯|香|POS"}),
        ("推薦，「滷肉飯」很香", {"滷肉飯|香|POS"}),
        ("【環境】店面很乾淨", {"店面|乾淨|POS"}),
        ("很開胃【酸蘿蔔】醃的【滷肉飯】很香", {"滷肉飯|香|POS"}),
        # times, eaters, hearsay, exceptions and verbs
        ("最近生意很好", {"生意|好|POS"}),
        ("我們吃不了辣，點了牛肉湯", set()),
        ("看推薦點了雞排", set()),
        ("除了雞排，其他都很難吃", set()),
        ("這次選擇滷味和雞排都還不錯", {"滷味|不錯|POS", "雞排|不錯|POS"}),
        ("滷味的選擇很多", {"滷味的選擇|多|POS"}),
        ("跟服務生說很臭", set()),
        ("口味在熱炒裡算精緻", {"口味|精緻|POS"}),
        ("把學校拖下水讓人無言", set()),
        ("味道變淡不少", {"味道|變淡|NEG"}),
        ("品質實在令我震驚", set()),
        ("湯不應該這麼鹹", {"湯|鹹|NEG"}),
        ("雞排跟照片差超多", {"雞排|差超多|NEG"}),
        # a wish ends with its predicate, and the past with a word for the present
        ("希望座位可以多一點餐點很好吃服務也很好", {"餐點|好吃|POS", "服務|好|POS"}),
        ("建議牛肉麵可以淡一點肉很嫩", {"肉|嫩|POS"}),
        ("希望能有好吃的牛肉麵", set()),
        ("聽說牛肉麵很好吃雞排很嫩", set()),
        ("以前很好吃現在牛肉麵很難吃", {"牛肉麵|難吃|NEG"}),
        # a label and the judgement behind it
        ("口味：很好\n環境：好\n服務：一般", {"口味|好|POS", "環境|好|POS", "服務|一般|NEU"}),
        ("口味：很好 環境：好 服務：一般", {"口味|好|POS", "環境|好|POS", "服務|一般|NEU"}),
        ("口味｜很好，環境｜好", {"口味|好|POS", "環境|好|POS"}),
        ("【口味】很好【服務】差", {"口味|好|POS", "服務|差|NEG"}),
        ("環境：服務：好", {"服務|好|POS"}),
        ("老闆說：好", set()),
        ("口味：★★★★ 環境：★★", set()),
        # a name of several Latin words
        ("滷味不錯，panna cotta太甜了", {"滷味|不錯|POS", "panna cotta|甜|NEG"}),
        ("滷味不錯，fish and chips很油", {"滷味|不錯|POS", "fish and chips|油|NEG"}),
        ("Café au lait很好喝", {"Café au lait|好喝|POS"}),
        ("湯很好喝 we went there with all of them 很鹹", {"湯|好喝|POS", "湯|鹹|NEG"}),
        # a coordinated aspect that an opinion cannot describe
        ("店內環境、食材新鮮", {"食材|新鮮|POS"}),
        # a word of contrast that touches an aspect
        ("味道很香，不過量太少了", {"味道|香|POS", "量|少|NEG"}),
        # what an aspect is compared with
        ("雞排像餅乾一樣脆", {"雞排|脆|POS"}),
        ("滷肉飯跟雞排都很鹹", {"滷肉飯|鹹|NEG", "雞排|鹹|NEG"}),
        # much sugar is blamed, many sweet and sour ribs are not
        ("糖很多", {"糖|多|NEG"}),
        ("糖醋排骨很多", {"糖醋排骨|多|POS"}),
        # a marker reaches to the end of its clause only
        ("聽說牛肉麵很好吃，服務很差", {"服務|差|NEG"}),
        ("上次雞排很難吃。牛肉麵很好吃", {"牛肉麵|好吃|POS"}),
        # a question takes back its own clause only
        ("牛肉麵很好吃，服務好嗎？環境很髒", {"牛肉麵|好吃|POS", "環境|髒|NEG"}),
        # of several nouns before the opinion the one it describes is taken
        ("服務生送來的牛肉麵很好吃", {"牛肉麵|好吃|POS"}),
        ("跟朋友一起吃的牛肉麵很好吃", {"牛肉麵|好吃|POS"}),
        ("昨天吃的牛肉麵很好吃", {"牛肉麵|好吃|POS"}),
        ("這家餐廳的牛肉麵很好吃", {"牛肉麵|好吃|POS"}),
    ],
)
def test_each_opinion_finds_the_aspect_that_it_describes(reader: Reader, text: str, triplets: set[str]) -> None:
    assert reader.found(text) == triplets


def test_a_space_inside_cp_value_does_not_hide_it(reader: Reader) -> None:
    (triplet,) = reader.read("cp 值很高")
    assert triplet.aspect.text.replace(" ", "").lower() == "cp值"
    assert (triplet.opinion.text, triplet.polarity) == ("高", "POS")


def test_cp_value_is_found_where_the_segmenter_cuts_inside_it(reader: Reader) -> None:
    """The backend may cut CP from 值高; what is left behind the entry must be a known word."""
    text = "CP值高"
    tokens = [Token(0, 2, "NOUN", 1, "nsubj"), Token(2, 4, "NOUN", -1, "root")]
    found = [(one.aspect.text, one.opinion.text, one.polarity) for one in reader.engine.extract(Doc.of(text, tokens))]
    assert found == [("CP值", "高", "POS")]


def test_what_is_said_of_food_as_a_whole_goes_past_its_part_to_the_dish(reader: Reader) -> None:
    assert "鬆餅|好吃|POS" in reader.found("鬆餅很大，外皮很脆，非常好吃")
    assert "外皮|乾硬|NEG" in reader.found("鬆餅不錯，外皮很厚，乾硬")


def test_a_word_that_the_paper_reads_apart_keeps_its_opinion(reader: Reader) -> None:
    (doc,) = reader.docs(["牛肉麵不錯吃"])
    assert [one.opinion.text for one in reader.paper.extract(doc)] == ["不錯"]
    assert [one.opinion.text for one in reader.engine.extract(doc)] == ["不錯吃"]


def test_the_place_itself_is_no_second_aspect_of_what_is_said_about_its_service(reader: Reader) -> None:
    """Whether the aspect is 服務 or 這家店服務 with its owner is left open."""
    service, price = reader.read("這家店服務親切，而且價格便宜")
    assert service.aspect.text.endswith("服務")
    assert (service.opinion.text, price.aspect.text, price.opinion.text) == ("親切", "價格", "便宜")


def test_the_shortest_dependency_path_decides_between_two_aspects(reader: Reader) -> None:
    """The aspect with fewer arcs to the opinion wins over the nearer one; of two equal ones the nearer."""
    rules = {rule.name: rule for rule in reader.rules}
    far = replace(rules["shortest-path"], params={**rules["shortest-path"].params, "longest": 4})
    grammar = [rule for rule in reader.rules if not rule.kind.startswith(("pair-", "decision"))]
    engine = Engine(reader.lexicon, [*grammar, far])
    text, bounds = "湯頭讓麵條好吃", [(0, 2), (2, 3), (3, 5), (5, 7)]

    def aspect_with(heads: list[tuple[int, str]]) -> list[str]:
        tags = ["NOUN", "VERB", "NOUN", "ADJ"]
        tokens = [
            Token(start, end, tag, head, rel)
            for (start, end), tag, (head, rel) in zip(bounds, tags, heads, strict=True)
        ]
        return [one.aspect.text for one in engine.extract(Doc.of(text, tokens))]

    assert aspect_with([(3, "nsubj"), (3, "aux"), (0, "nmod"), (-1, "root")]) == ["湯頭"]
    assert aspect_with([(2, "nmod"), (3, "aux"), (3, "nsubj"), (-1, "root")]) == ["麵條"]
    assert aspect_with([(3, "nsubj"), (3, "aux"), (3, "dobj"), (-1, "root")]) == ["麵條"]


def test_a_dependency_path_goes_up_to_the_common_ancestor_and_down() -> None:
    heads = [(1, "nmod"), (3, "nsubj"), (3, "advmod"), (-1, "root"), (3, "conj"), (-1, "root")]
    tokens = [Token(i, i + 1, "X", head, rel) for i, (head, rel) in enumerate(heads)]
    assert dependency_path(tokens, 0, 3) == ["↑nmod", "↑nsubj"]
    assert dependency_path(tokens, 3, 0) == ["↓nsubj", "↓nmod"]
    assert dependency_path(tokens, 0, 4) == ["↑nmod", "↑nsubj", "↓conj"]
    assert dependency_path(tokens, 2, 2) == []
    assert dependency_path(tokens, 0, 5) is None


def test_a_dependency_path_ends_even_in_a_tree_that_is_none() -> None:
    tokens = [Token(0, 1, "X", 1, "dep"), Token(1, 2, "X", 0, "dep"), Token(2, 3, "X", 2, "dep")]
    assert dependency_path(tokens, 0, 1) == ["↑dep"]
    assert dependency_path(tokens, 0, 2) is None
    assert dependency_path(tokens, 2, 0) is None


# ---- aspects


@pytest.mark.parametrize(
    ("text", "owner", "written"),
    [
        ("餐點口感很好", "餐點", "餐點[口感]"),
        ("餐點的口感很好", "餐點", "餐點[口感]"),
        ("牛肉麵湯頭很濃郁", "牛肉麵", "牛肉麵[湯頭]"),
        ("牛肉麵的湯頭很濃郁", "牛肉麵", "牛肉麵[湯頭]"),
        ("雞排的份量很大", "雞排", "雞排[份量]"),
    ],
)
def test_an_attribute_has_what_it_belongs_to_as_its_owner(reader: Reader, text: str, owner: str, written: str) -> None:
    triplet = reader.one(text)
    assert triplet.owner is not None
    assert triplet.owner.text == owner
    assert aspect_text(triplet) == written


def test_an_aspect_without_a_named_owner_has_none(reader: Reader) -> None:
    assert reader.one("口感很好").owner is None


@pytest.mark.parametrize(
    "name",
    [
        "椒麻松阪豬燉飯", "松露雞腿燉飯", "炙燒起司牛肉捲餅", "起司鮭魚披薩", "奶香培根馬鈴薯披薩", "味噌奶油鮭魚鍋",
        "金沙杏鮑菇炒飯", "蒜香透抽義大利麵", "藍莓乳酪拿鐵",
    ],
)  # fmt: skip
def test_a_dish_that_no_lexicon_lists_is_found_whole(reader: Reader, name: str) -> None:
    assert name not in reader.lexicon.aspects, "choose a name that is unseen"
    assert reader.found(f"{name}很好吃") == {f"{name}|好吃|POS"}


def test_words_for_times_people_and_the_like_are_never_aspects(reader: Reader) -> None:
    """Every word of not_aspects.tsv, as the subject of a plain judgement."""
    words = list(reader.lexicon.not_aspects)
    found = [one for doc in reader.docs([f"{word}很好吃" for word in words]) for one in reader.engine.extract(doc)]
    assert [one.aspect.text for one in found if one.aspect.text in reader.lexicon.not_aspects] == []


@pytest.mark.parametrize(
    "text",
    [
        "今天很好吃", "這樣很好", "我很滿意", "晚上很好吃", "大家都很開心", "OMG好吃", "google推薦",
        "希望服務可以更好", "希望牛肉麵更好吃", "建議湯頭可以淡一點", "如果價格便宜一點就好了", "如果服務親切就會再來",
        "要是湯頭不鹹就好了", "聽說牛肉麵很好吃", "據說服務很好", "以前牛肉麵很好吃", "原本很便宜的牛肉麵",
        "上次牛肉麵很好吃", "下次想吃好吃的牛肉麵",
        "牛肉麵好吃嗎？", "牛肉麵好吃嗎", "服務好?", "難道服務很好嗎", "誰說牛肉麵不好吃？", "是不是牛肉麵很好吃",
        "服務好？？",
    ],
)  # fmt: skip
def test_what_names_nothing_is_wished_past_hearsay_or_a_question_yields_nothing(reader: Reader, text: str) -> None:
    assert reader.found(text) == set()


# ---- opinions and polarity


@pytest.mark.parametrize(
    ("text", "opinion", "full", "spans", "polarity"),
    [
        ("湯頭不會太鹹", "不會鹹", "不會太鹹", 2, "POS"),
        ("不會太鹹的湯頭", "不會鹹", "不會太鹹", 2, "POS"),
        ("服務不是很好", "不是好", "不是很好", 2, "NEG"),
        ("小籠包沒有想像中好吃", "沒有好吃", "沒有想像中好吃", 2, "NEG"),
        ("牛肉麵不好吃", "不好吃", "不好吃", 1, "NEG"),
        ("味道不普通", "不普通", "不普通", 1, "NEG"),
        ("湯頭不夠濃郁", "不夠濃郁", "不夠濃郁", 1, "NEG"),
        ("冷氣不夠冷", "不夠冷", "不夠冷", 1, "NEG"),
    ],
)
def test_a_negator_joins_its_opinion_over_what_stands_between_and_flips_it(
    reader: Reader, text: str, opinion: str, full: str, spans: int, polarity: str
) -> None:
    triplet = reader.one(text)
    assert (triplet.opinion.text, triplet.opinion_full.text, triplet.polarity) == (opinion, full, polarity)
    assert len(triplet.opinion.spans) == spans
    assert len(triplet.opinion_full.spans) == 1
    assert "negator" in dict(triplet.evidence)


@pytest.mark.parametrize("text", ["牛肉麵不是不好吃", "服務沒有不好", "湯頭並非不好喝", "冷氣並非不夠冷"])
def test_two_negators_leave_the_polarity_as_it_was(reader: Reader, text: str) -> None:
    assert reader.one(text).polarity == "POS"


@pytest.mark.parametrize(
    ("text", "opinion", "full"),
    [
        ("牛肉麵非常好吃", "好吃", "非常好吃"),
        ("服務太慢", "慢", "太慢"),
        ("湯頭有點鹹", "鹹", "有點鹹"),
        ("蛋糕非常的甜", "甜", "非常的甜"),
        ("牛肉麵鮮美極了", "鮮美", "鮮美極了"),
        ("豆腐炸得很酥脆", "酥脆", "很酥脆"),
        ("湯頭偏鹹一點", "鹹", "偏鹹一點"),
        ("份量真的太多了", "多", "真的太多"),
        ("餐點都冷掉了", "冷掉", "冷掉"),
        ("份量還算蠻多", "多", "蠻多"),
        ("蝦子還算新鮮", "新鮮", "還算新鮮"),
        ("口味算是中規中矩", "中規中矩", "中規中矩"),
        ("餅皮有點油油的", "油油", "有點油油的"),
        ("餅皮是脆脆的", "脆脆", "脆脆"),
        ("肉片煮得過硬", "硬", "過硬"),
        ("紅茶帶點酸", "酸", "帶點酸"),
    ],
)
def test_a_degree_word_is_part_of_opinion_full_alone(reader: Reader, text: str, opinion: str, full: str) -> None:
    triplet = reader.one(text)
    assert (triplet.opinion.text, triplet.opinion_full.text) == (opinion, full)


@pytest.mark.parametrize(
    ("text", "aspect", "full", "owner"),
    [
        ("整體口感不錯", "口感", "整體口感", None),
        ("整體牛肉麵口感不錯", "牛肉麵口感", "整體牛肉麵口感", "牛肉麵"),
        ("整體的服務不錯", "服務", "整體的服務", None),
        ("店裡的座位不錯", "座位", "店裡的座位", None),
        ("飲料紅茶不錯", "紅茶", "飲料紅茶", None),
        ("主餐羊排份量不錯", "羊排份量", "主餐羊排份量", "羊排"),
        ("雞排整體口感不錯", "雞排整體口感", "雞排整體口感", "雞排"),
    ],
)
def test_what_says_that_all_is_meant_where_or_of_what_kind_is_part_of_aspect_full_alone(
    reader: Reader, text: str, aspect: str, full: str, owner: str | None
) -> None:
    triplet = reader.one(text)
    assert (triplet.aspect.text, triplet.aspect_full.text) == (aspect, full)
    assert (triplet.owner.text if triplet.owner else None) == owner


def test_a_word_of_the_middle_is_neutral(reader: Reader) -> None:
    triplet = reader.one("味道普通")
    assert (triplet.polarity, triplet.valence) == ("NEU", 5)


@pytest.mark.parametrize(
    ("text", "polarity"), [("蛋糕甜", "POS"), ("蛋糕太甜", "NEG"), ("份量太少", "NEG"), ("湯頭過於濃郁", "NEG")]
)
def test_too_much_of_a_taste_is_bad(reader: Reader, text: str, polarity: str) -> None:
    assert reader.one(text).polarity == polarity


def test_without_words_that_ask_every_question_mark_asks(reader: Reader) -> None:
    rules = {rule.name: rule for rule in reader.rules}
    marks = rules["question"].changed("words", {"QUESTION": ["？"]})
    engine = Engine(reader.lexicon, list((rules | {"question": marks}).values()))
    doc = reader.docs(["服務很差？環境很髒"])[0]
    assert [written(one) for one in engine.extract(doc)] == ["環境|髒|NEG"]


# ---- evidence


def test_the_evidence_names_the_lexicon_line_of_opinion_and_aspect_and_the_negator(reader: Reader) -> None:
    triplet = reader.one("牛肉麵不好吃")
    told = dict(triplet.evidence)
    for kind, word in (("opinion", "好吃"), ("aspect", "牛肉麵")):
        detail = told[kind]
        assert word in detail
        name, _, number = detail[detail.rindex("(") + 1 : detail.rindex(")")].rpartition(":")
        path = data_dir("domains") / "restaurant/lexicons" / name
        line = path.read_text(encoding="utf-8").splitlines()[int(number) - 1]
        assert line.split("\t")[0] == word
    assert told["negator"] == "不"
    assert triplet.rules[0] in {rule.name for rule in reader.rules}


def test_the_evidence_of_a_polarity_that_depends_on_the_aspect_says_so(reader: Reader) -> None:
    assert "context" in dict(reader.one("價格很高").evidence)
    assert "excess" in dict(reader.one("湯頭太鹹").evidence)


# ---- laws


def surface(text: str, element: Element) -> str:
    return "".join(text[start:end] for start, end in element.spans)


def assert_lawful(reader: Reader, doc: Doc, triplets: Sequence[Triplet]) -> None:
    names = {rule.name for rule in reader.rules}
    for one in triplets:
        for element in (one.aspect, one.aspect_full, one.opinion, one.opinion_full, *filter(None, [one.owner])):
            assert element.text == surface(doc.text, element)
            assert element.text.strip() == element.text != ""
            assert in_order(element.spans)
            assert element.start >= 0
            assert element.end <= len(doc.text)
        assert len(one.aspect_full.spans) == 1
        assert [end for _, end in one.opinion_full.spans[:-1]] in ([], [one.aspect.start]), "around the aspect alone"
        assert one.opinion_full.start <= one.opinion.start
        assert one.opinion.end <= one.opinion_full.end
        assert one.aspect_full.start <= one.aspect.start
        assert one.aspect.end <= one.aspect_full.end
        assert one.owner is None or one.aspect.start <= one.owner.start < one.owner.end <= one.aspect.end
        assert 1 <= one.valence <= 10
        assert one.polarity == polarity_of(one.valence)
        assert one.source == "rules"
        assert one.rules
        assert set(one.rules) <= names
        assert {"aspect", "opinion"} <= {kind for kind, _ in one.evidence}
    assert len({one.key for one in triplets}) == len(triplets)


def soup(reader: Reader, random: Random, most: int) -> list[str]:
    """Lexicon words and marks in any order; some Latin in capitals."""
    words = [
        random.choice(MARKS) if random.random() < 0.3 else random.choice(reader.words)
        for _ in range(random.randint(0, most))
    ]
    return [word.upper() if random.random() < 0.2 else word for word in words]


@given(seed=SOUP)
def test_any_soup_of_words_gives_sound_triplets_and_the_same_ones_again(reader: Reader, seed: int) -> None:
    random = Random(seed)
    docs = reader.docs(["".join(soup(reader, random, 25)) for _ in range(3)])
    for engine in (reader.engine, reader.paper):
        first = [engine.extract(doc) for doc in docs]
        for doc, triplets in zip(docs, first, strict=True):
            assert_lawful(reader, doc, triplets)
        assert [engine.extract(doc) for doc in reversed(docs)] == first[::-1]


@given(seed=SOUP)
def test_any_tokens_and_heads_over_any_soup_give_sound_triplets(reader: Reader, seed: int) -> None:
    """The engine trusts no backend: words cut anywhere, over clause ends too, heads that make no tree."""
    random = Random(seed)
    text = view("".join(soup(reader, random, 15)), reader.lexicon.variants).text
    cuts = sorted({0, len(text), *(random.randint(0, len(text)) for _ in range(random.randint(0, len(text))))})
    bounds = [(start, end) for start, end in pairwise(cuts) if text[start:end].strip()]
    bounds = [
        (start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip()))
        for start, end in bounds
        for piece in [text[start:end]]
    ]
    size = len(bounds)
    tokens = [
        Token(start, end, random.choice(TAGS), random.randint(-1, size - 1), random.choice(["nsubj", "root", "dep"]))
        for start, end in bounds
    ]
    doc = Doc.of(text, tokens)
    for engine in (reader.engine, reader.paper):
        found = engine.extract(doc)
        assert_lawful(reader, doc, found)
        assert engine.extract(doc) == found


@pytest.mark.parametrize("text", ["", " ", "\n\n", "。", "👍👍", "abc", "123", "\u200b"])
def test_a_text_that_says_nothing_yields_nothing(reader: Reader, text: str) -> None:
    assert reader.read(text) == ()


def test_the_same_words_twice_are_two_triplets_at_two_places(reader: Reader) -> None:
    first, second = reader.read("湯頭很鹹。湯頭很鹹")
    assert (first.aspect.text, first.opinion.text) == (second.aspect.text, second.opinion.text)
    assert first.aspect.end <= second.aspect.start


def test_the_same_words_of_one_mention_are_one_triplet(reader: Reader) -> None:
    assert [written(one) for one in reader.read("出餐太慢太慢了")] == ["出餐|慢|NEG"]
    assert [written(one) for one in reader.read("份量足，足，足！")] == ["份量|足|POS"]


@pytest.mark.parametrize("text", ["沒有上次味道好", "我不覺得雞排好吃", "沒有一道菜不好吃"])
def test_an_aspect_is_no_part_of_its_opinion(reader: Reader, text: str) -> None:
    found = reader.one(text)
    assert len(found.opinion_full.spans) == 2
    assert found.aspect.text not in found.opinion_full.text
    assert found.opinion_full.text == "".join(text[start:end] for start, end in found.opinion_full.spans)


@pytest.mark.parametrize(
    "address",
    [
        "https://example.org/a?x=很貴",
        "http://example.org/服務很差",
        "www.example.org/好吃的湯",
        "https://example.org/x",
    ],
)
def test_the_words_of_an_address_say_nothing(reader: Reader, address: str) -> None:
    assert reader.found(f"菜單{address} 雞排很脆") == {"雞排|脆|POS"}
    assert reader.found(f"雞排很脆{address}") == {"雞排|脆|POS"}


def count_lines(work: Callable[[], object]) -> int:
    """How many lines of the engine `work` runs: work that a busy machine doesn't change."""
    lines = 0

    def count(frame: FrameType, event: str, arg: object) -> TraceFunction | None:
        nonlocal lines
        lines += event == "line"
        return count if f"{sep}engine{sep}" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.parametrize("convention", get_args(Convention))
@pytest.mark.parametrize("unit", ["雞排很香", "雞排很香，", "湯頭不錯的", "座位/燈光/", "真的很香！"])
def test_a_text_that_repeats_itself_is_read_in_proportion_to_its_length(convention: Convention, unit: str) -> None:
    """Twice the text may take three times the work; four times would be quadratic. Below 150 words all is one piece."""
    engine = make_engine(shipped().lexicon, shipped().rules, convention)
    short, long = shipped().docs(["麵很好吃。" + unit * count for count in (100, 200)])
    assert count_lines(lambda: engine.extract(long)) < 3 * count_lines(lambda: engine.extract(short))
    assert engine.extract(long)


def test_a_long_review_is_read_to_its_end(reader: Reader) -> None:
    unit = "牛肉麵很好吃，服務也不錯。漢堡和薯條都不會太鹹 價格便宜，"
    (doc,) = reader.docs([unit * 350])
    triplets = reader.engine.extract(doc)
    assert_lawful(reader, doc, triplets)
    assert len(triplets) == 350 * len(reader.read(unit))
