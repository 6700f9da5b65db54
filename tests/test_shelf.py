"""A release is read and compared a row at a time, and says what it would say if all were in memory."""

from __future__ import annotations

import json
import statistics as reference
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import environment, write_lines
from test_diff import by_id
from test_export import review, triplet

from builder.core.errors import ReleaseError
from builder.release import package, parquet_files
from builder.release.diff import Shelf, compare
from builder.release.export.native_rows import ReviewRow
from builder.release.statistics import statistics

ROWS = {
    "train": [
        review("a\u2028b", "湯頭濃郁", triplet("湯頭濃郁", (0, 2), ((2, 4),), (2, 4))),
        review("c", "第二篇\u0085說麵很Q"),
    ],
    "valid": [],
    "test": [review("d", "店員親切")],
}


def shelved(folder: Path, made: dict[str, list[Any]]) -> Shelf:
    (folder / "data").mkdir(parents=True)
    for split, rows in made.items():
        write_lines(folder / "data" / f"{split}.jsonl", rows)
    return Shelf(folder, list(made))


def test_a_shelf_is_what_a_dictionary_of_the_rows_would_be(tmp_path: Path) -> None:
    due, shelf = by_id(ROWS), shelved(tmp_path, ROWS)
    assert list(shelf.items()) == list(due.items()) == [(i, shelf[i]) for i in due]
    assert len(shelf) == 3
    assert "c" in shelf and "x" not in shelf and shelf.get("x") is None


def test_a_shelf_names_the_line_of_what_is_no_row(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match=r"test.jsonl:1"):
        shelved(tmp_path, ROWS | {"test": [review("d", "店員親切") | {"id": 7}]})


def test_releases_are_compared_from_the_disk_as_in_memory(tmp_path: Path) -> None:
    after = {
        "train": [ROWS["train"][1]],
        "valid": [ROWS["test"][0] | {"id": "renamed"}],
        "test": [review("new", "新來的一篇")],
    }
    here, there = shelved(tmp_path / "a", ROWS), shelved(tmp_path / "b", after)
    found = compare(("a", here), ("b", there))
    assert found == compare(("a", by_id(ROWS)), ("b", by_id(after)))
    assert {kind: count for kind, count in found.counts.items() if count} == {
        "reviews_added": 1, "reviews_removed": 1, "reviews_renamed": 1, "reviews_moved": 1, "triplets_removed": 1,
    }  # fmt: skip


@pytest.mark.parametrize("lengths", [[], [3], [1, 2], [4, 1, 4, 9], [2, 2, 2], [7, 30, 8, 1, 12]])
def test_lengths_are_told_as_the_standard_library_does(lengths: list[int]) -> None:
    told = statistics({"train": [review(str(n), "麵" * length) for n, length in enumerate(lengths)]})["train"]
    mean = round(float(reference.mean(lengths)), 1) if lengths else 0.0
    median = float(reference.median(lengths)) if lengths else 0.0
    assert json.dumps([told["length_mean"], told["length_median"]]) == json.dumps([mean, median])


SECOND = """
import sys
from pathlib import Path
from builder.core.errors import ReleaseError
from builder.release import package
try:
    with package.building(Path(sys.argv[1])):
        print("made one too")
except ReleaseError as error:
    print(error)
"""


def test_two_processes_do_not_make_releases_in_one_place(tmp_path: Path) -> None:
    with package.building(tmp_path / "out") as folder:
        (folder / "half").write_text("x")
        second = [sys.executable, "-c", SECOND, str(tmp_path / "out")]
        said = subprocess.run(second, env=environment(), capture_output=True, text=True, timeout=300, check=True).stdout
        assert "another process makes a release here" in said
        assert (folder / "half").exists()
    assert list((tmp_path / "out").iterdir()) == []


def test_what_a_killed_process_left_goes_when_the_next_begins(tmp_path: Path) -> None:
    (tmp_path / ".release.building").mkdir()
    (tmp_path / ".release.building" / "train.draft").write_text("x")
    found = []

    def stopped() -> None:
        with package.building(tmp_path) as folder:
            found.extend(folder.iterdir())
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        stopped()
    assert found == list(tmp_path.iterdir()) == []


def test_a_table_that_breaks_off_is_closed_and_not_written_further(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    def broken(row: ReviewRow) -> None:
        with parquet_files.TableWriter(tmp_path / "x.parquet") as writer:
            writer.take(json.dumps(row).encode() + b"\n")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        broken(ROWS["train"][0])
    assert pq.read_table(tmp_path / "x.parquet").num_rows == 0
