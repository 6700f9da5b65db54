"""Annotation files: every format gives back what was put in, and a bad row stops all of it with its number."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Command
from goldwork import TEXTS, by_name, pooled, triplet
from hostile_files import workbook
from hypothesis import given
from hypothesis import strategies as st

from builder.core.errors import ConfigError, InputError
from builder.core.records import Candidate, Label, Pool
from builder.gold.file_formats import FORMATS, format_of
from builder.gold.items import MentionError, from_utf16, locate, shown, to_utf16
from builder.gold.sheet import escaped, read_csv, unescaped
from builder.store import db, pool_labels, pools
from builder.teaching.labelling import export, import_labels, opened

FORMAT_NAMES = list(FORMATS)
Labelled = tuple[Path, Path, Pool]
"""(working directory with labels of amy, the same without, pool)."""


def label_some(workdir: Path, pool: Pool, annotator: str = "amy") -> None:
    """Every kind of answer: plain, corrected, unsure, a note, two missing triplets, a complete review."""
    soup, formula, meal, nothing, sweet = TEXTS
    staff = by_name(pool, soup, "店員態度")[1]
    said = {
        by_name(pool, soup, "湯頭")[1].id: Label("YY", note="=1+1 清楚"),
        staff.id: Label("YY", None, None, ((14, 15), (17, 18))),
        by_name(pool, formula, "=湯")[1].id: Label("YY", None, ((1, 2),), None),
        by_name(pool, formula, "+麵")[1].id: Label("YN", "POS"),
        by_name(pool, formula, "@店面")[1].id: Label("NX", "NEG", ((1, 2),), ((2, 4),)),
        by_name(pool, sweet, "甜點")[1].id: Label("YN"),
        by_name(pool, sweet, "飲料")[1].id: Label(None),
    }
    places = {review.text: review for review in pool.reviews}
    with opened(workdir) as connection, db.atomic(connection):
        who = pool_labels.annotator(connection, annotator)
        pool_labels.put(connection, who, said.items(), "test")
        for text, t in (
            (soup, triplet(soup, "店員", "不|太好", "NEG")),
            (nothing, triplet(nothing, "家人", "一起", "NEU")),
        ):
            i = pools.add(connection, places[text].id, Candidate(None, t))
            pool_labels.put(connection, who, [(i, Label("YY"))], "test")
        pool_labels.check(connection, who, [places[meal].id], "test")


def everything(workdir: Path, pool: str, annotator: str = "amy") -> object:
    """Labels, added triplets and complete reviews of an annotator, without the numbers of a database."""
    with db.reading(workdir) as connection:
        read = pools.read(connection, pool)
        said = pool_labels.of_pool(connection, pool).get(annotator, {})
        checked = pool_labels.checked(connection, pool, annotator)
    found = {(r.key, one.triplet.key): said[one.id] for r in read.reviews for one in r.candidates if one.id in said}
    return found, {r.key for r in read.reviews if r.id in checked}


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Labelled:
    folder = tmp_path_factory.mktemp("labelled")
    workdir, pool = pooled(folder)
    shutil.copytree(workdir, folder / "bare")
    label_some(workdir, pool)
    return workdir, folder / "bare", pool


@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_what_is_exported_with_labels_comes_back_the_same(name: str, labelled: Labelled, tmp_path: Path) -> None:
    workdir, bare, pool = labelled
    shutil.copytree(bare, tmp_path / "w")
    file = tmp_path / f"file{name}"
    export(workdir, None, file, "amy")
    done = import_labels(tmp_path / "w", None, file, "amy")
    assert done.faults == ()
    assert (done.labels, done.changed, done.missing, done.checked, done.open) == (7, 0, 2, 1, 3)
    due, got = everything(workdir, pool.id), everything(tmp_path / "w", pool.id)
    assert got == due
    again = import_labels(tmp_path / "w", None, file, "amy")
    assert (again.labels, again.changed) == (7, 0)
    assert everything(tmp_path / "w", pool.id) == due


@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_an_untouched_file_holds_no_label(name: str, labelled: Labelled, tmp_path: Path) -> None:
    _, bare, pool = labelled
    file = tmp_path / f"file{name}"
    assert export(bare, None, file) == (pool.id, 10)
    done = import_labels(bare, None, file, "amy")
    assert (done.labels, done.missing, done.checked, done.open, done.faults) == (0, 0, 0, 10, ())


@pytest.mark.parametrize(
    "name", [name for name in FORMAT_NAMES if name != ".xlsx"]
)  # a workbook holds the time it was made
def test_two_exports_are_the_same_bytes(name: str, labelled: Labelled, tmp_path: Path) -> None:
    files = [tmp_path / f"{n}{name}" for n in "ab"]
    for file in files:
        export(labelled[0], None, file, "amy")
    assert files[0].read_bytes() == files[1].read_bytes()


def test_no_cell_of_a_sheet_starts_as_a_formula_does(labelled: Labelled, tmp_path: Path) -> None:
    from openpyxl import load_workbook

    for name in ("csv", "xlsx"):
        export(labelled[0], None, tmp_path / f"a.{name}", "amy")
    with (tmp_path / "a.csv").open(encoding="utf-8-sig", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    sheet = load_workbook(tmp_path / "a.xlsx")["labels"]
    book = [cell for row in sheet.iter_rows() for cell in row if cell.value is not None]
    assert all(cell.data_type == "s" for cell in book)
    for listed in (cells, [str(cell.value) for cell in book]):
        assert "'=湯" in listed
        assert "'+麵" in listed
        assert not [cell for cell in listed if cell[:1] in tuple("=+-@\t\r")]


@given(st.text(alphabet="'=+-@\t\ra湯", max_size=6))
def test_escaping_a_cell_can_always_be_undone(cell: str) -> None:
    assert unescaped(escaped(cell)) == cell
    assert escaped(cell)[:1] not in tuple("=+-@\t\r") or not cell


@given(st.text(max_size=20))
def test_utf16_offsets_go_there_and_back(text: str) -> None:
    every = list(range(len(text) + 1))
    units = to_utf16(text, every)
    assert from_utf16(text, units) == every
    assert units[-1] == len(text.encode("utf-16-le", "surrogatepass")) // 2


def test_an_offset_inside_a_character_is_refused() -> None:
    with pytest.raises(ValueError, match="1 is no UTF-16 offset"):
        from_utf16("\U0001f35c湯", [1])


def test_label_studio_counts_utf16_units(labelled: Labelled, tmp_path: Path) -> None:
    soup = TEXTS[0]
    export(labelled[1], None, tmp_path / "a.json")
    tasks = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    task = next(one for one in tasks if one["data"]["text"] == soup and one["data"]["aspect"] == "店員態度")
    value = task["predictions"][0]["result"][0]["value"]
    units = soup.encode("utf-16-le")
    assert units[2 * value["start"] : 2 * value["end"]].decode("utf-16-le") == "店員態度" == value["text"]
    assert value["start"] != soup.index("店員態度")


def test_label_studio_gets_its_labelling_config(labelled: Labelled, tmp_path: Path) -> None:
    from xml.etree import ElementTree

    export(labelled[1], None, tmp_path / "a.json")
    config = ElementTree.parse(tmp_path / "a.config.xml").getroot()
    assert {one.get("value") for one in config.iter("Choice")} >= {"YY", "YN", "NX", "unsure", "POS"}
    results = [
        one
        for task in json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
        for p in task["predictions"]
        for one in p["result"]
    ]
    known = {one.get("name") for one in config.iter() if one.get("name")}
    assert {one["from_name"] for one in results} | {one["to_name"] for one in results} <= known


def test_label_studio_names_several_annotators_itself(labelled: Labelled, tmp_path: Path) -> None:
    _, bare, pool = labelled
    shutil.copytree(bare, tmp_path / "w")
    file = tmp_path / "a.json"
    export(tmp_path / "w", None, file)
    tasks = json.loads(file.read_text(encoding="utf-8"))
    choice = {"from_name": "label", "to_name": "text", "type": "choices"}
    tasks[0]["annotations"] = [
        {"completed_by": 7, "result": [choice | {"value": {"choices": ["YY"]}}]},
        {"completed_by": {"email": "bo@example.org"}, "result": [choice | {"value": {"choices": ["NX"]}}]},
        {"completed_by": {"id": 9}, "was_cancelled": True, "result": []},
    ]
    file.write_text(json.dumps(tasks), encoding="utf-8")
    assert import_labels(tmp_path / "w", None, file, "zed").annotators == (  # named where the file names nobody
        "bo@example.org",
        "label-studio:7",
        "label-studio:9",
    )
    with db.reading(tmp_path / "w") as connection:
        said = pool_labels.of_pool(connection, pool.id, "human")
    assert {who: [one.label for one in listed.values()] for who, listed in said.items()} == {
        "bo@example.org": ["NX"], "label-studio:7": ["YY"], "label-studio:9": [None],
    }  # fmt: skip


Edit = Callable[[list[dict[str, str]]], None]


def read_sheet(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8-sig", newline="") as handle:
        return list(csv.DictReader(handle))


def edited(folder: Path, labelled: Labelled, edit: Edit) -> tuple[Path, Path]:
    """(working directory, a sheet of its pool as `edit` leaves it)."""
    shutil.copytree(labelled[1], folder / "w")
    file = folder / "sheet.csv"
    export(folder / "w", None, file)
    rows = read_sheet(file)
    names = list(rows[0])
    edit(rows)
    with file.open("w", encoding="utf-8-sig", newline="") as handle:
        writer = csv.DictWriter(handle, names)
        writer.writeheader()
        writer.writerows(rows)
    return folder / "w", file


def at(rows: list[dict[str, str]], aspect: str) -> dict[str, str]:
    return next(row for row in rows if unescaped(row["aspect"]) == aspect)


def put(candidate_of: str, **cells: str) -> Edit:
    return lambda rows: at(rows, candidate_of).update(cells)


def added(**cells: str) -> Edit:
    """A row for a triplet of the review about the meal."""

    def edit(rows: list[dict[str, str]]) -> None:
        rows.append(
            {"pool": rows[0]["pool"], "review": "r3", "aspect": "餐點@10-12", "opinion": "送得快", "polarity": "正面"}
            | cells
        )

    return edit


FAULTS: dict[str, tuple[Edit, str]] = {
    "an unknown label": (put("湯頭", label="Y"), "unknown label 'Y'; write YY, YN, NX or unsure, or leave it empty"),
    "an unknown polarity": (
        put("湯頭", label="YN", right_polarity="好"),
        "unknown polarity '好'; write POS, NEG or NEU (",
    ),
    "YY of another polarity": (
        put("湯頭", label="YY", right_polarity="NEG"),
        "right, but the right polarity given is NEG",
    ),
    "YN of the same polarity": (
        put("湯頭", label="YN", right_polarity="POS"),
        "wrong, but the right polarity given is POS",
    ),
    "a correction alone": (put("湯頭", right_polarity="NEG"), "a correction without a label; write YY, YN or NX into"),
    "words that are not there": (put("湯頭", label="NX", right_aspect="湯底"), "'湯底' does not stand in the review"),
    "another place": (put("湯頭", label="YY", right_aspect="湯頭@2-4"), "does not stand at 2-4, which is '頭濃'"),
    "a place beyond": (put("湯頭", label="YY", right_aspect="湯頭@100-102"), "'湯頭' does not stand at 100-102"),
    "no candidate": (put("湯頭", candidate="99"), "no candidate '99' in this pool; candidates are 1 to 10"),
    "a candidate of another review": (put("湯頭", review="r2"), "belongs to review 'r1', not 'r2'"),
    "a sheet sorted by one column": (put("湯頭", aspect="飲料"), "the aspect is '飲料', that of candidate"),
    "another text": (put("湯頭", text="別的評論"), "the text is not that of the review"),
    "a label without a candidate": (put("湯頭", candidate="", label="YN"), "label 'YN' on a row that is no candidate"),
    "a missing triplet without polarity": (added(polarity=""), "no polarity; write POS, NEG or NEU"),
    "a missing triplet in an unknown review": (added(review="r9"), "no review 'r9' in this pool"),
    "a missing triplet somewhere": (added(aspect="餐點"), "'餐點' stands 3 times in the review; write which one: "),
    "a missing candidate": (added(aspect="餐點@5-7", opinion="便宜"), "not missing; label that row YY instead"),
}


def line_of(rows: list[dict[str, str]], at: int) -> int:
    """The line on which a row begins: cells hold line breaks."""
    return 2 + sum(1 + sum(cell.count("\n") for cell in row.values()) for row in rows[:at])


@pytest.mark.parametrize("fault", FAULTS)
def test_a_bad_row_is_told_and_nothing_is_imported(fault: str, labelled: Labelled, tmp_path: Path) -> None:
    edit, message = FAULTS[fault]

    def both(rows: list[dict[str, str]]) -> None:
        at(rows, "+麵")["label"] = "YY"
        edit(rows)

    workdir, file = edited(tmp_path, labelled, both)
    done = import_labels(workdir, None, file, "amy")
    assert [message in str(one) for one in done.faults] == [True], done.faults
    export(workdir, None, tmp_path / "before.csv")
    before, after = [*read_sheet(tmp_path / "before.csv"), {}], read_sheet(file)
    pairs = enumerate(zip(before, after, strict=False))
    differ = [n for n, (old, new) in pairs if old != new and old.get("aspect") != "'+麵"]
    assert str(done.faults[0]).startswith(f"sheet.csv line {line_of(after, differ[0])}: ")
    assert everything(workdir, labelled[2].id) == ({}, set())


def test_a_row_below_a_cell_with_a_line_break_is_named_by_its_line(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    rows = ['p,1,r1,"湯\n好喝",湯,好喝,POS,YY', "p,1,r2,湯很香,湯,香,POS,YY"]
    head = "pool,candidate,review,text,aspect,opinion,polarity,label"
    file.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    assert [str(row.where) for row in read_csv(file)] == ["a.csv line 2", "a.csv line 4"]


def test_every_bad_row_is_told(labelled: Labelled, tmp_path: Path, here: Command) -> None:
    def edit(rows: list[dict[str, str]]) -> None:
        for row in rows[:4]:
            row["label"] = "maybe" if row["candidate"] else row["label"]

    workdir, file = edited(tmp_path, labelled, edit)
    rows = read_sheet(file)
    bad = [line_of(rows, n) for n, row in enumerate(rows) if row["label"] == "maybe"]
    ran = here("annotate", "import", file, "--annotator", "amy", "--workdir", workdir)
    assert f"{len(bad)} bad rows, listed above; nothing was imported" in ran.error
    assert [int(line.split("line ")[1].split(":")[0]) for line in ran.err.splitlines()[:-1]] == bad


def test_a_sheet_of_another_pool_is_refused(labelled: Labelled, tmp_path: Path) -> None:
    workdir, file = edited(tmp_path, labelled, put("湯頭", pool="0123456789ab", label="YY"))
    with pytest.raises(InputError, match="belongs to pool '0123456789ab', not to "):
        import_labels(workdir, None, file, "amy")


def test_two_different_labels_of_a_candidate_in_one_sheet_are_refused(labelled: Labelled, tmp_path: Path) -> None:
    def edit(rows: list[dict[str, str]]) -> None:
        at(rows, "湯頭")["label"] = "YY"
        rows.append(at(rows, "湯頭") | {"label": "NX"})

    workdir, file = edited(tmp_path, labelled, edit)
    (fault,) = import_labels(workdir, None, file, "amy").faults
    assert "has another label at sheet.csv line" in str(fault)


IN_RIGHT = {"aspect": "", "opinion": "", "polarity": "", "right_aspect": "餐點@10-12", "right_opinion": "送得快"}


@pytest.mark.parametrize("cells", [{"label": "missing", "aspect": "餐點@10-12"}, {**IN_RIGHT, "right_polarity": "POS"}])
def test_a_missing_triplet_may_be_written_in_plain_words_and_where_corrections_stand(
    cells: dict[str, str], labelled: Labelled, tmp_path: Path
) -> None:
    workdir, file = edited(tmp_path, labelled, added(**cells))
    done = import_labels(workdir, None, file, "amy")
    assert (done.missing, done.faults) == (1, ())
    found, _ = everything(workdir, labelled[2].id)  # type: ignore[misc]
    assert list(found) == [("r3", (((10, 12),), ((12, 15),), "POS"))]


def test_semicolons_of_a_spreadsheet_are_read(labelled: Labelled, tmp_path: Path) -> None:
    workdir, file = edited(tmp_path, labelled, put("湯頭", label="yy"))
    with file.open(encoding="utf-8-sig", newline="") as handle:
        rows = list(csv.reader(handle))
    with file.open("w", encoding="utf-8", newline="") as handle:
        csv.writer(handle, delimiter=";").writerows(rows)
    assert import_labels(workdir, None, file, "amy").labels == 1


def test_a_file_that_is_there_is_not_written_over(labelled: Labelled, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("somebody's work", encoding="utf-8")
    with pytest.raises(InputError, match="may hold labels"):
        export(labelled[1], None, file)
    assert file.read_text(encoding="utf-8") == "somebody's work"
    export(labelled[1], None, file, force=True)
    assert [one.name for one in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"x,y\n\xff\xfe\x00", "a.csv:2: is not UTF-8"),
        ("a.csv", b"x,y\n1,2\n", "lacks the columns pool, candidate"),
        ("a.csv", b'pool,candidate\n1,"2\n3\n', "a.csv:2: broken CSV"),
        ("a.xlsx", b"no workbook", "broken XLSX"),
        (
            "a.xlsx",
            workbook("<worksheet><sheetData>" + "<c/>" * 1_100_000 + "</sheetData></worksheet>"),
            "elements of XML",
        ),
        ("a.xlsx", workbook("<worksheet><sheetData><row></c></sheetData></worksheet>"), "broken XLSX"),
        ("a.json", b"{nonsense", "not JSON"),
        ("a.json", b"[" * 100_000, "not JSON .nested too deeply"),
        ("a.json", b'{"a":' * 100_000, "not JSON .nested too deeply"),
        ("a.json", b"9" * 5_000, "not JSON .a number has over 4,300 digits"),
        ("a.json", b"[1, 2]", "no list of objects"),
        ("a.json", b"[]", "no rows"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_file_that_is_no_sheet_is_refused(
    name: str, content: bytes, message: str, labelled: Labelled, tmp_path: Path
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(InputError, match=message):
        import_labels(labelled[1], None, file, "amy")


@pytest.mark.parametrize("record", [{"data": 3}, {"annotations": 3, "data": {}}])
def test_a_record_that_no_tool_wrote_is_a_fault_or_belongs_to_no_pool(
    record: object, labelled: Labelled, tmp_path: Path
) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps([record]), encoding="utf-8")
    try:
        done = import_labels(labelled[1], None, file, "amy")
    except InputError as error:
        assert "it names no pool" in str(error)
        assert "`builder gold annotate export` writes what comes back" in str(error)
    else:
        assert "broken record" in str(done.faults[0])


def test_who_filled_in_a_sheet_must_be_said_and_cannot_be_a_machine(labelled: Labelled, tmp_path: Path) -> None:
    workdir, file = edited(tmp_path, labelled, put("湯頭", label="YY"))
    for name, message in (
        ("", "--annotator"),
        ("discriminator", "is the name of a discriminator"),
        ("a\nb", "no name of an annotator"),
    ):
        with pytest.raises(ConfigError, match=message):
            import_labels(workdir, None, file, name)
    assert everything(workdir, labelled[2].id) == ({}, set())


def test_a_mention_says_where_words_stand() -> None:
    text = "湯好喝，湯很燙"
    assert locate(text, "好喝").spans == ((1, 3),)
    assert locate(text, "湯@4-5").spans == ((4, 5),)
    assert locate(text, "湯燙@4-5,6-7").spans == ((4, 5), (6, 7))
    assert shown(text, ((4, 5), (6, 7))) == "湯燙@4-5,6-7"
    for wrong in ("", "湯", "冷", "湯@1-2", "湯@4-99", "湯好@0-2,1-3", "@3-3"):
        with pytest.raises(MentionError):
            locate(text, wrong)


def test_the_format_is_told_by_the_ending() -> None:
    assert format_of(Path("a.XLSX")) is FORMATS[".xlsx"]
    with pytest.raises(ConfigError, match=r"which format is a\.jsonl.*\.json for Label Studio"):
        format_of(Path("a.jsonl"))


def test_the_export_of_label_studio_that_drops_relations_is_refused(labelled: Labelled, tmp_path: Path) -> None:
    (tmp_path / "min.json").write_text('[{"text": "x", "pool": "p", "annotation_id": 3}]', encoding="utf-8")
    with pytest.raises(InputError, match="JSON-MIN, which drops relations"):
        import_labels(labelled[1], None, tmp_path / "min.json", "amy")


def test_candidates_that_a_file_does_not_hold_are_still_open(labelled: Labelled, tmp_path: Path, here: Command) -> None:
    """Label Studio can export the annotated tasks alone."""
    _, bare, pool = labelled
    shutil.copytree(bare, tmp_path / "w")
    file = tmp_path / "exported.json"
    export(labelled[0], None, file, "amy")
    tasks = [task for task in json.loads(file.read_text(encoding="utf-8")) if task.get("annotations")]
    answered = [task for task in tasks if task["data"]["candidate"]][:2]
    file.write_text(json.dumps(answered), encoding="utf-8")
    done = here("annotate", "import", str(file), "--annotator", "bo", "--workdir", str(tmp_path / "w"))
    assert f"{pool.size - 2} candidates still open" in done.out
