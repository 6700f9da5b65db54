"""tests/measure/regexes.py finds the expressions that take more than linear time, and lets the others be."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, environment

from measure import regexes


@pytest.mark.parametrize(
    ("expression", "method"),
    [
        (r"(?P<id>\S+) (?P<tuples>(?:\(.+?,-?[\d.]+#-?[\d.]+\))*)\s*", "fullmatch"),
        (r"<think>.*?</think>", "finditer"),
        (r"(?m)^[\s*]*(\d{1,3})[.:]\s*(YY|YN)\b", "finditer"),
        (r"(?:牛肉麵店|牛肉麵|牛肉|麵店|麵|店|茶)+$", "fullmatch"),
        (r".*?@(\d+-\d+) \| .*@(\d+-\d+)", "fullmatch"),
        (r"(a|a)*b", "match"),
        (r"(\w+\s?)*!", "match"),
        (r"\s+$", "search"),
        (r"(\w)\1*z", "finditer"),
        (rb"(?:x+)+y", "search"),
    ],
)
def test_an_expression_that_never_ends_is_found(expression: str | bytes, method: str) -> None:
    assert regexes.find_slow(re.compile(expression), method)


@pytest.mark.parametrize(
    ("expression", "method"),
    [
        (r"(?P<key>\w+)\s*=\s*(?P<value>\w+)\s*", "match"),
        (r"(?<!\s)\s+$", "search"),
        (r"[(][^()]{1,60}[)]", "finditer"),
        (r"(?:(?!x=).)*+x=(\d+)", "match"),
    ],
)
def test_an_expression_that_is_linear_is_let_be(expression: str, method: str) -> None:
    assert regexes.find_slow(re.compile(expression), method) is None


def test_a_new_expression_is_tried_without_being_entered_anywhere(tmp_path: Path) -> None:
    package = tmp_path / "novel"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "one.py").write_text(
        "import re\n_NAMED = re.compile('a+$')\n"
        "def f(text):\n    return _NAMED.search(text), re.sub(f'{re.escape(text)} +x', '', text)\n"
        "def g(text, kind):\n    return re.search(kind + '$', text)\n"
    )
    script = (
        "import json; from measure import regexes; uses, unread = regexes.collect('novel', lambda: None);"
        "print(json.dumps([sorted((made.pattern, method) for (_, made), method in uses.items()), unread]))"
    )
    env = environment() | {"PYTHONPATH": f"{tmp_path}:{ROOT / 'tests'}"}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True)
    uses, unread = json.loads(done.stdout)
    assert uses == [["a+$", "finditer"], ["aba +x", "finditer"]]
    assert [place.rpartition("/")[2] for place in unread] == ["one.py:6"]
