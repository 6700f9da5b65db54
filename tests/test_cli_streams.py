"""What people type that went wrong without a word: streams, empty questions, other datasets, sheets."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from conftest import Built, Command, environment, run_python

from builder.core.config import flat, resolve
from builder.core.errors import InputError, WorkdirError
from builder.core.settings import Input
from builder.language.lexicon.resources import load_lexicon, overlays
from builder.pipeline import builds, pipeline
from builder.pipeline.builds import Build
from builder.release.shelf import shelf_of
from builder.reviews.sources import read
from builder.reviews.sources.cells import RawReview, RejectedRow
from builder.store import db

RUN = """
import json, sys
from builder.cli import main as cli

for words in json.loads(sys.argv[1]):
    sys.argv, code = ["builder", *words], 0
    try:
        cli.main()
    except SystemExit as stopped:
        code = stopped.code
    print(f"\\nended {code}", file=sys.stderr, flush=True)
"""
"""Commands one after the other in a process."""
TEXTS = '{"id": 1, "text": "湯頭很好喝"}\n{"id": 2, "text": "店員不親切"}\n'


# ---- streams


def test_extract_reads_a_pipe_and_writes_standard_output(tmp_path: Path) -> None:
    done = run_python("-m", "builder", "extract", "--input", "/dev/stdin", "--output", "-", cwd=tmp_path, given=TEXTS)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["id"] for row in rows] == [1, 2]
    assert [(t["aspect"], t["polarity"]) for row in rows for t in row["triplets"]] == [("湯頭", "POS"), ("店員", "NEG")]
    assert "2 texts, 2 triplets" in done.stderr
    assert list(tmp_path.iterdir()) == [], "no file is called -"


def test_extract_names_the_line_of_a_pipe_that_cannot_be_read(tmp_path: Path) -> None:
    words = ("-m", "builder", "extract", "--input", "-", "--output", "-")
    done = run_python(*words, cwd=tmp_path, given="\n" + TEXTS + "{\n")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("builder: error: -:4: not a JSON line")


def test_extract_leaves_a_device_in_its_place(here: Command, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    source = tmp_path / "in.jsonl"
    source.write_text(TEXTS, encoding="utf-8")
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        assert here("extract", "--input", source, "--output", pipe).code == 0
        assert reader.stdout is not None
        assert len(reader.stdout.read().splitlines()) == 2
    assert pipe.is_fifo()


def test_a_terminal_that_cannot_write_chinese_gets_codes_and_no_traceback(built: Built, tmp_path: Path) -> None:
    """Summaries, tables, sources of settings, errors and JSON, in the encodings that Windows and LC_ALL=C give."""
    (tmp_path / "texts.jsonl").write_text(TEXTS, encoding="utf-8")
    commands: list[tuple[object, ...]] = [
        ("build", tmp_path / "texts.jsonl", "--workdir", "work", "--out", "out", "--profile", "rules"),
        ("extract", "湯頭很好喝"),
        ("extract", "--input", tmp_path / "texts.jsonl", "--output", "-"),
        ("query", "top-opinions", "--workdir", built.workdir),
        ("search", "湯", "--workdir", built.workdir),
        ("score", "沒有.jsonl", "--gold", "沒有.jsonl"),
        ("status", "--workdir", built.workdir),
        ("rules", "--workdir", built.workdir),
    ]
    for number, encoding in enumerate(("ascii", "cp1252")):  # each command in one of them
        own = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
        chosen = [list(map(str, words)) for words in commands[number::2]]
        done = subprocess.run(
            [sys.executable, "-c", RUN, json.dumps(chosen)],
            cwd=tmp_path, env=environment() | own, capture_output=True, timeout=600,
        )  # fmt: skip
        said = done.stdout + done.stderr
        assert done.returncode == 0 and b"Traceback" not in said, said
        assert said.count(b"\nended 0\n") + said.count(b"\nended 2\n") == len(chosen), said
        assert said.count(b"\nended 2\n") == sum(words[0] == "score" for words in chosen), said


# ---- questions


@pytest.mark.parametrize("statement", ["", "  ", "-- nothing", ";"])
def test_a_query_that_asks_nothing_is_an_error(built: Built, here: Command, statement: str) -> None:
    ran = here("sql", "--workdir", built.workdir, "--", statement)
    assert ran.error.startswith("the query asks nothing; for example")
    assert ran.code == 2


def test_the_share_of_a_rule_counts_candidates_without_a_verdict(built: Built, here: Command, tmp_path: Path) -> None:
    workdir = built.copy(tmp_path)

    def rows() -> dict[str, dict[str, float]]:
        ran = here("query", "by-rule", "--format", "json", "--workdir", workdir)
        return {row["rule"]: row for row in json.loads(ran.out)}

    with db.writing(workdir) as connection, db.atomic(connection):
        found = connection.execute(
            "SELECT p.rule, v.triplet, v.source FROM proposals p JOIN verdicts v ON v.triplet = p.triplet JOIN sources "
            "s ON s.id = v.source"
            " WHERE s.name = 'discriminator' AND p.rule IS NOT NULL LIMIT 1"
        ).fetchone()
        rule, triplet, source = found
        connection.execute("UPDATE verdicts SET label = 'YY' WHERE triplet = ? AND source = ?", (triplet, source))
    with db.writing(workdir) as connection, db.atomic(connection):
        before = rows()[rule]
        connection.execute("DELETE FROM verdicts WHERE triplet = ? AND source = ?", (triplet, source))
    after = rows()[rule]
    assert after["abstained"] == before["abstained"] + 1
    assert after["accepted_percent"] == pytest.approx(before["accepted_percent"] - 100 / before["triplets"], abs=0.11)
    with db.writing(workdir) as connection, db.atomic(connection):
        connection.execute("DELETE FROM verdicts")
    assert rows()[rule]["accepted_percent"] is None


# ---- settings


def test_show_config_is_toml_that_builds_the_same(here: Command, tmp_path: Path) -> None:
    awkward = 'a "name" \\ with\ttabs, \x7f and 湯'
    config = tmp_path / "settings.toml"
    config.write_text(
        f"seed = 5\n[release]\nlicence = 'CC0-1.0'\nname = 'from-file'\ncreator = {json.dumps(awkward)[:-1]}\"\n",
        encoding="utf-8",
    )
    changed = ("--set", "self_train.iterations=2", "--set", 'self_train.variants=["C"]')
    ran = here("build", "--config", config, *changed, "--show-config", cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["settings.toml"]
    assert f'name = "from-file"  # {config}' in ran.out, "a file goes before the settings that fit the sample"
    shown = tmp_path / "shown.toml"
    shown.write_text(ran.out, encoding="utf-8")
    resolved = resolve(shown)
    given = tomllib.loads(ran.out)
    assert given["seed"] == 5
    assert given["release"]["creator"] == awkward
    assert given["self_train"] | {"iterations": 2, "variants": ["C"]} == given["self_train"]
    assert set(resolved.origin.values()) == {str(shown)}, "every setting is printed"
    assert flat(resolved.config) == flat(resolve(shown, {}).config)
    assert re.search(rf"^seed = 5  # {re.escape(str(config))}$", ran.out, re.M)
    assert re.search(r"^iterations = 2  # option$", ran.out, re.M)
    assert re.search(r'^backend = "embedded"  # default$', ran.out, re.M)


def test_status_is_a_line_a_stage_that_fits(built: Built, here: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = here("status", "--workdir", built.workdir, "--verbose").out.splitlines()
    assert len(lines) == 2 + len(pipeline.STAGES)
    assert max(map(len, lines)) > 100
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    for width in (80, 140):
        monkeypatch.setenv("COLUMNS", str(width))
        shown = here("status", "--workdir", built.workdir, "--verbose").out.splitlines()
        assert max(map(len, shown)) <= width
        assert [line.split()[0] for line in shown[2:] if not line.startswith(" ")] == [
            stage.name for stage in pipeline.STAGES
        ]


# ---- other datasets


def test_a_build_of_another_dataset_replaces_nothing_of_a_folder(built: Built, here: Command, tmp_path: Path) -> None:
    workdir, out = built.copy(tmp_path), tmp_path / "releases"
    before = builds.remembered(workdir)
    other = tmp_path / "other.csv"
    other.write_text("id,text\n" + "".join(f"{n},第{n}家的拉麵很好吃，服務親切\n" for n in range(40)), encoding="utf-8")
    ran = here("build", other, "--workdir", workdir, "--out", out)
    assert ran.code == 2
    assert ran.error == (
        f"{workdir}: holds the build of another dataset (reviews, from {built.reviews.name}); "
        "choose another --workdir, give both the same --name, or replace it with --force"
    )
    assert builds.remembered(workdir).inputs == before.inputs
    same = flat(before.resolved.config) | {"release.name": "reviews", "evaluate.gold": ""}
    pipeline.run(Build(workdir, out, (other,), resolve(options=same)), until="ingest")
    unnamed = Build(workdir, out, (built.reviews,), resolve())
    with pytest.raises(WorkdirError, match="another dataset"):
        pipeline.run(unnamed, until="ingest")
    pipeline.run(unnamed, until="ingest", overwrite=True)


def test_releases_inside_the_current_directory_are_remembered_as_one_types_them(
    built: Built, here: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.csv").write_bytes(built.reviews.read_bytes())
    assert here("build", "mine.csv", "--workdir", "w", "--out", "shelf", "--until", "ingest").code == 0
    assert builds.remembered(Path("w")).out == Path("shelf")
    monkeypatch.chdir("/")
    assert builds.remembered(tmp_path / "w").out == tmp_path / "shelf"


def test_files_may_be_added_to_a_dataset(built: Built, tmp_path: Path) -> None:
    workdir = built.copy(tmp_path)
    more = tmp_path / "more.csv"
    more.write_text("id,text\nn1,新開的拉麵店很好吃，服務也親切\n", encoding="utf-8")
    before = builds.remembered(workdir)
    (done,) = pipeline.run(Build(workdir, before.out, (*before.inputs, more), before.resolved), until="ingest")
    assert done.ran


def test_datasets_that_share_a_folder_have_versions_of_their_own(built: Built, tmp_path: Path) -> None:
    assert shelf_of(built.out, "reviews") == built.out
    assert shelf_of(built.out, "my / drinks") == built.out / "my-drinks"
    assert shelf_of(tmp_path / "nothing", "my drinks") == tmp_path / "nothing"
    workdir = built.copy(tmp_path)
    other = builds.changed(builds.remembered(workdir, tmp_path / "shared"), {"release.name": "drinks"})
    first = Path(str(pipeline.run(builds.remembered(workdir, tmp_path / "shared"))[-1].counts["path"]))
    path = Path(str(pipeline.run(other)[-1].counts["path"]))
    assert (first.name, path.name) == ("v0.1.0", "v0.1.0")
    assert path.parent == tmp_path / "shared" / "drinks"
    assert [done.ran for done in pipeline.run(other)] == [False] * len(pipeline.STAGES)


# ---- lists of words


def test_a_list_with_nothing_to_take_says_why_and_changes_nothing(built: Built, here: Command, tmp_path: Path) -> None:
    workdir = built.copy(tmp_path)
    words = tmp_path / "dishes.txt"
    words.write_text("牛肉麵\n", encoding="utf-8")
    ran = here("lexicon", "import", words, "--kind", "dishes", "--workdir", workdir)
    assert ran.code == 0, ran.err
    assert "the lexicon is as before: known 1; see" in ran.out
    refused = (workdir / "lexicon" / "refused" / "dishes.txt").read_text(encoding="utf-8")
    assert refused.splitlines()[1].startswith("1\t牛肉麵\tknown")
    assert {state for _, state, _ in pipeline.status(workdir)} == {"done"}
    assert load_lexicon(overlays=overlays(workdir)).digest == load_lexicon().digest


def test_a_list_of_another_kind_is_an_error_and_keeps_what_was_imported(here: Command, tmp_path: Path) -> None:
    good, bad = tmp_path / "list.txt", tmp_path / "bad" / "list.txt"
    bad.parent.mkdir()
    good.write_text("焗烤星空麵\n", encoding="utf-8")
    bad.write_text("12345\n!!\n", encoding="utf-8")
    assert here("lexicon", "import", good, "--kind", "dishes", "--workdir", tmp_path / "w").code == 0
    ran = here("lexicon", "import", bad, "--kind", "dishes", "--workdir", tmp_path / "w")
    assert ran.code == 2
    assert ran.error.startswith(f"{bad}: nothing in it became an entry (no-word 2; see ")
    assert "焗烤星空麵" in load_lexicon(overlays=overlays(tmp_path / "w")).aspects


# ---- sheets


@pytest.fixture
def workbook(tmp_path: Path) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "說明"
    book.active.append(["this workbook holds reviews"])
    book.create_sheet("2").append(["not", "this"])
    reviews = book.create_sheet("評論")
    reviews.append(["id", "text"])
    reviews.append(["a", "湯頭很好喝"])
    content = io.BytesIO()
    book.save(content)
    path = tmp_path / "reviews.xlsx"
    path.write_bytes(content.getvalue())
    return path


@pytest.mark.parametrize("sheet", ["評論", "3"])
def test_a_sheet_is_chosen_by_its_name_or_its_number(workbook: Path, sheet: str) -> None:
    rows = list(read(workbook, Input(sheet=sheet)))
    assert [row.text for row in rows if isinstance(row, RawReview)] == ["湯頭很好喝"]
    assert [row.reason for row in rows if isinstance(row, RejectedRow)] == ["sheet", "sheet"]


def test_a_workbook_whose_first_sheet_is_a_note_names_the_others(workbook: Path) -> None:
    with pytest.raises(InputError, match=r"sheet '說明': no text column; .* with --sheet: '說明', '2', '評論'"):
        list(read(workbook))
    with pytest.raises(InputError, match="sheet '2': no text column"):
        list(read(workbook, Input(sheet="2")))
    with pytest.raises(InputError, match=r"no sheet '9'; .*--sheet is one of '說明', '2', '評論', or a number from 1"):
        list(read(workbook, Input(sheet="9")))
