"""The command line as a user types it, over one tiny build."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Built, Command, ask, contents, environment, read_lines, run_python, write_lines

import builder
from builder.cli import main as cli
from builder.cli.main import GONE
from builder.store import db, stories

STAGES = ["ingest", "annotate", "seed", "discriminate", "self_train", "evaluate", "release"]
Row = dict[str, Any]


# ---- build, status, resume, run


def test_build_ends_with_a_table_of_what_went_in_what_came_out_and_how_long_it_took(built: Built) -> None:
    shown = built.ran.out
    assert re.search(r"^ingest +\d+(?:\.\d)? +rows 35, rejected 4, duplicates 2, reviews 29", shown, re.M), shown
    assert [words[0] for line in shown.splitlines() if (words := line.split()) and words[0] in STAGES] == STAGES
    for source in ("rules", "gold", "D0", "D1"):
        assert re.search(rf"^{source} +\w+( +\d+){{5}}$", shown, re.M), (source, shown)
    assert f"release: {built.release}" in shown


def test_build_names_each_stage_and_draws_no_progress_bar_where_there_is_no_terminal(built: Built) -> None:
    lines = built.ran.err.splitlines()
    assert re.findall(r"^(\d)/7 (\w+)  ", built.ran.err, re.M) == [(str(n), name) for n, name in enumerate(STAGES, 1)]
    assert lines[0] == "reviews.csv: 35 rows, UTF-8"
    assert not any("%" in line for line in lines)


def test_a_second_build_does_nothing(built: Built, here: Command, fast: Callable[..., list[str]]) -> None:
    places = ("--workdir", built.workdir, "--out", built.out)
    words = ("build", built.reviews, *places, "--verbose", *fast(evaluate__gold=str(built.gold)))
    before, rows = contents(built.out), dump(built.workdir)
    ran = here(*words)
    assert ran.code == 0, ran.err
    assert re.findall(r"^(\w+) +kept ", ran.out, re.M) == STAGES
    assert not re.search(r"^\d/7", ran.err, re.M), "no stage runs"
    assert "Nothing has changed: v0.1.0 is kept as it is." in ran.out
    assert contents(built.out) == before
    assert dump(built.workdir) == rows


def dump(workdir: Path) -> list[str]:
    connection = sqlite3.connect(workdir / "builder.db")
    try:
        return sorted(connection.iterdump())  # a setting that is written again, with the same value, moves to the end
    finally:
        connection.close()


def test_status_shows_every_stage_done_with_its_counts(built: Built, here: Command) -> None:
    ran = here("status", "--workdir", built.workdir)
    assert ran.code == 0, ran.err
    assert re.findall(r"^(\w+) +done +\d", ran.out, re.M) == STAGES
    assert "rows 35, rejected 4" in ran.out
    verbose = here("status", "--workdir", built.workdir, "--verbose").out
    for word in ("backend", "segmenter", "S_0"):
        assert word in verbose and word not in ran.out, word


def test_run_stops_after_its_stage_and_what_reads_from_it_is_due(built: Built, here: Command, tmp_path: Path) -> None:
    workdir = built.copy(tmp_path)
    ran = here("run", "seed", "--force", "--workdir", workdir, "--verbose")
    assert ran.code == 0, ran.err
    assert re.findall(r"^(\w+) +kept ", ran.out, re.M) == ["ingest", "annotate"]
    assert re.search(r"^seed +\d+\.\d +triplets [1-9]", ran.out, re.M), ran.out
    shown = here("status", "--workdir", workdir).out
    assert re.findall(r"^(\w+) +done ", shown, re.M) == STAGES[:3]
    assert re.findall(r"^(\w+) +due ", shown, re.M) == STAGES[3:]


def test_status_calls_a_stage_stale_when_its_setting_has_changed(built: Built, here: Command, tmp_path: Path) -> None:
    workdir = built.copy(tmp_path)
    ran = here("run", "annotate", "--workdir", workdir, "--set", 'rules.convention="paper"')
    assert ran.code == 0, ran.err
    shown = here("status", "--workdir", workdir).out
    assert re.findall(r"^(\w+) +done ", shown, re.M) == STAGES[:2]
    assert re.findall(r"^(\w+) +stale ", shown, re.M) == STAGES[2:]


def test_a_command_of_a_group_is_known_by_its_own_name_and_shown_once(here: Command) -> None:
    shown = here("--help").out
    for group in cli.GROUPS:
        for name, command in group.commands.items():
            assert cli.cli.commands[name] is command
            assert not re.search(rf"^  {name} ", shown, re.M), name
    assert here("gold", "pool", "--help").out.partition("\n")[2] == here("pool", "--help").out.partition("\n")[2]


@pytest.mark.parametrize(("command", "old"), GONE)
def test_what_is_not_there_says_what_is_in_its_place(command: str, old: str, here: Command) -> None:
    ran = here(*command.removeprefix("builder").split(), *old.split())
    assert ran.code == 2 and ran.error.endswith(f"; {GONE[command, old]}"), ran.err


def test_an_option_that_a_command_had_is_answered_behind_its_group_too(here: Command) -> None:
    ran = here("words", "lexicon", "import", "--show")
    assert ran.code == 2
    assert ran.error.endswith("; at most ten refused lines are printed, and all are kept in a file"), ran.err


def test_help_version_and_a_bare_call_are_answered(here: Command) -> None:
    shown = here("--help")
    assert shown.code == 0
    headings = ["Options", "Build", "Look", "Use", "More, by subject"]
    assert re.findall(r"^(\w[\w, ]*):$", shown.out, re.M) == headings
    assert re.findall(r"^  (\w+) ", shown.out.split("Build:")[1], re.M)[:3] == ["build", "resume", "status"]
    assert "..." not in shown.out.partition("Options:")[2], "no summary is cut"
    from builder import __version__

    assert here("--version").out.strip() == f"builder, version {__version__}"
    bare = here()
    assert bare.code == 2
    assert bare.err.startswith("Usage: "), "the help as it is, not squeezed into one line"
    assert here("buidl").error.startswith("No such command 'buidl'")
    assert here("gold", "serve").error == "No such command 'serve'; it is `builder serve`"
    assert here("build", "--set", "name=mine").error == "option: unknown key 'name'; did you mean 'release.name'?"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_comes_while_a_destructor_runs_is_not_lost(number: signal.Signals) -> None:
    code = f"""
