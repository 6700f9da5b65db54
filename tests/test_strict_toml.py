"""Settings, rules and words of a stranger: nested, endless, or no file at all. Each is one line, in seconds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from builder.core.config import resolve
from builder.core.errors import BuilderError, ResourceError
from builder.engine.patterns import compile_pattern
from builder.language.lexicon.rules import load_rules
from builder.language.lexicon.tsv_rows import read_rows

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


def test_a_pattern_of_a_rule_that_is_nested_too_deeply_is_one_line() -> None:
    with pytest.raises(ResourceError, match="pattern"):
        compile_pattern("(" * 5_000 + "NOUN" + ")" * 5_000, "a.toml:1")
