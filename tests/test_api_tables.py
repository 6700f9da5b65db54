"""One shape of a triplet in Python, JSON, gold and tables; data frames, datasets and records in and out."""

from __future__ import annotations

import csv
import json
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy
import pytest
from conftest import PUBLISHED_SAMPLE, Command, read_lines

import builder
from builder import Document, Extractor, Release
from builder.api.documents import REVIEW_COLUMNS, TRIPLET_COLUMNS, write_rows
from builder.core.errors import BuilderError, ConfigError, InputError
from builder.core.records import Review
from builder.pipeline.layers import labelled
from builder.release.export import table

pandas = pytest.importorskip("pandas", reason="the extra pandas is not installed")
RELEASE = Release(PUBLISHED_SAMPLE)
EXTRACT = Extractor()
TEXTS = ["湯頭濃郁，服務很差", "今天", "餐點口感不會太鹹"]


def read_split(split: str) -> list[dict[str, Any]]:
    return read_lines(PUBLISHED_SAMPLE / "data" / f"{split}.jsonl")


# ---- One shape


def test_a_release_gives_all_that_its_rows_say() -> None:
    for name in RELEASE.splits:
        for review, row in zip(RELEASE.reviews(name), read_split(name), strict=True):
            said = [review.rating, review.language, review.source, review.unverified_negative, review.annotation]
            keys = ("rating", "language", "source", "unverified_negative", "annotation")
            assert said == [row[key] for key in keys]
            for triplet, held in zip(review, row["triplets"], strict=True):
                assert triplet.released and triplet.released.id == held["id"]
                assert triplet.owner is None or triplet.owner.text == held["owner"]["text"]
                names = ("confidence", "verdict", "aspect_category", "opinion_category", "valence")
                assert [getattr(triplet, name) for name in names] == [held[name] for name in names]
                assert (list(triplet.sources), list(triplet.rules)) == (held["sources"], held["rules"])
    assert any(triplet.confidence for triplet in RELEASE.triplets())


def test_rows_hold_the_columns_of_an_exported_table_and_the_source_of_the_command_line() -> None:
    (row, *_) = EXTRACT(TEXTS[0]).rows()
    assert set(row) == {*TRIPLET_COLUMNS, "source"}
    bounds = {f"{part}_{end}" for part in table.BOUNDS for end in ("start", "end")}
    assert set(table.columns()) - bounds == {*REVIEW_COLUMNS, *TRIPLET_COLUMNS}


def test_rows_are_a_gold_file() -> None:
    text = TEXTS[2]
    rows: list[dict[str, object]] = [{"id": "r", "triplets": EXTRACT(text).rows()}]
    read = labelled(rows, [Review(1, "r", text, "traditional")], "gold.jsonl")
    parts = [(triplet.aspect, triplet.aspect_full, triplet.opinion, triplet.opinion_full) for _, triplet in read]
    found = EXTRACT(text)
    assert parts == [(one.aspect, one.aspect_full, one.opinion, one.opinion_full) for one in found]
    assert parts


def test_the_csv_of_the_command_line_has_every_column_of_a_row(here: Command, tmp_path: Path) -> None:
    assert here("extract", TEXTS[2], "--output", tmp_path / "out.csv").code == 0
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        (line,) = csv.DictReader(file)
    (row,) = EXTRACT(TEXTS[2]).rows()
    assert {*line} >= {*row}
    assert (line["owner"], json.loads(line["owner_spans"])) == ("餐點", [[0, 2]])
    assert json.loads(line["opinion_full_spans"]) == row["opinion_full_spans"]


@pytest.mark.parametrize("split", RELEASE.splits)
def test_a_document_comes_back_from_its_json_and_from_a_line_of_a_release(split: str) -> None:
    lines = (PUBLISHED_SAMPLE / "data" / f"{split}.jsonl").read_bytes().splitlines()
    for document, line in zip(RELEASE.reviews(split), lines, strict=True):
        for again in (Document.from_json(document.to_json()), Document.from_json(line)):
            assert (again, again.text, again.id) == (document, document.text, document.id)
            assert (again.rating, again.annotation) == (document.rating, document.annotation)


@pytest.mark.parametrize("text", TEXTS)
def test_what_was_extracted_comes_back_from_its_json(text: str) -> None:
    document = EXTRACT(text)
    again = Document.from_json(document.to_json())
    assert (again.text, again.rows(), again.html()) == (text, document.rows(), document.html())


