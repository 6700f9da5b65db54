"""Notebooks without Jupyter: run the cells of one in a plain namespace, and keep or compare what they show.

`python tests/notebooks.py examples/*.ipynb` runs them and writes their outputs; the tests run them and compare. A cell
with the tag `varies` (scores of a trained model, times) is run, but its output may differ from machine to machine.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Output = dict[str, Any]


def execute(notebook: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[Output]]]:
    """Each code cell with its outputs, in order, run in an empty folder."""
    space: dict[str, Any] = {"__name__": "__main__"}
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for number, cell in enumerate([cell for cell in notebook["cells"] if cell["cell_type"] == "code"], start=1):
                yield cell, _run("".join(cell["source"]), space, number)
        finally:
            os.chdir(before)


def _run(source: str, space: dict[str, Any], number: int) -> list[Output]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"<cell {number}>", "exec"), space)
        value = (
            eval(compile(ast.Expression(last.value), f"<cell {number}>", "eval"), space)
            if isinstance(last, ast.Expr)
            else None
        )
    outputs: list[Output] = []
    if printed.getvalue():
        outputs.append(
            {"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(keepends=True)}
        )
    if value is not None:
        data: dict[str, list[str]] = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(keepends=True)
        outputs.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return outputs


def varies(cell: dict[str, Any]) -> bool:
    """Whether a cell's output may differ from machine to machine."""
    return "varies" in cell["metadata"].get("tags", ())


def main(paths: list[str]) -> None:
    for path in map(Path, paths):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for number, (cell, outputs) in enumerate(execute(notebook), start=1):
            cell["outputs"], cell["execution_count"] = outputs, number
        path.write_text(json.dumps(notebook, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
