"""No regular expression of the package takes more than linear time, whatever a stranger writes: `measure.regexes`."""

from __future__ import annotations

import json
import subprocess
import sys

from conftest import ROOT, environment


def test_every_expression_of_the_package_reads_hostile_texts_in_linear_time() -> None:
    command = [sys.executable, str(ROOT / "tests" / "measure" / "regexes.py")]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert not found["slow"], "\n".join(map(repr, found["slow"]))
    assert not found["unread"], "let make_expressions() run what makes them"
    assert found["tried"] > 500
