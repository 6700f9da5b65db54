"""Settings to begin with and explained, the state of the installation, rows in every format, completion."""

from __future__ import annotations

import csv
import io
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Built, Command

from builder.core.config import flat, resolve
from builder.core.settings import Config
from builder.pipeline import installation
from builder.pipeline.installation import EXTRAS, Diagnosis, setting_facts

# ---- init and config


def test_init_writes_a_settings_file_in_which_everything_is_a_comment(here: Command, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    assert here("init", path).out == (
        f"{path} is written. Change what you need, then: builder build reviews.csv --config {path}\n"
    )
    text = path.read_text(encoding="utf-8")
    assert resolve(path).config == Config()
    sections = {name: {} for name in ("input", "ingest", "annotate", "rules", "discriminate")}
    assert tomllib.loads(text).items() >= sections.items()
    uncommented = "\n".join(line.removeprefix("# ") for line in text.splitlines() if " = " in line or line[:1] == "[")
    assert set(flat_keys(tomllib.loads(uncommented))) == set(flat(Config())), "every setting stands in it"


def flat_keys(table: dict[str, object], prefix: str = "") -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from flat_keys(value, f"{prefix}{key}.")
        else:
            yield prefix + key


def test_init_writes_over_nothing_unless_it_is_told_to(here: Command, tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("seed = 5\n")
    assert here("init", path).error == f"{path}: is there already; name another file, or write over it with --force"
    assert path.read_text() == "seed = 5\n"
    assert here("init", path, "--force").code == 0
    assert "# seed = 13" in path.read_text(encoding="utf-8")


def test_config_explains_a_setting(here: Command) -> None:
    (row,) = json.loads(here("config", "rules.convention", "--json").out)
    assert row["default"] == '"natural"' and row["values"] == '"natural", "paper", "described"'
    assert row["command"] == "builder build" and row["meaning"].startswith("`natural` labels sensibly; ")
    first, *lines = here("config", "rules.convention").out.splitlines()
    assert first.startswith("rules.convention: `natural` labels sensibly; ")
    assert lines == [
        '  value    "natural", "paper", "described"',
        '  default  "natural"',
        '  in TOML  [rules] convention = "natural"',
        "  or       builder build --set rules.convention='\"natural\"'",
    ]


@pytest.mark.augment
def test_config_tells_the_settings_of_several_commands_apart(here: Command) -> None:
    assert here("config", "synonym.rate").out.splitlines()[1:] == [
        "  value    a number",
        "  default  0.15",
        "  set it   builder augment METHOD --set synonym.rate=0.15",
    ]
    lines = here("config", "seed").out.splitlines()
    assert [line for line in lines if "--set" in line] == [
        "  or       builder build --set seed=13",
        "  set it   builder augment METHOD --set seed=13",
    ]
    rows = json.loads(here("config", "seed", "--json").out)
    assert [(row["command"], row["values"]) for row in rows] == [
        ("builder build", "a whole number"),
        ("builder augment METHOD", "a whole number"),
    ]
    assert "  value    a list of texts" in here("config", "self_train.variants").out.splitlines()


def test_config_lists_all_settings_or_those_of_a_section(here: Command) -> None:
    listing = here("config").out
    assert [fact.key for fact in setting_facts(Config) if f"\n{fact.key} " not in listing] == []
    heading, _, *lines = here("config", "release").out.splitlines()
    assert heading == "builder build: What is written under releases/."
    assert any(line.startswith("  release.licence ") for line in lines)
    assert all(line.startswith("  release.") for line in lines)
    assert {row["key"].partition(".")[0] for row in json.loads(here("config", "release", "--json").out)} == {"release"}
    refused = here("config", "release", "--preset", "iws-2024")
    assert refused.code == 2 and "leave out KEY" in refused.err and not refused.out


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("relase.licence", "did you mean release.licence? "),
        ("convention", "did you mean rules.convention? "),
        ("realease", "did you mean release? "),
        pytest.param("synonim.rate", "did you mean synonym.rate? ", marks=pytest.mark.augment),
        ("x", ""),
    ],
)
def test_config_suggests_the_setting_that_was_meant(here: Command, key: str, hint: str) -> None:
    assert here("config", key).error == f"unknown setting '{key}'; {hint}`builder setup config` lists all"


def test_config_answers_for_a_setting_of_earlier_versions_as_a_build_does(here: Command) -> None:
    answer = "leave it out: a version follows from the changes, or is `release.version`"
    assert here("config", "release.bump").error == f"unknown setting 'release.bump'; {answer}"


# ---- doctor


