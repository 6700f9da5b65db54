"""What names the code that made a thing: the import closure of its module."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from builder.core import code
from builder.pipeline.pipeline import STAGES


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the package that may be edited; digests are of this copy."""
    copy = tmp_path / "builder"
    shutil.copytree(
        code.PACKAGE,
        copy,
        ignore=shutil.ignore_patterns("__pycache__", "*.safetensors", "*.crfsuite", "sample", "data"),
    )
    monkeypatch.setattr(code, "PACKAGE", copy)
    forget()
    yield copy
    forget()


def forget() -> None:
    for cached in (code.code_digest, code.import_closure, code._path, code._imported):
        cached.cache_clear()


def digests() -> dict[str, str]:
    code.code_digest.cache_clear()
    return {stage.name: code.code_digest(stage.module) for stage in STAGES}


def test_a_changed_byte_in_a_module_makes_exactly_the_stages_that_import_it_stale(package: Path) -> None:
    """The first and the last module of those that the same stages import; all at once of those that none does."""
    before = digests()
    closures = {stage.name: set(code.import_closure(stage.module)) for stage in STAGES}
    imported: dict[frozenset[str], list[Path]] = {}
    reached = set[str]()
    for path in sorted(package.rglob("*.py")):
        module = ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")
        stages = frozenset(name for name, closure in closures.items() if module in closure)
        imported.setdefault(stages, []).append(path)
        reached |= {module} if stages else set()
    assert len(imported) > 9
    for stages, paths in imported.items():
        for changed in [(path,) for path in {paths[0], paths[-1]}] if stages else [paths]:
            contents = {path: path.read_bytes() for path in changed}
            for path, content in contents.items():
                path.write_bytes(content + b"#")
            now = digests()
            for path, content in contents.items():
                path.write_bytes(content)
            assert {name for name in now if now[name] != before[name]} == stages, changed
    assert digests() == before
    assert {
        "builder.engine.engine",
        "builder.language.nlp.crf",
        "builder.language.lexicon.compounds",
        "builder.models.tagger",
    } <= reached
    assert (
        not {
            "builder.pages.serve.app",
            "builder.cli.main",
            "builder.pages.report.written",
            "builder.augment.bench.plan",
        }
        & reached
    )


@pytest.mark.parametrize(
    ("module", "stage"),
    [
        ("builder.language.lexicon.compounds", "annotate"),  # it shapes segmentation
        ("builder.reviews.dedup.rare_pairs", "ingest"),
        ("builder.engine.pairing", "seed"),
        ("builder.models.paper.fine_tuning", "self_train"),  # imported inside a function
        ("builder.gold.metrics.scores", "evaluate"),
        ("builder.release.card", "release"),
    ],
)
def test_what_shapes_a_stage_is_in_its_closure(module: str, stage: str) -> None:
    assert module in code.import_closure(f"builder.pipeline.stages.{stage}")


def test_every_source_imports_what_its_syntax_tree_says() -> None:
    for path in sorted(code.PACKAGE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        read, parsed = (set(filter(code._path, targets)) for targets in (code._targets(source), tree_targets(source)))
        assert read == parsed, path


def tree_targets(source: str) -> Iterator[str]:
    """What a source imports or names in string constants, but for the type checker alone."""
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        waiting.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(r"^builder(?:\.\w+)+", node.value)


def test_modules_that_a_table_names_are_in_the_closure() -> None:
    assert "builder.augment.boost.classes" in code.import_closure("builder.augment.methods.boostaug")


def test_a_package_stands_for_all_modules_in_it() -> None:
    closure = code.import_closure("builder.augment.bench")
    assert {"builder.augment.bench.taggers"} <= set(closure)


def test_an_unknown_module_is_an_error() -> None:
    with pytest.raises(LookupError, match=r"builder\.nothing is no module"):
        code.import_closure("builder.nothing")


def test_a_list_of_words_beside_the_code_counts_and_a_table_of_weights_does_not(package: Path) -> None:
    def now() -> str:
        code.code_digest.cache_clear()
        return code.code_digest("builder.augment.methods.eda")

    before = now()
    (package / "augment" / "weights.bin").write_bytes(b"1")
    assert now() == before
    (package / "augment" / "more.txt").write_text("adverb: a b\n")
    assert now() != before
