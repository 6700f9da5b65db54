"""`builder extract` as people type it: a text, a stream of lines, a file of any format, to the screen or to a file."""

from __future__ import annotations

import csv
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import Command, environment, run_python

from builder.cli.main import cli
from builder.release.export import extract_output
from builder.release.export.extract_output import display_width

REVIEW = "餐點不會太鹹，服務人員也很親切"


def on_terminal(*words: object, **variables: str) -> str:
    """What a command writes when its standard output is a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "builder", *map(str, words)],
        env=environment() | {"TERM": "xterm"} | variables, stdin=subprocess.DEVNULL, stdout=theirs,
        stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 4096):
                shown += part
        except OSError:  # the other end is closed
            pass
        os.close(ours)
    assert process.returncode == 0
    return shown.decode().replace("\r\n", "\n")


def test_a_device_of_no_such_name_is_refused(here: Command) -> None:
    assert "Invalid value for '--device': 'gpu' is none of auto, cpu" in here("extract", "--device", "gpu", REVIEW).err


def test_a_text_is_answered_with_its_triplets_in_columns(here: Command) -> None:
    ran = here("extract", REVIEW)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"{REVIEW}\n  餐點      不會鹹  POS\n  服務人員  親切    POS\n"
    first, second = ran.out.splitlines()[1:]
    assert display_width(first) == display_width(second), "wide characters are two columns"


def test_several_texts_are_answered_in_order(here: Command) -> None:
    ran = here("extract", "湯頭很好喝", "店員不親切")
    assert ran.out == "湯頭很好喝\n  湯頭  好喝  POS\n\n店員不親切\n  店員  不親切  NEG\n"
    assert "\x1b" not in ran.out, "no colour in a pipe"


def test_of_a_very_long_text_the_two_ends_are_shown(here: Command) -> None:
    shown, answer = here("extract", "湯頭很好喝。" + "好" * 3_000 + "！").out.split("\n", 1)
    assert shown.startswith("湯頭很好喝。好") and shown.endswith("好！") and " … " in shown and len(shown) < 1_000
    assert "湯頭  好喝  POS" in answer


def test_a_text_without_a_triplet_says_so(here: Command) -> None:
    assert here("extract", "再來", "delicious").out == (
        "再來\n  no triplet\n\ndelicious\n  no triplet: no Chinese character in it\n"
    )


def test_a_terminal_shows_colour_unless_it_is_refused() -> None:
    shown = on_terminal("extract", "湯頭\x1b[31m很好喝")
    assert "\x1b[1;32m好喝\x1b[0m" in shown
    assert "\x1b[36;4m湯頭\x1b[0m" in shown
    assert "\\x1b[31m" in shown, "codes in the text are shown, not obeyed"
    for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b" not in on_terminal("extract", "湯頭很好喝", **variables)


def test_a_hyphen_reads_a_text_from_each_line_of_standard_input() -> None:
    done = run_python("-m", "builder", "extract", "-", given="湯頭很好喝\n\n[推薦]牛肉麵好吃\n")
    assert done.stdout == "1  湯頭很好喝\n  湯頭  好喝  POS\n\n3  [推薦]牛肉麵好吃\n  牛肉麵  好吃  POS\n"
    assert "2 texts, 2 triplets" in done.stderr
    lines = CliRunner().invoke(cli, ["extract", "-", "--output", "-"], input="湯頭很好喝\n").stdout
    assert json.loads(lines)["triplets"][0]["aspect"] == "湯頭"


def test_plain_text_files_and_rows_without_an_id_are_numbered(here: Command, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("湯頭很好喝\n店員不親切\n", encoding="utf-8")
    (tmp_path / "in.jsonl").write_text('{"text": "湯頭很好喝"}\n{"text": "店員不親切"}\n', encoding="utf-8")
    for name in ("in.txt", "in.jsonl"):
        ran = here("extract", tmp_path / name, "--format", "jsonl")
        assert [json.loads(line)["id"] for line in ran.out.splitlines()] == [1, 2], ran.err


def test_a_named_column_and_encoding_are_used(here: Command, tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes("店,說法\n甲,湯頭很好喝\n".encode("big5"))
    ran = here("extract", path, "--text-column", "說法", "--encoding", "big5", "--id-column", "店")
    assert ran.out == "甲  湯頭很好喝\n  湯頭  好喝  POS\n"


def test_csv_has_a_row_for_each_triplet_and_for_each_text_without_one(here: Command, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    (tmp_path / "in.txt").write_text(f"{REVIEW}\n再來\n", encoding="utf-8")
    assert here("extract", tmp_path / "in.txt", "--output", target).out.startswith(f"{target}: 2 texts, 2 triplets, ")
    with target.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["id"], row["aspect"], row["opinion"], row["polarity"]) for row in rows] == [
        ("1", "餐點", "不會鹹", "POS"),
        ("1", "服務人員", "親切", "POS"),
        ("2", "", "", ""),
    ]
    for row in rows[:2]:
        assert row["text"][int(row["aspect_start"]) : int(row["aspect_end"])] == row["aspect"]
        assert "".join(row["text"][a:b] for a, b in json.loads(row["opinion_spans"])) == row["opinion"]


def test_csv_of_a_text_repeated_too_often_fails(here: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extract_output, "LARGEST_CSV", 6 * len(REVIEW) - 1)
    assert here("extract", REVIEW, "--output", tmp_path / "out.csv").error == (
        "text 1 and its 2 triplets would take 0 MB in a CSV; write JSON lines: --output FILE.jsonl, or --format jsonl"
    )
    assert not (tmp_path / "out.csv").exists()
    assert here("extract", REVIEW, "--output", tmp_path / "out.jsonl").code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "give a text, a file, or - for standard input; see `builder extract --help`"),
        (("reviews.csv",), "reviews.csv: no such file; check the path"),
        (("好吃", "--input", "a.jsonl"), "give either texts or one file; see `builder extract --help`"),
        (("a.csv", "好吃"), "give either texts or one file; see `builder extract --help`"),
        (("好吃", "--sheet", "2"), "columns, encoding and sheet are those of a file, and no file is given; see"),
        (("-", "--text-column", "a"), "columns, encoding and sheet are those of a file; save the stream to a file"),
        (("好吃", "--format", "xml"), "Invalid value for '--format': 'xml' is not one of 'jsonl', 'csv', 'table';"),
    ],
)
def test_what_extract_cannot_use_is_one_line(here: Command, words: tuple[str, ...], message: str) -> None:
    assert here("extract", *words).error.startswith(message)


def test_a_row_that_cannot_be_read_stops_and_is_named(here: Command, tmp_path: Path) -> None:
    path, target = tmp_path / "in.csv", tmp_path / "out.jsonl"
    path.write_text("id,text\n1,好吃\n2,好,吃\n", encoding="utf-8")
    assert here("extract", path, "--output", target).error == (
        f"{path}: fields: row 2: 3 fields where the header has 2, line 3; correct the row; "
        "`builder build` would keep it aside"
    )
    assert not target.exists()


def test_an_output_of_another_kind_of_file_is_refused(here: Command, tmp_path: Path) -> None:
    ran = here("extract", REVIEW, "--output", tmp_path / "answers.xlsx")
    assert ran.code == 2 and "answers.xlsx: end it in .jsonl or .csv, or say how with --format" in ran.err
    assert not (tmp_path / "answers.xlsx").exists()
