"""The documents: everything that can be named is named, and everything that can run runs."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from conftest import PUBLISHED_SAMPLE, ROOT, TIERS, Built, Command, environment

DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "hooks"))
sys.path.insert(0, str(DOCS))

import commands  # noqa: E402
import database  # noqa: E402
import doctests  # noqa: E402
import pages  # noqa: E402
import picture  # noqa: E402
import settings  # noqa: E402

PAGES = tuple(sorted(DOCS.rglob("*.md")))
WRITTEN = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES)
FENCE = re.compile(r"(?:^<!-- (run) -->\n)?^( *)```(\w+)\n(.*?)^\2```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)#\s]+)(#[\w-]+)?\)")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page: `runs` where the line above it says `<!-- run -->`."""

    page: str
    language: str
    text: str
    runs: bool

    @property
    def lines(self) -> list[str]:
        """Its commands, continued lines joined."""
        return [line.strip() for line in self.text.replace("\\\n", " ").splitlines() if line.strip()]


def blocks() -> Iterator[Block]:
    for path in WRITTEN:
        for found in FENCE.finditer(path.read_text(encoding="utf-8")):
            yield Block(path.relative_to(ROOT).as_posix(), found[3], found[4], found[1] is not None)


BLOCKS = tuple(blocks())


def prose(text: str) -> str:
    """What is read as sentences: no code, tables, headings or comments; an item of a list ends as a sentence does."""
    text = FENCE.sub("\n\n", text)
    lines = [line for line in text.splitlines() if not re.match(r"\s*(\||#|<!--|!\[|\[\^)", line)]
    text = re.sub(r"^\s*([-*]|\d+\.) ", "\n", "\n".join(lines), flags=re.M)
    return re.sub(r"`[^`\n]*`", "code", text)


