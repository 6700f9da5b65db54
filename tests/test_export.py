"""Exports say exactly what the formats want, come back as they went, and a release with any fault does not verify."""

from __future__ import annotations

import itertools
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from builder.core.errors import InputError, ReleaseError
from builder.core.records import POLARITIES, Element, Polarity, Released, Span, Triplet, aspect_text
from builder.release import package
from builder.release.card import card as card_of
from builder.release.export import answers, research
from builder.release.export.native_rows import ReviewRow, TripletRow, extracted, mismatch, triplet_row
from builder.release.export.native_rows import triplet as read_row
from builder.release.gates import schema_fault
from builder.release.manifest import (
    Facts,
    LayerFacts,
    QualityFigure,
    SplitFacts,
    checksums,
    manifest,
    of_manifest,
    sha256,
)
from builder.release.origin import SHIPPED_JUDGE
from builder.release.sections import NOT_MEASURED
from builder.release.statistics import statistics
from builder.release.verify import ALWAYS, verify

TEXT = "這家餐點的口感很好，湯頭不會太鹹❤\ufe0f\U00020bb7。"
Files = dict[str, bytes]


def at(text: str, *spans: Span) -> Element:
    return Element("".join(text[start:end] for start, end in spans), spans)


def triplet(
    text: str,
    aspect: Span,
    opinion: tuple[Span, ...],
    full: Span,
    polarity: Polarity = "POS",
    owner: Span | None = None,
    rule: str = "subject",
) -> Triplet:
    whole = at(text, aspect)
    return Triplet(
        whole, whole, at(text, *opinion), at(text, full), polarity, 7.8 if polarity == "POS" else 2.5,
        at(text, owner) if owner else None, rules=(rule,),
    )  # fmt: skip


TASTE = triplet(TEXT, (2, 7), ((8, 9),), (7, 9), owner=(2, 4))
"""餐點[口感] 好"""
SALT = triplet(TEXT, (10, 12), ((12, 14), (15, 16)), (12, 16))
"""湯頭 不會鹹"""


def plain(aspect: str, opinion: str, polarity: Polarity = "POS", owner: str = "") -> Triplet:
    """A triplet whose places do not matter."""

    def element(text: str) -> Element:
        return Element(text, ((0, max(1, len(text))),))

    return Triplet(
        element(aspect), element(aspect), element(opinion), element(opinion), polarity, 5.0,
        owner=element(owner) if owner else None,
    )  # fmt: skip


# ---- the paper's format


def test_a_line_of_the_paper_has_its_exact_wording() -> None:
    listed = [TASTE, SALT, replace(SALT, polarity="NEG"), plain("服務", "普通", "NEU"), TASTE]
    assert research.paper_row(TEXT, listed) == {
        "question": "question: 請問以下文字的評論對象有哪些？ 請問以下文字對餐點[口感]的描述為何？ "
        f"請問以下文字對湯頭的描述為何？ 請問以下文字對服務的描述為何？  context: {TEXT}",
        "answer": "餐點[口感]、湯頭、服務。餐點[口感]：好(正面)。湯頭：不會鹹(正面)、不會鹹(負面)。服務：普通(中性)。",
    }


def test_a_review_without_triplets_has_one_question_and_an_empty_answer() -> None:
    assert research.paper_row("好\n\"吃\"", []) == {
        "question": 'question: 請問以下文字的評論對象有哪些？  context: 好\n"吃"', "answer": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("aspect", "owner", "written"),
    [
        ("餐點的口感", "餐點", "餐點[口感]"),
        ("餐點口感", "餐點", "餐點[口感]"),
        ("餐點之口感", "餐點", "餐點[口感]"),
        ("餐點 口感", "餐點", "餐點[口感]"),
        ("口感", "", "口感"),
        ("口感", "餐點", "口感"),
        ("餐點", "餐點", "餐點"),
    ],
)
def test_an_attribute_stands_in_brackets_behind_its_owner(aspect: str, owner: str, written: str) -> None:
    assert aspect_text(plain(aspect, "好", owner=owner)) == written


