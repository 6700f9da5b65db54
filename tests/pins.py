"""The versions that were tested together, as constraints.txt: `python tests/pins.py > constraints.txt`.

In: the environment that this runs in, installed with every extra (`pip install -e '.[dev]'`), and pyproject.toml. Out:
one line for each package that the extras bring, directly or through others, with the version that is installed. Only
for Linux: packages of other platforms stay as pyproject.toml has them.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
HEAD = (
    f"# The versions that were tested together (Python {sys.version_info[0]}.{sys.version_info[1]}), by tests/pins.py. "
    "torch: the CPU build is enough; where an index offers several, add its CPU index.\n"
)
INSTALLER = "pip"
"""Some package requires it; it is what reads the constraints, and stays as the environment has it."""


def canonical(name: str) -> str:
    """The name by which packages are compared: PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()


def brought() -> dict[str, str]:
    """Every package that a fresh install with all extras brings, with the version that is installed here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    own = canonical(project["name"])
    waiting = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    pending = [(Requirement(text), "") for text in waiting]
    versions: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    while pending:
        requirement, extra = pending.pop()
        name = canonical(requirement.name)
        if name in (own, INSTALLER) or (requirement.marker and not requirement.marker.evaluate({"extra": extra})):
            continue
        for wanted in ("", *requirement.extras):
            if (name, wanted) not in seen:
                seen.add((name, wanted))
                versions[name], needed = _installed(requirement.name)
                pending += [(one, wanted) for one in needed]
    return versions


def _installed(name: str) -> tuple[str, list[Requirement]]:
    """The version of a package without what only this machine's build of it says, and what it requires."""
    try:
        package = distribution(name)
    except PackageNotFoundError as error:
        raise SystemExit(f"{name} is not installed; run `pip install -e '.[dev]'` first") from error
    return package.version.partition("+")[0], [Requirement(text) for text in package.requires or ()]


def pinned(text: str) -> Iterator[tuple[str, str]]:
    """(package, version) of each line of a file of constraints."""
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, _, version = line.partition("==")
            yield canonical(name), version


def render(versions: dict[str, str]) -> str:
    """constraints.txt."""
    return HEAD + "".join(f"{name}=={version}\n" for name, version in sorted(versions.items()))


if __name__ == "__main__":
    sys.stdout.write(render(brought()))
