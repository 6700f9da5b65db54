"""Columns of the input that pass through: from each format of file to the release, its readers and its exports."""

from __future__ import annotations

import csv
import json
import shutil
from datetime import time, timedelta
from pathlib import Path

import pytest
from conftest import Command, write_lines
from export_readers import read_csv, read_xlsx

import builder
from builder.core.config import resolve
from builder.core.errors import ConfigError, InputError
from builder.core.settings import Input
from builder.core.shards.local import LocalCrew
from builder.pipeline.outcome import preview
from builder.release.diff import between
from builder.release.export import table
from builder.release.export.native_rows import labelled
from builder.release.gates import RowLook
from builder.release.manifest import MASKED
from builder.release.shelf import rows
from builder.release.verify import _content
from builder.reviews import sources
from builder.reviews.sources.cells import RawReview

ROWS = [
    {"編號": "a1", "text": "湯頭很濃郁，服務也好", "日期": "2024/3/1", "分店": "信義店", "網頁": "https://x.tw/1"},
    {"編號": "a2", "text": "上菜太慢，不會再來", "日期": "2024-03-02", "分店": None, "網頁": None},
    {"編號": "a3", "text": "牛肉麵好吃，環境乾淨", "日期": "2024/3/9", "分店": "大安店", "網頁": None},
]
KEEP = ("日期", "分店", "網頁")
DUE = {
    "a1": {"日期": "2024/3/1", "分店": "信義店", "網頁": "[網址]"},
    "a2": {"日期": "2024-03-02", "分店": None, "網頁": None},
    "a3": {"日期": "2024/3/9", "分店": "大安店", "網頁": None},
}


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release whose build kept three columns."""
    folder = tmp_path_factory.mktemp("kept")
    source = folder / "in.csv"
    with source.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(ROWS[0]))
        writer.writeheader()
        writer.writerows(ROWS)
    settings = {"profile": "rules", "workers": 1, "input": {"keep_columns": KEEP}}
    made = builder.build(source, workdir=folder / "w", out=folder / "out", **settings)  # type: ignore[arg-type]
    assert made.release is not None
    return made.release.path


def test_a_cell_is_masked_whatever_date_it_holds_and_verify_looks_at_it(tmp_path: Path) -> None:
    cells = ["0912345678", "2024-03-01 王先生 0912-345-678 a@b.com", "0912-345-678 on Mar 1, 2024", "2024/3/1 12:30"]
    table_in = [{"text": f"{text}，服務很好", "備註": cell} for text, cell in zip("湯麵飯菜", cells, strict=True)]
    settings = {"profile": "rules", "workers": 1, "input": {"keep_columns": ("備註",)}}
    made = builder.build(table_in, workdir=tmp_path / "w", out=tmp_path / "out", **settings)  # type: ignore[arg-type]
    assert made.release is not None
    assert not any("F1" in name for name in made.counts["evaluate"]), "no review is in valid"
    kept = {review.columns["備註"] for review in made.release.reviews()}
    assert "2024/3/1 12:30" in kept and not any("345" in str(cell) or "@" in str(cell) for cell in kept)
    row = next(rows(made.release.path, "train"))
    assert not RowLook.of(row, MASKED).shown
    assert RowLook.of({**row, "columns": {"備註": "0912-345-678"}}, MASKED).shown


def test_what_passes_through_stands_in_every_layer_of_a_release(
    released: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = builder.Release(released)
    assert release.verify() == []
    assert {review.id: dict(review.columns) for review in release.reviews()} == DUE
    frame = release.to_pandas().astype(object).replace({float("nan"): None})
    shops = {row.id: row[f"{table.KEPT}分店"] for _, row in frame.iterrows()}
    assert shops == {i: row["分店"] for i, row in DUE.items()}
    datasets = pytest.importorskip("datasets", reason="datasets is a development dependency")
    loaded = datasets.load_dataset(str(released), cache_dir=str(released.parent / "cache"))
    assert {row["id"]: row["columns"] for split in loaded.values() for row in split} == DUE
    assert {row["id"]: row["columns"] for split in release.to_dataset().values() for row in split} == DUE
    card = (released / "README.md").read_text(encoding="utf-8")
    assert "Columns that passed through: `日期`, `分店`, `網頁`." in card
    assert "Place and author columns are not released" not in card
    mlcroissant = pytest.importorskip("mlcroissant", reason="mlcroissant is a development dependency")
    monkeypatch.chdir(released)
    described = mlcroissant.Dataset(jsonld="metadata.json")
    assert (described.metadata.ctx.issues.errors, described.metadata.ctx.issues.warnings) == (set(), set())
    (first, *_) = described.records("train-silver")
    due = DUE[first["train-silver/id"].decode()]
    assert first["train-silver/columns"]["train-silver/columns/日期"] in (due["日期"], due["日期"].encode())


def test_tables_of_a_release_hold_them_and_give_them_back(released: Path, tmp_path: Path, here: Command) -> None:
    reviews = list(rows(released, "train"))
    shown = [labelled(row) for row in reviews]
    assert read_csv(table.dump_csv(shown)) == read_xlsx(table.dump_xlsx(shown)) == reviews
    assert here("export", released, "--format", "csv", "--output", tmp_path / "t").code == 0
    header = (tmp_path / "t" / "train.csv").read_text(encoding="utf-8").splitlines()[0]
    assert header.endswith('"columns.日期","columns.分店","columns.網頁"')
    document = next(builder.Release(released).reviews("train"))
    assert builder.Document.from_json(document.to_json()).columns == document.columns


def test_a_row_with_other_columns_is_a_fault_and_an_edited_cell_a_change(released: Path, tmp_path: Path) -> None:
    given = [json.loads(line) for line in (released / "data" / "train.jsonl").read_text(encoding="utf-8").splitlines()]
    other = tmp_path / "other"
    shutil.copytree(released, other)
    edited = [row | {"columns": row["columns"] | {"分店": "別店"}} for row in given]
    write(other, edited)
    assert between(released, other).counts["reviews_relabelled"] == len(given)
    for row in given:
        del row["columns"]["分店"]
    write(other, given)
    faults = list(_content(other, {}, LocalCrew(1), {}))
    assert f"data/train.jsonl: {given[0]['id']} has other columns than manifest.json says: 日期, 分店, 網頁" in faults


def write(release: Path, reviews: list[dict[str, object]]) -> None:
    write_lines(release / "data" / "train.jsonl", reviews)


@pytest.mark.parametrize("ending", ["csv", "json", "jsonl", "parquet", "xlsx"])
def test_every_reader_gives_the_cells_as_text(tmp_path: Path, ending: str) -> None:
    import pandas

    path = tmp_path / f"in.{ending}"
    frame = pandas.DataFrame({"text": ["湯很好喝", "麵太鹹了"], "分店": ["甲", None], "桌號": [12, 7]})
    if ending == "csv":
        frame.to_csv(path, index=False)
    elif ending == "xlsx":
        frame.to_excel(path, index=False)
    elif ending == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=ending == "jsonl", force_ascii=False)
    read = [
        row for row in sources.read(path, Input(keep_columns=("桌號", "分店", "text"))) if isinstance(row, RawReview)
    ]
    assert [row.kept for row in read] == [("12", "甲", "湯很好喝"), ("7", None, "麵太鹹了")]


def test_a_cell_of_any_type_is_kept_as_text(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    cells: dict[str, list[object]] = {
        "text": ["湯很好喝"],
        "time": [time(12, 30)],
        "waited": [timedelta(minutes=5)],
        "bytes": [b"\x01\xff"],
        "none": [None],
    }
    parquet.write_table(pyarrow.table(cells), tmp_path / "in.parquet")
    (row,) = sources.read(tmp_path / "in.parquet", Input(keep_columns=tuple(cells)))
    assert isinstance(row, RawReview)
    assert row.kept == ("湯很好喝", "12:30:00", "0:05:00", "01ff", None)


def test_a_column_that_is_kept_is_not_unused_however_its_name_is_written(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("text,Branch Name,other\n湯很好喝,甲,1\n", encoding="utf-8")
    seen = preview(source, resolve(options={"input.keep_columns": ("branch_name",)}).config)
    assert (seen.unused, seen.kept) == (("other",), ("branch_name",))


def test_a_preview_says_that_a_kept_place_is_masked_and_which_cells_it_cannot_read(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    lines = ("湯很好喝,甲店,2024/3/1,5", "麵很難吃,甲店,昨天,多", "服務很慢,乙店,someday,", "環境很好,乙店,,4 星")
    source.write_text("\n".join(("text,place,date,rating", *lines)), encoding="utf-8")
    seen = preview(source, resolve(options={"input.keep_columns": ("date", "place")}).config)
    assert seen.unread == {"rating": (1, "多"), "date": (2, "昨天")}
    shown = list(seen.lines())
    assert "  rating  ← rating (in 1 row no rating, “多” for one)" in shown
    assert "  date    ← date (in 2 rows no date, “昨天” for one)" in shown
    kept = next(line for line in shown if line.startswith("  kept    date, place: "))
    assert kept.endswith(
        "masked as the text is, but a name that is all of a cell stays; place becomes [店名] in every row"
    )


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (("--keep-columns", "branch, when"), "branch, when"),
        *((("--keep-columns", name), name) for name in ("2024", "true", "[a]")),  # not as TOML reads them
        (("--keep-columns", "true", "--set", "input.keep_columns=branch"), "branch"),
    ],
)
def test_the_option_names_them_with_commas(given: tuple[str, ...], kept: str, tmp_path: Path, here: Command) -> None:
    source = tmp_path / "in.csv"
    source.write_text("text,branch,when,2024,true,[a]\n湯很好喝,甲,2024,1,2,3\n", encoding="utf-8")
    ran = here("build", source, *given, "--dry-run", cwd=tmp_path)
    line = f"  kept    {kept}: in the release, masked as the text is, but a name that is all of a cell stays"
    assert line in ran.out.splitlines(), ran.err


def test_a_name_that_no_column_has_and_one_given_twice_are_refused(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("text,branch\n湯很好喝,甲\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"no column 'brunch'.*did you mean branch.*correct --keep-columns"):
        preview(source, resolve(options={"input.keep_columns": ("brunch",)}).config)
    with pytest.raises(ConfigError, match="none of them twice"):
        resolve(options={"input.keep_columns": ("branch", "branch")})
    shown = list(preview(source, resolve(options={"input.keep_columns": ("branch",)}).config).lines())
    assert "  kept    branch: in the release, masked as the text is, but a name that is all of a cell stays" in shown
    line = next(line for line in preview(source, resolve().config).lines() if "unused" in line)
    assert line.endswith("--keep-columns takes any into the release")
