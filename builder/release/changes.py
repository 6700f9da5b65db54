"""CHANGES.md of a release: what the comparison with its parent found, then what the parent's own file says."""

from __future__ import annotations

from pathlib import Path

from builder.release.diff import Diff, markdown
from builder.release.manifest import Facts

_HEAD = "# Changes\n\n"


def changes(facts: Facts, diff: Diff | None, parent: Path | None) -> str:
    """`diff` and `parent`, its directory, are None for the first release of a name."""
    day = f" ({facts.date})" if facts.date else ""
    if diff is None or parent is None:
        return f"{_HEAD}## {facts.version}{day}\n\nThe first release of {facts.name}.\n"
    title = f"## {facts.version}{day}: a {diff.level} change of {facts.parent}"
    text = markdown(diff, title).rstrip("\n") + "\n"
    if facts.reason:
        text += f"\nWhy there is less: {' '.join(facts.reason.split())}\n"
    try:
        before = (parent / "CHANGES.md").read_text(encoding="utf-8").removeprefix(_HEAD)
    except OSError:  # format 1 had none
        before = f"## {facts.parent}\n\nNothing was written down.\n"
    return f"{_HEAD}{text}\n{before}"
