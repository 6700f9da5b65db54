"""Settings, rules, words and labels of a stranger: nested, endless, not UTF-8, or no file at all. Each is one line,
in seconds.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from builder.core.config import resolve
from builder.core.errors import BuilderError, ResourceError
from builder.engine.symbols import compile_pattern
from builder.gold.label_studio import read_tasks
from builder.language.lexicon.rules import load_rules
from builder.language.lexicon.tsv_rows import read_rows
from builder.models.paper.squad import read_squad

TEXTS = {
    "nested lists": "a = " + "[" * 100_000,
    "nested tables": "a = " + "{a=" * 5_000 + "1" + "}" * 5_000,
    "an endless key": ".".join(["a"] * 100_000) + " = 1",
    "an endless heading": "[" + ".".join(["a"] * 100_000) + "]",
    "an endless number": "a = " + "9" * 5_000,
    "half a character": 'a = "\\ud800"',
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", TEXTS)
def test_a_text_that_keeps_from_being_read_is_one_line(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(TEXTS[name], encoding="utf-8")
    with pytest.raises(BuilderError, match="cannot be read as TOML"):
        resolve(path)
    with pytest.raises(ResourceError, match="not TOML"):
        load_rules(tmp_path)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["device", "pipe", "folder", "circle", "far too large"])
def test_a_file_that_has_no_end_is_one_line(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "far too large":
        path.touch()
        os.truncate(path, 6 << 30)
    else:
        path.symlink_to("/dev/zero" if kind == "device" else path)
    with pytest.raises(BuilderError, match="cannot be read"):
        resolve(path)
    with pytest.raises(ResourceError, match="cannot be read"):
        load_rules(tmp_path)
    with pytest.raises(ResourceError, match="cannot be read"):
        list(read_rows(path, 2))


READERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "settings": (resolve, "a.toml: cannot be read as TOML: line 2 is not UTF-8; save it as UTF-8"),
    "rules": (lambda path: load_rules(path.parent), "a.toml: cannot be read: line 2 is not UTF-8; save it as UTF-8"),
    "words": (lambda path: list(read_rows(path, 2)), "a.toml: cannot be read: line 2 is not UTF-8; save it as UTF-8"),
    "labels": (lambda path: list(read_tasks(path)), "a.toml:2: is not UTF-8; save it as UTF-8"),
    "questions": (read_squad, "a.toml:2: is not UTF-8; save it as UTF-8"),
}


@pytest.mark.parametrize("kind", READERS)
def test_a_line_that_is_not_utf_8_is_named_with_what_to_do(kind: str, tmp_path: Path) -> None:
    read, message = READERS[kind]
    (tmp_path / "a.toml").write_bytes("# 湯\n# 麵\n".encode().replace("麵".encode(), "麵".encode("big5")))
    with pytest.raises(BuilderError) as raised:
        read(tmp_path / "a.toml")
    assert str(raised.value) == f"{tmp_path}/{message}"


def test_a_pattern_of_a_rule_that_is_nested_too_deeply_is_one_line() -> None:
    with pytest.raises(ResourceError, match="pattern"):
        compile_pattern("(" * 5_000 + "NOUN" + ")" * 5_000, "a.toml:1")
