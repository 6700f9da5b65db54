"""What a user or a machine can get wrong: one line on stderr, exit code 2, and a finished build stays finished."""

from __future__ import annotations

import datetime
import gc
import gzip
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from conftest import Built, Command, ask, contents, settings

from builder.core.config import resolve
from builder.core.errors import OutputError
from builder.core.records import PoolReview
from builder.gold.items import LabelItem
from builder.pipeline import pipeline
from builder.pipeline.builds import Build
from builder.reviews.sources import read
from builder.reviews.sources.cells import RawReview
from builder.store import db
from builder.teaching.labelling import write_items

HEAD = "review_id,place,rating,text\n"
GOOD = "r{n},小木屋,5,第{n}碗湯頭濃郁，服務親切\n"
ROOT_USER = pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def rows(number: int = 12) -> str:
    return HEAD + "".join(GOOD.format(n=n) for n in range(number))


def ingested(workdir: Path, source: Path, **options: object) -> pipeline.Done:
    """Run a build up to ingest: what a good build does first."""
    return pipeline.run(
        Build(workdir, workdir.parent / "out", (source,), resolve(options={"workers": 1} | options)), until="ingest"
    )[0]


def kept_stages(built: Built, here: Command, workdir: Path) -> int:
    """How many stages the good build finds done."""
    places = ("--workdir", workdir, "--out", built.out)
    ran = here("build", built.reviews, *places, "--verbose", *settings(evaluate__gold=str(built.gold)))
    assert ran.code == 0, ran.err
    return len(re.findall(r"^\w+ +kept ", ran.out, re.M))


# ---- files of reviews

FILES: dict[str, tuple[str, str | bytes, str]] = {
    "columns parted by what parts none": (
        "in.csv",
        "id#評論\n1#湯頭很好\n",
        r"in\.csv: no text column; columns found: id#評論; separate columns by commas, .*, not by '#'; or name it",
    ),
    "header and rows parted differently": (
        "in.csv",
        "id,text\n1;湯頭很好\n2;麵也好吃\n",
        r"in\.csv: no usable review: all 2 rows were rejected \(fields 2\); separate columns by the same character",
    ),
    "every row rejected": (
        "in.csv",
        HEAD + "a,,,\nb,,,only english\nc,,,  \n",
        r"in\.csv: no usable review: all 3 rows were rejected \(empty 2, no-han 1\); name the column .* --text-column",
    ),
    "a review as long as a book": (
        "in.csv",
        HEAD + "a,,," + "湯頭很濃郁" * 20_000 + "\n",
        r"in\.csv: no usable review: the only row was rejected \(too-long 1\); split them .* raise .*ingest\.max_chars",
    ),
    "Big5": (
        "in.csv",
        rows().encode("big5"),
        r"in\.csv line 2: most of the file is not UTF-8; first invalid byte at byte \d+; .*--encoding (cp950|big5)",
    ),
    "gzip cut off": ("in.csv.gz", gzip.compress(rows(4000).encode())[:-50], r"in\.csv\.gz .*broken gzip data"),
}
"""What ingest alone can say, and one of the files that readers refuse; the others are in test_sources.py."""


def test_a_file_that_cannot_be_used_is_one_line_and_harms_no_build(built: Built, here: Command, tmp_path: Path) -> None:
    workdir = built.copy(tmp_path)
    for name, content, message in FILES.values():
        source = write(tmp_path / name, content)
        ran = here("build", source, "--workdir", workdir, "--out", tmp_path / "out", *settings(), "--force")
        assert re.search(message, ran.error), ran.error
        assert str(source) in ran.error
    assert not (tmp_path / "out").exists()
    assert kept_stages(built, here, workdir) == 7


def test_a_dry_run_refuses_a_file_without_a_usable_row(here: Command, tmp_path: Path) -> None:
    name, content, message = FILES["every row rejected"]
    ran = here("build", write(tmp_path / name, content), "--dry-run", *settings())
    assert ran.code == 2 and re.search(message, ran.error), ran.error
    assert "not usable" in ran.out and "Nothing was built" not in ran.out


