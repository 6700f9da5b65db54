"""Labels that say words and no places are located in their review, or refused with a reason."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from builder.gold.located import locate_triplets


def locate(text: str, *labels: tuple[str, str, str]) -> tuple[list[str], dict[int, str]]:
    found, faulty = locate_triplets(
        [dict(zip(("aspect", "opinion", "polarity"), one, strict=True)) for one in labels], text
    )
    return [f"{t.aspect.text}@{t.aspect.start} {t.opinion.text}@{t.opinion.start} {t.polarity}" for t in found], faulty


def test_a_word_that_stands_more_than_once_is_taken_nearest_and_the_next_time_at_the_next_place() -> None:
    assert locate("湯很鹹，麵好吃，湯也好吃", ("湯", "好吃", "POS"), ("麵", "好吃", "正面")) == (
        ["湯@8 好吃@10 POS", "麵@4 好吃@5 POS"], {}
    )  # fmt: skip
    assert locate("麵好，麵好", ("麵", "好", "POS"), ("麵", "好", "POS"))[0] == ["麵@0 好@1 POS", "麵@3 好@4 POS"]


def test_a_negator_and_its_word_are_located_apart_however_they_are_written() -> None:
    for written in ("不…鹹", "不鹹", "不...鹹"):
        (found,), _ = locate_triplets([{"aspect": "湯", "opinion": written, "polarity": "POS"}], "湯不會太鹹")
        assert (found.opinion.text, found.opinion.spans) == ("不鹹", ((1, 2), (4, 5)))


def test_words_are_found_in_either_script_and_width() -> None:
    found, _ = locate("湯頭濃郁，ＷｉＦｉ慢", ("汤头", "浓郁", "POS"), ("wifi", "慢", "NEG"))
    assert found == ["湯頭@0 濃郁@2 POS", "ＷｉＦｉ@5 慢@9 NEG"]


def test_a_label_that_does_not_fit_has_its_reason() -> None:
    wrong = [("披薩", "好喝", "POS"), ("湯頭", "香濃", "POS"), ("湯頭", "好喝", "很好"), ("湯頭", "湯頭好", "POS")]
    assert locate("湯頭好喝", *wrong)[1] == {
        0: "aspect not in the text", 1: "opinion not in the text", 2: "unknown polarity",
        3: "aspect and opinion overlap",
    }  # fmt: skip
    assert locate_triplets([{"aspect": 3}], "湯")[1] == {0: "no aspect, opinion and polarity"}
    assert locate("湯的店好", ("湯店", "好", "POS"))[1] == {0: "aspect not in the text"}, "an aspect is never in pieces"


@given(st.text(), st.text(), st.text(alphabet="湯麵好吃不鹹，", min_size=1))
def test_whatever_is_located_stands_in_the_text(aspect: str, opinion: str, text: str) -> None:
    rows = [{"aspect": a, "opinion": o, "polarity": "POS"} for a in (aspect, text[:1]) for o in (opinion, text[-1:])]
    for located in locate_triplets(rows, text)[0]:
        for element in (located.aspect, located.opinion):
            assert element.text == "".join(text[start:end] for start, end in element.spans) != ""
