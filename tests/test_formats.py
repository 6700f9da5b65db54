"""What goes out in another format comes back as it went, or is refused with a reason and counted."""

from __future__ import annotations

import ast
import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from conftest import LAYOUTS, PUBLISHED_SAMPLE, Command
from export_readers import READERS, read_bio, read_csv, read_label_studio, read_paper, read_xlsx
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.core.errors import ConfigError
from builder.core.records import POLARITIES
from builder.release.export import annotation_tools, research
from builder.release.export.formats import FORMATS, NAMES, export, skipped_lines
from builder.release.export.native_rows import (
    REVIEW_DETAILS,
    TRIPLET_DETAILS,
    ElementRow,
    Labelled,
    ReviewRow,
    Spans,
    TripletLabel,
    TripletRow,
    labelled,
    surface,
)

HOSTILE = (
    "湯頭很鹹服務好不 "
    "會太\n\r\t\u3000\u00a0#-|[](){}'\"\\、。：，<b>&;❤\ufe0f\U0001f35c\U00020bb7\u200d\u2028\u2581\u2424\x1fAb1"
)
PIECES = st.one_of(
    st.text(st.sampled_from(HOSTILE), max_size=12),
    st.sampled_from(["####", "#### #### ####", "####[]", "湯頭\U0001f35c好喝", "餐點不會太鹹", " - "]),
)
TEXTS = st.lists(PIECES, min_size=1, max_size=4).map("".join).filter(bool)


@st.composite
def spans(draw: st.DrawFn, length: int) -> Spans:
    """Up to three spans, in order and apart."""
    cuts = sorted(draw(st.sets(st.integers(0, length), min_size=2, max_size=min(6, length + 1))))
    return tuple(zip(cuts[0::2], cuts[1::2], strict=False))


@st.composite
def reviews(draw: st.DrawFn) -> list[Labelled]:
    texts = draw(st.lists(TEXTS, max_size=3, unique=True))
    found = []
    for n, text in enumerate(texts, start=1):
        labels = draw(
            st.lists(
                st.builds(TripletLabel, spans(len(text)), spans(len(text)), st.sampled_from(POLARITIES)), max_size=5
            )
        )
        found.append(Labelled(str(n), text, tuple(sorted(set(labels)))))
    return found


def in_full(opinion: Spans) -> Spans:
    return ((opinion[0][0], opinion[-1][1]),)


def row(review: Labelled) -> ReviewRow:
    """Our own row of a review: as a release holds it."""

    def element(listed: Spans) -> ElementRow:
        return {"text": surface(review.text, listed), "spans": [list(span) for span in listed]}

    triplets: list[TripletRow] = [
        {
            "id": f"{review.id}:{n}", "aspect": element(one.aspect), "aspect_full": element(one.aspect), "owner": None,
            "opinion": element(one.opinion), "opinion_full": element(in_full(one.opinion)), "polarity": one.polarity,
            "valence": 5.0, "sources": [], "rules": [], "aspect_category": None, "opinion_category": None,
            "confidence": None, "verdict": None,
        }
        for n, one in enumerate(review.labels)
    ]  # fmt: skip
    return {
        "id": review.id, "text": review.text, "language": "zh", "rating": None, "source": None, "annotation": "silver",
        "unverified_negative": not triplets, "triplets": triplets,
    }  # fmt: skip


LOSSLESS = ("semeval", "label-studio", "doccano", "argilla")


UNREAD = {"csv", "xlsx", "paper", "paper-open", "bio-chars"}
"""Formats whose reader, where there is one, makes no `Labelled`."""


def test_every_format_is_read_back_or_known_not_to_be() -> None:
    assert set(FORMATS) == UNREAD | READERS.keys() and not UNREAD & READERS.keys()


@pytest.mark.parametrize("name", READERS)
@given(listed=reviews())
def test_a_review_comes_back_with_all_its_labels_or_is_left_out_and_counted(name: str, listed: list[Labelled]) -> None:
    made = export(name, "train", [row(one) for one in listed])
    out = {one.id for one in made.skipped}
    kept = [one for one in listed if one.id not in out]
    due = [(one.text, tuple(sorted({fitted(name, label) for label in one.labels}))) for one in kept]
    assert [(one.text, one.labels) for one in READERS[name](made.content)] == due
    assert (made.reviews, made.labels) == (len(due), sum(len(labels) for _, labels in due))
    assert made.in_full == sum(len({fitted(name, label) for label in one.labels} - set(one.labels)) for one in kept)
    assert {one.id: one.labels for one in made.skipped} == {one.id: len(one.labels) for one in listed if one.id in out}
    assert name not in LOSSLESS or not made.skipped
    assert all(one.reason for one in made.skipped)