def test_doctor_finds_this_installation_fit(here: Command, tmp_path: Path) -> None:
    ran = here("doctor", "--json", "--workdir", tmp_path)
    assert ran.code == 0, ran.out
    findings = {finding["subject"]: finding for finding in map(json.loads, ran.out.splitlines())}
    for subject in ("python", "builder", "models", "lexicons", "disk"):
        assert findings[subject]["state"] == "ok", findings[subject]
    assert {f"extra {name}" for name in EXTRAS} < findings.keys()
    shown = here("doctor", "--workdir", tmp_path).out
    assert shown.endswith("builder can work here; what is marked - is optional.\n")


def test_doctor_says_how_to_install_the_missing(here: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    present = installation.find_spec
    monkeypatch.setattr(installation, "find_spec", lambda name: None if name == "datasette" else present(name))
    out = here("doctor", "--workdir", tmp_path).out
    (line,) = [line for line in out.splitlines() if "extra inspect" in line]
    assert line.startswith("-       extra inspect   for `builder serve`; pip install -e ")
    assert "[inspect]'" in line


def test_doctor_ends_with_1_where_nothing_works(here: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    finding = Diagnosis("models", "broken", "the embedded models cannot be read", "install builder again")
    monkeypatch.setattr(installation, "_models", lambda: finding)
    ran = here("doctor", "--workdir", tmp_path)
    assert ran.code == 1
    assert "BROKEN  models          the embedded models cannot be read; install builder again\n" in ran.out
    assert ran.out.endswith("\n1 problem\n")


def test_doctor_names_every_extra_that_a_user_may_want() -> None:
    table = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    extras = set(table["project"]["optional-dependencies"])
    assert EXTRAS.keys() == extras - {"docs", "dev"}


# ---- rows


@pytest.mark.parametrize(
    ("words", "start"),
    [
        (("sql", "SELECT txt FROM reviews"), "no such column: txt; did you mean text? reviews has id, key, text"),
        (("query", "by-aspct"), "unknown query 'by-aspct'; did you mean by-aspect? known: "),
        pytest.param(
            ("augment", "synonim", "--release", "r"),
            "unknown augmentation method 'synonim'; did you mean synonym? ",
            marks=pytest.mark.augment,
        ),
        (("run", "self-trian"), "unknown stage 'self-trian'; did you mean self_train? stages: "),
    ],
)
def test_unknown_names_get_a_suggestion(built: Built, here: Command, words: tuple[str, ...], start: str) -> None:
    place = () if words[0] == "augment" else ("--workdir", built.workdir)
    assert here(*words, *place).error.startswith(start)


def test_sql_writes_all_rows_to_a_file_in_the_format_of_its_ending(built: Built, here: Command, tmp_path: Path) -> None:
    numbers = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500) SELECT i, '湯, 好' AS t FROM n"
    )
    for ending in ("csv", "tsv", "json", "ndjson", "jsonl"):
        path = tmp_path / f"out.{ending}"
        ran = here("sql", numbers, "--output", path, "--workdir", built.workdir)
        assert (ran.code, ran.out, ran.err) == (0, "", f"{path}: 2,500 rows\n")
        text = path.read_text(encoding="utf-8")
        if ending in ("csv", "tsv"):
            rows = list(csv.DictReader(io.StringIO(text), delimiter="\t" if ending == "tsv" else ","))
        else:
            rows = json.loads(text) if ending == "json" else [json.loads(line) for line in text.splitlines()]
        assert len(rows) == 2_500, ending
        assert (str(rows[-1]["i"]), rows[-1]["t"]) == ("2500", "湯, 好")
    ran = here("sql", numbers, "--format", "ndjson", "--workdir", built.workdir)
    assert len(ran.out.splitlines()) == 1_000
    assert ran.err == "only the first 1,000 rows are shown; --limit takes more, --output FILE all\n"


def test_sql_writes_no_file_that_it_has_no_format_for(built: Built, here: Command, tmp_path: Path) -> None:
    path = tmp_path / "out.xml"
    ran = here("sql", "SELECT 1 AS one", "--output", path, "--workdir", built.workdir)
    assert ran.error == f"{path}: the ending '.xml' names no format; use .csv, .tsv, .json, .ndjson, or --format"
    assert not path.exists()
    path.mkdir()
    ran = here("sql", "SELECT 1", "--format", "csv", "--output", path, "--workdir", built.workdir)
    assert "cannot write" in ran.error


# ---- completion


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_told_how_to_complete(here: Command, monkeypatch: pytest.MonkeyPatch, shell: str) -> None:
    monkeypatch.setenv("_BUILDER_COMPLETE", f"{shell}_source")
    assert "_BUILDER_COMPLETE=" in here().out
