"""A preset holds a paper's settings: each line names its section, and a file or an option goes before it."""

from __future__ import annotations

import re
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest
from conftest import ROOT, invoke
from test_reproduce import PAGE, commands

from builder.augment.bench.classifiers import chosen
from builder.augment.catalogue import SHARED, AugmentSettings, make_settings, section_of
from builder.cli.augment import augment, bench
from builder.cli.options import with_preset_options
from builder.core import config as presets
from builder.core.config import NAMES, flat, preset_commands, preset_text, read_preset, resolve
from builder.core.errors import ConfigError
from builder.core.settings import Config

sys.path.insert(0, str(ROOT / "docs" / "hooks"))

from faithfulness import read_faithfulness

PLACE = re.compile(r"(section|sections|appendix|table|figure|equation|algorithm|footnote) \w", re.I)


def test_every_file_of_the_package_is_a_preset_and_every_preset_has_its_file() -> None:
    assert {path.stem for path in (ROOT / "builder" / "core" / "presets").glob("*.toml")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_each_line_of_a_preset_names_its_place_in_the_paper(name: str) -> None:
    values = preset_text(name).partition("\nwithout_effect = [")[0]
    lines = [line for line in values.splitlines() if line and not line.startswith("#")]
    read = {
        f"{command}.{key}": line
        for command in preset_commands(name)
        for key, line in read_preset(name, command).items()
    }
    assert len(read) == len(lines) >= 5
    assert [key for key, line in read.items() if not PLACE.match(line.source)] == []


def test_a_build_by_preset_says_of_each_value_that_the_paper_sets_it() -> None:
    made = resolve(preset="iws-2024")
    assert made.config.self_train.variants == ("A", "B", "C", "D")
    assert (made.config.paper.batch, made.config.paper.max_output) == (2, 512)
    assert made.origin["paper.max_output"] == "preset iws-2024: appendix 11.1"
    assert made.origin["release.licence"] == "default"
    assert made.origin["self_train.confidence"].startswith("preset"), "a preset goes before what its profile sets"


def test_a_file_goes_before_a_preset_and_an_option_before_both(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[paper]\nepochs = 4\nrate = 1e-3\n", "utf-8")
    made = resolve(file, {"paper.rate": 2e-3}, "iws-2024")
    numbers = {key: made.origin[key].partition(":")[0] for key in ("paper.epochs", "paper.rate", "paper.judge_epochs")}
    assert numbers == {"paper.epochs": str(file), "paper.rate": "option", "paper.judge_epochs": "preset iws-2024"}
    assert (made.config.paper.epochs, made.config.paper.rate, made.config.paper.judge_epochs) == (4, 2e-3, 3)


def test_settings_printed_with_a_preset_are_read_back_to_the_same_build(tmp_path: Path) -> None:
    shown = invoke("build", "--preset", "iws-2024", "--show-config", "--set", "seed=5")
    assert shown.exit_code == 0, shown.output
    assert "max_verdict = 64  # preset iws-2024: appendix 11.1" in shown.output
    assert "seed = 5  # option" in shown.output and "licence = " in shown.output
    (tmp_path / "back.toml").write_text(shown.output, "utf-8")
    back = resolve(tmp_path / "back.toml").config
    assert back.paper == resolve(preset="iws-2024").config.paper
    assert back.self_train == resolve(preset="iws-2024").config.self_train


def test_an_unknown_preset_and_one_of_another_command_are_errors_that_say_which_fits() -> None:
    with pytest.raises(ConfigError, match="did you mean cbert-2019"):
        read_preset("cbert-2018", "augment")
    with pytest.raises(ConfigError, match=r"nothing for `builder augment`.*it is for `builder build`"):
        read_preset("iws-2024", "augment")
    assert "nothing for `builder build`" in str(invoke("build", "--preset", "cbert-2019", "--show-config").exception)


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_is_listed_whole_with_its_sections(name: str) -> None:
    shown = invoke("config", "--preset", name)
    assert shown.exit_code == 0, shown.output
    values = tomllib.loads(preset_text(name))
    for command in preset_commands(name):
        assert command in values
        assert all(
            line.source in shown.output and key in shown.output for key, line in read_preset(name, command).items()
        )


def test_the_settings_of_a_method_by_preset_exist_and_say_where_they_come_from() -> None:
    for name in NAMES[1:]:
        given = {key: line.value for key, line in read_preset(name, "augment").items() if key != "copies"}
        assert given["constraints"] == "none", "no paper has constraints"
        values = flat(make_settings(given))
        assert {key: values[key] for key in given} == given
    shown = invoke("augment", "boostaug", "--preset", "boostaug-2022", "--show-config", "--set", "boostaug.folds=3")
    assert shown.exit_code == 0, shown.output
    assert 'boostaug.scale = "absolute"  # preset boostaug-2022: section 3.3, thresholds are fixed' in shown.output
    assert "boostaug.folds = 3  # option" in shown.output
    assert "eda.rate = 0.1  # preset boostaug-2022" in shown.output, "the back end's settings too"
    assert "boostaug.epochs = 0  # default" in shown.output


@pytest.mark.parametrize("name", NAMES[1:])
def test_the_options_of_bench_by_preset_exist_and_its_models_are_known(name: str) -> None:
    lines = read_preset(name, "bench")
    assert set(lines) <= {parameter.name for parameter in bench.params}
    task = str(lines["task"].value) if "task" in lines else "tc"
    for written in str(lines["models"].value).split(","):
        choice = chosen(written, task, "en")  # type: ignore[arg-type]
        assert choice.config.rate > 0


def list_undeclared(name: str) -> list[str]:
    """Settings of a paper's methods that neither preset nor departure covers, and patterns that cover none."""
    told = read_faithfulness(name)
    if name == "iws-2024":
        given, values, prefix = set(read_preset(name, "build")), flat(Config()), "build."
        sections = {key.split(".")[0] for key in given if "." in key}
    else:
        given, values, prefix = set(read_preset(name, "augment")), flat(AugmentSettings()), "augment."
        methods = str(read_preset(name, "bench")["methods"].value).split(",")
        sections = {key.split(".")[0] for key in given if "." in key} | set(map(section_of, methods))
    known = [prefix + key for key in values if key.split(".")[0] in sections or key in SHARED]
    patterns = [*told.without_effect, *(pattern for row in told.departures.values() for pattern in row.settings)]
    due = [key for key in known if key.count(".") > 1 and key.removeprefix(prefix) not in given]
    open_ = [key for key in due if not any(fnmatch(key, pattern) for pattern in patterns)]
    return open_ + [pattern for pattern in patterns if not any(fnmatch(key, pattern) for key in known)]


@pytest.mark.parametrize("name", NAMES)
def test_each_setting_that_a_paper_leaves_open_is_a_departure_that_a_row_of_the_page_lists(name: str) -> None:
    import pages

    assert list_undeclared(name) == []
    told = read_faithfulness(name)
    assert {key for row in told.shown for key in row.departs} == set(told.departures)
    section = SECTIONS[NAMES.index(name)]
    words = {word for title, line in commands() if title.startswith(section) for word in line}
    assert [row.command for row in told.shown if row.command not in words] == []
    page = pages.on_page_markdown(PAGE.read_text("utf-8"))
    for row in told.departures.values():
        assert f"| {row.what} | {row.why} |" in page
    for shown in told.shown:
        assert f"| {shown.shown} | `{shown.command}` |" in page


@pytest.mark.parametrize(
    ("name", "method", "stands_in", "departure"),
    [
        ("masked-seq2seq-2020", "masked-seq2seq", "BART for MASS", "mass"),
        ("boostaug-2022", "bert", "`bert` for WordEmbsAug", "likely_words"),
    ],
)
def test_a_row_that_runs_what_stands_in_for_a_method_of_its_paper_says_so(
    name: str, method: str, stands_in: str, departure: str
) -> None:
    listed = [row.command for row in read_faithfulness(name).shown if row.stands_in == stands_in]
    assert listed == [row.command for row in read_faithfulness(name).shown if departure in row.departs]
    section = SECTIONS[NAMES.index(name)]
    running = [
        words[words.index("--workdir" if words[0] == "bench" else "--output") + 1]
        for title, words in commands()
        if title.startswith(section) and method in list_methods(name, words)
    ]
    assert set(listed) == set(running), "a preset's methods are those of a command that names none"


def list_methods(name: str, words: list[str]) -> list[str]:
    """The methods that a command of the page runs, those behind a filter too."""
    if words[0] == "augment":
        return [words[1]]
    default = str(read_preset(name, "bench")["methods"].value)
    methods = words[words.index("--methods") + 1] if "--methods" in words else default
    return [part for method in methods.split(",") for part in re.split(r":(?:backend=)?", method)]


SECTIONS = ("Iterative weak supervision", "Masked sequence", "Conditional BERT", "Filtered augmentation")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("augment.masked_seq2seq.r = 0.5", "augment.masked_seq2seq.r"),
        ('"augment.*.rate", ', "augment.masked_seq2seq.rate"),
        ("augment.gpt2.beams = 5", "augment.gpt2.beams"),
    ],
)
def test_a_value_that_goes_from_a_preset_or_a_departure_is_missed(
    line: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "masked-seq2seq-2020"
    text = preset_text(name)
    assert text.count(line) == 1
    without = text.replace(line, "") if line.startswith('"') else re.sub(rf"{re.escape(line)}.*\n", "", text)
    monkeypatch.setattr(presets, "preset_text", lambda _: without)
    assert found in list_undeclared(name)


def test_an_option_of_the_command_goes_before_the_presets() -> None:
    context = bench.make_context("bench", ["--preset", "boostaug-2022", "--train", "x", "--seeds", "2"])
    options = with_preset_options(context, dict(context.params), "boostaug-2022", "bench")
    assert (options["seeds"], options["copies"], options["valid_share"]) == (2, (8,), 0.0)
    assert options["methods"][:2] == ("none", "eda")
    context = augment.make_context("augment", ["eda", "--preset", "boostaug-2022"])
    assert with_preset_options(context, dict(context.params), "boostaug-2022", "augment")["copies"] == 8


def test_what_a_preset_holds_out_gives_way_to_a_file_for_validation(tmp_path: Path) -> None:
    (tmp_path / "a.bio").write_text("the O\nsoup B\n\n" * 3, "utf-8")
    words = ["bench", "--preset", "masked-seq2seq-2020", "--train", tmp_path / "a.bio", "--test", tmp_path / "a.bio"]
    options = [*words, "--workdir", tmp_path / "w"]
    shared = invoke(*options, "--valid", tmp_path / "a.bio").exception
    assert "the test set holds 1 text of it too" in str(shared), (
        "so far it comes: 150 held out of 1 is no question any more"
    )
    assert "150 texts are to be held out of 1" in str(invoke(*options, "--test", write_other(tmp_path)).exception)


def test_the_folds_of_a_preset_give_way_to_a_test_set(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("good one\t1\nbad one\t0\n", "utf-8")
    words = ["bench", "--preset", "cbert-2019", "--train", tmp_path / "a.tsv", "--workdir", tmp_path / "w"]
    assert "10 folds of 2 texts" in str(invoke(*words).exception)
    assert "the test set holds 2 texts of it too" in str(invoke(*words, "--test", tmp_path / "a.tsv").exception)


def write_other(folder: Path) -> Path:
    (folder / "b.bio").write_text("a O\nroom B\n", "utf-8")
    return folder / "b.bio"


def test_a_model_that_a_page_names_has_the_training_of_its_preset() -> None:
    """A model behind --models stands in place of the preset's, with all its settings: none may be forgotten."""
    for words in (words for _, words in commands() if "boostaug-2022" in words and "--models" in words):
        for written in words[words.index("--models") + 1].split(","):
            config = chosen(written, "absc", "en").config
            assert (config.rate, config.step_items, config.longest, config.l2) == (1e-5, 16, 80, 1e-8), words
    for written in str(read_preset("boostaug-2022", "bench")["models"].value).split(","):
        config = chosen(written, "absc", "en").config
        assert (config.step_items, config.longest, config.l2) == (16, 80, 1e-8)