def fitted(name: str, label: TripletLabel) -> TripletLabel:
    """The label with its full opinion where the format cannot hold the core."""
    return TripletLabel(label.aspect, in_full(label.opinion), label.polarity) if FORMATS[name].label(label) else label


@pytest.mark.parametrize("name", ["csv", "xlsx"])
@settings(deadline=None)
@given(listed=reviews())
def test_a_table_gives_back_every_row_with_all_its_values(name: str, listed: list[Labelled]) -> None:
    rows = [row(one) for one in listed]
    made = export(name, "train", rows)
    assert (read_xlsx(made.payload) if name == "xlsx" else read_csv(made.content)) == rows
    assert (made.reviews, made.labels, made.skipped) == (len(rows), sum(len(one.labels) for one in listed), ())
    assert made.payload == export(name, "train", rows).payload, "the same bytes again"


@given(listed=reviews())
def test_the_lossless_formats_keep_the_ids_too(listed: list[Labelled]) -> None:
    for name in LOSSLESS:
        assert READERS[name](export(name, "train", [row(one) for one in listed]).content) == listed


@given(listed=reviews())
def test_bio_gives_back_each_text_and_each_aspect_that_tags_can_show(listed: list[Labelled]) -> None:
    made = export("bio-chars", "train", [row(one) for one in listed])
    kept = [one for one in listed if one.id not in {skipped.id for skipped in made.skipped}]
    found = read_bio(made.content)
    assert [(i, text) for i, text, _ in found] == [(one.id, one.text) for one in kept]
    assert sum(len(aspects) for *_, aspects in found) == made.labels
    for one, (_, _, aspects) in zip(kept, found, strict=True):
        assert {(span,) for span in aspects} == {label.aspect for label in one.labels}
    for skipped in made.skipped:
        (review,) = [one for one in listed if one.id == skipped.id]
        assert skipped.labels == len({label.aspect for label in review.labels})


TEXT = "餐點不會太鹹，店員 很親切#"
SALT = TripletLabel(((0, 2),), ((2, 4), (5, 6)), "POS")
KIND = TripletLabel(((7, 9),), ((10, 13),), "POS")
SPACED = "餐 點 不 會 太 鹹 ， 店 員 \u2581 很 親 切 #"


def test_each_line_format_is_written_as_its_own_tools_read_it() -> None:
    one = [Labelled("r1", TEXT, (KIND,))]
    assert research.dump_v2(one) == f"{SPACED} ####[([7, 8], [10, 11, 12], 'POS')]\n"
    assert research.dump_span_aste(one) == f"{SPACED} #### #### ####[([7, 8], [10, 12], 'POS')]\n", "first and last"
    assert research.dump_pyabsa(one) == f"{SPACED} ####[((7, 8), (10, 12), 'POS')]\n"
    short = [Labelled("x", "湯好", (TripletLabel(((0, 1),), ((1, 2),), "NEG"),))]
    assert research.dump_span_aste(short) == "湯 好#### #### ####[([0], [1], 'NEG')]\n"
    entry = json.loads(research.dump_gts([Labelled("r1", "湯好喝", (TripletLabel(((0, 1),), ((1, 3),), "NEU"),))]))[0]
    assert entry == {
        "id": "r1", "sentence": "湯 好 喝",
        "triples": [{"uid": "r1-0", "target_tags": "湯\\B 好\\O 喝\\O", "opinion_tags": "湯\\O 好\\B 喝\\I",
        "sentiment": "neutral"}],
    }  # fmt: skip


def test_the_published_loaders_split_our_lines_where_we_mean_them_to() -> None:
    """They split lines at the first run of these marks, and tokens at white space."""
    for line, mark in (
        (research.dump_v2, "####"),
        (research.dump_pyabsa, "####"),
        (research.dump_span_aste, "#### #### ####"),
    ):
        sentence, told = line([Labelled("r1", "#" + TEXT + "##", (KIND,))]).split(mark)
        assert "".join(sentence.strip().split()) == "#" + TEXT.replace(" ", "\u2581") + "##"
        assert len(sentence.split()) == len(TEXT) + 3
        assert told.startswith("[(")