@pytest.mark.parametrize("mark", ["、", "。", "：", "(", ")", "\n", "context: "])
def test_a_triplet_with_a_mark_of_the_format_is_refused_by_name(mark: str) -> None:
    word = f"湯{mark}頭"
    assert research.paper_refused(plain(word, "好")) == f"the aspect {word!r} holds a mark of the format"
    assert research.paper_refused(plain("湯頭", word)) == f"the opinion {word!r} holds a mark of the format"
    assert research.paper_refused(plain("湯頭", "好喝")) is None


def test_a_triplet_that_a_reader_would_cut_elsewhere_is_refused() -> None:
    for odd in (" 湯", "湯\r", "\u2028湯"):
        assert research.paper_refused(plain(odd, "好")) == f"the aspect {odd!r} begins or ends with white space"
        assert research.paper_refused(plain("湯", odd)) == f"the opinion {odd!r} begins or ends with white space"


TERM = st.text(st.sampled_from("湯頭服務好鹹不會[]A 5？！，\U00020bb7❤、。：()\n"), min_size=1, max_size=6).filter(
    lambda text: text == text.strip()
)


@given(st.lists(st.tuples(TERM, TERM, st.sampled_from(POLARITIES)), max_size=6))
def test_what_the_paper_can_hold_comes_back_and_the_rest_is_refused(told: list[tuple[str, str, Polarity]]) -> None:
    listed = [plain(*one) for one in told]
    kept = [one for one in listed if research.paper_refused(one) is None]
    wanted = {(one.aspect.text, one.opinion.text, one.polarity) for one in kept}
    found = research.parse_paper(research.paper_row("x", kept)["answer"])
    assert set(found) == wanted
    assert len(found) == len(wanted)
    assert all(set(f"{one.aspect.text}{one.opinion.text}") & set("、。：()\n") for one in listed if one not in kept)


@pytest.mark.parametrize(
    "answer",
    [
        "湯頭。湯頭好(正面)。",
        "湯頭。湯頭：好。",
        "湯頭。湯頭：好(好)。",
        "湯頭。湯頭：好(正面)鹹(負面)。",
        "湯頭。湯頭：(正面)。",
    ],
)
def test_an_answer_that_is_not_in_the_format_is_an_error_that_shows_it(answer: str) -> None:
    with pytest.raises(ValueError, match="no `aspect：opinion"):
        research.parse_paper(answer)


# ---- our own rows


@pytest.mark.parametrize("one", [TASTE, SALT])
def test_our_row_comes_back_as_it_went(one: Triplet) -> None:
    row = triplet_row(one, Released("r1:00000001", ("rules", "C2")), one.rules)
    assert read_row(json.loads(json.dumps(row, ensure_ascii=False))) == one
    assert row["sources"] == ["rules", "C2"]
    assert mismatch(TEXT, row) is None


def test_an_extracted_triplet_has_the_keys_of_the_command_line() -> None:
    assert extracted(SALT) == {
        "aspect": "湯頭", "aspect_full": "湯頭", "aspect_spans": [[10, 12]], "opinion": "不會鹹",
        "opinion_full": "不會太鹹", "opinion_spans": [[12, 14], [15, 16]], "polarity": "POS", "valence": 7.8,
        "source": "rules", "rules": ["subject"], "aspect_full_spans": [[10, 12]], "aspect_category": None,
        "owner": None, "owner_spans": None, "opinion_full_spans": [[12, 16]], "opinion_category": None,
        "confidence": None, "verdict": None, "sources": ["rules"], "triplet_id": None,
    }  # fmt: skip


@pytest.mark.parametrize("part", ["aspect", "aspect_full", "owner", "opinion", "opinion_full"])
@pytest.mark.parametrize(
    ("spans", "said"),
    [
        ([], "outside the text"),
        ([[0, 99]], "outside"),
        ([[3, 3]], "outside"),
        ([[-1, 2]], "outside"),
        ([[0, 1]], "is '這'"),
    ],
)
def test_a_span_that_does_not_show_its_surface_is_named(part: str, spans: list[list[int]], said: str) -> None:
    row: Any = triplet_row(TASTE, Released("x", ()))
    row[part] = {"text": row[part]["text"], "spans": spans}
    told = mismatch(TEXT, row)
    assert told is not None
    assert told.startswith(f"{part} ")
    assert said in told