@pytest.mark.parametrize("case", ["every row rejected", "Big5"])
def test_a_good_build_works_in_a_directory_where_a_bad_one_began(case: str, here: Command, tmp_path: Path) -> None:
    name, content, message = FILES[case]
    workdir = tmp_path / "workdir"
    ran = here("build", write(tmp_path / name, content), "--workdir", workdir, "--out", tmp_path / "out")
    assert re.search(message, ran.error)
    counts = "SELECT (SELECT count(*) FROM reviews), (SELECT count(*) FROM rejected), (SELECT count(*) FROM runs)"
    assert not workdir.exists() or ask(workdir, counts) == [(0, 0, 0)]
    assert ingested(workdir, write(tmp_path / "good.csv", rows())).counts["reviews"] == 12


def test_a_missing_file_and_a_directory_make_no_working_directory(here: Command, tmp_path: Path) -> None:
    places = ("--workdir", tmp_path / "w", "--out", tmp_path / "out")
    none = here("build", tmp_path / "none.csv", *places)
    assert none.err == f"builder: error: {tmp_path / 'none.csv'}: no such file; check the path\n"
    assert here("build", tmp_path, *places).error == f"{tmp_path}: is a directory; name a file"
    assert list(tmp_path.iterdir()) == []


@ROOT_USER
def test_an_unreadable_file_is_named_with_its_permissions(here: Command, tmp_path: Path) -> None:
    source = write(tmp_path / "in.csv", rows())
    source.chmod(0)
    ran = here("build", source, "--workdir", tmp_path / "w", "--out", tmp_path / "out")
    assert ran.error == f"{source}: cannot be read (Permission denied); check the file and its permissions"


# ---- rows

BAD_ROWS = HEAD + "".join(
    [
        GOOD.format(n=0), "r1,小木屋,5,多一格,湯頭濃郁\n", "r2,小木屋,5\n", 'r3,小木屋,5,"好吃"的店\n',
        "r4,小木屋,5,湯頭\0濃郁\n", f"r5,小木屋,5,{'湯頭濃郁，' * 20_000}\n", "r6,小木屋,5,\n",
        "r7,小木屋,5,delicious soup\n", *(GOOD.format(n=n) for n in range(8, 14)),
    ]
)  # fmt: skip


def test_rows_that_cannot_be_used_are_kept_with_a_reason_and_the_build_goes_on(here: Command, tmp_path: Path) -> None:
    workdir = tmp_path / "w"
    content = BAD_ROWS.encode() + b"rx,\xe5\xb0,5,\xff\xfe\n" + GOOD.format(n=99).encode()
    done = ingested(workdir, write(tmp_path / "in.csv", content))
    assert done.counts["rows"] == 16
    assert done.counts["rejected"] == 8
    assert done.counts["reviews"] == 8
    statement = "SELECT item, reason, detail, raw FROM rejected ORDER BY id"
    told = json.loads(here("sql", statement, "--workdir", workdir, "--format", "json").out)
    reasons = {2: "fields", 3: "fields", 4: "quote", 5: "nul", 6: "too-long", 7: "empty", 8: "no-han", 15: "encoding"}
    assert {row["item"]: row["reason"] for row in told} == {f"in.csv:{n}": reason for n, reason in reasons.items()}
    long = told[4]
    assert long["detail"] == "100000 characters, ingest.max_chars is 4000"
    assert len(long["raw"]) == 100_000, "what was not used is kept whole"
    assert told[0]["raw"].strip() == "r1,小木屋,5,多一格,湯頭濃郁"


def test_a_strict_build_stops_at_the_first_bad_row_and_names_it(here: Command, tmp_path: Path) -> None:
    source = write(tmp_path / "in.csv", BAD_ROWS)
    places = ("--workdir", tmp_path / "w", "--out", tmp_path / "out")
    ran = here("build", source, *places, "--set", 'ingest.on_bad_row="stop"')
    assert f"{source} row 2: fields: " in ran.error
    assert 'ingest.on_bad_row = "reject"' in ran.error