def test_a_line_of_pyabsa_holds_all_triplets_of_its_sentence() -> None:
    """A sentence that stood on two lines would teach on each that the other's triplets are none."""
    text = "湯和麵好喝又貴，飯難吃"
    a, b, c = ((0, 1),), ((2, 3),), ((8, 9),)
    good, dear, bad = ((3, 5),), ((6, 7),), ((9, 11),)
    told = ((a, good, "POS"), (a, dear, "NEG"), (b, good, "POS"), (b, dear, "NEG"), (c, bad, "NEG"))
    labels = tuple(TripletLabel(*one) for one in told)
    lines = research.dump_pyabsa([Labelled("1", text, labels)]).splitlines()
    assert len(lines) == 1
    assert ast.literal_eval(lines[0].split("####")[1]) == [
        ((one.aspect[0][0], one.aspect[0][1] - 1), (one.opinion[0][0], one.opinion[0][1] - 1), one.polarity)
        for one in labels
    ]


def test_semeval_and_the_annotation_tools_keep_interrupted_opinions_and_count_as_their_tools_do() -> None:
    text = "\U0001f35c" + TEXT
    moved = TripletLabel(((1, 3),), ((3, 5), (6, 7)), "POS")
    one = [Labelled("r1", text, (moved,))]
    assert json.loads(research.dump_semeval(one))[0]["opinions"][0]["Polar_expression"] == [
        ["不會", "鹹"],
        ["3:5", "6:7"],
    ]
    task = json.loads(annotation_tools.label_studio(one))[0]
    results = task["predictions"][0]["result"]
    assert [(r["value"]["start"], r["value"]["end"], r["value"]["text"]) for r in results if r["type"] == "labels"] == [
        (2, 4, "餐點"), (4, 6, "不會"), (7, 8, "鹹"),
    ], "the bowl takes two UTF-16 units"  # fmt: skip
    assert [(r["from_id"], r["to_id"], r["labels"]) for r in results if r["type"] == "relation"] == [
        ("o1", "o1.1", ["continues"]), ("a0", "o1", ["POS"]),
    ]  # fmt: skip
    record = json.loads(annotation_tools.doccano(one))
    assert [(e["start_offset"], e["end_offset"], e["label"]) for e in record["entities"]] == [
        (1, 3, "ASPECT"),
        (3, 5, "OPINION"),
        (6, 7, "OPINION"),
    ]


def test_what_people_corrected_in_label_studio_goes_before_what_was_predicted() -> None:
    task = json.loads(annotation_tools.label_studio([Labelled("r1", TEXT, (KIND,))]))[0]
    task["annotations"] = [{"result": json.loads(json.dumps(task["predictions"][0]["result"]).replace("POS", "NEG"))}]
    (found,) = read_label_studio(json.dumps([task]))
    assert found.labels == (TripletLabel(KIND.aspect, KIND.opinion, "NEG"),)


def test_the_paper_comes_back_as_words() -> None:
    reviews_ = [
        row(
            Labelled(
                "r1",
                "餐點不會太鹹，餐點好",
                (TripletLabel(((0, 2),), ((2, 4), (5, 6)), "POS"), TripletLabel(((7, 9),), ((9, 10),), "POS")),
            )
        )
    ]
    for name in ("paper", "paper-open"):
        made = export(name, "test", reviews_)
        assert read_paper(made.content) == [
            ("1", "餐點不會太鹹，餐點好", [("餐點", "不會鹹", "POS"), ("餐點", "好", "POS")])
        ]
        assert ("對餐點的描述" in made.content) is (name == "paper")


def test_a_name_that_is_no_format_is_an_error_that_lists_them() -> None:
    with pytest.raises(ConfigError, match=r"unknown format 'conll'; known: aste-v2, .*bio-chars"):
        export("conll", "train", [])


SPLIT = TripletLabel(((0, 1), (7, 8)), ((10, 13),), "POS")
"""Its aspect is interrupted."""


def test_an_opinion_that_is_interrupted_is_written_in_full_and_counted() -> None:
    made = export("aste-v2", "train", [row(Labelled("r1", TEXT, (SALT, KIND)))])
    assert (made.reviews, made.labels, made.in_full, made.skipped) == (1, 2, 1, ())
    (review,) = READERS["aste-v2"](made.content)
    assert review.labels == (TripletLabel(SALT.aspect, ((2, 6),), "POS"), KIND)