def sentences(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", prose(text)):
        yield from re.split(r"(?<=[.!?:;])\s+", " ".join(paragraph.split()))


def test_the_readme_is_one_screen_with_a_picture_and_the_two_commands_that_ci_runs() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count("\n") <= 150
    assert len(text.encode()) <= 9000
    assert len(re.findall(r"^python3 -m venv", text, re.M)) == 2
    assert "](docs/assets/triplets.svg)" in text


def test_the_row_in_the_readme_is_one_of_the_published_sample() -> None:
    (text,) = re.findall(r"^```json\n(.+)\n```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M)
    shown = json.loads(text)
    lines = (PUBLISHED_SAMPLE / "data" / "test.jsonl").read_text(encoding="utf-8").split("\n")
    (row,) = (row for row in map(json.loads, filter(None, lines)) if row["id"] == shown["id"])
    (triplet,) = shown.pop("triplets")
    assert shown.items() <= row.items()
    assert any(all(kept[key] == value for key, value in triplet.items()) for kept in row["triplets"])


def test_the_picture_is_what_the_tool_finds_today() -> None:
    assert picture.TARGET.read_text(encoding="utf-8") == picture.draw(picture.TEXT, picture.extract(picture.TEXT))


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_sentences_have_twenty_five_words_at_most(path: Path) -> None:
    long = [one for one in sentences(path.read_text(encoding="utf-8")) if len(one.split()) > 25]
    assert long == []


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_to_files_that_are_there(path: Path) -> None:
    links = [found[1] for found in LINK.finditer(path.read_text(encoding="utf-8")) if "://" not in found[1]]
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_every_page_has_a_place_in_the_menu_and_names_no_place_of_its_authors() -> None:
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if page.relative_to(DOCS).as_posix() not in menu] == []
    assert [
        path.name for path in WRITTEN if re.search(r"/work/|\.\./shared|worktree", path.read_text(encoding="utf-8"))
    ] == []


@pytest.mark.parametrize("word", ["reproduce", "DataFrame", "delimiter", "領域", "keep-columns", "評論"])
def test_the_search_finds_what_people_ask_for(word: str) -> None:
    """It knows whole words, parted as mkdocs.yml says."""
    settings = re.search(r"separator: '(.+)'", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert settings is not None
    parts = re.split(settings[1], word.casefold())
    pages = (re.split(settings[1], page.read_text(encoding="utf-8").casefold()) for page in PAGES)
    assert any(set(parts) <= set(words) for words in pages)


def test_each_group_of_commands_has_a_page_that_the_others_lead_to() -> None:
    first = (DOCS / "reference" / "cli.md").read_text(encoding="utf-8")
    for group in commands.GROUPS:
        assert f"(cli-{group}.md)" in first
        text = commands.describe_commands(group)
        heads = set(re.findall(r"^## builder (\w+)", text, re.M))
        assert heads == {group}
        assert f"## builder {group}\n" not in commands.describe_commands()


def test_a_reader_meets_every_command_on_a_page_that_people_wrote() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in WRITTEN)
    missing = [
        name
        for name, command in commands.walk_commands(commands.cli)
        if f"builder {name}" not in text and not hidden(command)
    ]
    assert missing == []


def test_every_command_and_option_says_what_it_does_in_words_that_are_explained() -> None:
    options = [
        (name, option.opts[0], option.help or "")
        for name, command in commands.walk_commands(commands.cli)
        for option in command.params
        if isinstance(option, click.Option) and not option.hidden
    ]
    assert [option for option in options if not option[2].endswith(".")] == []
    summaries = [command.get_short_help_str(200) for _, command in commands.walk_commands(commands.cli)]
    assert [text for text in summaries if len(text) > 50 or not text.endswith(".")] == []
    assert [option for option in options if re.search(r"\b(S_0|YN|NX|panel|told)\b", option[2])] == []


def test_every_line_of_a_story_is_explained(shell: Path) -> None:
    """Those of the rules, as the sample's build stored them."""
    with closing(sqlite3.connect(shell / "workdir" / "builder.db")) as connection:
        stories = [json.loads(story) for (story,) in connection.execute("SELECT story FROM proposals")]
    kinds = {kind for story in stories for kind, _ in story}
    text = (DOCS / "guide" / "inspect.md").read_text(encoding="utf-8")
    assert len(kinds) > 6
    assert [kind for kind in sorted(kinds) if f"`{kind}`" not in text] == []


def hidden(command: click.Command) -> bool:
    """Groups are met in their commands."""
    return isinstance(command, click.Group) or command.hidden


@pytest.mark.parametrize("cls", [settings.Config, settings.AugmentSettings], ids=["build", "augmentation"])
def test_every_setting_has_a_sentence(cls: type) -> None:
    found = list(settings.walk_settings(cls))
    assert len(found) > 40
    assert [prefix + key for prefix, key, _, sentence in found if not sentence.endswith(".")] == []


def test_every_table_and_column_is_described_and_nothing_else_is() -> None:
    schema = {name: set(columns) for kind in database.read_schema().values() for name, columns in kind.items()}
    described = {name: set(table.columns) for name, table in database.describe_tables().items()}
    assert {
        name: columns ^ described.get(name, set()) for name, columns in schema.items() if columns != described.get(name)
    } == {}
    assert described.keys() == schema.keys()


@pytest.mark.parametrize("name", pages.GENERATED)
def test_what_is_generated_stands_on_a_page(name: str) -> None:
    line = f"> {name}: made from the code, see the site (`mkdocs serve`)."
    assert any(line in page.read_text(encoding="utf-8") for page in PAGES)
    text = pages.on_page_markdown(line)
    assert text.count("\n|") > 5, text


def test_generated_pages_hold_every_command_option_setting_and_column() -> None:
    text = "\n".join(pages.on_page_markdown(page.read_text(encoding="utf-8")) for page in PAGES)
    options = {
        name for _, command in commands.walk_commands(commands.cli) for option in command.params for name in option.opts
    }
    assert [name for name in options if name.startswith("--") and f"`{name}`" not in text] == []
    assert [key for _, key, _, _ in settings.walk_settings(settings.Config) if f"`{key}`" not in text] == []
    assert [name for name in database.describe_tables() if f"### `{name}`" not in text] == []


def test_examples_of_docstrings_are_shown_as_code() -> None:
    shown = doctests.mark_examples("Reads.\n\n>>> 1 + 1\n2\n\nMore.")
    assert shown == "Reads.\n\nExamples:\n    >>> 1 + 1\n    2\n\nMore."
    assert doctests.mark_examples("No >>> example.") == "No >>> example."


def test_the_architecture_page_names_every_room_and_modules_that_are_there() -> None:
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    rooms = {path.parent.name for path in (ROOT / "builder").glob("*/__init__.py")}
    assert rooms == set(re.findall(r"^\| `(\w+)` \|", text.split("## Rooms")[1], re.M))
    walked = re.findall(r"`(\w+(?:\.\w+)+)`", text.split("## Three walks")[1].split("## ")[0])
    assert len(walked) > 10
    for name in walked:
        path = ROOT.joinpath("builder", *name.split("."))
        is_there = path.with_suffix(".py").is_file() or path.is_dir()
        assert is_there or f" {path.name}" in path.parent.with_suffix(".py").read_text(encoding="utf-8"), name


def test_every_test_that_a_promise_names_is_there() -> None:
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").glob("test_*.py"))
    text = (DOCS / "promises.md").read_text(encoding="utf-8")
    names = re.findall(r"`(test_\w+)`", text)
    assert len(names) > 30
    assert [name for name in names if f"def {name}" not in tests] == []
    assert [path for path in re.findall(r"(tests/[\w/]+\.py)", text) if not (ROOT / path).is_file()] == []


def test_every_script_that_the_results_name_is_there() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in WRITTEN)
    assert {path for path in re.findall(r"tests/measure/\w+\.py", text) if not (ROOT / path).is_file()} == set()


