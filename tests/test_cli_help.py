"""What every command says with `--help` is the text of tests/golden/help.txt."""

from __future__ import annotations

import shlex
import subprocess
import sys
from difflib import unified_diff

from click.testing import CliRunner
from conftest import ROOT, environment

from builder.cli.main import cli

sys.path.insert(0, str(ROOT / "docs" / "hooks"))
from commands import walk_commands

GOLDEN = ROOT / "tests" / "golden" / "help.txt"
RENEW = "python tests/test_cli_help.py > tests/golden/help.txt"


def all_help() -> str:
    """The help of `builder` and of each command in a terminal of 80 columns."""
    runner = CliRunner()
    calls = ([*name.split(), "--help"] for name in ("", *(name for name, _ in walk_commands(cli))))
    return "\n".join(
        f"$ builder {shlex.join(words)}\n{runner.invoke(cli, words, prog_name='builder', terminal_width=80).output}"
        for words in calls
    )


def test_every_command_says_what_it_said() -> None:
    """In a process of its own: click keeps the help option that whoever asked a command first gave it."""
    made = subprocess.run([sys.executable, __file__], env=environment(), capture_output=True, check=True)
    then, now = GOLDEN.read_text(encoding="utf-8").splitlines(), made.stdout.decode().splitlines()
    changed = "\n".join(unified_diff(then, now, "then", "now", lineterm="", n=1))
    assert not changed, f"{changed}\nIf this is meant: {RENEW}"


if __name__ == "__main__":
    print(all_help(), end="")
