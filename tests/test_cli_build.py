"""What `builder build` says: what it understood, how far it is, and how it ended, to people and to programs."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import ROOT, Built, Command

from builder.cli.build import build
from builder.cli.build_voice import WIDTH, Voice, describe_stage
from builder.core.config import resolve
from builder.core.settings import Config, Discriminate, Evaluate, SelfTrain
from builder.core.wording import counted, plural
from builder.pages.report.blocks import spoken_seconds
from builder.pipeline import outcome as previews
from builder.pipeline.outcome import preview, read_outcome
from builder.pipeline.pipeline import STAGES, Done

REVIEWS = (
    "編號,顧客留言,星等\n"
    "a1,湯頭很濃郁，服務人員也很親切,5\n"
    "a2,等了快一個小時才上菜，不會再來,1\n"
    "a3,,1\n"
    "a4,delicious,1\n"
)


def write(folder: Path, content: str = REVIEWS) -> Path:
    path = folder / "in.csv"
    path.write_text(content, encoding="utf-8")
    return path


# ---- what it understood


def test_a_dry_run_says_what_was_understood_and_writes_nothing(here: Command, tmp_path: Path) -> None:
    source = write(tmp_path)
    ran = here("build", source, "--dry-run", "--workdir", tmp_path / "w", "--out", tmp_path / "r")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "in.csv: 4 rows, UTF-8",
        "  text    ← 顧客留言 (known by its content; --text-column names another)",
        "  id      ← 編號",
        "  rating  ← 星等",
        "  place   none: names of places will NOT be masked; --place-column names the column",
        "  not usable: 1 without a text, 1 without a Chinese character",
        "  “湯頭很濃郁，服務人員也很親切”",
        "  “等了快一個小時才上菜，不會再來”",
        f"Dataset w (--name gives another name) in {tmp_path / 'r'}: no version yet.",
        "",
        "Nothing was built (--dry-run).",
    ]
    assert list(tmp_path.iterdir()) == [source]


def test_a_dry_run_finds_what_would_stop_the_build(here: Command, tmp_path: Path) -> None:
    source = write(tmp_path)
    assert "no such file" in here("build", tmp_path / "none.csv", "--dry-run").error
    assert here("build", source, "--dry-run", "--place-column", "店").error.startswith(f"{source}: no column '店'")
    assert 'version = "x" is not MAJOR' in here("build", source, "--dry-run", "--set", "release.version=x").error


def test_columns_that_nothing_takes_are_named_with_the_options_that_would(tmp_path: Path) -> None:
    rows = [{"key": n, "meta": {"shop": "鼎香園", "when": "2024-01-02"}, "body": "湯很好喝"} for n in range(3)]
    source = tmp_path / "in.json"
    source.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    seen = preview(source, resolve().config)
    assert seen.unused == ("key", "meta.when")
    (unused,) = [line for line in seen.lines() if "unused" in line]
    assert unused.startswith("  unused  key, meta.when; --id-column, --rating-column, --date-column would take one, ")
    options = {name for option in build.params for name in option.opts}
    assert {"--id-column", "--rating-column", "--date-column"} <= options
    assert preview(source, resolve(options={"input.date_column": "meta.when"}).config).columns["date"] == "meta.when"
    wide = write(tmp_path, ",".join(["text", *(f"c{n}" for n in range(30))]) + "\n湯很好喝" + "," * 30 + "\n")
    line = next(line for line in preview(wide, resolve().config).lines() if "unused" in line)
    assert line.startswith("  unused  c0, c1, c2, c3, c4, c5, c6, c7 and 22 more; --id-column")
    numbered = write(tmp_path, ",text\n7,湯很好喝\n9,飯很香\n")
    line = next(line for line in preview(numbered, resolve().config).lines() if "unused" in line)
    assert line.startswith("  unused  a column without a name; --id-column")
    nameless = write(tmp_path, ",評分\n湯很好喝而且服務很親切,3\n")
    assert preview(nameless, resolve().config).unused == (), "the reviews are in the column without a name"
    joined = write(tmp_path, "id,text,id\n7,湯很好喝,9\n")
    assert preview(joined, resolve().config).unused == ("id",), "the second of two columns of a name"


def test_a_place_column_is_named_and_nothing_is_said_of_masking(tmp_path: Path) -> None:
    seen = preview(write(tmp_path, "店名,text\n鼎香園,湯很好喝\n"), resolve().config)
    (line,) = [line for line in seen.lines() if "place" in line]
    assert line == "  place   ← 店名 (in several splits; --group-column '店名' keeps each in one)"
    grouped = preview(tmp_path / "in.csv", resolve(options={"input.group_column": "店名"}).config)
    assert "  place   ← 店名" in list(grouped.lines()), "who groups by it need not be told"
    nameless = preview(write(tmp_path, "店名,text\n,湯很好喝\n"), resolve().config)
    (line,) = [line for line in nameless.lines() if "place" in line]
    empty = "empty in the rows read: names of places will NOT be masked; --place-column names another"
    assert line == f"  place   ← 店名 ({empty})"
    kept = preview(tmp_path / "in.csv", resolve(options={"input.keep_columns": ("店名",)}).config)
    assert empty in "\n".join(kept.lines()) and "[店名]" not in "\n".join(kept.lines())
    unusable = preview(write(tmp_path, "店名,text\n鼎香園,\n"), resolve().config)
    assert unusable.unusable and "empty in the rows read" not in "\n".join(unusable.lines())


def test_the_rows_of_a_large_file_are_estimated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(previews, "MOST_ROWS", 20_000)
    path = write(tmp_path, "text\n" + "湯很好喝，服務也很親切，下次還會再來吃牛肉麵\n" * 90_000)
    seen = preview(path, resolve().config)
    assert not seen.exact
    assert 80_000 <= seen.rows <= 100_000
    assert next(iter(seen.lines())).startswith("in.csv: about ")


def test_a_sample_is_one_short_line_without_codes_of_a_terminal(tmp_path: Path) -> None:
    seen = preview(write(tmp_path, 'text\n"第一行\n第二行\x1b[31m' + "很好吃" * 40 + '"\n'), resolve().config)
    (shown,) = [line for line in seen.lines() if "“" in line]
    assert shown.startswith("  “第一行 第二行\\x1b[31m很好吃")
    assert shown.endswith("…”")
    assert len(shown) < 60


# ---- how it ended


def test_a_build_ends_with_counts_quality_examples_and_what_to_do_next(built: Built, here: Command) -> None:
    ran = here("resume", "--workdir", built.workdir)
    lines = ran.out.splitlines()
    made = read_outcome(built.release).as_json()
    assert lines[0] == "Nothing has changed: v0.1.0 is kept as it is."
    assert lines[1].startswith(
        f"{made['triplets']} triplets in {made['reviews_with_triplets']} of {made['reviews']} reviews: "
    )
    assert lines[2] == "Of 35 rows, 4 could not be used and 2 repeat another review."
    assert any(
        re.match(r"Quality on \d+ gold reviews, not stated who labelled them: precision [\d.]+, ", line)
        for line in lines
    )
    assert "For example:" in lines
    assert f"release: {built.release}" in lines
    assert f"  builder serve --workdir {built.workdir}" in [line[: line.find("  ", 3)] for line in lines]
    assert f'datasets.load_dataset("{built.release}")' in ran.out
    for word in ("S_0", "YY", "YN", "panel", "judge none", "cut", "proposals"):
        assert word not in ran.out, "words of ours are for --verbose"


def test_no_examples_are_announced_where_there_are_none(here: Command, tmp_path: Path) -> None:
    source = write(tmp_path, "text\n昨天晚上下了雨\n")
    ran = here("build", source, "--workdir", tmp_path / "w", "--out", tmp_path / "r", "--set", "workers=1")
    assert ran.code == 0, ran.err
    assert "0 triplets in 0 of 1 review" in ran.out
    assert "For example:" not in ran.out


def test_without_gold_it_says_that_quality_is_not_measured(here: Command, tmp_path: Path) -> None:
    source, workdir = write(tmp_path), tmp_path / "w"
    ran = here("build", source, "--workdir", workdir, "--out", tmp_path / "r", "--set", "workers=1")
    assert ran.code == 0, ran.err
    assert "No gold labels were given, so quality is not measured." in ran.out
    assert "The rules alone found them" not in ran.out, "the domain's model judged them"
    assert "湯頭很濃郁，服務人員也很親切\n  湯頭      濃郁  POS\n  服務人員  親切  POS\n" in ran.out
    assert f"no licence; `builder versions release --licence CC-BY-4.0 --workdir {workdir}` makes one" in ran.out
    assert re.findall(r"^\d/7 (\w+)  ", ran.err, re.M) == [stage.name for stage in STAGES]
    quiet = here("build", source, "--workdir", workdir, "--out", tmp_path / "r", "--set", "workers=1", "--quiet")
    assert (quiet.out, quiet.err) == (f"{tmp_path / 'r' / 'v0.1.0'}\n", "")


def test_until_stops_after_a_stage_and_says_how_to_go_on(here: Command, tmp_path: Path) -> None:
    words = ("--workdir", tmp_path / "w", "--out", tmp_path / "r", "--set", "workers=1")
    ran = here("build", write(tmp_path), *words, "--until", "ingest")
    assert ran.out.splitlines() == [
        "Stopped after ingest, as you asked: rows 4, rejected 2, duplicates 0, reviews 2, train 2, valid 0, test 0, "
        "near_duplicates 0, in_no_split 0.",
        f"`builder resume --workdir {tmp_path / 'w'}` goes on.",
    ]
    assert not (tmp_path / "r").exists()
    error = here("build", write(tmp_path), *words, "--until", "releese").error
    assert error.startswith("unknown stage 'releese'; did you mean release? stages: ingest, annotate, ")


def test_programs_get_an_event_a_line_and_nothing_else(built: Built, here: Command, tmp_path: Path) -> None:
    workdir = built.copy(tmp_path)
    ran = here("resume", "--workdir", workdir, "--out", built.out, "--json")
    events = [json.loads(line) for line in ran.out.splitlines()]
    assert ran.err == ""
    assert [event["stage"] for event in events if event["event"] == "stage"] == [stage.name for stage in STAGES]
    assert {event["ran"] for event in events if event["event"] == "done"} == {False}
    assert events[-1]["event"] == "end"
    assert events[-1]["release"] == str(built.release)
    assert events[-1]["triplets"] == read_outcome(built.release).as_json()["triplets"]
    shutil.rmtree(workdir)
    seen = json.loads(here("build", write(tmp_path), "--dry-run", "--json").out)
    assert (seen["event"], seen["rows"], seen["columns"]["text"]) == ("input", 4, "顧客留言")


def test_two_manners_of_speaking_are_one_too_many(here: Command) -> None:
    assert here("build", "--quiet", "--json").error.startswith("--quiet and --json exclude each other")
    assert here("resume", "--verbose", "--json").error.startswith("--verbose and --json exclude each other")


# ---- how far it is


def test_a_stage_says_how_long_it_took_so_far(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    voice = Voice("people", tmp_path, Config())
    voice.progress(0, 7, "ingest")
    voice.report("ingest: reviews")
    voice.stage_ended(Done("ingest", {"reviews": 47_850, "train": 38_000}, 15.6, ran=True))
    voice.progress(1, 7, "annotate")
    voice.report("annotate: words")
    assert capsys.readouterr().err.splitlines() == [
        "1/7 ingest        reading the reviews",
        "2/7 annotate      finding words and grammar    0 s",
    ]


def test_a_stage_says_no_more_than_what_happens_in_it() -> None:
    shipped, trained = Config(), Config(discriminate=Discriminate(mode="paper"))
    rules, rounds = Config(profile="rules"), replace(trained, self_train=SelfTrain(variants=("C",)))
    gold = replace(rules, evaluate=Evaluate(gold="gold.jsonl"))

    def described(config: Config) -> list[str]:
        lines = [describe_stage(stage.name, config) for stage in STAGES]
        assert max(map(len, lines)) <= WIDTH
        return lines[3:6]

    assert described(shipped) == [
        "judging them by the model", "adding what the model finds", "comparing rules and model",
    ]  # fmt: skip
    assert described(trained)[0] == "training a judge"
    assert described(rounds)[1] == "training on them, in rounds"
    assert described(rules) == ["no model judges them", "keeping what the rules found", "no labels to score by"]
    assert described(gold)[2] == "scoring by the labels given"


def test_a_program_hears_of_a_stage_as_soon_as_it_is_done(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    voice = Voice("json", tmp_path, Config())
    voice.stage_ended(Done("ingest", {"reviews": 2, "train": 2}, 0.5, ran=True))
    (event,) = map(json.loads, capsys.readouterr().out.splitlines())
    done = {"event": "done", "stage": "ingest", "ran": True, "seconds": 0.5}
    assert event == done | {"counts": {"reviews": 2, "train": 2}}


@pytest.mark.parametrize(("seconds", "shown"), [(0.4, "0 s"), (65, "1 min 05 s"), (7_810, "2 h 10 min")])
def test_seconds_are_said_as_people_say_them(seconds: float, shown: str) -> None:
    assert spoken_seconds(seconds) == shown


@pytest.mark.parametrize(
    ("panel", "sentence"),
    [("No model judged the triplets. The release holds what the rules hold.", "no model judged them"), ("", "")],
)
def test_the_manifest_says_who_found_triplets(built: Built, tmp_path: Path, panel: str, sentence: str) -> None:
    release = tmp_path / "v0.1.0"
    shutil.copytree(built.release, release)
    manifest = json.loads((release / "manifest.json").read_text(encoding="utf-8"))
    (release / "manifest.json").write_text(json.dumps(manifest | {"panel": panel}), encoding="utf-8")
    lines = [line for line in read_outcome(release).lines() if line.startswith("The rules alone found them; ")]
    assert [sentence in line for line in lines] == ([True] if sentence else [])


# ---- counts with their nouns, in the helper and in what commands say of one thing


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (1, "review", "1 review"), (0, "review", "0 reviews"), (2000, "gold review", "2,000 gold reviews"),
        (2, "entry", "2 entries"), (1, "entry", "1 entry"), (2, "day", "2 days"), (3, "match", "3 matches"),
    ],
)  # fmt: skip
def test_a_count_takes_the_number_of_its_noun(number: int, noun: str, text: str) -> None:
    assert counted(number, noun) == text


def test_what_commands_print_never_counts_a_noun_of_its_own() -> None:
    """`{len(x)} reviews` says "1 reviews" one day; `counted` does not."""
    nouns = "|".join(plural(noun) for noun in ("review", "triplet", "candidate", "label", "row", "file", "worker"))
    lone = re.compile(rf"\{{(?:len\([^{{}}]*\)|[^{{}}]*:,)\}} (?:{nouns})\b")
    # how many rows are shown at most, which is more than one
    allowed = {"only the first {most:,} rows are shown"}
    faults = [
        f"{path.name}:{number}"
        for path in sorted((ROOT / "builder" / "cli").glob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if lone.search(line) and not any(words in line for words in allowed)
    ]
    assert faults == []