def test_an_answer_of_an_older_version_is_read_with_its_cores_as_phrases() -> None:
    old = {
        "aspect": "湯頭", "aspect_full": "湯頭", "aspect_spans": [[0, 2]], "opinion": "濃郁", "opinion_full": "很濃郁",
        "opinion_spans": [[3, 5]], "polarity": "POS", "valence": 7.7, "source": "rules", "rules": [],
    }  # fmt: skip
    (triplet,) = Document.from_json(json.dumps({"id": 1, "text": "湯頭很濃郁", "triplets": [old]}))
    assert (triplet.opinion_full.text, triplet.released) == ("濃郁", None)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "no document: "),
        ("[1]", "no document: "),
        ("{}", "it has no 'text'"),
        ('{"text": 5, "triplets": []}', "its text is no string"),
        ('{"text": "好", "triplets": [5]}', "no document: "),
        (EXTRACT("湯頭濃郁").to_json().replace("[0, 2]", "[0, 9]"), "outside the text"),
        (EXTRACT("湯頭濃郁").to_json().replace("[0, 2]", "[1, 3]"), "is '頭濃' in the text"),
        (EXTRACT("湯頭濃郁").to_json().replace("POS", "GOOD"), "unknown polarity 'GOOD'"),
        (b"\xff", "no document: "),
        (json.dumps(read_split("test")[0]).replace("[0, 4]", "[0, 99]"), "outside the text"),
    ],
)
def test_what_is_no_document_is_one_line(line: str | bytes, said: str) -> None:
    with pytest.raises(InputError, match="no document") as caught:
        Document.from_json(line)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


# ---- Tables out


def test_a_release_becomes_a_table_with_every_review_and_all_that_is_said() -> None:
    found = RELEASE.to_pandas("test")
    rows = read_split("test")
    assert list(found.columns) == ["split", *REVIEW_COLUMNS, *TRIPLET_COLUMNS]
    assert len(found) == sum(max(1, len(row["triplets"])) for row in rows)
    assert set(found["id"]) == {row["id"] for row in rows}
    assert found["triplet_id"].notna().sum() == sum(len(row["triplets"]) for row in rows)
    assert (found["rating"].dropna().between(1, 5)).all()
    train = RELEASE.to_pandas("train")
    assert sum(train["confidence"].notna()) == sum(one.confidence is not None for one in RELEASE.triplets("train"))
    assert set(RELEASE.to_pandas()["split"]) == set(RELEASE.splits)


def test_a_release_becomes_a_dataset_of_the_rows_of_its_files() -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    assert RELEASE.to_dataset("test").to_list() == read_split("test")
    whole = RELEASE.to_dataset()
    assert isinstance(whole, datasets.DatasetDict)
    assert {name: len(rows) for name, rows in whole.items()} == {
        name: facts["reviews"] for name, facts in RELEASE.manifest["splits"].items()
    }
    with pytest.raises(ConfigError, match="has no split 'dev'"):
        RELEASE.to_dataset("dev")


def test_the_triplets_of_a_frame_bear_the_labels_of_its_rows() -> None:
    frame = pandas.DataFrame({"評論": [*TEXTS, None], "stars": [1, 2, 3, 4]}, index=list("abcd"))
    found = EXTRACT.frame(frame, text="評論")
    assert list(found.columns) == list(TRIPLET_COLUMNS)
    assert list(zip(found.index, found["aspect"], found["opinion"], strict=True)) == [
        (label, triplet.aspect.text, triplet.opinion.text)
        for label, text in zip("abc", TEXTS, strict=True)
        for triplet in EXTRACT(text)
    ]
    joined = frame.join(found)
    assert sorted(set(joined.index)) == list("abcd")
    assert joined.loc["d", "aspect"] is None or pandas.isna(joined.loc["d", "aspect"])
    series = EXTRACT.frame(frame["評論"])
    assert list(series["triplet_id"].index) == list(found.index)
    assert list(EXTRACT.frame([{"text": TEXTS[0]}]).index) == [0, 0]
    assert EXTRACT.frame(frame[3:], text="評論").empty
    wrong: Any
    for wrong in ("湯頭濃郁", 5, None, {"text": ["湯"]}, ["湯頭濃郁"]):
        with pytest.raises(TypeError, match="frame takes a DataFrame, a Series, a Dataset or a list of dictionaries"):
            EXTRACT.frame(wrong)


def test_a_dataset_is_read_as_a_frame() -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    found = EXTRACT.frame(datasets.Dataset.from_list([{"text": text} for text in TEXTS]))
    assert list(found.index) == [0, 0, 2]


def test_a_column_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(ConfigError, match=r"no column is called 'text'; name one with text=…: 評論, stars"):
        EXTRACT.frame(pandas.DataFrame({"評論": TEXTS, "stars": 1}))
    twice = pandas.DataFrame([["a", "b"]], columns=["text", "text"])
    with pytest.raises(ConfigError, match="two columns are called 'text'"):
        EXTRACT.frame(twice)