import os, sys, time
from builder.cli import main as cli
class Met:
    def __del__(self):
        os.kill(os.getpid(), {int(number)})
        time.sleep(0.01)
def work(**_):
    Met()
    time.sleep(30)
cli.cli.main = work
sys.argv = ["builder", "build"]
cli.main()
"""
    done = run_python("-c", code)
    assert done.returncode == 128 + number, done.stderr
    assert done.stderr.strip() == "builder: stopped; what is finished is kept, `builder resume` goes on"


def test_threads_that_wait_spin_a_little_unless_told_otherwise() -> None:
    code = """
import os, sys
from builder.cli import main as cli
names = "OMP_WAIT_POLICY", "GOMP_SPINCOUNT"
for given in {}, {"GOMP_SPINCOUNT": "5"}, {"OMP_WAIT_POLICY": "ACTIVE"}:
    for name in names:
        os.environ.pop(name, None)
    os.environ.update(given)
    sys.argv = ["builder", "--version"]
    try:
        cli.main()
    except SystemExit:
        pass
    assert "torch" not in sys.modules, "torch reads them when it loads"
    print(*map(os.environ.get, names), file=sys.stderr)
"""
    done = run_python("-c", code)
    assert done.stderr.splitlines() == ["PASSIVE 1000", "PASSIVE 5", "ACTIVE None"]


@pytest.mark.parametrize(
    ("words", "due"),
    [
        (["build", "x.csv"], "builder: stopped; what is finished is kept, `builder resume` goes on"),
        (
            ["build", "x.csv", "--workdir", "my work"],
            "builder: stopped; what is finished is kept, `builder resume --workdir 'my work'` goes on",
        ),
        (["--help"], "builder: stopped"),
        (["judge", "--model", "build"], "builder: stopped; the answers so far are kept, the same command goes on"),
        (["gold", "judge"], "builder: stopped; the answers so far are kept, the same command goes on"),
        (
            ["release", "--because", "new"],
            "builder: stopped; nothing half made is left, the same command goes on",
        ),
        (
            ["words", "domain", "start", "pond", "x.csv"],
            "builder: stopped; what was answered is kept, the same command goes on",
        ),
        (["score", "--gold", "x"], "builder: stopped"),
    ],
)
def test_ctrl_c_gives_the_advice_that_fits_the_command(
    words: list[str], due: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["builder", *words])
    with pytest.raises(SystemExit) as ended:
        cli._stopped(signal.SIGINT)
    assert (ended.value.code, capsys.readouterr().err) == (130, due + "\n")


# ---- sql, query, explain


def test_sql_answers_as_table_csv_and_json_with_the_same_rows(built: Built, here: Command) -> None:
    statement = "SELECT key, text, rating, length(text) AS n FROM reviews ORDER BY id LIMIT 3"
    rows = ask(built.workdir, statement)
    table = here("sql", statement, "--workdir", built.workdir)
    assert table.code == 0, table.err
    assert table.out.splitlines()[0].split() == ["key", "text", "rating", "n"]
    assert all(str(row[0]) in table.out for row in rows)
    listed = here("sql", statement, "--format", "json", "--workdir", built.workdir)
    assert [tuple(row.values()) for row in json.loads(listed.out)] == rows
    parsed = list(csv.reader(io.StringIO(here("sql", statement, "--format", "csv", "--workdir", built.workdir).out)))
    assert parsed == [
        ["key", "text", "rating", "n"],
        *([("" if cell is None else str(cell)) for cell in row] for row in rows),
    ]


def test_sql_shows_text_that_looks_like_a_number_as_it_is(built: Built, here: Command) -> None:
    shown = here("sql", "SELECT '007' AS a, '1e5' AS b, 7 AS c, x'00ff' AS d", "--workdir", built.workdir).out
    assert shown.splitlines()[2].split() == ["007", "1e5", "7", "00ff"]
    listed = here("sql", "SELECT '007' AS a, x'00ff' AS d", "--format", "json", "--workdir", built.workdir).out
    assert json.loads(listed) == [{"a": "007", "d": "00ff"}]


def test_sql_tells_what_pragmas_tell(built: Built, here: Command) -> None:
    for statement, words in (
        ("PRAGMA user_version", "user_version"),
        ("PRAGMA table_info(reviews)", "norm_hash"),
        ("EXPLAIN SELECT 1", "opcode"),
    ):
        ran = here("sql", statement, "--workdir", built.workdir)
        assert (ran.code, words in ran.out) == (0, True), (statement, ran.err)


def test_csv_holds_cells_as_stored_unless_a_spreadsheet_is_to_read_them(built: Built, here: Command) -> None:
    statement = "SELECT '=1+1' AS a, '-2' AS b, -2 AS c, '好吃' AS d, char(39) || '=x' AS e"
    for options, due in (
        ((), ["=1+1", "-2", "-2", "好吃", "'=x"]),
        (("--safe",), ["'=1+1", "'-2", "-2", "好吃", "''=x"]),
    ):
        ran = here("sql", statement, "--format", "csv", *options, "--workdir", built.workdir)
        assert list(csv.reader(io.StringIO(ran.out)))[1] == due
    for command in (("query", "by-aspect", "--param", "aspect=餐點"), ("search", "餐點")):
        assert here(*command, "--format", "csv", "--safe", "--workdir", built.workdir).code == 0


def test_sql_says_so_when_it_shows_only_some_of_the_rows(built: Built, here: Command) -> None:
    cut = here("sql", "SELECT id FROM reviews", "--limit", "4", "--format", "csv", "--workdir", built.workdir)
    assert len(cut.out.splitlines()) == 5
    assert cut.err == "only the first 4 rows are shown; --limit takes more, --output FILE all\n"
    whole = here("sql", "SELECT id FROM reviews", "--format", "csv", "--workdir", built.workdir)
    assert len(whole.out.splitlines()) == 32
    assert whole.err == ""


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("DELETE FROM reviews", "only reading is allowed here; ask with SELECT"),
        ("VACUUM INTO 'beside.db'", "only reading is allowed here"),
        ("SELECT 1; DELETE FROM reviews", "You can only execute one statement at a time."),
        ("SELEC 1", 'near "SELEC": syntax error'),
        (
            "SELECT * FROM stars",
            "no such table: stars; did you mean spans? known: adjudications, annotations, annotators",
        ),
        ("SELECT stars FROM sources", "no such column: stars; sources has id, name, kind, signature"),
        ("SELECT stars", "no such column: stars"),
    ],
)
def test_sql_refuses_what_is_no_reading_and_names_what_there_is(
    built: Built, here: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    before = dump(built.workdir)
    assert here("sql", statement, "--workdir", built.workdir).error.startswith(words)
    assert dump(built.workdir) == before
    assert list(tmp_path.iterdir()) == []


def test_sql_into_a_reader_that_leaves_early_ends_quietly(built: Built) -> None:
    statement = "SELECT a.text, b.text, c.text FROM reviews a, reviews b, reviews c"
    command = (
        f"{sys.executable} -m builder db sql '{statement}' --limit 40000 --format csv --workdir {built.workdir} | "
        "head -n 1"
    )
    done = subprocess.run(command, shell=True, env=environment(), capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "text,text,text"
    assert done.stderr == ""


def test_query_lists_the_named_queries_and_runs_each(built: Built, here: Command) -> None:
    names = [row["query"] for row in json.loads(here("query", "--format", "json").out)]
    files = {path.stem for path in (ROOT / "builder" / "store" / "queries").glob("*.sql")}
    assert set(names) == files
    assert len(names) > 10
    from builder.store import queries

    for name in names:
        given = [word for one in queries.lookup(name).params for word in ("--param", f"{one}=餐點")]
        ran = here("query", name, "--format", "json", "--workdir", built.workdir, *given)
        assert ran.code == 0, (name, ran.err)
        assert isinstance(json.loads(ran.out), list), name
        assert name != "duplicates-across-splits" or ran.out.strip() == "[]"


def test_queries_tell_what_was_rejected_and_what_each_rule_made(built: Built, here: Command) -> None:
    rejected = json.loads(here("query", "rejected", "--format", "json", "--workdir", built.workdir).out)
    assert {row["reason"] for row in rejected if row["stage"] == "ingest"} == {"empty", "no-han"}
    by_rule = json.loads(here("query", "by-rule", "--format", "json", "--workdir", built.workdir).out)
    made = ask(
        built.workdir, "SELECT count(*) FROM proposals p JOIN sources s ON s.id = p.source WHERE s.name = 'rules'"
    )[0][0]
    assert sum(row["triplets"] for row in by_rule) == made


def test_a_query_with_a_parameter_says_which_one_it_lacks(built: Built, here: Command) -> None:
    assert "aspect" in here("query", "by-aspect", "--workdir", built.workdir).error
    found = json.loads(
        here("query", "by-aspect", "--param", "aspect=餐點", "--format", "json", "--workdir", built.workdir).out
    )
    assert ("x5", "不會鹹", "POS") in [(row["key"], row["opinion"], row["polarity"]) for row in found]


def test_explain_tells_rule_lexicon_entry_path_and_negator(built: Built, here: Command) -> None:
    ran = here("explain", "x5", "--workdir", built.workdir)
    assert ran.code == 0, ran.err
    salty = next(story for story in ran.out.split("\n\n") if "(餐點, 不會鹹, POS)" in story)
    assert '"opinion":[[2,4],[5,6]]' in salty
    assert re.search(r"^  full +不會太鹹$", salty, re.M), salty
    assert re.search(r"^  rules +rule +[a-z-]+$", salty, re.M), salty
    assert re.search(r"^  rules +aspect +餐點 \S+ \(aspects/\w+\.tsv:\d+\)$", salty, re.M), salty
    assert re.search(r"^  rules +opinion +鹹 \S+ [\d.]+ \(opinions/\w+\.tsv:\d+\)$", salty, re.M), salty
    assert re.search(r"^  rules +negator +不會$", salty, re.M), salty
    assert re.search(r"^  rules +(path|pattern) +\S", salty, re.M), salty
    numbers = r"raw score [01]\.\d{3}(, calibrated confidence [01]\.\d{3})?"
    assert re.search(rf"^  discriminator +verdict +(YY|YN|NX|abstains), {numbers}$", salty, re.M), salty
    _, marked, pair, polarity, verdict = salty.splitlines()[:5]
    assert marked == "  【餐點】《不會》太《鹹》，服務人員也很親切"
    assert pair.startswith(
        "  不會鹹 is about 餐點 by the rule subject (環境很乾淨: the nearest aspect before the opinion"
    )
    assert re.match(
        r"  It is positive, [\d.]+ of 10: 鹹 counts [\d.]+ of 10 in the lexicon, .*不會 turns it round", polarity
    )
    assert re.match(rf"  The judge that this build trained (finds|does) .*: {numbers}\.$", verdict), verdict


def test_explain_names_the_lexicon_line_that_holds_the_word(built: Built, here: Command) -> None:
    shown = here("explain", "x5", "--workdir", built.workdir).out
    file, line = re.search(r"opinion +鹹 .*\((opinions/\w+\.tsv):(\d+)\)", shown).groups()  # type: ignore[union-attr]
    rows = (ROOT / "domains/restaurant/lexicons" / file).read_text(encoding="utf-8").splitlines()
    assert rows[int(line) - 1].split("\t")[0] == "鹹"


def test_explain_takes_the_ids_of_the_release_and_of_the_database(built: Built, here: Command) -> None:
    released = next(row for row in read_lines(built.release / "data" / "train.jsonl") if row["triplets"])["triplets"][0]
    by_release = here("explain", released["id"], "--workdir", built.workdir)
    assert by_release.code == 0, by_release.err
    told = f"({released['aspect']['text']}, {released['opinion']['text']}, {released['polarity']})"
    assert told in by_release.out.splitlines()[0]
    key, suffix = released["id"].rsplit(":", 1)
    number = ask(
        built.workdir,
        f"SELECT t.id FROM triplets t JOIN reviews r ON r.id = t.review WHERE r.key = '{key}' AND t.id % (1 << 31) = "
        f"{int(suffix, 16)}",
    )
    assert here("explain", number[0][0], "--workdir", built.workdir).out == by_release.out


def test_explain_says_for_each_triplet_whether_it_was_released(built: Built, here: Command) -> None:
    """As many are told to be in each split as the release's files hold, and those; of the others each has a reason."""
    held = {
        one["id"]: split
        for split in ("train", "valid", "test")
        for row in read_lines(built.release / "data" / f"{split}.jsonl")
        for one in row["triplets"]
    }
    told, reasons = {}, set()
    with db.reading(built.workdir) as connection:
        for (i,) in connection.execute("SELECT id FROM reviews WHERE duplicate_of IS NULL").fetchall():
            for one in stories.review(connection, i).triplets:
                if one.outcome.released:
                    told[one.public] = re.match(
                        r"in v0\.1\.0, (\w+), "
                        r"(gold|silver)$",
                        one.outcome.text,
                    )[1]  # type: ignore[index]
                else:
                    assert one.outcome.released is False
                    reasons.add(one.outcome.text)
    assert told == held
    assert any(text.startswith("not in v0.1.0, labelled: this review is labelled") for text in reasons), reasons
    first = next(iter(held))
    assert re.search(
        rf"^  release +released +in v0\.1\.0, {held[first]}, ",
        here("explain", first, "--workdir", built.workdir).out,
        re.M,
    )


