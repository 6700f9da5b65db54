"""The shape of the package: who may import whom, where SQL and torch live,
and what a start of the command line costs.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
from conftest import ROOT, environment

PACKAGE = ROOT / "builder"
LAYERS: tuple[tuple[str, ...], ...] = (
    ("markup", "reasons", "wording", "annotators"),
    ("", "records", "errors"),
    ("licences", "limits", "presets", "files", "strict_toml", "script"),
    ("model_settings", "excerpt", "repair"),
    ("settings",),
    ("code", "config", "text", "edges", "progress", "memory", "blas", "strict_json", "spreadsheets"),
    ("kept",),
    ("learning", "lexicon", "privacy", "dedup", "shards", "sources", "metrics", "folding"),
    ("gold", "engine", "nlp", "export", "store"),
    ("model", "release", "reader"),
    ("stages",),
    ("builds",),
    ("pipeline", "usecases"),
    ("augment", "report", "serve"),
    ("bench", "api"),
    ("commands",),
    ("cli",),
    ("__main__",),
)
"""From the bottom. "" is `builder/__init__.py`."""
LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}
SQL = re.compile(
    r"\b(SELECT\b.+\bFROM|INSERT\s+(OR\s+\w+\s+)?INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|CREATE\s+(TABLE|VIEW|INDEX)|PRAGMA\s+\w+)",
    re.S,
)
HEAVY = (
    "torch",
    "transformers",
    "stanza",
    "ckip_transformers",
    "pyarrow",
    "openpyxl",
    "opencc",
    "numpy",
    "rjieba",
    "safetensors",
    "tqdm",
    "openai",
    "starlette",
    "uvicorn",
    "datasette",
    "huggingface_hub",
    "distributed",
    "matplotlib",
    "scipy",
    "sklearn",
    "shapely",
)


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
    """The package or top module under `builder` that a module belongs to."""
    return [*module.split("."), ""][1]


def sources() -> dict[str, tuple[Path, ast.Module]]:
    paths = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in PACKAGE.rglob("*.py")
    }
    return {name: (path, ast.parse(path.read_text(encoding="utf-8"))) for name, path in sorted(paths.items())}


MODULES = sources()


def walk(node: ast.AST, now: bool = True) -> Iterator[tuple[ast.AST, bool]]:
    """Every node below, and whether it runs when its module is imported:
    not in a function, not for the type checker alone.
    """
    for child in ast.iter_child_nodes(node):
        inside = now and not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            inside = False
        yield child, inside
        yield from walk(child, inside)


def imports() -> Iterator[Import]:
    for module, (_, tree) in MODULES.items():
        for node, now in walk(tree):
            if isinstance(node, ast.Import):
                yield from (Import(module, alias.name, node.lineno, now) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0 and node.module, f"{module}:{node.lineno} has a relative import"
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    yield Import(module, whole if whole in MODULES else node.module, node.lineno, now)


IMPORTS = tuple(imports())
OURS = tuple(one for one in IMPORTS if one.target.split(".")[0] == "builder" and one.module != "builder")
"""Without those of `builder/__init__.py`, which holds the version below all and the lazy names of `api` above nearly
all.
"""


def test_every_module_has_a_layer() -> None:
    assert len(MODULES) > 50, "the walk found the package"
    assert {part(module) for module in MODULES} <= LEVEL.keys()


def test_a_module_imports_only_from_lower_layers_or_its_own_package() -> None:
    wrong = []
    for one in OURS:
        source, target = part(one.module), part(one.target)
        if source != target and LEVEL[source] <= LEVEL[target]:
            wrong.append(one.where)
    assert wrong == []


def test_no_two_modules_import_each_other_even_by_detours() -> None:
    reached = {module: {one.target for one in OURS if one.module == module} for module in MODULES}
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


def test_sql_stands_only_in_the_store() -> None:
    wrong = []
    for module, (_, tree) in MODULES.items():
        if part(module) == "store":
            continue
        help_texts = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and ast.get_docstring(node)
        }
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in help_texts
                and SQL.search(node.value)
            ):
                wrong.append(f"{module}:{node.lineno} {node.value!r}")
    assert wrong == []


def test_the_search_for_sql_finds_it_where_it_is() -> None:
    assert SQL.search((PACKAGE / "store" / "reviews.py").read_text(encoding="utf-8"))
    assert SQL.search((PACKAGE / "store" / "runs.py").read_text(encoding="utf-8"))


def test_torch_is_imported_at_module_level_only_by_packages_that_train_or_run_models() -> None:
    found = {part(one.module) for one in IMPORTS if one.now and one.target.split(".")[0] in ("torch", "safetensors")}
    assert found == {"augment", "bench", "learning", "model", "nlp"}


def test_torch_is_asked_for_nowhere_else_but_to_set_the_threads_of_a_worker() -> None:
    inside = {one.module for one in IMPORTS if not one.now and one.target.split(".")[0] == "torch"}
    assert inside <= {
        "builder.stages.annotate",
        *(name for name in MODULES if part(name) in ("learning", "model", "nlp")),
    }


def test_the_protocols_of_model_and_nlp_need_no_torch() -> None:
    done = fresh(
        "import sys, builder.nlp, builder.learning.task, builder.model.negatives; "
        "print([m for m in ('torch', 'numpy') if m in sys.modules])"
    )
    assert done.stdout.strip() == "[]", done.stderr


def fresh(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], env=environment(), cwd="/", capture_output=True, text=True, timeout=300
    )


def test_importing_the_command_line_loads_nothing_heavy() -> None:
    done = fresh(f"import sys, builder.cli; print([name for name in {HEAVY!r} if name in sys.modules])")
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_help_of_everything_loads_nothing_heavy() -> None:
    code = f"""
