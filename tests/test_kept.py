"""Files that are whole or not there, and results that are made once."""

from __future__ import annotations

import ast
import multiprocessing
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from builder.core import code, files
from builder.core.errors import OutputError
from builder.core.files import Kept, key_of, replacing, write_atomically
from builder.pipeline.pipeline import STAGES


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_an_error_while_a_file_is_written_leaves_the_old_one_and_nothing_beside_it(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a.txt", b"old")
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "a.txt") as handle:
        handle.write(b"new" * 10**6 + b"never" * (1 // 0))
    assert (tmp_path / "a.txt").read_bytes() == b"old"
    assert names(tmp_path) == ["a.txt"]


def test_a_file_and_its_name_are_on_the_disk_before_the_call_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    really = os.fsync

    def fsync(handle: int) -> None:
        synced.append(Path(os.readlink(f"/proc/self/fd/{handle}")))
        really(handle)

    monkeypatch.setattr(files.os, "fsync", fsync)
    write_atomically(tmp_path / "a.txt", b"new")
    assert [path.parent for path in synced] == [tmp_path, tmp_path.parent]
    assert synced[0].name.startswith(".a.txt."), "the draft first, then the folder that names it"


def test_what_the_file_system_refuses_names_the_file_and_other_errors_pass_through(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputError, match=r"/file: cannot write: File exists; check the path"):
        write_atomically(tmp_path / "file" / "a.txt", b"")
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "b.txt"):
        (tmp_path / "missing").read_bytes()


def test_a_result_is_made_once_for_a_key_and_anew_for_another(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    made: list[str] = []

    def make(key: str) -> list[object]:
        return kept.get(key, lambda: [made.append(key), "麵\ud83d"])  # type: ignore[no-any-return]

    assert make(key_of("a", 1)) == make(key_of("a", 1)) == [None, "麵\ud83d"]
    make(key_of("a", 2))
    assert made == [key_of("a", 1), key_of("a", 2)]
    assert names(tmp_path) == sorted(f"{key}.json" for key in made)


def test_a_damaged_result_and_one_under_a_foreign_name_are_made_again(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    for damage in ("[1", "[1]", '{"key": "b", "result": [1]}', ""):
        (tmp_path / "a.json").write_text(damage)
        assert kept.find("a") is None
        assert kept.get("a", lambda: [2]) == kept.find("a") == [2]


def test_a_slot_holds_one_result_and_nothing_while_another_is_made(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    assert kept.get("old", lambda: 1, slot="model") == 1
    with pytest.raises(KeyboardInterrupt):
        kept.get("new", _interrupt, slot="model")
    assert kept.find("old", slot="model") is None, "what it names may have been overwritten"
    assert kept.get("new", lambda: 2, slot="model") == 2
    assert names(tmp_path) == ["model.json"]


def _interrupt() -> None:
    raise KeyboardInterrupt


def _make_slowly(folder: Path) -> None:
    def make() -> int:
        (folder / "made").mkdir(exist_ok=True)
        (folder / "made" / str(os.getpid())).touch()
        time.sleep(0.3)
        return os.getpid()

    results = [Kept(folder / "kept").get("key", make) for _ in range(3)]
    assert len(set(results)) == 1


def test_of_processes_that_ask_at_once_one_makes_the_result(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_make_slowly, args=(tmp_path,)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
    assert len(names(tmp_path / "made")) == 1
    assert names(tmp_path / "kept") == ["key.json"], "no lock is left"


# ---- what names the code that made a thing: the import closure of its module


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
    assert "builder.models.tagger" in reached
    assert not {"builder.cli.main", "builder.pages.serve.app", "builder.augment.bench.plan"} & reached


@pytest.mark.parametrize(
    ("module", "stage"),
    [
        ("builder.language.lexicon.compounds", "annotate"),  # it shapes segmentation
        ("builder.reviews.rare_pairs", "ingest"),
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


@pytest.mark.augment
def test_modules_that_a_table_names_are_in_the_closure() -> None:
    assert "builder.augment.methods.boost_embedded" in code.import_closure("builder.augment.methods.boostaug")


@pytest.mark.augment
def test_a_package_stands_for_all_modules_in_it() -> None:
    closure = code.import_closure("builder.augment.bench")
    assert {"builder.augment.bench.taggers"} <= set(closure)


def test_an_unknown_module_is_an_error() -> None:
    with pytest.raises(LookupError, match=r"builder\.nothing is no module"):
        code.import_closure("builder.nothing")


def test_a_list_of_words_beside_the_code_counts_and_a_table_of_weights_does_not(package: Path) -> None:
    def now() -> str:
        code.code_digest.cache_clear()
        return code.code_digest("builder.models.paper.templates")

    before = now()
    (package / "models" / "paper" / "weights.bin").write_bytes(b"1")
    assert now() == before
    (package / "models" / "paper" / "more.txt").write_text("adverb: a b\n")
    assert now() != before
