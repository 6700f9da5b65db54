"""eda in Chinese: what it makes stands so in a training text, and the paper's operations can still be had."""

from __future__ import annotations

from dataclasses import replace

import pytest
from augmenting import chinese as sentence
from augmenting import eda_alone

from builder.augment import catalogue
from builder.augment.candidates import Method, Sentence, applied
from builder.augment.catalogue import Given, make_settings
from builder.augment.methods import eda
from builder.reviews.repair import fold

TEXTS = (
    "店員親切，湯頭也很濃。", "整體來說湯頭很濃", "這碗湯也很濃喔。", "點了海帶、蘑菇及豆腐。", "湯頭很濃，麵很彈。",
)  # fmt: skip


def made(one: Sentence, operation: str, texts: tuple[str, ...] = TEXTS, **options: object) -> set[str]:
    method = alone(operation, texts, **options)
    return {
        applied(one.text, found.edits) for seed in range(30) for found in next(iter(method.propose([one], 4, seed)))
    }


def alone(operation: str, texts: tuple[str, ...] = TEXTS, **options: object) -> Method:
    asked = make_settings({f"eda.{key}": value for key, value in options.items()})
    return eda_alone(catalogue.make_method("eda", replace(asked, given=Given(texts=texts))), operation)


def test_an_adverb_an_opener_and_a_closer_come_only_where_their_neighbours_stood_beside_them() -> None:
    one = sentence("湯頭 很 濃 。", "湯頭")
    assert made(one, "insertion") == {"湯頭也很濃。", "整體來說湯頭很濃。", "湯頭很濃喔。"}
    assert made(one, "insertion", ("完全沒讀過",)) == set()
    assert made(sentence("湯頭 很 濃", "湯頭"), "insertion", ("很濃喔",)) == {"湯頭很濃喔"}
    assert made(sentence("湯頭 很 濃 。", "湯頭"), "insertion", ("濃。這次",)) == set(), (
        "nothing opens where nothing follows"
    )


def test_in_simplified_script_what_comes_is_simplified_though_the_texts_are_not() -> None:
    said = made(sentence("汤头 很 浓 。", "汤头"), "insertion")
    assert said == {"汤头也很浓。", "整体来说汤头很浓。", "汤头很浓喔。"}


def test_nothing_comes_that_stands_there_already_or_into_a_label() -> None:
    said = made(sentence("湯頭 也 很 濃 喔 。"), "insertion", (*TEXTS, "也也很濃喔喔。"))
    assert said and not any("也也" in text or "喔喔" in text for text in said)
    assert "湯頭也很濃。" not in made(sentence("湯頭 很 濃 。", "湯頭很濃"), "insertion")


def test_an_adverb_goes_where_what_is_left_was_read_and_no_other_word_goes() -> None:
    assert made(sentence("湯頭 也 很 濃 。"), "deletion") == {"湯頭很濃。"}
    assert made(sentence("湯頭 也 淡 。"), "deletion") == set()
    assert made(sentence("湯頭 麵 很 濃 。"), "deletion") == set(), (
        "湯頭很濃 was read, but 麵 is no word that comes and goes"
    )


def test_a_synonym_comes_that_was_read_with_what_stands_before_it_or_behind() -> None:
    one = sentence("我 覺得 湯頭 很 濃 。", "湯頭")
    assert made(one, "synonym", natural=False) == {"我認為湯頭很濃。"}
    for texts, found in (
        (("我認為",), True),
        (("認為湯",), True),
        (("他認為麵很好",), False),
        (("我認", "為湯"), False),
    ):
        assert bool(made(one, "synonym", texts)) == found


def test_a_text_is_not_emptied() -> None:
    assert made(sentence("真的"), "deletion", ("真的", "\n")) == set()


def test_two_listed_words_change_places_and_no_others() -> None:
    swapped = made(sentence("點 了 海帶 、 蘑菇 及 豆腐 。"), "swap")
    assert swapped == {"點了蘑菇、海帶及豆腐。", "點了海帶、豆腐及蘑菇。"}
    assert made(sentence("點 了 海帶 、 蘑菇 。", "海帶"), "swap") == set(), "a label stays"
    assert made(sentence("店員 親切 ， 麵 很 彈 。"), "swap") == set()
    assert made(sentence("應該 和 其他 店 一樣 。"), "swap") == set(), "和 joins no like to like here"


@pytest.mark.parametrize("operation", ["insertion", "deletion", "swap"])
def test_the_operations_of_the_paper_are_there_without_natural(operation: str) -> None:
    one = sentence("店員 親切 ， 覺得 麵 很 彈 。")
    assert not made(one, operation)
    assert made(one, operation, natural=False)


def test_several_changes_of_a_long_sentence_do_not_touch_each_other() -> None:
    one = sentence(" ".join(["湯頭", "很", "濃", "，"] * 12))
    for found in next(iter(alone("insertion", rate=0.3).propose([one], 8, 1))):
        assert len(found.edits) > 1
        assert all(a.end < b.start for a, b in zip(found.edits, found.edits[1:], strict=False))


@pytest.mark.parametrize(
    ("operation", "cut", "texts"),
    [
        ("insertion", "湯頭 很 濃 。", ("湯頭很濃。", "湯頭也很濃。", "湯頭很都濃。")),
        ("deletion", "湯頭 也 很 都 濃 。", ("湯頭也很都濃。", "湯頭很都濃。", "湯頭也很濃。")),
    ],
)
def test_what_several_changes_make_was_read_as_a_whole(operation: str, cut: str, texts: tuple[str, ...]) -> None:
    found, read = made(sentence(cut, "湯頭"), operation, texts, rate=1.0), eda.usage_of(texts).grams
    assert len(found) == 2, "either change alone"
    for text in found:
        shown = f"\n{fold(text)}\n"
        assert {shown[i : i + 3] for i in range(len(shown) - 2)} <= read, text


def test_other_texts_give_another_signature_and_english_knows_nothing_of_it() -> None:
    first, second = (
        catalogue.make_method("eda", replace(make_settings({}), given=Given(texts=texts)))
        for texts in (TEXTS, TEXTS[1:])
    )
    assert first.signature != second.signature
    english = catalogue.make_method("eda", replace(make_settings({}), given=Given(texts=TEXTS, language="en")))
    assert english.usage is None


def test_only_so_many_texts_are_read_and_the_signature_tells_of_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eda, "MOST_TEXTS", 1)
    one, same, other = (
        catalogue.make_method("eda", replace(make_settings({}), given=Given(texts=texts)))
        for texts in (("一二三", "四五六"), ("一二三", "七八九"), ("四五六", "一二三"))
    )
    assert one.usage is not None
    assert one.usage.grams == {"\n一二", "一二三", "二三\n"}
    assert one.signature == same.signature != other.signature
