"""The notebooks in examples/ run, and show what their cells show."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from conftest import ROOT
from notebooks import execute, varies

EXAMPLES = sorted((ROOT / "examples").glob("*.ipynb"))


def shown(outputs: list[dict[str, Any]]) -> list[dict[str, list[str]]]:
    """What a reader sees; the line of a lexicon entry may move."""
    shows = [output.get("data") or {"stdout": output["text"]} for output in outputs]
    return [
        {kind: [re.sub(r"\.tsv:\d+", ".tsv", line) for line in lines] for kind, lines in show.items()} for show in shows
    ]


def test_there_are_notebooks_and_all_are_small() -> None:
    assert len(EXAMPLES) >= 3
    assert all(path.stat().st_size < 60_000 for path in EXAMPLES)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_says(path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell, outputs in execute(notebook):
        source = "".join(cell["source"])
        if varies(cell):
            assert bool(outputs) == bool(cell["outputs"]), source
        else:
            assert shown(outputs) == shown(cell["outputs"]), (
                f"{source}\nrun `python tests/notebooks.py {path}` if this is as it should be"
            )