def test_every_stored_score_has_its_interval(built: Built) -> None:
    rows = ask(built.workdir, "SELECT low, value, high FROM metrics")
    assert len(rows) >= 9
    assert all(0 <= low <= value <= high <= 100 for low, value, high in rows), rows


def test_explain_says_who_proposes_a_triplet_that_no_rule_made(built: Built, here: Command) -> None:
    only = ask(
        built.workdir,
        "SELECT t.id FROM triplets t JOIN proposals p ON p.triplet = t.id JOIN sources s ON s.id = p.source GROUP BY "
        "t.id HAVING min(s.name) = 'gold' AND count(*) = 1",
    )
    assert only, "some gold triplets are found by nobody else"
    assert re.search(r"^  gold +proposed *$", here("explain", only[0][0], "--workdir", built.workdir).out, re.M)


def test_explain_of_a_review_without_triplets_of_a_repeated_one_and_of_nothing(built: Built, here: Command) -> None:
    empty = ask(
        built.workdir,
        "SELECT key FROM reviews r WHERE duplicate_of IS NULL AND NOT EXISTS (SELECT 1 FROM triplets t WHERE t.review "
        "= r.id)",
    )
    assert empty, "the input holds a review without triplets"
    assert f"{empty[0][0]}  no source finds a triplet" in here("explain", empty[0][0], "--workdir", built.workdir).out
    assert re.match(r"x1  repeats s\d{4}: see there\n", here("explain", "x1", "--workdir", built.workdir).out)
    assert here("explain", "nobody", "--workdir", built.workdir).error.startswith("no triplet or review 'nobody'")
    assert here("explain", "9" * 30, "--workdir", built.workdir).error.startswith("no triplet or review '999")


