"""The package as it is installed: its name, what the wheel holds, and what a missing extra asks for."""

from __future__ import annotations

import ast
import os
import re
import runpy
import sys
import tomllib
from importlib.metadata import metadata, packages_distributions
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from conftest import ROOT
from packaging.requirements import Requirement
from pins import HEAD, brought, canonical, pinned

from builder import __version__
from builder.cli import main
from builder.core import errors
from builder.core.errors import DISTRIBUTION, install_command
from builder.core.machine import choose_kernels
from builder.pipeline import installation
from builder.pipeline.installation import find_extra

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
WIDE = "fpu avx avx2 avx512f avx512dq avx512cd avx512bw avx512vl"


def test_the_distribution_has_the_name_that_messages_ask_for() -> None:
    assert PROJECT["name"] == DISTRIBUTION
    assert PROJECT["scripts"] == {"builder": "builder.cli.main:main"}


def test_the_changelog_has_a_section_of_the_version_with_its_date() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## \[(.+?)\](.*)$", text, re.M)
    assert sections[0] == ("Unreleased", ""), "where the next change is written"
    assert sections[1][0] == __version__
    assert all(re.fullmatch(r" - \d{4}-\d\d-\d\d", date) for _, date in sections[1:])


def test_a_public_host_runs_what_is_run_here_with_every_python() -> None:
    (job,) = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))["jobs"].values()
    pythons = job["strategy"]["matrix"]["python"]
    assert PROJECT["requires-python"] == f">={pythons[0]}"
    assert all(isinstance(one, str) for one in pythons), "3.10 without quotes is 3.1"
    assert f"Python {pythons[0]} to {pythons[-1]}" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    scripts = [ROOT / step["run"] for step in job["steps"] if "run" in step]
    assert scripts and all(os.access(script, os.X_OK) for script in scripts)