# ---- answers to score


def written(folder: Path, *rows: object) -> Path:
    path = folder / "rows.jsonl"
    path.write_text(
        "".join(f"{row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)}\n" for row in rows),
        encoding="utf-8",
    )
    return path


def test_answers_of_all_three_kinds_are_read_alike(tmp_path: Path) -> None:
    ours = {"id": 7, "text": TEXT, "triplets": [triplet_row(SALT, Released("x", ()))]}
    dimabsa = {"ID": "7", "Text": TEXT, "Triplet": [{"Aspect": "湯頭", "Opinion": "不會鹹", "Polarity": "正面"}]}
    for row in (
        ours,
        {"id": "7", "triplets": [extracted(SALT)]},
        dimabsa,
        {"id": 7} | research.paper_row(TEXT, [SALT]),
    ):
        found = answers.load(written(tmp_path, row)).read()
        assert found.answers == {"7": [("湯頭", "不會鹹", "POS")]}
        assert found.null == 0


def test_the_full_opinion_is_read_where_it_is_asked_for_and_there_is_one(tmp_path: Path) -> None:
    path = written(
        tmp_path, {"id": "7", "triplets": [extracted(SALT), {"aspect": "店", "opinion": "小", "polarity": "NEG"}]}
    )
    assert answers.load(path).read("opinion_full").answers["7"] == [("湯頭", "不會太鹹", "POS"), ("店", "小", "NEG")]


