"""Hubs that misbehave, and `builder versions publish` that sends them a release.

In: chance. Out: a script, as of `servers`, whose answers are those of a hub, changed.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

from measure.fuzzing.case import Family, check_ran, run_command
from measure.fuzzing.changes import change_json, write_json
from measure.fuzzing.servers import answer, serving, write_script

_TESTS = Path(__file__).parents[2]
_TOKEN = "hf_secretSECRETsecretSECRETsecretSEC"


def prepare(base: Path) -> None:
    """A sound release."""
    shutil.copytree(_TESTS / "layouts" / "v0.1.0", base / "v0.1.0")


def load() -> None:
    """Import what publishing needs."""
    import huggingface_hub.hf_api  # noqa: F401

    import builder.cli.main
    import builder.release.hub
    import builder.release.verify  # noqa: F401


def make(base: Path, folder: Path, rng: random.Random) -> None:
    """Answers in the order in which the hub's client asks, each mostly sound."""
    commit = "1" * 40
    refs: dict[str, Any] = {"branches": [{"name": "main", "ref": "refs/heads/main", "targetCommit": commit}], "tags": [], "converts": []}  # fmt: skip
    if rng.random() < 0.2:
        refs["tags"] = [{"name": "v0.1.0", "ref": "refs/tags/v0.1.0", "targetCommit": commit}]
    tree = [{"type": "file", "path": ".gitattributes", "size": 5, "oid": commit}, {"type": "file", "path": "a/b", "size": 5, "oid": commit, "lfs": {"oid": "0" * 64, "size": 5, "pointerSize": 130}}]  # fmt: skip
    files = [path.relative_to(base / "v0.1.0").as_posix() for path in sorted((base / "v0.1.0").rglob("*"))]
    modes = {"files": [{"path": path, "uploadMode": "regular", "shouldIgnore": False, "oid": None} for path in files]}
    done = {"commitUrl": f"http://127.0.0.1:9/datasets/a/b/commit/{commit}", "commitOid": commit, "pullRequestUrl": None}  # fmt: skip
    sound = [{"url": "http://127.0.0.1:9/datasets/a/b"}, refs, tree, {"errors": [], "warnings": []}, modes, done, {}]
    answers = []
    for body in sound:
        changed = change_json(body, rng, rng.choice((1, 2))) if rng.random() < 0.3 else body
        content = write_json(changed, rng)
        plain = [["send", b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(content), content)]]  # fmt: skip
        answers.append(answer(content, rng) if rng.random() < 0.3 else plain)
    write_script(folder, answers)


def use(base: Path, folder: Path) -> str:
    """`builder versions publish`, with a token that must stay secret."""
    from huggingface_hub import constants

    from builder.release import hub

    hub.PATIENCE = 1.0
    home = folder / "home"
    with serving(folder) as url, patch.object(os, "_exit", sys.exit):  # else the case would end without an answer
        constants.ENDPOINT, constants.HF_TOKEN_PATH, constants.HF_HUB_DISABLE_XET = url, str(home / "token"), True
        os.environ |= {"HF_TOKEN": _TOKEN, "HF_HUB_DISABLE_PROGRESS_BARS": "1", "NO_PROXY": "*"}
        words = ("--repo", "somebody/some-reviews", "--yes", "--seconds", 20)
        ran = run_command(folder, "publish", base / "v0.1.0", *words)
    assert _TOKEN not in ran.out + ran.err, "the token is shown"
    return check_ran(ran)


FAMILY = Family("publish", "hubs that misbehave, sent a release by publish", 200, prepare, load, make, use, 120.0, 4)
