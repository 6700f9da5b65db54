"""Files that are whole or not there, and results that are made once."""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path

import pytest

from builder.core import files
from builder.core.errors import OutputError
from builder.core.files import Kept, key_of, replacing, write_atomically


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