GOOD = {"id": "1", "triplets": []}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([GOOD, {"name": "1", "text": "x"}],
         "rows.jsonl:2: a row with keys name, text; known: ours (id, triplets); dimabsa (ID, Triplet); paper (answer,"),
        ([GOOD, "{"], "rows.jsonl:2: not JSON: "),
        ([GOOD, "[]"], "rows.jsonl:2: a list where an object is due"),
        ([GOOD, GOOD], "rows.jsonl:2: the id '1' stands twice"),
        ([{"id": "1", "triplets": [{"aspect": "店"}]}], "rows.jsonl:1: cannot be read as ours: KeyError('opinion')"),
        ([{"id": "1", "triplets": [{"aspect": "店", "opinion": "小", "polarity": "BAD"}]}],
         "rows.jsonl:1: cannot be read as ours: "),
        ([{"id": "1", "triplets": 3}], "rows.jsonl:1: cannot be read as ours: "),
        ([{"id": "1", "question": "x", "answer": "湯頭。湯頭好。"}], "rows.jsonl:1: cannot be read as paper: "),
        (["", " "], "rows.jsonl: no rows"),
    ],
)  # fmt: skip
def test_answers_that_cannot_be_read_are_named_by_their_line(tmp_path: Path, rows: list[object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        answers.load(written(tmp_path, *rows)).read()
    assert str(caught.value).replace(f"{tmp_path}/", "").startswith(message)


def test_a_file_of_answers_that_is_missing_or_no_utf_8_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"\xa4\xa4")
    for name, fault in (("none", "cannot be read: "), ("latin:1", "is not UTF-8; save it as UTF-8")):
        with pytest.raises(InputError, match=f"{name}: {fault}"):
            answers.load(tmp_path / name.partition(":")[0]).read()


# ---- a small release, made by hand


def review(key: str, text: str, *listed: Triplet) -> ReviewRow:
    rows: list[TripletRow] = [
        triplet_row(one, Released(f"{key}:{i:08x}", ("rules",)), one.rules) for i, one in enumerate(listed)
    ]
    return {
        "id": key, "text": text, "language": "zh-Hant", "rating": 4.0, "source": None, "annotation": "silver",
        "unverified_negative": not rows, "triplets": rows,
    }  # fmt: skip


def reviews() -> dict[str, list[ReviewRow]]:
    short = "湯頭很鹹"
    return {
        "train": [review("a", TEXT, TASTE, SALT), review("b", short, triplet(short, (0, 2), ((3, 4),), (2, 4), "NEG"))],
        "valid": [review("c", "服務好", triplet("服務好", (0, 2), ((2, 3),), (2, 3)))],
        "test": [review("d", "沒有意見")],
    }


def facts(rows: Mapping[str, list[ReviewRow]]) -> Facts:
    def split(name: str) -> SplitFacts:
        listed = [one for row in rows[name] for one in row["triplets"]]
        counts: dict[str, int] = {
            polarity: sum(one["polarity"] == polarity for one in listed) for polarity in POLARITIES
        }
        return SplitFacts(name, "rules", "silver", len(rows[name]), len(listed), counts)

    return Facts(
        name="test-aste", version="1.2.0", parent="1.1.0", licence="CC-BY-4.0", builder="9.9",
        splits=[split(name) for name in rows], signatures={"rules": "abc123", "annotations": "embedded/1"},
        config={"seed": 13, "rules.convention": "natural"}, ingest={"rows": 1500, "rejected": 2},
        dropped={"masked": 3, "contradiction": 0}, metrics=[("rules", "test", "micro F1", 61.5, 58.25, 64.0)],
        date="2026-11-21", change="minor", statistics=statistics(rows),
    )  # fmt: skip


def card(told: Facts) -> str:
    """The card over the small release's Parquet files."""
    return card_of(told, {path: content for path, content in data(reviews()).items() if path.startswith("parquet/")})


def data(rows: Mapping[str, Iterable[ReviewRow]]) -> Files:
    """The files of the data, in memory."""
    with tempfile.TemporaryDirectory() as folder:
        written = {split: map(package.write_row, members) for split, members in rows.items()}
        return {name: (Path(folder) / name).read_bytes() for name in package.data(Path(folder), written)}


def whole(told: Facts, rows: Mapping[str, Iterable[ReviewRow]], changes: str) -> Files:
    """All files of a release, in memory."""
    return {
        name: content
        for name, content in package.whole(told, data(rows), changes).items()
        if isinstance(content, bytes)
    }


def files_of(rows: Mapping[str, list[ReviewRow]], told: Facts, edit: Callable[[Files], None] | None = None) -> Files:
    """The files of a release; `edit` changes data or manifest before the checksums are taken."""
    files = whole(told, rows, "# Changes\n")
    if edit:
        edit(files)
    del files["SHA256SUMS"]
    return files | {"SHA256SUMS": checksums(files).encode()}


def release(folder: Path, files: Files) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def test_the_card_says_what_the_judge_did_and_how_sure_a_score_is() -> None:
    text = card(replace(facts(reviews()), panel=f"{SHIPPED_JUDGE}: it dropped nothing."))
    assert f"\n- {SHIPPED_JUDGE}: it dropped nothing.\n- Left out" in text
    assert "| the rules alone | test | micro F1 | 61.5 | 58.2 to 64.0 |" in text
    assert SHIPPED_JUDGE not in card(facts(reviews()))


def test_the_card_states_measured_quality_or_that_none_was_and_shows_no_agreement_as_quality() -> None:
    agreement = [("E0 against rules", "valid", "exact P", 93.3, 90.0, 95.0)]
    unmeasured = card(replace(facts(reviews()), metrics=agreement))
    assert f"## Quality\n\n{NOT_MEASURED}\n" in unmeasured
    assert "93.3" not in unmeasured.partition("## Agreement with the rules (no measure of quality)")[0]
    assert "together (E0) against the rules alone | valid | precision, exact match | 93.3 |" in unmeasured
    figure = QualityFigure("precision, exact match", "silver labels", "150 answers", 81.25, 74.5, 86.5)
    stated = replace(facts(reviews()), figures=[figure])
    assert "| precision, exact match | 81.2 | 74.5 to 86.5 | silver labels | 150 answers |" in card(stated)
    metadata, body = (json.loads(whole(stated, reviews(), "")[name]) for name in ("metadata.json", "manifest.json"))
    assert metadata["rai:dataAnnotationAnalysis"].startswith(
        "By gold: precision, exact match of silver labels: 81.2% (74.5 to 86.5)"
    )
    assert of_manifest(body["figures"]) == [figure]
    bare = json.loads(whole(facts(reviews()), reviews(), "")["metadata.json"])
    assert bare["rai:dataAnnotationAnalysis"] == NOT_MEASURED


def test_the_card_explains_every_field_with_an_example_and_every_name_it_uses() -> None:
    small = facts(reviews())
    splits = [replace(small.splits[0], source="last training set of variant C (S_2)"), *small.splits[1:]]
    splits[-1] = replace(splits[-1], source="rules and shipped model together")
    shown = card(replace(small, splits=splits))
    row = reviews()["train"][0]
    for key in (*row, *row["triplets"][0]):
        assert f"| `{key}` | " in shown, key
    invented = json.loads(shown.partition("```json\n")[2].partition("```")[0])
    assert list(invented) == list(row)
    assert [list(one) for one in invented["triplets"]] == [list(row["triplets"][0])] * 2
    assert [mismatch(invented["text"], one) for one in invented["triplets"]] == [None, None]
    assert schema_fault(invented) is None
    for title in ("Sources and licences", "Intended uses", "Out of scope", "Known errors", "Maintenance and contact"):
        assert f"## {title}" in shown
    for name in ("`E0` is", "`S_n` is", "YN, with another polarity"):
        assert name in shown
    assert "Table 7" not in shown


@pytest.mark.parametrize(
    ("source", "panel", "claims", "denied"),
    [
        ("rules", "", "No judge or tagger was trained.", ["E0", "`A0`", "YY, the", "filter by `confidence`"]),
        (
            "rules and shipped model together",
            f"{SHIPPED_JUDGE}. It adds.",
            "A pretrained reader that ships with builder, trained on other, annotated reviews, added some",
            ["null throughout", "`A0`", "and taggers", "trained on the rules' output"],
        ),
        (
            "rules, less what the judge rejects",
            "",
            "a judge trained on the rules' output left some out",
            ["null throughout", "E0"],
        ),
    ],
)
def test_card_and_citation_claim_what_was_done(source: str, panel: str, claims: str, denied: list[str]) -> None:
    metrics = [("E0 against rules", "valid", "exact F1", 98.0, None, None)] if "together" in source else []
    small = replace(facts(reviews()), metrics=metrics)
    told = replace(small, panel=panel, splits=[replace(split, source=source) for split in small.splits])
    files = whole(told, reviews(), "")
    shown, metadata = files["README.md"].decode(), json.loads(files["metadata.json"])
    assert claims in shown and claims in metadata["rai:dataAnnotationProtocol"]
    assert [word for word in denied if word in shown] == []
    by = "rules and the shipped model" if "shipped" in source else "rules"
    assert metadata["description"].endswith(f"found by {by}.") and f"found by {by}." in files["CITATION.cff"].decode()
    judge = "the shipped model" if "shipped" in source else "the discriminator"
    assert (f"The *judge*, here {judge}, gives each candidate" in shown) is (source != "rules")
    assert "No person labelled any of them." in shown
    example = json.loads(shown.partition("```json\n")[2].partition("```")[0])
    assert (example["triplets"][0]["verdict"] is None) is (source == "rules")


def test_card_croissant_and_citation_leave_out_what_nobody_gave() -> None:
    told = facts(reviews())
    files = {name: content.decode() for name, content in whole(told, reviews(), "").items() if name in ALWAYS}
    metadata, cited = json.loads(files["metadata.json"]), yaml.safe_load(files["CITATION.cff"])
    front = yaml.safe_load(files["README.md"].split("---")[1])
    assert "source_datasets" not in front and "creator" not in metadata
    assert cited["authors"] == [{"name": "not stated"}], "the format asks for an author"
    assert metadata["citeAs"].startswith("test-aste, version 1.2.0 (2026). Method after")
    assert "The makers of" not in "".join(files.values())
    assert "To have a review removed" not in files["README.md"], "there is no contact to tell"
    told = replace(facts(reviews()), creator="Ann", contact="ann@example.org")
    files = {name: content.decode() for name, content in whole(told, reviews(), "").items() if name in ALWAYS}
    assert json.loads(files["metadata.json"])["creator"]["name"] == "Ann"
    assert yaml.safe_load(files["CITATION.cff"])["contact"] == [{"email": "ann@example.org", "name": "Ann"}]
    assert "To have a review removed, give its `id`" in files["README.md"]


def test_the_card_lists_the_languages_that_rows_hold() -> None:
    rows = reviews()
    rows["train"][0]["language"], rows["valid"][0]["language"] = "zh", "zh-Hans"
    front = yaml.safe_load(card(facts(rows)).split("---")[1])
    assert (front["language"], front["language_details"]) == (["zh"], "zh, zh-Hans, zh-Hant")
    for row in itertools.chain.from_iterable(rows.values()):
        row["language"] = "zh"
    front = yaml.safe_load(card(facts(rows)).split("---")[1])
    assert (front["language"], front["language_details"]) == (["zh"], "zh")


def test_the_card_says_how_many_places_stand_in_several_splits() -> None:
    told = replace(facts(reviews()), places=5, places_apart=3)
    assert "not by place or document. 3 of 5 places have reviews in several splits." in card(told)
    grouped = replace(told, places_apart=0, config={"input.group_column": "shop"})
    assert "value of the column `shop` stay in one split. 0 of 5 places have" in card(grouped)
    assert "in several splits" not in card(facts(reviews())), "no place is named"
    assert json.loads(whole(told, reviews(), "")["manifest.json"])["places"] == {"named": 5, "in_several_splits": 3}


def test_scores_on_gold_are_said_to_be_by_whoever_labelled_it() -> None:
    assert "There are no others here." in card(facts(reviews()))
    rows = reviews()
    rows["test"][0]["annotation"] = "gold"
    told = facts(rows)
    test = replace(told.splits[-1], layers=(LayerFacts("gold", "a language model", 1, 0, "language model"),))
    shown = card(replace(told, splits=[*told.splits[:-1], test], panel="calibrated on 120 triplets on gold reviews"))
    assert "Use reviews with `annotation` gold, labelled by a language model." in shown
    assert "labelled the 1 review with `annotation` gold. They stand in test alone; the confidences" in shown
    assert "learnt from" not in shown, "confidences did"


def test_the_card_lists_sources_with_their_licences_and_says_whom_to_ask() -> None:
    rows = reviews()
    rows["train"][0]["source"] = "forum"
    told = replace(facts(rows), licences={"forum": "CC0-1.0"}, creator="Ann", contact="ann@example.org")
    assert "| (not stated) | 3 | not stated |\n| forum | 1 | CC0-1.0 |" in card(told)
    assert "- Makers: Ann. Contact: ann@example.org." in card(told)
    assert "did not say where its reviews come from" in card(facts(reviews()))
    cited = whole(told, rows, "")["CITATION.cff"].decode()
    assert cited.index('name: "Ann"') < cited.index('family-names: "Lu"'), "the makers, then the paper"
    assert 'email: "ann@example.org"' in cited


def test_a_sound_release_has_no_faults_and_sha256sum_agrees(tmp_path: Path) -> None:
    made = release(tmp_path, files_of(reviews(), facts(reviews())))
    assert verify(made) == []
    checked = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=made, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr
    assert checked.stdout.count(": OK") == 14


def test_a_folder_that_is_no_release_is_an_error_and_no_fault(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match=r"no SHA256SUMS here; name the directory of a release"):
        verify(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("data/valid.jsonl", None, "data/valid.jsonl: missing"),
        ("data/more.jsonl", b"{}\n", "data/more.jsonl: not part of the release"),
        ("data/test.jsonl", b"{}\n", "data/test.jsonl: its bytes have changed"),
        ("README.md", b"", "README.md: its bytes have changed"),
        ("manifest.json", b"{}", "manifest.json: its bytes have changed"),
    ],
)
def test_a_missing_added_or_changed_file_is_named(tmp_path: Path, name: str, content: bytes | None, fault: str) -> None:
    made = release(tmp_path, files_of(reviews(), facts(reviews())))
    if content is None:
        (made / name).unlink()
    else:
        (made / name).write_bytes(content)
    assert verify(made) == [fault]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda sums: sums + sums.splitlines(keepends=True)[0],
         "SHA256SUMS:15: not a checksum line, or a second one for its file"),
        (lambda sums: "".join(line for line in sums.splitlines(keepends=True) if "manifest" not in line),
         "manifest.json: not listed in SHA256SUMS"),
        (lambda sums: sums.replace(sums[:8], "00000000"), "CHANGES.md: its bytes have changed"),
        (lambda sums: sums.removesuffix("\n"), "SHA256SUMS: its bytes have changed"),
        (lambda sums: sums.replace("\n", "\x0b", 1), "CHANGES.md: not part of the release"),
        (lambda sums: sums.upper().replace("README.MD", "README.md"), "README.md: its bytes have changed"),
    ],
)  # fmt: skip
def test_a_wrong_checksum_file_is_named_by_its_line(tmp_path: Path, change: Callable[[str], str], fault: str) -> None:
    made = release(tmp_path, files_of(reviews(), facts(reviews())))
    sums = made / "SHA256SUMS"
    sums.write_text(change(sums.read_text(encoding="utf-8")), encoding="utf-8")
    assert fault in verify(made)