def test_no_review_is_written_without_a_triplet_that_it_has() -> None:
    """Without it, what the review says there would be taught as nothing."""
    reviews_ = [row(Labelled("r1", TEXT, (KIND, SPLIT))), row(Labelled("r2", TEXT, (KIND,)))]
    for name in ("aste-v2", "span-aste", "pyabsa", "gts", "bio-chars"):
        made = export(name, "train", reviews_)
        assert [(one.id, one.label, one.labels) for one in made.skipped] == [("r1", SPLIT, 2)], name
        assert made.reviews == made.labels == 1


def test_two_polarities_that_only_the_full_opinion_brings_together_leave_the_review_out() -> None:
    text = "湯不太鹹"
    core, whole = TripletLabel(((0, 1),), ((1, 2), (3, 4)), "POS"), TripletLabel(((0, 1),), ((1, 4),), "NEG")
    made = export("aste-v2", "train", [row(Labelled("r1", text, (core, whole)))])
    assert [one.reason for one in made.skipped] == ["written in full, the opinion has two polarities"]


def test_the_paper_leaves_a_review_out_whole_and_keeps_the_numbers_of_the_others() -> None:
    text = "湯、麵好"
    rows = [
        row(
            Labelled("r1", text, (TripletLabel(((0, 3),), ((3, 4),), "POS"), TripletLabel(((2, 3),), ((3, 4),), "POS")))
        ),
        row(Labelled("r2", TEXT, (KIND,))),
    ]
    made = export("paper", "test", rows)
    assert [(name, answers) for name, _, answers in read_paper(made.content)] == [("2", [("店員", "很親切", "POS")])]
    assert [(one.id, one.labels, one.reason) for one in made.skipped] == [
        ("r1", 2, "the aspect '湯、麵' holds a mark of the format")
    ]


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("aste-v2", ["train_triplets.txt", "dev_triplets.txt", "test_triplets.txt"]),
        ("span-aste", ["train.txt", "dev.txt", "test.txt"]),
        ("gts", ["train.json", "dev.json", "test.json"]),
        ("semeval", ["train.json", "dev.json", "test.json"]),
        ("pyabsa", ["train.dat.aste", "valid.dat.aste", "test.dat.aste"]),
        ("csv", ["train.csv", "valid.csv", "test.csv"]),
    ],
)
def test_the_files_are_called_as_the_readers_of_the_format_open_them(name: str, files: list[str]) -> None:
    assert [export(name, split, []).file for split in ("train", "valid", "test")] == files


def test_a_table_shows_each_triplet_on_a_row_with_its_offsets_and_makes_no_formula() -> None:
    import openpyxl

    rows = [row(Labelled("=1+1", TEXT, (SALT, KIND))), row(Labelled("r2", "@SUM(A1)\r\n_x000D_", ()))]
    lines = list(csv.DictReader(io.StringIO(export("csv", "train", rows).content, newline="")))
    assert [(line["id"], line["aspect"], line["opinion"], line["polarity"]) for line in lines] == [
        ("=1+1", "餐點", "不會鹹", "POS"), ("=1+1", "店員", "很親切", "POS"), ("r2", "", "", ""),
    ]  # fmt: skip
    places = [lines[0][key] for key in ("opinion_spans", "opinion_start", "opinion_end", "aspect_start")]
    assert places == ["[[2, 4], [5, 6]]", "2", "6", "0"]
    sheet = openpyxl.load_workbook(io.BytesIO(export("xlsx", "train", rows).payload)).active
    assert sheet is not None
    assert sheet.title == "triplets"
    start = sheet.cell(2, 1 + [cell.value for cell in sheet[1]].index("aspect_start"))
    assert (sheet["A2"].value, sheet["A2"].data_type, start.value, start.data_type) == ("=1+1", "s", 0, "n")
    assert sheet.max_row == 4


def test_a_text_too_long_for_a_cell_leaves_its_review_out_of_a_workbook_alone() -> None:
    rows = [row(Labelled("r1", "好" * 32_768, ())), row(Labelled("r2", TEXT, (KIND,)))]
    made = export("xlsx", "train", rows)
    assert read_xlsx(made.payload) == rows[1:]
    assert [one.reason for one in made.skipped] == ["32,768 characters in a cell, which holds 32,767 in Excel"]
    assert export("csv", "train", rows).skipped == ()