def test_a_file_given_three_times_loses_no_row(tmp_path: Path) -> None:
    source = write(tmp_path / "in.csv", rows(5))
    build = Build(tmp_path / "w", tmp_path / "out", (source, source, source), resolve(options={"workers": 1}))
    counts = pipeline.run(build, until="ingest")[0].counts
    assert (counts["rows"], counts["duplicates"], counts["reviews"]) == (15, 10, 5)
    assert ask(tmp_path / "w", "SELECT key FROM reviews WHERE row = 1 ORDER BY id") == [("r0",), ("r0~1",), ("r0~1~2",)]


# ---- gold

GOLD: dict[str, tuple[str, str]] = {
    "not JSON": ('{"id": "r1", "triplets": []}\n{oops\n', r"gold\.jsonl:2: no gold row"),
    "no triplets": ('{"id": "r1"}\n', r"gold\.jsonl:1: no gold row: it has no id with a list of triplets"),
    "a review that is not there": (
        '{"id": "r1", "triplets": []}\n{"id": "nobody", "triplets": []}\n',
        r"gold names review 'nobody', not among the distinct reviews",
    ),
}


@pytest.mark.parametrize("case", GOLD)
def test_gold_that_cannot_be_used_is_found_before_anything_is_trained(case: str, here: Command, tmp_path: Path) -> None:
    content, message = GOLD[case]
    source, gold = write(tmp_path / "in.csv", rows()), write(tmp_path / "gold.jsonl", content)
    places = ("--workdir", tmp_path / "w", "--out", tmp_path / "out")
    ran = here("build", source, *places, "--set", f"evaluate.gold={gold}")
    assert re.search(message, ran.error), ran.error
    assert not (tmp_path / "w" / "models").exists()
    assert ingested(tmp_path / "w", source).counts["reviews"] == 12


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"aspect_spans": [[1, 3]]}, r"'湯頭' does not stand at \(\(1, 3\),\)"),
        ({"aspect_spans": [[-9, -7]]}, r"does not stand at"),
        ({"aspect": "頭湯", "aspect_spans": [[4, 5], [3, 4]]}, r"does not stand at"),
        ({"aspect_spans": 3}, r"TypeError"),
        ({"polarity": "GOOD"}, r"there is no polarity 'GOOD'; write POS, NEG, NEU"),
        ({"valence": 2}, r"valence 2\.0 is not POS"),
    ],
)
def test_impossible_gold_is_named(changed: dict[str, object], message: str, here: Command, tmp_path: Path) -> None:
    source = write(tmp_path / "in.csv", rows())
    spans = {"aspect_spans": [[3, 5]], "opinion_spans": [[5, 7]]}
    triplet = {"aspect": "湯頭", "opinion": "濃郁", "polarity": "POS"} | spans
    gold = write(tmp_path / "gold.jsonl", json.dumps({"id": "r1", "triplets": [triplet | changed]}) + "\n")
    places = ("--workdir", tmp_path / "w", "--out", tmp_path / "out")
    ran = here("build", source, *places, "--set", f"evaluate.gold={gold}")
    assert ran.error.startswith(f"{gold}, review r1: "), ran.error
    assert re.search(message, ran.error), ran.error
    assert not (tmp_path / "w" / "models").exists()
    write(gold, json.dumps({"id": "r1", "triplets": [triplet]}) + "\n")
    done = ingested(tmp_path / "w", source, **{"evaluate.gold": str(gold)})
    assert done.counts["test"] == 4, "near-duplicates follow a labelled review"


# ---- the working directory

PAGE = 4096