def edited(path: str, change: Callable[[Any], None]) -> Callable[[Files], None]:
    """An edit of manifest.json, or of the first row of a data file; the sizes in the manifest follow."""

    def edit(files: Files) -> None:
        first, gap, rest = (files[path], b"", b"") if path == "manifest.json" else files[path].partition(b"\n")
        body = json.loads(first)
        change(body)
        files[path] = json.dumps(body, ensure_ascii=False).encode() + gap + rest
        told = json.loads(files["manifest.json"])
        for name, facts_of_file in told["files"].items():
            if path != "manifest.json":
                facts_of_file.update(bytes=len(files[name]), sha256=sha256(files[name]))
        files["manifest.json"] = json.dumps(told, ensure_ascii=False).encode()

    return edit


def _inside(row: Any) -> None:
    row["triplets"][1]["aspect_full"] = {"text": "好，湯頭", "spans": [[8, 12]]}


def _repeated(row: Any) -> None:
    row.update(review("c", TEXT), triplets=[])


@pytest.mark.parametrize(
    ("path", "change", "fault"),
    [
        ("data/train.jsonl", _inside, "data/train.jsonl:1: aspect_full '好，湯頭' has '，' inside"),
        ("data/train.jsonl", lambda row: row["triplets"].pop(),
         "train: 2 reviews and 2 triplets, manifest.json says 2 and 3"),
        ("data/valid.jsonl", _repeated, "data/valid.jsonl:1: its text stands in data/train.jsonl:1 too"),
        ("manifest.json", lambda body: body["splits"]["valid"].update(reviews=9),
         "valid: 1 review and 1 triplet, manifest.json says 9 and 1"),
        ("manifest.json", lambda body: body["files"]["README.md"].update(bytes=1), "README.md: not as manifest.json"),
        ("manifest.json", lambda body: body["files"].update({"x": {"bytes": 1, "sha256": ""}}),
         "x: not as manifest.json says"),
    ],
)  # fmt: skip
def test_a_release_whose_content_is_wrong_under_right_checksums_is_named(
    tmp_path: Path, path: str, change: Callable[[Any], None], fault: str
) -> None:
    made = release(tmp_path, files_of(reviews(), facts(reviews()), edited(path, change)))
    assert [one for one in verify(made) if one.startswith(fault)] != []


