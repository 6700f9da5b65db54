"""The shape of the package: who may import whom, where SQL and torch live, and what a start costs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import ROOT, run_python, sentence

PACKAGE = ROOT / "builder"
ROOMS = (
    "", "core", "reviews", "store", "learning", "language", "gold", "engine", "models", "release", "pipeline",
    "teaching", "augment", "pages", "api", "cli", "__main__",
)  # fmt: skip
"""From the bottom: a room imports from those before it. "" is `builder/__init__.py`."""
LEVEL = {room: level for level, room in enumerate(ROOMS)}
SQL = re.compile(
    r"\b(SELECT\b.+\bFROM|INSERT\s+(OR\s+\w+\s+)?INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|CREATE\s+(TABLE|VIEW|INDEX)|PRAGMA\s+\w+)",
    re.S,
)
HEAVY = (
    "torch", "transformers", "stanza", "ckip_transformers", "pyarrow", "openpyxl", "opencc", "numpy", "rjieba",
    "safetensors", "tqdm", "openai", "starlette", "uvicorn", "datasette", "huggingface_hub", "distributed",
    "matplotlib", "scipy", "sklearn", "shapely",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Import:
    """An import statement of the package: in which module, of what, and whether it runs when the module is imported."""

    module: str
    target: str
    line: int
    now: bool

    @property
    def where(self) -> str:
        return f"{self.module}:{self.line} imports {self.target}"


def part(module: str) -> str:
    """The room that a module stands in."""
    return [*module.split("."), ""][1]


@dataclass(frozen=True, slots=True)
class Package:
    """What one walk through the source of all modules finds."""

    modules: Mapping[str, Path]
    imports: tuple[Import, ...]
    texts: tuple[tuple[str, int, str], ...]
    """(module, line, text) of each string that is no docstring."""

    @property
    def own_imports(self) -> tuple[Import, ...]:
        """Without those of `builder/__init__.py`, whose lazy names are of `api`."""
        return tuple(one for one in self.imports if one.target.split(".")[0] == "builder" and one.module != "builder")


@pytest.fixture(scope="session")
def package() -> Package:
    found = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in PACKAGE.rglob("*.py")
    }
    modules = dict(sorted(found.items()))
    imports: list[Import] = []
    texts: list[tuple[str, int, str]] = []
    for module, path in modules.items():
        docstrings: set[int] = set()
        for node, now in walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and ast.get_docstring(node, clean=False):
                docstrings.add(id(node.body[0].value))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                texts.append((module, node.lineno, node.value))
            elif isinstance(node, ast.Import):
                imports += [Import(module, alias.name, node.lineno, now) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0 and node.module, f"{module}:{node.lineno} has a relative import"
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    imports.append(Import(module, whole if whole in modules else node.module, node.lineno, now))
    return Package(modules, tuple(imports), tuple(texts))


def walk(tree: ast.Module) -> Iterator[tuple[ast.AST, bool]]:
    """Every node after those that hold it, and whether it runs at import: not in a function or for type checkers."""
    stack: list[tuple[ast.AST, bool]] = [(tree, True)]
    while stack:
        node, now = stack.pop()
        yield node, now
        inside = now and not (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            or (isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING")
        )
        stack += [(child, inside) for child in ast.iter_child_nodes(node)]


def test_every_module_stands_in_a_room(package: Package) -> None:
    assert len(package.modules) > 50, "the walk found the package"
    assert {part(module) for module in package.modules} <= LEVEL.keys()


def test_a_name_is_given_to_one_module(package: Package) -> None:
    names = [module.split(".")[-1] for module, path in package.modules.items() if path.name != "__init__.py"]
    assert sorted(names) == sorted(set(names))


def test_the_modules_at_which_to_start_reading_are_there(package: Package) -> None:
    for room in filter(None, ROOMS):
        file = PACKAGE / room / "__init__.py"
        if file.is_file():
            _, _, start = file.read_text(encoding="utf-8").partition("Start reading at ")
            names = [name for name in re.findall(r"`([\w.]+)`", start.partition('"""')[0]) if ".sql" not in name]
            assert names or room == "store", f"{room} says where to start"
            missing = [name for name in names if f"builder.{room}.{name}" not in package.modules]
            assert missing == [], room


