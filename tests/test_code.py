"""What names the code that made a thing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from builder import code


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "model").mkdir()
    for name in ("model/a.py", "text.py", "other.py"):
        (tmp_path / name).write_text("x = 1\n")
    monkeypatch.setattr(code, "PACKAGE", tmp_path)
    yield tmp_path
    code.code_digest.cache_clear()


def now() -> str:
    code.code_digest.cache_clear()
    return code.code_digest("model", "text.py")


def test_an_edit_of_a_named_source_and_no_other_is_another_digest(package: Path) -> None:
    before = now()
    (package / "other.py").write_text("x = 2\n")
    assert now() == before
    (package / "text.py").write_text("x = 2\n")
    after = now()
    assert after != before
    (package / "model" / "b.py").write_text("")
    assert now() not in (before, after)


def test_a_list_of_words_beside_the_code_counts_and_a_table_of_weights_does_not(package: Path) -> None:
    before = now()
    (package / "model" / "weights.bin").write_bytes(b"1")
    assert now() == before
    (package / "model" / "words.txt").write_text("adverb: a b\n")
    assert now() != before