# ---- extract


FLAT_ROW = [
    "aspect", "aspect_full", "aspect_spans", "opinion", "opinion_full", "opinion_spans", "polarity", "valence",
    "source", "rules", "aspect_full_spans", "aspect_category", "owner", "owner_spans", "opinion_full_spans",
    "opinion_category", "confidence", "verdict", "sources", "triplet_id",
]  # fmt: skip
"""A triplet as `extract` writes it; the first ten keys are those of every version."""


def test_extract_keeps_order_and_ids_and_points_into_the_text_as_given(here: Command, tmp_path: Path) -> None:
    rows: list[Row] = [
        {"id": "a", "text": "餐點不會太鹹，服務人員也很親切"},
        {"id": 7, "text": ""},
        {"id": "a", "text": "😋😋湯頭很濃\U0001f35c🏻‍🍳，麵條Ｑ彈！！"},
        {"id": None, "text": "   \n\t  "},
        {"id": [1, {"x": 2}], "text": "价格便宜，但是服务员态度很差"},
        {"id": "a", "text": "餐點不會太鹹，服務人員也很親切"},
        {"id": 7.5, "text": "no Han at all \u2028 here"},
        {"id": "嗨", "text": "環境\u2028乾淨\u0000，湯頭\ufe0f好喝\U00020bb7\u200d"},
    ]
    source = write_lines(tmp_path / "in.jsonl", rows)
    target = tmp_path / "out.jsonl"
    ran = here("extract", "--input", source, "--output", target)
    assert ran.code == 0, ran.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]
    made = read_lines(target)
    assert [row["id"] for row in made] == [row["id"] or 4 for row in rows], "a row without an id gets its number"
    assert made[0]["triplets"] == made[5]["triplets"]
    assert [len(row["triplets"]) for row in made][1::2][:2] == [0, 0]
    assert {(t["aspect"], t["opinion"], t["polarity"]) for t in made[0]["triplets"]} >= {
        ("餐點", "不會鹹", "POS"),
        ("服務人員", "親切", "POS"),
    }
    assert {(t["aspect"], t["polarity"]) for t in made[4]["triplets"]} >= {("价格", "POS")}
    assert any("湯頭" in t["aspect"] for t in made[2]["triplets"])
    for given, row in zip(rows, made, strict=True):
        for triplet in row["triplets"]:
            assert list(triplet) == FLAT_ROW
            for part in ("aspect", "opinion", "aspect_full", "opinion_full"):
                assert "".join(given["text"][start:end] for start, end in triplet[f"{part}_spans"]) == triplet[part]
            assert triplet["source"] == "rules"
            assert triplet["rules"]
            assert 1 <= triplet["valence"] <= 10