def test_the_tiers_of_tests_are_files_that_are_there_and_named_to_people(request: pytest.FixtureRequest) -> None:
    named = [name for names in TIERS.values() for name in names.split()]
    assert len(named) == len(set(named)), "a file is of one tier"
    stems = [path.stem.removeprefix("test_") for path in (ROOT / "tests").rglob("test_*.py")]
    assert len(stems) == len(set(stems)), "a tier names a file by its stem alone"
    assert set(named) <= set(stems)
    assert request.node.get_closest_marker("fast"), "a test of a fast file has the marker"
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert [tier for tier in (*TIERS, "build") if f"pytest -m {tier} " not in text] == []


def builder_lines() -> list[tuple[str, str]]:
    lines = [(block.page, line) for block in BLOCKS if block.language == "bash" for line in block.lines]
    return [(page, line) for page, line in lines if re.match(r"(.*-m )?builder ", line)]


@pytest.mark.parametrize(("page", "line"), builder_lines())
def test_every_command_line_of_the_documents_is_understood(page: str, line: str) -> None:
    words = shlex.split(line.partition(" -m ")[2] or line, comments=True)[1:]
    command: click.Command = commands.cli
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name, command, words = command.resolve_command(click.Context(command), words)
        assert command is not None, f"{page}: {name}"
    for option in command.params:  # a line of a page names files that only its reader has
        if isinstance(option.type, click.Path):
            option.type.exists = False
    assert command.make_context(line, words, resilient_parsing=False).params is not None


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language == "toml"], ids=lambda block: block.page)
def test_every_settings_file_of_the_documents_is_taken(block: Block, tmp_path: Path) -> None:
    from builder.core.config import resolve
    from builder.engine.compiled import check_rules
    from builder.language.lexicon.rules import load_rules

    path = tmp_path / "settings.toml"
    path.write_text(block.text, encoding="utf-8")
    tables = tomllib.loads(block.text)
    assert tables
    if any(isinstance(table, dict) and "extends" in table for table in tables.values()):  # a rule file of a domain pack
        assert set(tables) <= {rule.name for rule in load_rules()}
    elif all(isinstance(table, dict) and "kind" in table for table in tables.values()):
        check_rules(load_rules(tmp_path))
    else:
        assert resolve(path).origin


@pytest.fixture(scope="module")
def shell(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a reader has it: the releases of the checkout, and a working directory."""
    folder = tmp_path_factory.mktemp("reader")
    built.copy(folder)
    shutil.copy(ROOT / "builder" / "sample" / "reviews.csv", folder / "reviews.csv")
    for release in (ROOT / "releases").glob("sample-[0-9]*"):
        shutil.copytree(release, folder / "releases" / release.name)
    script = folder / "bin" / "builder"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m builder "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    "block", [block for block in BLOCKS if block.runs], ids=lambda block: f"{block.page}: {block.lines[0][:40]}"
)
def test_the_commands_of_a_page_run_as_they_stand(block: Block, shell: Path, here: Command) -> None:
    if re.search("[|>]", block.text):  # what only a shell understands
        variables = environment() | {"PATH": f"{shell / 'bin'}:/usr/bin:/bin"}
        words = ["bash", "-euo", "pipefail", "-c", block.text]
        done = subprocess.run(words, cwd=shell, env=variables, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return
    for line in block.lines:
        name, *words = shlex.split(line, comments=True)
        assert name == "builder", line
        ran = here(*words, cwd=shell)
        assert ran.code == 0, ran.err


@pytest.mark.parametrize(
    "block", [block for block in BLOCKS if block.language == "python"], ids=lambda block: block.page
)
def test_the_python_of_a_page_runs_as_it_stands(block: Block, shell: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shell)
    exec(compile(block.text, block.page, "exec"), {"__name__": "__main__"})
