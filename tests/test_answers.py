"""Answer files of other people: each format read as it is written, and refused with its line where it is not."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

from builder.core.errors import InputError
from builder.gold.located import locate_triplets
from builder.gold.metrics import Answer
from builder.release.export import answers, research
from builder.release.export.formats import export

FORMATS: dict[str, tuple[str, str, list[Answer]]] = {
    "dimabsa of 2024, JSON": (
        '[\n {"ID": "R1:S1", "Sentence": "湯頭很鹹", "Aspect": ["湯頭", "NULL"], "AspectFromTo": '
        '["1#2", "0#0"], "Category": ["a", "b"],\n'
        '  "Opinion": ["很鹹", "貴"], "OpinionFromTo": ["3#4", "0#0"], "Intensity": ["3.5#5.0", "3.0#5.0"]}\n]\n',
        "R1:S1", [("湯頭", "很鹹", "NEG")],
    ),
    "dimabsa of 2024, truth": ("ID Quadruples\nR1:S1 "
        "(湯頭,食物#品質,很鹹,4.4#5.38)(環境,x#y,還好,5.0#5.0)\n", "R1:S1",
        [("湯頭", "很鹹", "NEG"), ("環境", "還好", "NEU")]),
    "dimabsa of 2026": ('{"ID": "R1", "Text": "x", "Triplet": [{"Aspect": "湯頭", "Opinion": "好喝", "Polarity": '
        '"正面"}]}\n', "R1", [("湯頭", "好喝", "POS")]),
    "dimabsa of 2026, quadruplets": (
        '{"ID": "R1", "Text": "x", "Quadruplet": [{"Aspect": "湯頭", "Category": "c", "Opinion": "好喝", "VA": '
        '"5.6#5.0"}]}\n', "R1", [("湯頭", "好喝", "POS")],
    ),
    "ASTE-Data-V2": ("湯 頭 很 好 喝 ， 店 小 .####[([0, 1], [3, 4], 'POS'), ([6], [7], "
        "'NEG')]\n", "1", [("湯頭", "好喝", "POS"), ("店", "小", "NEG")]),
    "ASTE-Data-V2, discontinuous": ("湯 不 會 太 鹹####[([0], [1, 2, 4], 'POS')]\n", "1", [("湯", "不會鹹", "POS")]),
    "ASTE-Data-V2, Latin": ("The wine list is great .####[([1, 2], [4], "
        "'POS')]\n", "1", [("wine list", "great", "POS")]),
    "Span-ASTE": ("湯 頭 真 的 很 好 喝#### #### ####[([0, 1], [4, 6], 'POS')]\n", "1", [("湯頭", "很好喝", "POS")]),
    "PyABSA": ("湯 頭 好 喝 但 貴####[((0, 1), (2, 3), 'Positive'), ((-1, -1), (5, 5), "
        "'Negative')]\n", "1", [("湯頭", "好喝", "POS")]),
}  # fmt: skip


def written(folder: Path, text: str, name: str = "a.txt") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_is_known_by_what_stands_in_it(tmp_path: Path, name: str) -> None:
    text, key, due = FORMATS[name]
    found = answers.load(written(tmp_path, "\ufeff" + text)).read()
    assert found.answers == {key: due}
    assert found.null == text.count("NULL") + text.count("(-1, -1)")
    assert answers.load(written(tmp_path, text.replace("\n", "\r\n"))).read().answers == {key: due}


@pytest.mark.parametrize("tool", ["label-studio", "doccano", "argilla"])
def test_what_is_exported_to_a_tool_for_annotation_is_read_as_answers(tmp_path: Path, tool: str) -> None:
    sample = ROOT / "tests" / "golden" / "sample"
    lines = (sample / "data" / "test.jsonl").read_text(encoding="utf-8").split("\n")
    made = export(tool, "test", [json.loads(line) for line in lines if line])
    found, due = (
        answers.load(written(tmp_path, made.content)).read().answers,
        answers.load(sample / "data" / "test.jsonl").read().answers,
    )
    assert {key: sorted(told) for key, told in found.items()} == {key: sorted({*told}) for key, told in due.items()}


def test_what_people_submitted_in_argilla_goes_before_what_was_suggested(tmp_path: Path) -> None:
    row = {"review": "R1", "text": "湯頭好喝", "triplets.suggestion": ""}
    row |= {"triplets.responses": ["湯頭@0-2 | 好喝@2-4 | POS"]}
    row |= {"triplets.responses.users": ["u1"], "triplets.responses.status": ["submitted"]}
    assert answers.load(written(tmp_path, json.dumps([row]))).read().answers == {"R1": [("湯頭", "好喝", "POS")]}
    row["triplets.responses"], row["triplets.responses.status"] = [None], ["submitted"]
    assert answers.load(written(tmp_path, json.dumps([row]))).read().answers == {"R1": []}
    unflat = {"id": "R1", "fields": {"text": "湯"}, "suggestions": {}, "responses": {"triplets": [{"value": ""}]}}
    with pytest.raises(InputError, match="does not say which answers were submitted"):
        answers.load(written(tmp_path, json.dumps([unflat]))).read()
    row["triplets.responses.status"] = ["draft"]
    assert answers.load(written(tmp_path, json.dumps([row]))).read().answers == {"R1": []}


def test_a_release_directory_is_read_as_its_data(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for number, split in enumerate(("test", "train")):
        written(tmp_path / "data", json.dumps({"id": str(number), "triplets": []}) + "\n", f"{split}.jsonl")
    assert answers.load(tmp_path).read().answers == {"0": [], "1": []}
    with pytest.raises(InputError, match=r"no data/\*\.jsonl in this directory"):
        answers.load(tmp_path / "data").read()


def test_a_line_break_of_unicode_inside_a_text_is_no_line_break(tmp_path: Path) -> None:
    row = {"id": "1", "text": "湯\u2028頭", "triplets": []}
    assert answers.load(written(tmp_path, json.dumps(row, ensure_ascii=False) + "\n")).read().answers == {"1": []}


def test_an_aspect_of_the_paper_may_hold_its_colon() -> None:
    assert research.parse_paper("20：00、湯。20：00：不好(負面)。湯：好喝(正面)、鹹(負面)。") == [
        ("20：00", "不好", "NEG"),
        ("湯", "好喝", "POS"),
        ("湯", "鹹", "NEG"),
    ]


def test_questions_that_name_aspects_are_counted(tmp_path: Path) -> None:
    rows = [
        {"id": 1, "question": "question: 請問以下文字的評論對象有哪些？  context: 請問以下文字對", "answer": ""},
        {
            "id": 2,
            "question": "question: 請問以下文字的評論對象有哪些？ 請問以下文字對湯的描述為何？  context: 湯好",
            "answer": "湯。湯：好(正面)。",
        },
    ]
    found = answers.load(written(tmp_path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))).read()
    assert (found.given, found.answers["2"]) == (1, [("湯", "好", "POS")])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "湯 好####[([0], [1], 'POS')]\n湯 好####[([0], [9], 'POS')]\n",
            r"a\.txt:2: cannot be read as aste-data-v2: .*no span \[9\] in 2 tokens",
        ),
        ("湯 好####[([0], [1], 'GOOD')]\n", r"a\.txt:1: .*unknown polarity 'GOOD'"),
        ("湯 好####[([1, 0], [1], 'POS')]\n", r"a\.txt:1: .*no span \[1, 0\]"),
        ("湯 好####__import__('os').getcwd()\n", r"a\.txt:1: cannot be read as aste-data-v2"),
        ("湯 好####[([0], [1], 'POS')\n", r"a\.txt:1: .*no list of triplets"),
        ("湯 好####[([0], [1], 'POS')]\n湯 好\n", r"a\.txt:2: no line of triplets; known: "),
        (
            "ID Quadruples\nR1 (湯,好,a,b,5.0#5.0)\n",
            r"a\.txt:2: cannot be read as dimabsa-truth: .*5 fields, 3 or 4 are due",
        ),
        ("ID Quadruples\nR1 (湯,c,好,15.0#5.0)\n", r"a\.txt:2: .*valence 15\.0 is not between 1 and 9"),
        ("ID Quadruples\nR1 (湯,c,好)\n", r"a\.txt:2: no line of triplets"),
        (
            '[{"ID": "1", "Aspect": ["a", "b"], "Opinion": ["x"], "Intensity": ["5#5"]}]',
            r"a\.txt, item 1: cannot be read as dimabsa-2024",
        ),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        answers.load(written(tmp_path, text)).read()


@pytest.mark.parametrize("content", ["[" * 100_000, '{"a":' * 100_000, "9" * 5_000], ids=["array", "object", "number"])
@pytest.mark.parametrize("name", ["gold.json", "gold.jsonl"])
def test_json_that_nobody_can_read_is_one_line(name: str, content: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    for annotator in answers.ANNOTATORS:
        (tmp_path / annotator).write_text(content, encoding="utf-8")
    for load, place in ((answers.load, path), (answers.load_complete, tmp_path)):
        with pytest.raises(InputError, match=r"nested too deeply|a number has over 4,300 digits") as refused:
            load(place)
        assert len(str(refused.value)) < 500


def test_a_line_of_very_many_triplets_is_read_or_refused_at_once(tmp_path: Path) -> None:
    path, line = tmp_path / "aste.txt", "湯 頭 很 好 喝####[" + ", ".join(["([0, 1], [3, 4], 'POS')"] * 60_000)
    before = time.process_time()
    path.write_text(line + "]\n", encoding="utf-8")
    assert {*answers.load(path).read().answers["1"]} == {("湯頭", "好喝", "POS")}
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be read as aste-data-v2"):
        answers.load(path).read()
    assert time.process_time() - before < 30


# ---- labels that say words and no places are located in their review, or refused with a reason


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


def test_longer_forms_stand_around_their_words_or_are_the_same() -> None:
    label = {"aspect": "汤头", "opinion": "浓郁", "polarity": "POS"}
    longer = {"aspect_full": "這碗湯頭", "opinion_full": "很濃郁"}
    text = "這碗麵好，這碗湯頭很濃郁"
    (found,), _ = locate_triplets([label | longer], text)
    assert (found.aspect.text, found.aspect_full.text, found.aspect_full.start) == ("湯頭", "這碗湯頭", 5)
    assert (found.opinion.text, found.opinion_full.text) == ("濃郁", "很濃郁")
    (short,), _ = locate_triplets([label | {"aspect_full": "這碗麵", "opinion_full": None}], text)
    assert (short.aspect_full, short.opinion_full) == (short.aspect, short.opinion)


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