def test_extract_reads_the_texts_of_gold_files_in_their_own_layout(here: Command, tmp_path: Path) -> None:
    soup, staff = "湯頭很好喝。", "店員態度很差。"
    question = f"question: 請問以下文字的評論對象有哪些？  context: {soup}"
    files = {
        "dimabsa-2024.json": json.dumps(
            [{"ID": "a", "Sentence": soup, "Aspect": []}, {"ID": "b", "Sentence": staff}], indent=2
        ),
        "dimabsa-2026.jsonl": json.dumps({"ID": "a", "Text": soup, "Triplet": []})
        + "\n"
        + json.dumps({"ID": "b", "Text": staff}),
        "dimabsa.txt": f"ID, Sentence\na, {soup}\nb, {staff}\n",
        "paper.json": json.dumps({"id": "a", "question": question, "answer": ""})
        + "\n"
        + json.dumps({"id": "b", "text": staff}),
    }
    for name, content in files.items():
        source, target = tmp_path / name, tmp_path / "out.jsonl"
        source.write_text(content, encoding="utf-8")
        ran = here("extract", "--input", source, "--output", target)
        assert ran.code == 0, (name, ran.err)
        told = [
            (row["id"], [(t["aspect"], t["opinion"], t["polarity"]) for t in row["triplets"]])
            for row in read_lines(target)
        ]
        assert told == [("a", [("湯頭", "好喝", "POS")]), ("b", [("店員態度", "差", "NEG")])], name


