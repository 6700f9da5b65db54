"""Model codes that no lexicon holds are aspects where a pack gives them a class."""

from __future__ import annotations

import pytest

from builder import Extractor


@pytest.fixture(scope="module")
def laptop() -> Extractor:
    return Extractor(domain="laptop")


@pytest.mark.parametrize(
    ("text", "aspects"),
    [
        ("Zeta15X非常輕巧", ["Zeta15X"]),
        ("這台KX520真的很漂亮", ["KX520"]),
        ("KX-520很漂亮", ["KX-520"]),
        ("Novo Pro 14很輕", ["Novo Pro 14"]),
        ("VR77是很不錯的選擇，也很安靜", ["VR77", "VR77"]),
        ("zx5304、zx3402都不錯", ["zx3402", "zx5304"]),
        ("這台KX520，真的很漂亮", ["KX520"]),
        ("PQ77的散熱很好", ["PQ77的散熱"]),
        ("FHD144Hz很順", []),
        ("DDR5很快", []),
        ("170w很夠用", []),
    ],
)
def test_a_name_of_letters_and_digits_is_what_is_judged_but_measures_and_standards_are_not(
    text: str, aspects: list[str], laptop: Extractor
) -> None:
    assert sorted(triplet.aspect.text for triplet in laptop(text)) == aspects


@pytest.mark.parametrize(
    ("text", "aspect"),
    [
        ("17吋的筆電很漂亮", "17吋的筆電"),
        ("15.6吋螢幕很清晰", "15.6吋螢幕"),
        ("11代處理器很強", "11代處理器"),
        ("32G記憶體很夠用", "32G記憶體"),
        ("3萬的筆電很漂亮", "筆電"),
        ("買了17吋，筆電很漂亮", "筆電"),
    ],
)
def test_a_size_in_front_of_a_thing_belongs_to_its_name(text: str, aspect: str, laptop: Extractor) -> None:
    assert [triplet.aspect.text for triplet in laptop(text)] == [aspect]


def test_codes_are_no_aspects_where_the_pack_gives_them_no_class() -> None:
    assert Extractor(domain="restaurant")("Zeta15X非常輕巧") == ()


def test_a_particle_behind_an_excess_belongs_to_the_full_opinion_of_a_laptop_alone(laptop: Extractor) -> None:
    (triplet,) = laptop("變壓器太重了")
    assert (triplet.opinion.text, triplet.opinion_full.text) == ("重", "太重了")
    (plain,) = laptop("變壓器很重了")
    assert plain.opinion_full.text == "很重"
    (meal,) = Extractor()("湯頭太鹹了")
    assert meal.opinion_full.text == "太鹹"


def test_the_choice_that_a_laptop_is_belongs_to_the_full_opinion_of_a_laptop_alone(laptop: Extractor) -> None:
    (triplet,) = laptop("這台筆電是很好的選擇")
    assert (triplet.opinion.text, triplet.opinion_full.text) == ("好", "很好的選擇")
    (meal,) = Extractor()("雞排是很好的選擇")
    assert meal.opinion_full.text == "很好"


def test_by_how_much_a_laptop_is_better_belongs_to_the_full_opinion_of_a_laptop_alone(laptop: Extractor) -> None:
    (triplet,) = laptop("新款螢幕漂亮很多")
    assert triplet.opinion_full.text == "漂亮很多"
    (triplet,) = laptop("電池的確耐用很多")
    assert (triplet.opinion.text, triplet.opinion_full.text) == ("耐用", "的確耐用很多")


def test_words_of_stance_belong_to_the_full_opinion_of_a_laptop_alone(laptop: Extractor) -> None:
    (triplet,) = laptop("電池應該很耐用")
    assert (triplet.opinion.text, triplet.opinion_full.text) == ("耐用", "應該很耐用")
    (denied,) = laptop("電池應該不耐用")
    assert (denied.opinion.text, denied.opinion_full.text) == ("不耐用", "應該不耐用")
    (triplet,) = Extractor()("雞排應該很脆")
    assert triplet.opinion_full.text == "很脆"


def test_what_a_laptop_is_compared_with_belongs_to_the_opinion(laptop: Extractor) -> None:
    (triplet,) = laptop("效能比上一代好")
    assert (triplet.opinion.text, triplet.opinion_full.text) == ("好", "比上一代好")


@pytest.mark.parametrize(
    ("text", "aspect"),
    [("華碩16G夠用", "華碩"), ("I/O很齊全", "I/O"), ("7235U很夠用", "7235U"), ("2031X13很輕", "2031X13")],
)
def test_names_in_latin_letters_are_told_from_measures(text: str, aspect: str, laptop: Extractor) -> None:
    (triplet,) = laptop(text)
    assert triplet.aspect.text == aspect