def test_a_damaged_working_directory_is_left_as_it_is(built: Built, here: Command, tmp_path: Path) -> None:
    """Pages in the middle are gone, the header is sound."""
    workdir = built.copy(tmp_path)
    content = bytearray((workdir / "builder.db").read_bytes())
    content[2 * PAGE :] = b"\xa5" * (len(content) - 2 * PAGE)
    before = bytes(content)
    write(workdir / "builder.db", before)
    source = write(tmp_path / "in.jsonl", '{"id": 1, "text": "好吃"}\n')
    for command in (
        ("build", built.reviews, "--out", tmp_path / "out", *settings()),
        ("status",),
        ("explain", "x5"),
        ("query", "summary"),
        ("extract", "--input", source, "--output", tmp_path / "out.jsonl", "--source", "D"),
    ):
        ran = here(*command, "--workdir", workdir)
        assert re.search(r"builder\.db: the database is damaged \(.*malformed.*\)", ran.error), (command, ran.error)
    assert here("sql", "SELECT count(*), max(text) FROM reviews", "--workdir", workdir).error
    assert (workdir / "builder.db").read_bytes() == before
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize(
    "command", [("status",), ("resume",), ("explain", "x"), ("query", "summary"), ("sql", "SELECT 1"), ("run", "seed")]
)
def test_a_folder_without_a_build_says_how_to_begin(command: tuple[str, ...], here: Command, tmp_path: Path) -> None:
    error = here(*command, "--workdir", tmp_path / "none").error
    assert "no database here; run `builder build` first, or name it with --workdir" in error
    write(tmp_path / "builder.db", b"")  # what a build leaves that is killed before its first table
    assert "no build was begun here; start one with `build" in here(*command, "--workdir", tmp_path).error


@pytest.mark.parametrize(
    ("option", "name", "fix"),
    [
        ("--workdir", "/".join(["y" * 100] * 5), "choose a shorter --workdir"),
        ("--workdir", "n" * 300, "choose a shorter name"),
        ("--out", "n" * 300, "choose a shorter name"),
    ],
)
def test_a_path_that_is_too_long_is_said_so(option: str, name: str, fix: str, here: Command, tmp_path: Path) -> None:
    ran = here("build", write(tmp_path / "reviews.csv", rows()), option, tmp_path / name)
    assert ran.code == 2 and ran.err.strip().endswith(fix), ran.err
    assert "permission" not in ran.err


def test_a_file_in_the_place_of_the_working_directory_is_named(here: Command, tmp_path: Path) -> None:
    source = write(tmp_path / "in.csv", rows())
    ran = here("build", source, "--workdir", source, "--out", tmp_path / "out")
    assert str(source) in ran.error


def test_a_second_build_says_which_process_has_the_working_directory(
    built: Built, here: Command, tmp_path: Path
) -> None:
    workdir = built.copy(tmp_path)
    with db.lock(workdir):
        for command in (("build", built.reviews), ("resume",), ("run", "seed", "--force")):
            ran = here(*command, "--workdir", workdir)
            assert ran.error.startswith(f"{workdir}: another build is running here (process {os.getpid()}); wait ")
        assert here("status", "--workdir", workdir).code == 0, "looking needs no lock"
    assert kept_stages(built, here, workdir) == 7