def test_the_hooks_of_a_commit_run_tools_that_the_extra_dev_brings() -> None:
    (ours,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    tools = {hook["entry"].split()[0] for hook in ours["hooks"]}
    assert {"ruff", "mypy", "pytest"} == tools <= {Requirement(one).name for one in EXTRAS["dev"]}
    assert [hook["entry"] for hook in ours["hooks"] if hook.get("stages") == ["manual"]] == ["pytest -m fast"]


def test_in_a_checkout_a_missing_extra_is_installed_from_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    assert install_command("report") == "pip install -e '.[report]'"
    monkeypatch.chdir(tmp_path)
    assert install_command("report") == f"pip install -e '{ROOT}[report]'"


def test_elsewhere_a_missing_extra_is_installed_by_the_name_of_the_distribution(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(errors, "__file__", str(tmp_path / "site-packages" / "builder" / "core" / "errors.py"))
    assert install_command("report") == "pip install 'review-triplets[report]'"


@pytest.mark.augment
def test_code_asks_only_for_extras_that_there_are_and_only_through_the_one_function() -> None:
    asked = set()
    for path in (ROOT / "builder").rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        asked |= set(re.findall(r"install_command\([\"'](\w+)[\"']\)", source))
        assert path.name == "errors.py" or not re.search(r"pip install ['\"]?\w+\[|builder\[", source), path
    assert len(asked) > 8
    assert asked <= EXTRAS.keys()


def imported_by(node: ast.AST) -> list[str]:
    """The modules that a statement imports, but those of the same package."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [str(node.module)] if isinstance(node, ast.ImportFrom) and not node.level else []


def test_a_module_that_an_extra_brings_is_known_with_it_and_no_other_is_imported() -> None:
    """So `builder` answers a missing one with one line, and never with a traceback."""
    imported = {
        name.partition(".")[0]
        for path in (ROOT / "builder").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in imported_by(node)
    }
    others = imported - set(sys.stdlib_module_names) - {"builder"}
    brought_by = packages_distributions()
    core = {canonical(Requirement(line).name) for line in PROJECT["dependencies"]}
    unknown = {name for name in others if not find_extra(name)}
    strange = {name for name in unknown if not core & set(map(canonical, brought_by.get(name, [])))}
    assert strange == {"_typeshed"}, "it is there for mypy alone"
    for extra, (modules, _) in installation.EXTRAS.items():
        asked = {canonical(Requirement(line).name) for line in EXTRAS[extra]}
        assert asked & set(map(canonical, brought_by[modules[0]])), f"{extra} brings {modules[0]}"


@pytest.mark.parametrize("module", [module for modules, _ in installation.EXTRAS.values() for module in modules])
def test_a_module_that_is_not_installed_is_one_line_that_installs_it(
    module: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(**_: object) -> None:
        raise ModuleNotFoundError(f"No module named '{module}.part'", name=f"{module}.part")

    monkeypatch.setattr(main.cli, "main", fail)
    monkeypatch.setattr(main, "choose_kernels", lambda: None)
    with pytest.raises(SystemExit, match="2"):
        main.main()
    extra = find_extra(module)
    missing = f"builder: error: this needs {module}.part, which is not installed; "
    assert capsys.readouterr().err == f"{missing}`{install_command(str(extra))}` installs it\n"


def test_the_extra_dev_brings_every_other_extra() -> None:
    (ours,) = [one for one in EXTRAS["dev"] if one.startswith(DISTRIBUTION)]
    assert set(re.findall(r"\w+", ours.removeprefix(DISTRIBUTION))) == EXTRAS.keys() - {"dev"}


@pytest.fixture
def needed() -> dict[str, str]:
    try:
        return brought()
    except SystemExit as error:
        pytest.skip(str(error))


def test_every_package_that_the_extras_bring_stands_in_the_constraints_once(needed: dict[str, str]) -> None:
    """What a fresh install takes is told by the packages that are installed, so that no network is needed."""
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    names = [name for name, _ in pinned(text)]
    assert len(names) == len(set(names))
    assert needed.keys() <= set(names), "write it anew: python tests/pins.py > constraints.txt"
    if text.startswith(HEAD):  # later versions of Python need less
        assert sorted(names) == sorted(needed)


def test_an_extra_that_brings_gpl_packages_names_them(needed: dict[str, str]) -> None:
    keys = ("License", "License-Expression")
    strict = {name for name in needed if any(str(metadata(name).get(key)).startswith("GPL") for key in keys)}
    assert strict == {"ckip-transformers", "udapi", "udtools"}
    page = (ROOT / "docs" / "guide" / "models.md").read_text(encoding="utf-8")
    assert "CKIP transformers (GPL-3.0" in page and "the GPL packages udapi and udtools" in page


def test_the_constraints_lie_within_what_the_project_asks_for() -> None:
    versions = dict(pinned((ROOT / "constraints.txt").read_text(encoding="utf-8")))
    asked = [*PROJECT["dependencies"], *(line for extra in EXTRAS.values() for line in extra)]
    for requirement in map(Requirement, asked):
        if requirement.name != DISTRIBUTION:
            assert requirement.specifier.contains(versions[canonical(requirement.name)]), str(requirement)


def test_what_reads_with_the_shipped_models_needs_no_torch() -> None:
    """It and its GPU libraries are gigabytes; `app` and all that it names do without, too."""
    waiting, seen = [*PROJECT["dependencies"], f"{DISTRIBUTION}[app]"], set[str]()
    while waiting:
        requirement = Requirement(waiting.pop())
        if requirement.name == DISTRIBUTION:
            waiting += [line for extra in requirement.extras for line in EXTRAS[extra]]
        seen.add(requirement.name)
    assert "datasets" in seen and not seen & {"torch", "transformers", "accelerate", "stanza", "ckip-transformers"}


def test_the_image_is_built_from_what_the_project_has() -> None:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    arguments = dict(line.removeprefix("ARG ").split("=", 1) for line in lines if line.startswith("ARG "))
    assert set(arguments["EXTRAS"].split(",")) <= EXTRAS.keys()
    assert lines.index("USER builder") < lines.index('ENTRYPOINT ["builder"]'), "it does not run as root"
    assert "ENV HOME=/home/builder" in lines, "`docker run -u` names a user without a home"
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for needed in ("builder", "lexicons", "rules", "pyproject.toml", "constraints.txt", "README.md", "LICENSE"):
        assert (ROOT / needed).exists() and needed not in ignored


def test_the_app_of_a_space_shows_a_review_and_its_triplets(monkeypatch: pytest.MonkeyPatch) -> None:
    """With gradio's names alone: the library is no dependency of the project."""
    gradio = ModuleType("gradio")
    for name in ("Interface", "Textbox", "HTML", "Dataframe"):
        setattr(gradio, name, lambda *given, **options: None)
    monkeypatch.setitem(sys.modules, "gradio", gradio)
    find_triplets = runpy.run_path(str(ROOT / "examples" / "space" / "app.py"))["find_triplets"]
    html, rows = find_triplets("湯頭濃郁，可惜麵條煮得太爛")
    assert 'class="text"' in html
    assert [row[:3] for row in rows] == [["湯頭", "濃郁", "POS"], ["麵條", "煮得太爛", "NEG"]]


@pytest.mark.parametrize(
    ("vendor", "flags", "before", "due"),
    [
        ("AuthenticAMD", WIDE, None, "SkylakeX"),
        ("AuthenticAMD", WIDE, "Zen", "Zen"),
        ("AuthenticAMD", "fpu avx avx2 avx512f", None, None),
        ("GenuineIntel", WIDE, None, None),
        ("", "", None, None),
    ],
)
def test_a_processor_of_amd_with_avx_512_uses_it_unless_the_user_chose(
    vendor: str, flags: str, before: str | None, due: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = f"processor\t: 0\nvendor_id\t: {vendor}\nflags\t\t: {flags}\nbugs\t\t:\n"

    def read(path: Path) -> str:
        if not vendor:
            raise FileNotFoundError(path)  # a machine that does not show its processor
        return f"{one}\n{one}"

    monkeypatch.setattr(Path, "read_text", read)
    monkeypatch.setattr(os, "environ", {"OPENBLAS_CORETYPE": before} if before else {})
    choose_kernels()
    assert os.environ.get("OPENBLAS_CORETYPE") == due