# ---- manifest and card


def test_manifest_card_and_checksums_depend_on_their_facts_alone() -> None:
    files = files_of(reviews(), facts(reviews()))
    turned = dict(reversed(files_of(reviews(), facts(reviews())).items()))
    assert turned == files
    del turned["SHA256SUMS"]
    assert checksums(turned).encode() == files["SHA256SUMS"]
    del turned["manifest.json"]
    assert manifest(facts(reviews()), turned).encode() == files["manifest.json"]


def test_the_manifest_says_all_that_decided_the_release() -> None:
    told = facts(reviews())
    files = {"data/b.jsonl": b"bb", "data/a.jsonl": b"a"}
    body = json.loads(manifest(told, files))
    assert {key: body[key] for key in ("name", "version", "parent", "licence", "builder", "signatures", "config",
    "ingest", "dropped")} == {
        "name": "test-aste", "version": "1.2.0", "parent": "1.1.0", "licence": "CC-BY-4.0", "builder": "9.9",
        "signatures": dict(told.signatures), "config": dict(told.config), "ingest": dict(told.ingest),
        "dropped": dict(told.dropped),
    }  # fmt: skip
    assert body["splits"]["train"] == {
        "source": "rules", "annotation": "silver", "reviews": 2, "triplets": 3,
        "polarities": {"POS": 2, "NEG": 1, "NEU": 0},
    }  # fmt: skip
    assert body["metrics"] == [
        {"system": "rules", "split": "test", "metric": "micro F1", "value": 61.5, "low": 58.25, "high": 64.0}
    ]
    assert list(body["files"]) == ["data/a.jsonl", "data/b.jsonl"]
    assert body["files"]["data/a.jsonl"] == {"bytes": 1, "sha256": sha256(b"a")}