def test_what_is_skipped_is_told_in_words() -> None:
    made = export("aste-v2", "train", [row(Labelled("r1", TEXT, (SPLIT, KIND))), row(Labelled("r2", "a\u2028b", ()))])
    told = [
        json.loads(line) for line in skipped_lines(made.skipped, {"r1": TEXT, "r2": "a\u2028b"}).split("\n") if line
    ]
    words = {"aspect": "餐店", "opinion": "很親切", "polarity": "POS"}
    assert told == [
        {"id": "r1", "labels": 2, "reason": "the aspect is interrupted"} | words,
        {"id": "r2", "labels": 0, "reason": "the text holds the white space U+2028"},
    ]
    full = labelled(row(Labelled("r1", TEXT, (SALT,))), "opinion_full")
    assert full.labels[0].opinion == ((2, 6),), "the whole phrase is never interrupted"


def test_the_command_writes_every_format_of_a_release_and_says_what_it_skipped(here: Command, tmp_path: Path) -> None:
    release = LAYOUTS / "v0.1.0"
    listing = here("export")
    assert listing.code == 0
    assert [line.split()[0] for line in listing.out.splitlines()] == list(NAMES)
    for name in NAMES:
        ran = here("export", release, "--format", name, "--output", tmp_path / name, "--split", "test")
        assert ran.code == 0, ran.err
        aside = list((tmp_path / name).glob("*.skipped.jsonl"))
        skipped = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in aside)
        last = ran.out.splitlines()[-1]
        assert f"left out: {skipped} review" in last if skipped else "left out" not in last
    found = read_label_studio((tmp_path / "label-studio" / "test.json").read_text(encoding="utf-8"))
    due = [
        labelled(json.loads(line))
        for line in (release / "data" / "test.jsonl").read_text(encoding="utf-8").split("\n")
        if line
    ]
    assert found == due
    config = (tmp_path / "label-studio" / "labelling-config.xml").read_text(encoding="utf-8")
    names = {value for entry in ElementTree.fromstring(config).iter() for value in entry.attrib.values()}
    tasks = json.loads((tmp_path / "label-studio" / "test.json").read_text(encoding="utf-8"))
    results = [entry for task in tasks for entry in task["predictions"][0]["result"]]
    used = {entry.get(key) for entry in results for key in ("from_name", "to_name")} - {None}
    used |= {name for entry in results for name in entry.get("labels", entry.get("value", {}).get("labels"))}
    assert {"ASPECT", "OPINION", "POS"} < used <= names
    ran = here("export", PUBLISHED_SAMPLE, "--format", "aste-v2", "--output", tmp_path / "full", "--without-empty")
    assert "reviews without a triplet" in ran.out.splitlines()[-1]
    assert all("####[]" not in path.read_text(encoding="utf-8") for path in (tmp_path / "full").iterdir())
    assert here("export", release, "--format", "x").error.startswith("unknown format 'x'; known: ")
    assert "no split 'dev'; there are " in here("export", release, "--format", "gts", "--split", "dev").error
    assert "no manifest.json here" in here("export", tmp_path, "--format", "gts").error
    assert "name the directory of a release" in here("export", "--format", "gts").error


def details_in(name: str, made: str | bytes) -> list[dict[str, object]]:
    """What a file of the format says of the two triplets of `ROW`, beside texts and places."""
    if name in ("csv", "xlsx"):
        (back,) = read_csv(str(made)) if name == "csv" else read_xlsx(bytes(made))  # type: ignore[arg-type]
        return [dict(triplet) for triplet in back["triplets"]]
    entry = json.loads(made)[0] if name != "doccano" else json.loads(made)
    return {
        "semeval": lambda: entry["opinions"],
        "gts": lambda: [triplet for triple in entry["triples"] for triplet in triple["triplets"]],
        "label-studio": lambda: entry["data"]["triplets"],
        "doccano": lambda: entry["triplets"],
    }[name]()


ROW = row(Labelled("r1", TEXT, (TripletLabel(((0, 2),), ((4, 6),), "NEG"), KIND)))
ROW |= {"rating": 4.0, "source": "invented"}
ROW["triplets"][0] |= {"confidence": 0.75, "verdict": "YN", "aspect_category": "food", "rules": ["subject"]}
ROW["triplets"][1] |= {"confidence": 0.5, "verdict": "YY", "opinion_category": "service.warm", "valence": 8.0}