import sys
from builder import cli
for words in {[["--help"], *([*one, "--help"] for one in (("build",), ("nlp", "train"), ("sql",), ("extract",)))]!r}:
    sys.argv = ["builder", *words]
    cli.main()
print([name for name in {HEAVY!r} if name in sys.modules])
"""
    done = fresh(code)
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr


def test_importing_every_module_does_nothing(tmp_path: Path) -> None:
    """No output, no file, no thread, no signal handler, no logging, no seed, no number of torch threads."""
    names = [name for name in MODULES if not name.endswith("__main__")]
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
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) == 1, done.stdout
    assert lines[0].startswith("imported "), done.stdout
    assert list(tmp_path.iterdir()) == []
    # The only libraries that a module may lack are the optional ones.
    assert set(re.findall(r"'(\w+)'\)", lines[0])) <= {
        "pycrfsuite",
        "ckip_transformers",
        "transformers",
        "stanza",
        "datasette",
        "markupsafe",
        "pluggy",
        "huggingface_hub",
    }


def all_commands(group: click.Group, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        yield prefix + name, command
        if isinstance(command, click.Group):
            yield from all_commands(command, f"{prefix}{name} ")


def test_every_command_explains_itself() -> None:
    from builder.cli import cli

    for name, command in all_commands(cli):
        assert command.help, name
        summary = command.get_short_help_str(200)
        assert len(summary) <= 50 and summary.endswith("."), (name, summary)
        for option in command.params:
            assert (
                not isinstance(option, click.Option)
                or option.help
                or option.name in ("seed", "convention", "workers", "backend", "shape", "metric")
            ), (name, option)


def test_every_stage_is_a_module_whose_tables_another_stage_reads_or_people_do() -> None:
    from builder.pipeline import STAGES

    known: set[str] = set()
    for stage in STAGES:
        assert f"builder.stages.{stage.name}" in MODULES
        assert set(stage.reads) <= known, f"{stage.name} reads what no stage before it writes"
        known |= set(stage.writes)
