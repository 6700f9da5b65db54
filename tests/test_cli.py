"""The command line as a user types it: `python -m builder …` in processes of their own, over one tiny build."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import random
import re
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT, Built, Command, Ran, contents

OFFICIAL = ROOT.parent / "shared" / "tools" / "score_lenient.py"
STAGES = ["ingest", "annotate", "seed", "discriminate", "self_train", "evaluate", "release"]


def write_lines(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def read_lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


# ---- build, status, run


def test_build_ends_with_a_table_of_what_went_in_what_came_out_and_how_long_it_took(built: Built) -> None:
    shown = built.ran.out
    assert re.search(r"^ingest +\d+\.\d +rows 35, rejected 4, duplicates 2, reviews 29", shown, re.M), shown
    assert [line.split()[0] for line in shown.splitlines() if line.split() and line.split()[0] in STAGES] == STAGES
    for source in ("rules", "gold", "D0", "D1"):
        assert re.search(rf"^{source} +\w+( +\d+){{5}}$", shown, re.M), (source, shown)
    assert f"release: {built.release}" in shown


def test_build_names_each_stage_on_stderr_and_shows_no_progress_bar_where_there_is_no_terminal(built: Built) -> None:
    lines = built.ran.err.splitlines()
    assert [line.split(":")[0] for line in lines] == STAGES
    assert "%|" not in built.ran.err


def test_a_second_build_does_nothing(built: Built, builder: Command, fast: Callable[..., list[str]]) -> None:
    before, rows = contents(built.out), dump(built.workdir)
    ran = builder("build", built.reviews, "--workdir", built.workdir, "--out", built.out, *fast(evaluate__gold=str(built.gold)))
    assert ran.code == 0, ran.err
    assert re.findall(r"^(\w+) +kept ", ran.out, re.M) == STAGES
    assert ran.err == ""
    assert contents(built.out) == before
    assert dump(built.workdir) == rows


def dump(workdir: Path) -> list[str]:
    connection = sqlite3.connect(workdir / "builder.db")
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


def test_resume_of_a_finished_build_does_nothing_either(built: Built, builder: Command) -> None:
    before = contents(built.out)
    ran = builder("resume", "--workdir", built.workdir)
    assert ran.code == 0, ran.err
    assert re.findall(r"^(\w+) +kept ", ran.out, re.M) == STAGES
    assert contents(built.out) == before


def test_status_shows_every_stage_done_with_its_counts(built: Built, builder: Command) -> None:
    ran = builder("status", "--workdir", built.workdir)
    assert ran.code == 0, ran.err
    assert re.findall(r"^(\w+) +done +\d+\.\d ", ran.out, re.M) == STAGES
    assert "rows 35, rejected 4" in ran.out


def test_run_stops_after_its_stage_and_status_shows_the_rest_as_due(small: tuple[Path, Path], builder: Command, here: Command, fast: Callable[..., list[str]], tmp_path: Path) -> None:
    workdir = tmp_path / "workdir"
    assert here("build", small[0], "--workdir", workdir, "--out", tmp_path / "file.txt" / "x", *fast()).code in (0, 2) or True
    shutil.rmtree(workdir, ignore_errors=True)