def front_matter(text: str) -> dict[str, Any]:
    """The front matter as dataset hubs read it."""
    parsed: dict[str, Any] = yaml.safe_load(text.split("---\n", 2)[1])
    return parsed


def test_the_card_begins_with_front_matter_that_a_dataset_hub_reads() -> None:
    head = front_matter(card(facts(reviews())))
    assert {key: head[key] for key in ("language", "license", "pretty_name", "size_categories")} == {
        "language": ["zh"], "license": "cc-by-4.0", "pretty_name": "test-aste", "size_categories": ["n<1K"],
    }  # fmt: skip
    assert {"annotations_creators", "task_categories", "tags"} <= head.keys()
    configs = {config["config_name"]: config["data_files"] for config in head["configs"]}
    assert list(configs) == ["default", "silver"]
    assert configs["default"] == [
        {"split": "train", "path": "parquet/train-silver.parquet"},
        {"split": "validation", "path": "parquet/valid-silver.parquet"},
        {"split": "test", "path": "parquet/test-silver.parquet"},
    ]


def test_the_front_matter_of_any_name_is_read_back() -> None:
    for name in ("Eat: well", "#1", "[店名]", "yes", "1.0", 'a "b"'):
        assert front_matter(card(replace(facts(reviews()), name=name)))["pretty_name"] == name


