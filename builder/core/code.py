"""What made a thing that is kept: the version of the package, and those of its sources that the thing depends on.

In: names of modules, usually a stage's own. Out: a digest of their sources and of all that they import from the
package, directly or not, so that no list of files is kept by hand and none can be forgotten.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

from builder import __version__

PACKAGE = Path(__file__).parents[1]
_NAMED = re.compile(r"""["'](builder(?:\.\w+)+)""")
"""A module at the beginning of a string constant."""
_IMPORT = re.compile(r"^ *(?:from (builder(?:\.\w+)*) import (\([^)]*\)|.+)|import (builder(?:\.\w+)*))", re.MULTILINE)
"""The package and the names taken from it, or a module."""
_COMMENT = re.compile(r"  # .*")
_FOR_TYPES = re.compile(r"^( *)if TYPE_CHECKING:\n(?:\1 .*\n|\n)+", re.MULTILINE)


@cache
def code_digest(*modules: str) -> str:
    """The hash of the package's version, of the sources in the import closure of `modules`, and of the word lists
    beside them.

    A package stands for all modules in it. Anything kept under this digest never goes stale: an edit of what made it
    changes the digest.
    """
    digest = hashlib.sha256(__version__.encode())
    for path in _files(import_closure(*modules)):
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def import_closure(*modules: str) -> tuple[str, ...]:
    """`modules` and every module of the package that they import, directly or not, sorted by name.

    Imports inside functions count, those for the type checker alone do not. So do modules named in string constants,
    which is how tables of methods and models name what they load. `builder` itself, which holds the version and lazy
    names, is left out.

    Raises:
        LookupError: a name in `modules` is no module of the package.
    """
    closure: set[str] = set()
    waiting = [name for given in modules for name in _modules_of(given)]
    while waiting:
        name = waiting.pop()
        if name not in closure:
            closure.add(name)
            waiting.extend(_imported(name))
    return tuple(sorted(closure))


def _modules_of(name: str) -> tuple[str, ...]:
    """A module is itself; a package is all modules below it."""
    path = _path(name)
    if path is None:
        raise LookupError(f"{name} is no module of the package")
    if path.name != "__init__.py":
        return (name,)
    inside = (path.relative_to(PACKAGE.parent).with_suffix("") for path in path.parent.rglob("*.py"))
    return tuple(sorted(".".join(module.parts).removesuffix(".__init__") for module in inside))


@cache
def _path(name: str) -> Path | None:
    """The source file of a module of the package, None where there is none by that name."""
    parts = name.split(".")[1:]
    if not parts or name.split(".")[0] != "builder":
        return None
    for path in (PACKAGE.joinpath(*parts).with_suffix(".py"), PACKAGE.joinpath(*parts, "__init__.py")):
        if path.is_file():
            return path
    return None


@cache
def _imported(name: str) -> tuple[str, ...]:
    """The modules of the package that a module imports or names, and the packages that it lies in."""
    path = _path(name)
    assert path is not None, name
    above = [".".join(name.split(".")[:size]) for size in range(2, name.count(".") + 1)]
    named = _targets(path.read_text(encoding="utf-8"))
    return tuple(sorted({target for target in (*above, *named) if _path(target)} - {name}))


def _targets(source: str) -> set[str]:
    """What a source imports or names, by its lines, which are formatted: a syntax tree takes twenty times as long."""
    source = _COMMENT.sub("", _FOR_TYPES.sub("", source))
    named = set(_NAMED.findall(source))
    for package, names, module in _IMPORT.findall(source):
        named.add(package or module)
        named.update(f"{package}.{name.split()[0]}" for name in names.strip("()").split(",") if name.strip())
    return named


def _files(modules: tuple[str, ...]) -> list[Path]:
    """The sources of `modules` and the word lists (*.txt) in their folders."""
    sources = {path for name in modules if (path := _path(name))}
    return sorted(sources | {words for path in sources for words in path.parent.glob("*.txt")})