def test_a_database_that_another_program_writes_to_is_in_use(built: Built, here: Command, tmp_path: Path) -> None:
    workdir = built.copy(tmp_path)
    other = sqlite3.connect(workdir / "builder.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        assert "the database is in use (database is locked)" in here("resume", "--workdir", workdir).error
    finally:
        other.close()
    assert kept_stages(built, here, workdir) == 7


# ---- settings and names

CONFIGS: dict[str, tuple[str, str]] = {
    "a source that is not trained": (
        '[release]\ntrain_source = "A"\n',
        r'settings\.toml: release\.train_source = "A" is not among self_train\.variants, E',
    ),
    "nothing to train on": (
        "[ingest]\ntest_share = 0.7\nvalid_share = 0.3\n",
        r"settings\.toml: ingest\.valid_share = 0\.3 is not a share that leaves some for train",
    ),
}


@pytest.mark.parametrize("case", CONFIGS)
def test_a_config_that_is_not_right_is_one_line_and_makes_no_release(case: str, here: Command, tmp_path: Path) -> None:
    content, message = CONFIGS[case]
    config = write(tmp_path / "settings.toml", content)
    places = ("--workdir", tmp_path / "w", "--out", tmp_path / "out")
    ran = here("build", write(tmp_path / "in.csv", rows()), "--config", config, *places)
    assert re.search(message, ran.error), ran.error
    assert not (tmp_path / "out").exists()


def test_names_that_nobody_knows_are_answered_with_known_ones(built: Built, here: Command, tmp_path: Path) -> None:
    texts = write(tmp_path / "in.jsonl", '{"id": 1, "text": "好吃"}\n')
    extract = ("extract", "--input", texts, "--output", tmp_path / "out.jsonl")
    cases: list[tuple[tuple[object, ...], str]] = [
        (
            (*extract, "--source", "E", "--workdir", built.workdir),
            f"no model 'E' in {built.workdir}; trained there: D0, D1",
        ),
        (
            (*extract, "--source", "C"),
            "--source C needs --workdir; name the working directory that trained it, a model's folder as ./NAME,",
        ),
        (("build", "--set", "seed"), "--set: 'seed' is no KEY=VALUE; for example --set self_train.iterations=1"),
        (("build", "--set", "seeds=3"), "option: unknown key 'seeds'; did you mean 'seed'?"),
        (("build", "--config", tmp_path / "none.toml"), f"{tmp_path / 'none.toml'}: no such config file"),
        (("build", "--colour", "red"), "No such option '--colour'"),
        (("build", "--input", "a.csv"), "No such option '--input'. Did you mean '--out'? see `builder build --help`"),
        (
            ("build", "--workers", "many"),
            "Invalid value for '--workers': 'many' is not a valid integer; see `builder build --help`",
        ),
        (
            ("verify", tmp_path),
            f"{tmp_path}: no SHA256SUMS here; name the directory of a release, such as releases/v0.1.0",
        ),
    ]
    for command, message in cases:
        assert here(*command).error.startswith(message), (command, message)
    assert not (tmp_path / "out.jsonl").exists()


# ---- texts and answers

TEXTS: dict[str, tuple[bytes, str]] = {
    "not JSON": (b'{"id": 1, "text": "a"}\n{oops}\n', r"in\.jsonl:2: not a JSON line"),
    "not UTF-8": ('{"id": 1, "text": "好吃"}\n'.encode("big5"), r"in\.jsonl:1: not a JSON line: .*utf-8"),
    "no text": (b'{"id": 1}\n', r"in\.jsonl: no text column; columns found: id; name it with --text-column"),
    "no text later": (b'{"id": 1, "text": "a"}\n{"id": 2}\n', r'in\.jsonl:2: a string "text" is missing; each line is'),
    "no object": (b'["id", "text"]\n', r"in\.jsonl: json: row 1: str where an object should be"),
    "a number for a text": (b'{"id": 1, "text": 5}\n', r'in\.jsonl:1: a string "text" is missing'),
    "half an emoji": (
        b'{"id": 1, "text": "\\ud83d"}\n',
        r"in\.jsonl:1: a lone surrogate \(half an emoji\) in id or text",
    ),
    "very deep": (b"[" * 100_000, r"in\.jsonl: not a JSON array"),
    "a sentence without its id": (
        "ID, Sentence\nR1:S1, 湯好喝\n湯好喝\n".encode(),
        r"in\.jsonl:3: no `ID, Sentence` here",
    ),
}


@pytest.mark.parametrize("case", TEXTS)
def test_extract_names_the_line_and_leaves_what_stood_in_the_output(case: str, here: Command, tmp_path: Path) -> None:
    content, message = TEXTS[case]
    source, target = write(tmp_path / "in.jsonl", content), write(tmp_path / "out.jsonl", "as it was\n")
    assert re.search(message, here("extract", "--input", source, "--output", target).error)
    assert target.read_text() == "as it was\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]


def test_extract_of_nothing_into_nowhere_is_one_line(here: Command, tmp_path: Path) -> None:
    assert here("extract", "--input", tmp_path / "none.jsonl", "--output", tmp_path / "out.jsonl").error.startswith(
        f"{tmp_path / 'none.jsonl'}: cannot be read"
    )
    source = write(tmp_path / "in.jsonl", '{"id": 1, "text": "湯頭好喝"}\n')
    assert str(source) in here("extract", "--input", source, "--output", source / "out.jsonl").error


# ---- the disk


@contextmanager
def small_disk(where: Path, size: str) -> Iterator[Path]:
    """A file system of so many bytes; skips where one cannot be mounted."""
    where.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(where)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    try:
        yield where
    finally:
        subprocess.run(["umount", "-l", str(where)], check=True)


def enlarge(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=400m", str(disk)], check=True)


CAN_MOUNT = pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk takes root")


@CAN_MOUNT
@pytest.mark.parametrize("size", ["8k", "256k"])
def test_a_disk_full_for_the_database_is_named_and_room_mends_it(here: Command, tmp_path: Path, size: str) -> None:
    source = write(
        tmp_path / "in.csv", HEAD + "".join(f"r{n},小木屋,5,第{n}碗{'湯頭濃郁' * 60}，服務親切\n" for n in range(600))
    )
    with small_disk(tmp_path / "disk", size) as disk:
        ran = here("build", source, "--workdir", disk / "w", "--out", tmp_path / "out")
        assert re.search(r"disk is full or failing|No space left on device", ran.error), ran.error
        assert str(disk / "w") in ran.error
        assert not (tmp_path / "out").exists()
        enlarge(disk)
        assert ingested(disk / "w", source).counts["reviews"] == 600
        assert ask(disk / "w", "PRAGMA integrity_check") == [("ok",)]


@CAN_MOUNT
@pytest.mark.parametrize("size", ["64k", "600k"])  # for the texts, and for the pairs of their bigrams
def test_a_disk_that_is_full_for_temporary_files_is_said_so_and_room_lets_the_build_go_on(
    here: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: str
) -> None:
    rng = random.Random(1)
    source = write(
        tmp_path / "in.csv",
        HEAD
        + "".join(f"r{n},,5,{''.join(rng.choices('湯頭濃郁服務親切麵條彈牙價格實在', k=60))}\n" for n in range(1500)),
    )
    with small_disk(tmp_path / "disk", size) as disk:
        monkeypatch.setattr(tempfile, "tempdir", str(disk))
        ran = here("build", source, "--workdir", tmp_path / "w", "--out", tmp_path / "out")
        assert ran.error.startswith(f"No space left on device: {disk}; "), ran.error
        assert not any(disk.iterdir())
        enlarge(disk)
        assert ingested(tmp_path / "w", source).counts["reviews"] == 1500


@CAN_MOUNT
def test_a_disk_full_for_a_model_is_named_and_room_mends_it(built: Built, here: Command, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "20m") as disk:
        places = ("--workdir", disk / "w", "--out", tmp_path / "out")
        ran = here("build", built.reviews, *places, *settings(evaluate__gold=str(built.gold)))
        assert re.search(r"/models/.*cannot write: No space left on device", ran.error), ran.error
        shown = here("status", "--workdir", disk / "w").out
        assert re.findall(r"^(\w+) +done ", shown, re.M) == ["ingest", "annotate", "seed"]
        enlarge(disk)
        ran = here("run", "discriminate", "--workdir", disk / "w", "--verbose")
        assert ran.code == 0, ran.err
        assert re.findall(r"^(\w+) +kept ", ran.out, re.M) == ["ingest", "annotate", "seed"]


@CAN_MOUNT
def test_a_disk_that_is_full_for_the_release_leaves_none_and_resume_writes_it_whole(
    built: Built, here: Command, tmp_path: Path
) -> None:
    workdir = built.copy(tmp_path)
    with small_disk(tmp_path / "disk", "16k") as disk:
        ran = here("resume", "--workdir", workdir, "--out", disk / "releases")
        assert ran.error.startswith(f"No space left on device: {disk / 'releases'}; "), ran.error
        assert "`builder resume`" in ran.error
        assert not [path for path in disk.rglob("*") if path.is_file()]
        enlarge(disk)
        ran = here("resume", "--workdir", workdir, "--out", disk / "releases")
        assert ran.code == 0, ran.err
        assert contents(disk / "releases") == contents(built.out)


@CAN_MOUNT
def test_a_read_only_disk_is_one_line_and_a_writable_one_goes_on(built: Built, here: Command, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "800m") as disk:
        shutil.copytree(built.workdir, disk / "w")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        for command in (("resume",), ("run", "seed", "--force"), ("build", built.reviews, "--out", tmp_path / "out")):
            error = here(*command, "--workdir", disk / "w").error
            assert "Read-only file system" in error or "cannot be written here; check the permissions" in error
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        assert kept_stages(built, here, disk / "w") == 7


def test_a_file_in_place_of_the_releases_is_found_before_the_work(built: Built, here: Command, tmp_path: Path) -> None:
    out = write(tmp_path / "out", "a file")
    error = here("build", built.reviews, "--workdir", tmp_path / "w", "--out", out).error
    assert "releases cannot be written here" in error
    assert out.read_text() == "a file"
    assert not (tmp_path / "w").exists()


@CAN_MOUNT
@pytest.mark.parametrize("command", ["export", "extract"])
def test_a_disk_that_is_full_for_what_a_command_writes_names_the_file_there(
    command: str, built: Built, here: Command, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk", "8k") as disk:
        words = {
            "export": (built.release, "--format", "semeval", "--output", disk / "x"),
            "extract": ("--input", built.reviews, "--output", disk / "x.jsonl"),
        }
        ran = here(command, *words[command])
        assert re.search(f"^{re.escape(str(disk))}/.*: cannot write: No space left on device", ran.error), ran.error
        assert not [path for path in disk.rglob("*") if path.is_file()]


@CAN_MOUNT
@pytest.mark.parametrize("name", ["sheet.csv", "sheet.xlsx", "tasks.json"])
def test_a_disk_that_is_full_for_a_file_of_labels_names_the_file_and_nothing_else(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 9_000)))
    item = LabelItem("p", PoolReview(1, "k", text, ()), None)
    with small_disk(tmp_path / "disk", "8k") as disk:
        with pytest.raises(OutputError, match="cannot write: No space left on device") as refused:
            write_items(disk / name, [item], force=False)
        assert refused.value.where == str(disk / name)
        gc.collect()
        assert [path for path in disk.rglob("*") if path.is_file()] == []
    assert capsys.readouterr().err == ""


NO_TEXT = "the text is of type {}, not a string"
PARQUET: dict[str, tuple[Any, str, str | None, float | None]] = {
    "list": ([["甲"]], NO_TEXT.format("list"), None, None),
    "struct": ([{"a": "甲"}], NO_TEXT.format("dict"), None, None),
    "bytes": ([b"abc"], NO_TEXT.format("bytes"), "616263", None),
    "time": ([datetime.datetime(2026, 1, 2, 3, 4)], NO_TEXT.format("datetime"), "2026-01-02T03:04:00", None),
    "truth": ([True], NO_TEXT.format("bool"), None, None),
    "decimal": ([Decimal("4.5")], "4.5", "4.5", 4.5),
    "nothing": ([None], "", None, None),
}
"""A column of some type -> what its cell is as a text, as an id or a place, and as a rating."""


@pytest.mark.parametrize("kind", [*PARQUET, "map", "dictionary"])
def test_a_parquet_column_of_any_type_costs_no_review(kind: str, tmp_path: Path) -> None:
    """What is no rating is none, and a list, object or truth value no id or place; the text beside it is read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if kind == "map":
        column, text, name, rating = pa.array([[("a", "甲")]], pa.map_(pa.string(), pa.string())), *PARQUET["list"][1:]
    elif kind == "dictionary":
        column, text, name, rating = pa.array(["湯很鹹"]).dictionary_encode(), "湯很鹹", "湯很鹹", None
    else:
        cells, text, name, rating = PARQUET[kind]
        column = pa.array(cells)
    pq.write_table(pa.table({"text": column}), tmp_path / "in.parquet")
    (row,) = read(tmp_path / "in.parquet")
    assert text in (row.text if isinstance(row, RawReview) else row.detail)
    pq.write_table(pa.table({"text": ["湯"], "id": column, "place": column, "rating": column}), tmp_path / "in.parquet")
    (row,) = read(tmp_path / "in.parquet")
    assert isinstance(row, RawReview)
    assert (row.text, row.id, row.place, row.rating) == ("湯", name, name, rating)