@pytest.mark.parametrize("name", NAMES)
def test_a_format_carries_of_a_row_what_the_table_of_formats_promises(name: str) -> None:
    made = export(name, "train", [ROW])
    if FORMATS[name].carries == "all details":
        triplets = details_in(name, made.payload if name == "xlsx" else made.content)
        assert [{key: triplet[key] for key in TRIPLET_DETAILS} for triplet in triplets] == [
            {key: triplet[key] for key in TRIPLET_DETAILS} for triplet in ROW["triplets"]
        ]
        if name not in ("csv", "xlsx"):
            entry = json.loads(made.content)
            review = entry if name == "doccano" else entry[0]["data"] if name == "label-studio" else entry[0]
            assert {key: review[key] for key in REVIEW_DETAILS} == {key: ROW[key] for key in REVIEW_DETAILS}
    else:
        assert ("r1" in made.content) is (FORMATS[name].carries == "the review's id")
        assert "invented" not in made.content


def test_label_studio_and_doccano_name_the_relation_of_each_triplet() -> None:
    (task,) = json.loads(export("label-studio", "train", [ROW]).content)
    regions = {part["id"]: part["value"]["text"] for part in task["predictions"][0]["result"] if "value" in part}
    assert [(regions[of["from_id"]], regions[of["to_id"]], of["verdict"]) for of in task["data"]["triplets"]] == [
        ("餐點", "太鹹", "YN"),
        ("店員", "很親切", "YY"),
    ]
    record = json.loads(export("doccano", "train", [ROW]).content)
    kinds = {relation["id"]: relation["type"] for relation in record["relations"]}
    assert [(kinds[of["relation"]], of["confidence"]) for of in record["triplets"]] == [("NEG", 0.75), ("POS", 0.5)]


@pytest.mark.parametrize("name", NAMES)
def test_reviews_without_a_triplet_are_left_out_where_that_is_asked_for_and_counted(name: str) -> None:
    empty = [{**ROW, "id": f"e{n}", "text": f"昨天第{n}次來", "triplets": []} for n in (1, 2)]
    rows = [empty[0], ROW, empty[1]]
    whole, made = (export(name, "train", rows, without_empty=without) for without in (False, True))
    assert (whole.empty, made.empty) == (0, 2)
    assert (made.labels, made.skipped, whole.reviews - made.reviews) == (whole.labels, whole.skipped, 2)
    if name != "xlsx":
        assert "昨天第1次來" in whole.content.replace("\tO\n", "").replace(" ", "")
        assert "昨天" not in made.content.replace("\tO\n", "").replace(" ", "")
    if name.startswith("paper"):
        assert json.loads(made.content)["id"] == 2, "the number of its row in the release"


def test_argilla_gets_the_settings_of_its_dataset_and_a_line_for_each_triplet() -> None:
    (record,) = json.loads(export("argilla", "train", [ROW]).content)
    lines = record["suggestions"]["triplets"]["value"].splitlines()
    assert lines[0] == f"餐點@0-2 | {TEXT[4:6]}@4-6 | NEG" and len(lines) == 2
    drawn = {TEXT[span["start"] : span["end"]] for span in record["suggestions"]["spans"]["value"]}
    assert {"餐點", "店員"} <= drawn
    settings = json.loads(FORMATS["argilla"].beside["settings.json"])
    assert {question["name"] for question in settings["questions"]} == set(record["suggestions"])
    assert {field["name"] for field in settings["fields"]} == set(record["fields"])
    with pytest.raises(ValueError, match="no triplet"):
        READERS["argilla"](json.dumps([record | {"suggestions": {"triplets": {"value": "湯 | 好"}}}]))


def test_the_score_of_a_prediction_is_the_least_confidence_and_absent_where_one_is_unknown() -> None:
    def score(row: ReviewRow) -> object:
        (task,) = json.loads(export("label-studio", "train", [row]).content)
        return task["predictions"][0].get("score", "none")

    unsure = {**ROW["triplets"][0], "confidence": None}
    assert score(ROW) == 0.5
    assert score({**ROW, "triplets": [unsure, ROW["triplets"][1]]}) == "none"  # type: ignore[typeddict-item,list-item]
    assert score({**ROW, "triplets": []}) == "none"