def test_a_stream_passes_what_is_missing_and_carries_ids() -> None:
    column = pandas.Series([TEXTS[0], None, float("nan"), TEXTS[2]], index=[3, 5, 7, 9])
    documents = list(EXTRACT.stream(column))
    assert [document.text for document in documents] == [TEXTS[0], "", "", TEXTS[2]]
    assert documents[0] == EXTRACT(TEXTS[0])
    named = list(EXTRACT.stream(column.dropna().items(), with_ids=True))
    assert [(document.id, document.text) for document in named] == [(3, TEXTS[0]), (9, TEXTS[2])]
    missing: Any = [("a", float("nan"))]
    assert next(EXTRACT.stream(missing, with_ids=True)).id == "a"
    wrong: Any
    for wrong in (["湯"], [("a",)], [5]):
        with pytest.raises(TypeError, match="pairs of an id and a text"):
            list(EXTRACT.stream(wrong, with_ids=True))
    with pytest.raises(TypeError, match="a text is a string, not int"):
        list(EXTRACT.stream(pandas.Series([5])))


@pytest.mark.parametrize(("library", "call"), [("pandas", "to_pandas"), ("datasets", "to_dataset")])
def test_without_the_library_it_says_what_to_install(library: str, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ConfigError, match=rf"Release\.{call} needs {library}; pip install .*{library}"):
        getattr(RELEASE, call)()
    if library == "pandas":
        with pytest.raises(ConfigError, match=r"Extractor\.frame needs pandas; pip install"):
            EXTRACT.frame([])


# ---- Tables in


def build(data: Any, folder: Path) -> Any:
    return builder.build(data, workdir=folder, out=folder / "out", until="seed", workers=1)


RECORDS = [
    {"id": f"a{number}", "text": text, "stars": stars, "seen": date(2026, 3, 1 + number)}
    for number, (text, stars) in enumerate(zip(TEXTS, (5, float("nan"), 3), strict=True))
]


def test_records_a_frame_and_a_dataset_build_the_same(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    plain = [{**row, "seen": str(row["seen"])} for row in RECORDS]
    given = {"records": RECORDS, "frame": pandas.DataFrame(plain), "dataset": datasets.Dataset.from_list(plain)}
    counts = {}
    for name, data in given.items():
        made = build(data, tmp_path / name)
        counts[name] = dict(made.counts["ingest"]), dict(made.counts["seed"])
        lines = [json.loads(line) for line in (tmp_path / name / "reviews.jsonl").read_text("utf-8").splitlines()]
        assert [line["text"] for line in lines] == TEXTS
        assert [line["stars"] for line in lines] == [5, None, 3]
        assert lines[0]["seen"] == "2026-03-01"
    assert counts["records"] == counts["frame"] == counts["dataset"]
    assert counts["records"][0]["reviews"] == 3
    series = build(pandas.Series(TEXTS), tmp_path / "series")
    assert series.counts["seed"] == counts["records"][1]


def test_cells_and_names_of_a_frame_that_are_no_text_are_written_as_pandas_does() -> None:
    first = pandas.Timestamp("2026-03-01")
    cells = {
        "text": "好吃", "price": Decimal("1.50"), "vector": numpy.array([1, 2]), "tags": {"a"}, "raw": b"x",
        "range": pandas.Interval(0, 1), "high": float("inf"), "low": float("-inf"), "seen": first,
    }  # fmt: skip
    written = write_rows(pandas.DataFrame([cells]))
    assert written is not None
    row = json.loads(written)
    bounds = row.pop("range")
    assert (bounds["left"], bounds["right"]) == (0, 1)
    assert row == {
        "text": "好吃", "price": "1.50", "vector": [1, 2], "tags": ["a"], "raw": "x", "high": None, "low": None,
        "seen": "2026-03-01T00:00:00.000",
    }  # fmt: skip
    named = write_rows(pandas.DataFrame([["好吃", 1, 2]], columns=pandas.Index(["text", ("a", "b"), first])))
    assert named is not None
    assert list(json.loads(named)) == ["text", "('a', 'b')", "2026-03-01T00:00:00.000"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (5, "cannot be read from a value of type int; give paths, a pandas.DataFrame"),
        (None, "cannot be read from a value of type NoneType"),
        ({"text": "好吃"}, "cannot be read from a value of type dict"),
        ([{"text": "好吃"}, "reviews.csv"], "item 1 of the list is of type str"),
        ([5], "item 0 of the list is of type int"),
        ([], "the table has no rows"),
        (pandas.DataFrame({"text": []}), "the table has no rows"),
        ([{"text": object()}], "item 0 of the list cannot be written as JSON"),
        (pandas.DataFrame([["好", "吃"]], columns=["text", "text"]), "two columns of the table have one name"),
        ([{"text": "\ud83d"}], "item 0 of the list cannot be written as JSON"),
    ],
)
def test_what_is_no_table_is_one_line(data: object, said: str, tmp_path: Path) -> None:
    with pytest.raises(BuilderError) as caught:
        build(data, tmp_path)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_dataset_with_splits_names_them(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    whole = datasets.DatasetDict({"train": datasets.Dataset.from_list([{"text": "好吃"}])})
    with pytest.raises(ConfigError, match="a DatasetDict has several splits; give one of them: train"):
        build(whole, tmp_path)
