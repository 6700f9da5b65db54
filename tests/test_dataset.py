"""Which dataset a build makes: its name, its shelf, its ids, and a version that is kept where nothing changed."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Command, Ran, sentence

from builder.pipeline import outcome
from builder.pipeline.builds import new_build
from builder.pipeline.outcome import examples, list_next_commands
from builder.release import shelf
from builder.release.shelf import opened
from builder.store import db, released, report

Build = Callable[..., Ran]


@pytest.fixture
def make(here: Command, tmp_path: Path) -> Build:
    """`builder build` by rules alone, with the releases of all builds of a test on one shelf."""

    def build(*words: str | Path) -> Ran:
        places = ("--out", tmp_path / "releases", "--profile", "rules", "--workers", "1")
        ran = here("build", *words, *places)
        assert "Traceback" not in ran.err, ran.err
        return ran

    return build


def write(path: Path, first: int, rows: int = 12, head: str = "id,text") -> Path:
    """A file of invented reviews; other numbers give other reviews."""
    path.parent.mkdir(exist_ok=True)
    ids = head.startswith("id")
    lines = [f"{f'r{n},' if ids else ''}{sentence(n)}" for n in range(first, first + rows)]
    path.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    return path


def test_a_dataset_is_named_after_its_working_directory_or_after_its_file_in_the_default_one(tmp_path: Path) -> None:
    source = write(tmp_path / "評論 2024.csv", 0)

    def named(workdir: str, **settings: object) -> tuple[str, str]:
        build = new_build((source,), tmp_path / workdir, tmp_path / "out", None, settings)
        return build.name, build.resolved.origin["release.name"]

    assert named("noodles") == ("noodles", "named after the working directory")
    assert named("my reviews")[0] == "my-reviews"
    assert named("workdir") == ("評論-2024", "named after 評論 2024.csv")
    assert named("noodles", **{"release.name": "given"}) == ("given", "option")
    assert named("noodles", domain="laptop")[0] == "noodles"


def test_reviews_of_another_dataset_never_become_the_next_version_of_one(make: Build, tmp_path: Path) -> None:
    first, second = write(tmp_path / "a" / "reviews.csv", 0), write(tmp_path / "b" / "reviews.csv", 100)
    shelf = tmp_path / "releases"
    one = make(first, "--workdir", tmp_path / "a" / "workdir")
    assert f"Dataset reviews (--name gives another name) in {shelf}: no version yet." in one.err
    assert opened(shelf / "v0.1.0").manifest["name"] == "reviews"
    there = tmp_path / "b" / "workdir"
    assert make(second, "--workdir", there).error == (
        f"{shelf}: v0.1.0 of reviews is here, made of other reviews: this build has 0 of its 12; name this dataset "
        "with --name, or say --name reviews for the next version of that one"
    )
    assert not (there / db.NAME).exists(), "it is refused before the first stage"
    assert make(second, "--workdir", there, "--name", "shop b").code == 0
    assert opened(shelf / "shop-b" / "v0.1.0").manifest["name"] == "shop b"


def test_a_new_working_directory_goes_on_with_the_dataset_whose_reviews_it_has(make: Build, tmp_path: Path) -> None:
    source, shelf = write(tmp_path / "in.csv", 0), tmp_path / "releases"
    make(source, "--workdir", tmp_path / "one" / "noodles")
    same = make(source, "--workdir", tmp_path / "two" / "noodles")
    assert "Nothing has changed: v0.1.0 is kept as it is." in same.out
    more = make(write(source, 0, rows=13), "--workdir", tmp_path / "two" / "noodles")
    assert "the last version is v0.1.0" in more.err
    assert [path.name for path in sorted(shelf.glob("v*"))] == ["v0.1.0", "v0.2.0"], more.err


def test_a_build_without_change_keeps_the_last_version_and_says_so(make: Build, here: Command, tmp_path: Path) -> None:
    source, workdir, shelf = write(tmp_path / "in.csv", 0), tmp_path / "w", tmp_path / "releases"
    make(source, "--workdir", workdir)
    again = make(source, "--workdir", workdir, "--set", "seed=14", "--verbose")
    assert again.out.count("kept as it is") == 1
    assert "unchanged yes" in again.out
    licensed = here("release", "--workdir", workdir, "--license", "CC0-1.0")
    assert licensed.out.startswith(f"{shelf / 'v0.1.1'}: released, "), "what is said of the data has changed"
    assert f"{shelf / 'v0.1.1'}: unchanged, v0.1.1 kept, " in here("release", "--workdir", workdir).out
    assert len(list(shelf.glob("v*"))) == 2


def test_git_sees_no_working_directory_and_a_folder_with_files_keeps_its_rules(make: Build, tmp_path: Path) -> None:
    source = write(tmp_path / "in.csv", 0, rows=2)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    make(source, "--workdir", tmp_path / "mine", "--until", "ingest")
    status = ["git", "-C", str(tmp_path), "status", "--porcelain", "--untracked-files=all"]
    assert subprocess.run(status, capture_output=True, text=True, check=True).stdout == "?? in.csv\n"
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "notes.txt").touch()
    make(source, "--workdir", tmp_path / "own", "--until", "ingest")
    assert not (tmp_path / "own" / ".gitignore").exists()


def test_ids_name_no_file_and_the_preview_says_what_becomes_of_them(make: Build, tmp_path: Path) -> None:
    bare = write(tmp_path / "secret-shop.csv", 0, rows=3, head="text")
    ran = make(bare, "--workdir", tmp_path / "w")
    assert "  id      none: reviews are called review-1, review-2 … by their rows" in ran.err
    reused = write(tmp_path / "again.csv", 50, rows=3)
    reused.write_text(reused.read_text(encoding="utf-8").replace("r52", "r51"), encoding="utf-8")
    ran = make(reused, "--workdir", tmp_path / "w2", "--name", "again")
    assert "  id      ← id (1 row with the id of another: `ID~ROW` in the dataset)" in ran.err
    releases = [tmp_path / "releases" / "v0.1.0", tmp_path / "releases" / "again" / "v0.1.0"]
    ids = [{row["id"] for name in opened(path).splits for row in shelf.rows(path, name)} for path in releases]
    assert ids == [{"review-1", "review-2", "review-3"}, {"r50", "r51", "r51~3"}]


# ---- what a build ends with


def test_only_commands_that_run_are_named_and_else_what_installs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome, "find_spec", lambda name: None if name in ("datasette", "datasets") else object())
    (install, why), *others = list_next_commands(Path("releases/v0.1.0"), " --workdir w")
    assert [command for command, _ in others] == ["builder report --workdir w", "builder gold audit draw --workdir w"]
    assert install.endswith("[app]'")
    assert why == "for builder serve and datasets.load_dataset, which cannot run yet"


def test_the_examples_are_the_surest_of_the_short_reviews(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def row(text: str, *confidences: float) -> dict[str, object]:
        return {"text": text, "triplets": [{"confidence": confidence} for confidence in confidences]}

    rows = [row("甲" * 10, 0.99, 0.4), row("乙" * 10, 0.9, 0.9), row("丙" * 90, 1, 1), row("丁" * 10, 0.8, 0.8)]
    monkeypatch.setattr(shelf, "opened", lambda path: type("Release", (), {"splits": ["train"]}))
    monkeypatch.setattr(shelf, "rows", lambda path, split: iter(rows))
    monkeypatch.setattr(outcome, "triplet", lambda kept: kept)
    monkeypatch.setattr(outcome, "laid_out", lambda answers, colour: [answer.text[0] for answer in answers])
    assert list(examples(tmp_path)) == ["乙", "丁", "甲"]


def test_words_among_settings_need_no_quotation_marks(here: Command) -> None:
    words = ("--set", "release.date=2026-01-02", "--set", "release.name=2024", "--set", "self_train.variants=A, C")
    shown = here("build", *words, "--set", "discriminate.mode=paper", "--show-config").out
    for line in ('date = "2026-01-02"', 'name = "2024"', 'variants = ["A", "C"]'):
        assert line in shown


def test_pages_and_report_count_a_word_in_both_scripts_once() -> None:
    connection = sqlite3.connect(":memory:")
    connection.executescript(
        "CREATE TABLE released_reviews (review, unverified_negative); INSERT INTO released_reviews VALUES (1, 0);"
        "CREATE TABLE triplets (id, review, aspect, opinion); CREATE TABLE released (triplet);"
        "INSERT INTO triplets VALUES (1, 1, '湯頭', '濃郁'), (2, 1, '汤头', '浓郁'), (3, 1, '服務', '濃郁');"
        "INSERT INTO released SELECT id FROM triplets;"
    )
    numbers = released.totals(connection)
    assert (numbers["triplets"], numbers["aspects"], numbers["opinions"]) == (3, 2, 1)
    assert report.totals(connection) == (3, 2, 1, 1)