@pytest.mark.parametrize(("number", "size"), [(999, "n<1K"), (1_000, "1K<n<10K"), (1_000_000, "1M<n<10M")])
def test_the_card_says_the_size_as_hubs_do(number: int, size: str) -> None:
    told = replace(facts(reviews()), splits=[SplitFacts("train", "rules", "silver", number, 0, {})])
    assert front_matter(card(told))["size_categories"] == [size]


def test_the_card_tells_people_what_is_in_it_and_what_is_not() -> None:
    told = card(facts(reviews()))
    for said in (
        "# test-aste 1.2.0",
        "builder 9.9 found them by weak supervision",
        "| train | rules | silver | 2 | 3 | 2 | 1 | 0 |",
        "| valid | rules | silver | 1 | 1 | 1 | 0 | 0 |",
        "| test | rules | silver | 1 | 0 | 0 | 0 | 0 |",
        "Licence: CC-BY-4.0",
        "Parent: 1.1.0",
        "Left out on the way to the release: triplets that overlap what is masked (3).",
        "| [人名] | names of people beside a title, a role or thanks | 0 |",
        "Not found, and may remain: names of people without a title",
        "names of the reviewed places where the input does not give them",
        "| the rules alone | test | micro F1 | 61.5 |",
    ):
        assert said in told, said
    assert "contradiction" not in told
    assert "Parent: none" in card(replace(facts(reviews()), parent=None))