def test_extract_finds_what_the_build_found(built: Built, here: Command, tmp_path: Path) -> None:
    texts = ask(built.workdir, "SELECT key, text FROM reviews WHERE duplicate_of IS NULL ORDER BY id")
    source = write_lines(tmp_path / "in.jsonl", [{"id": key, "text": text} for key, text in texts])
    assert here("extract", "--input", source, "--output", tmp_path / "out.jsonl").code == 0
    told = {
        (row["id"], t["aspect"], t["opinion"], t["polarity"], str(t["opinion_spans"]))
        for row in read_lines(tmp_path / "out.jsonl")
        for t in row["triplets"]
    }
    stored = ask(
        built.workdir,
        "SELECT r.key, t.aspect, t.opinion, t.polarity, t.spans FROM triplets t JOIN reviews r ON r.id = t.review"
        " JOIN proposals p ON p.triplet = t.id JOIN sources s ON s.id = p.source WHERE s.name = 'rules'",
    )
    assert told == {
        (key, aspect, opinion, polarity, str(json.loads(spans)["opinion"]))
        for key, aspect, opinion, polarity, spans in stored
    }
    assert len(told) > 50


# ---- score


def test_score_of_gold_against_itself_is_a_hundred_in_each_format(built: Built, here: Command) -> None:
    for gold in (built.gold, built.release / "data" / "train.jsonl", built.release / "paper" / "train.json"):
        ran = here("score", "--gold", gold, "--pred", gold, "--opinion", "opinion")
        assert ran.code == 0, ran.err
        lines = [
            line.split() for line in ran.out.splitlines() if line.startswith("opinion ") and line.split()[1] != "paper"
        ]
        assert len(lines) == 10, ran.out
        assert {tuple(words[3:6]) for words in lines if words[2] != "polarity"} == {("100.0", "100.0", "100.0")}
        assert {words[9] for words in lines if words[2] == "polarity"} == {"100.0"}


