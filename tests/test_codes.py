"""Model codes that no lexicon holds are aspects where a pack gives them a class."""

from __future__ import annotations

from functools import cache

import pytest

from builder import Extractor


@cache
def extractor(domain: str = "laptop") -> Extractor:
    return Extractor(domain=domain)


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
        # measures and standards are no names
        ("FHD144Hz很順", []),
        ("DDR5很快", []),
        ("170w很夠用", []),
        # a size in front of a thing belongs to its name
        ("17吋的筆電很漂亮", ["17吋的筆電"]),
        ("15.6吋螢幕很清晰", ["15.6吋螢幕"]),
        ("11代處理器很強", ["11代處理器"]),
        ("32G記憶體很夠用", ["32G記憶體"]),
        ("3萬的筆電很漂亮", ["筆電"]),
        ("買了17吋，筆電很漂亮", ["筆電"]),
        # names in Latin letters beside measures
        ("華碩16G夠用", ["華碩"]),
        ("I/O很齊全", ["I/O"]),
        ("7235U很夠用", ["7235U"]),
        ("2031X13很輕", ["2031X13"]),
    ],
)
def test_a_name_of_letters_and_digits_is_judged_but_no_measure_or_standard(text: str, aspects: list[str]) -> None:
    assert sorted(triplet.aspect.text for triplet in extractor()(text)) == aspects


def test_codes_are_no_aspects_where_the_pack_gives_them_no_class() -> None:
    assert extractor("restaurant")("Zeta15X非常輕巧") == ()


@pytest.mark.parametrize(
    ("domain", "text", "opinion", "full"),
    [
        # a particle behind an excess
        ("laptop", "變壓器太重了", "重", "太重了"),
        ("laptop", "變壓器很重了", "重", "很重"),
        ("restaurant", "湯頭太鹹了", "鹹", "太鹹"),
        # the choice that it is
        ("laptop", "這台筆電是很好的選擇", "好", "很好的選擇"),
        ("restaurant", "雞排是很好的選擇", "好", "很好"),
        # by how much it is better
        ("laptop", "新款螢幕漂亮很多", "漂亮", "漂亮很多"),
        ("laptop", "電池的確耐用很多", "耐用", "的確耐用很多"),
        # words of stance
        ("laptop", "電池應該很耐用", "耐用", "應該很耐用"),
        ("laptop", "電池應該不耐用", "不耐用", "應該不耐用"),
        ("restaurant", "雞排應該很脆", "脆", "很脆"),
        # what it is compared with
        ("laptop", "效能比上一代好", "好", "比上一代好"),
    ],
)
def test_particles_choices_amounts_and_stance_belong_to_the_full_opinion_of_a_laptop_alone(
    domain: str, text: str, opinion: str, full: str
) -> None:
    (triplet,) = extractor(domain)(text)
    assert (triplet.opinion.text, triplet.opinion_full.text) == (opinion, full)