def test_a_module_imports_only_from_lower_rooms_or_its_own(package: Package) -> None:
    wrong = []
    for one in package.own_imports:
        source, target = part(one.module), part(one.target)
        if source != target and LEVEL[source] <= LEVEL[target]:
            wrong.append(one.where)
    assert wrong == []


def test_only_its_commands_import_augmentation(package: Package) -> None:
    named = {one.module for one in package.imports if one.target.startswith("builder.augment")}
    assert {module for module in named if part(module) != "augment"} == {"builder.cli.augment", "builder.cli.setup"}


@pytest.mark.build
def test_a_package_without_augmentation_builds_extracts_checks_and_explains(tmp_path: Path) -> None:
    """The folder of augmentation is missing from a copy; `setup config` lists the settings that are there."""
    (tmp_path / "builder").mkdir()
    for path in PACKAGE.iterdir():
        if path.name not in ("augment", "__pycache__"):
            (tmp_path / "builder" / path.name).symlink_to(path)
    for name in ("domains", "lexicons", "rules"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "in.csv").write_text("text\n" + "".join(f"{sentence(n)}，湯頭很好喝\n" for n in range(12)), "utf-8")
    commands = [
        "--help", "build in.csv --profile rules --until release", "status", "query top-opinions", "extract 湯頭很好喝",
        "export releases/v0.1.0 --format aste-v2 --output out.txt", "verify releases/v0.1.0", "report --out r.html",
        "config release.licence", "config",
    ]  # fmt: skip
    code = f"""
import importlib.util, shlex, sys
from builder.cli import main as cli
assert cli.__file__.startswith({str(tmp_path)!r}) and not importlib.util.find_spec("builder.augment")
for words in {commands!r}:
    sys.argv = ["builder", *shlex.split(words)]
    try:
        cli.main()
    except SystemExit as stopped:
        assert not stopped.code, words
sys.argv = ["builder", "augment", "synonym"]
try:
    cli.main()
except SystemExit as stopped:
    assert stopped.code == 2
"""
    done = run_python("-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "builder: error: this installation lacks augmentation; install builder with" in done.stderr
    assert "release.licence" in done.stdout and "synonym.rate" not in done.stdout


@pytest.mark.augment
def test_no_two_modules_import_each_other_even_by_detours(package: Package) -> None:
    reached: dict[str, set[str]] = {module: set() for module in package.modules}
    for one in package.own_imports:
        reached[one.module].add(one.target)
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join((*path[path.index(module) :], module))
        if module not in done:
            for target in sorted(reached[module]):
                # a package's __init__ gathers its modules, which is no dependency of theirs on it
                if target != module.rpartition(".")[0]:
                    visit(target, (*path, module))
            done.add(module)

    for module in reached:
        visit(module, ())


def test_sql_stands_only_in_the_store(package: Package) -> None:
    wrong = [
        f"{module}:{line} {text!r}"
        for module, line, text in package.texts
        if part(module) != "store" and SQL.search(text)
    ]
    assert wrong == []


def test_the_search_for_sql_finds_it_where_it_is() -> None:
    assert SQL.search((PACKAGE / "store" / "reviews.py").read_text(encoding="utf-8"))
    assert SQL.search((PACKAGE / "store" / "runs.py").read_text(encoding="utf-8"))


@pytest.mark.augment
def test_torch_is_imported_at_module_level_only_by_packages_that_train_or_run_models(package: Package) -> None:
    found = {
        part(one.module) for one in package.imports if one.now and one.target.split(".")[0] in ("torch", "safetensors")
    }
    assert found == {"augment", "learning", "models", "language"}


def test_torch_is_asked_for_nowhere_else_but_to_set_the_threads_of_a_worker(package: Package) -> None:
    inside = {one.module for one in package.imports if not one.now and one.target.split(".")[0] == "torch"}
    assert inside <= {
        "builder.pipeline.stages.annotate",
        *(name for name in package.modules if part(name) in ("learning", "models", "language")),
    }


def test_the_protocols_of_model_and_nlp_need_no_torch_and_the_backends_no_extra() -> None:
    done = run_python(
        "-c",
        "import sys, builder.language.nlp, builder.learning.task; "
        "print('numpy' in sys.modules); import builder.language.nlp.ckip; "
        "print([m for m in ('torch', 'ckip_transformers', 'transformers', 'stanza') if m in sys.modules])",
    )
    assert done.stdout.splitlines() == ["False", "[]"], done.stderr


def test_help_of_everything_loads_nothing_heavy() -> None:
    code = f"""
import sys
from builder.cli import main as cli
for words in {[["--help"], *([*one, "--help"] for one in (("build",), ("nlp", "train"), ("sql",), ("extract",)))]!r}:
    sys.argv = ["builder", *words]
    cli.main()
print([name for name in {HEAVY!r} if name in sys.modules])
"""
    done = run_python("-c", code)
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr


@pytest.mark.build
def test_importing_every_module_does_nothing(tmp_path: Path, package: Package) -> None:
    """No output, no file, no thread, no signal handler, no logging, no seed, no number of torch threads."""
    names = [name for name in package.modules if not name.endswith("__main__")]
    code = f"""
import importlib, logging, os, random, signal, sys, threading
import torch, numpy
random.seed(1); torch.manual_seed(1); numpy.random.seed(1)

def state():
    return {{
        "files": sorted(os.listdir(".")), "threads": threading.active_count(), "torch": (torch.get_num_threads(), \
torch.get_num_interop_threads()),
        "signals": [repr(signal.getsignal(n)) for n in (signal.SIGINT, signal.SIGTERM)], "logging": \
(len(logging.root.handlers), logging.root.level),
        "random": hash((random.getstate(), str(numpy.random.get_state()), bytes(torch.get_rng_state().numpy()))),
        "environment": dict(os.environ), "deterministic": torch.are_deterministic_algorithms_enabled(),
    }}

before = state()
skipped = []
for name in {names!r}:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("builder"):
            raise
        skipped.append((name, error.name))
after = state()
assert before == after, [(key, before[key], after[key]) for key in before if before[key] != after[key]]
print("imported", len({names!r}) - len(skipped), skipped)
"""
    done = run_python("-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) == 1, done.stdout
    assert lines[0].startswith("imported "), done.stdout
    assert list(tmp_path.iterdir()) == []
    # The only libraries that a module may lack are the optional ones.
    optional = "pycrfsuite ckip_transformers transformers stanza datasette markupsafe pluggy huggingface_hub"
    assert set(re.findall(r"'(\w+)'\)", lines[0])) <= set(optional.split())


def test_every_stage_is_a_module_whose_tables_another_stage_reads_or_people_do(package: Package) -> None:
    from builder.pipeline.pipeline import STAGES

    known: set[str] = set()
    for stage in STAGES:
        assert f"builder.pipeline.stages.{stage.name}" in package.modules
        assert set(stage.reads) <= known, f"{stage.name} reads what no stage before it writes"
        known |= set(stage.writes)


@pytest.mark.augment
@pytest.mark.parametrize("room", sorted(set(ROOMS) - {"", "__main__"}))
def test_a_room_says_what_goes_in_and_out_and_where_to_start_reading(room: str) -> None:
    summary = ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text(encoding="utf-8"))) or ""
    assert len(summary.splitlines()) <= 14
    assert all(words in summary for words in ("In: ", "Out: ", "Start reading at"))