# ---- verify


def test_verify_and_explain_print_json_for_programs(built: Built, here: Command, tmp_path: Path) -> None:
    sound = json.loads(here("verify", built.release, "--json").out)
    assert sound == {"release": str(built.release), "sound": True, "faults": []}
    damaged = shutil.copytree(built.release, tmp_path / "damaged")
    (damaged / "README.md").write_text("other", encoding="utf-8")
    ran = here("verify", damaged, "--json")
    assert (ran.code, json.loads(ran.out)["faults"]) == (1, ["README.md: its bytes have changed"])
    review = next(builder.Release(built.release).reviews("train"))
    story = json.loads(here("explain", review.id, "--workdir", built.workdir, "--json").out)
    assert (story["review"], story["split"]) == (review.id, "train")
    released = [one["triplet_id"] for one in story["triplets"] if one["released"]]
    assert sorted(released) == sorted(row["triplet_id"] for row in review.rows())
    assert all(len(one["sentences"]) >= 2 and one["steps"] and one["outcome"] for one in story["triplets"])


# ---- what is released


def test_a_release_names_no_path_of_this_machine_and_holds_what_was_learnt(built: Built) -> None:
    assert str(built.workdir) not in (built.release / "manifest.json").read_text(encoding="utf-8")
    rows = read_lines(built.release / "data" / "train.jsonl")
    assert any("D1" in triplet["sources"] for row in rows for triplet in row["triplets"])


def test_lines_of_csv_end_in_newlines_and_a_return_is_quoted(built: Built, here: Command, tmp_path: Path) -> None:
    statement = "SELECT 'a' || char(13) || 'b' AS x, 'c,d' AS y"
    target = tmp_path / "rows.csv"
    assert here("sql", statement, "--workdir", built.workdir, "--output", target).code == 0
    assert target.read_bytes() == b'x,y\n"a\rb","c,d"\n'
