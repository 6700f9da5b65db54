"""The rows of the lexicon's TSV files, and the digest of a folder.

In: a file with a header line. Out: rows of cells with the place each stands in, as `folder/file:line`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from builder.core.errors import ResourceError
from builder.core.files import read_settings
from builder.core.wording import counted

PLAIN = ("degree", "negators", "irrealis", "contrast", "general", "not_aspects", "morphemes")
"""The tables of a word and one value."""
MARKS = ("degree", "negators", "irrealis", "not_aspects")
"""What a folder says here of a word ends what the folders below said of it as opinion or aspect."""
WHOLE = ("variants", "opinion_categories", "aspect_classes", "context", *PLAIN)


ROLES = ("thing", "generic", "kind", "part", "attribute", "overall", "fault", "price", "person", "other")
"""What a class of aspects is to the rules, in aspect_classes.tsv: what is reviewed (`thing`: a dish, a model of a
laptop), words for it in general (`generic`) or for its kind (`kind`), its parts; what it has (`attribute`), all of that
together (`overall`), or what it should not have (`fault`: an aspect only where something is said of it); `price`,
`person`; `other`, such as places and service."""


def read_rows(path: Path, columns: int) -> Iterator[tuple[list[str], str]]:
    """The rows of a TSV with a header line: exactly `columns` non-empty cells, `#` starts a comment line."""
    try:
        lines = read_settings(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ResourceError(f"cannot be read: {error}", where=str(path)) from error
    shown = f"{path.parent.name}/{path.name}"
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip() or line.startswith("#"):
            continue
        cells = line.split("\t")
        if len(cells) != columns or "" in cells or [*map(str.strip, cells)] != cells:
            raise ResourceError(
                f"{counted(len(cells), 'cell')} where {columns} are due, or a blank one: {line!r}",
                where=f"{path}:{number}",
            )
        yield cells, f"{shown}:{number}"


def read_pairs(path: Path) -> Mapping[str, str]:
    """The rows of a table of two columns; ResourceError for a word with two values."""
    pairs: dict[str, str] = {}
    for (key, value), where in read_rows(path, 2):
        if pairs.setdefault(key, value) != value:
            raise ResourceError(f"{key!r} is listed with {pairs[key]!r} and {value!r}", where=where, fix="keep one")
    return MappingProxyType(pairs)


def read_valence(cell: str, where: str) -> float:
    """A valence from 1 to 10; ResourceError for anything else."""
    try:
        value = float(cell)
    except ValueError:
        value = 0.0
    if not 1 <= value <= 10:
        raise ResourceError(f"valence {cell!r} is no number from 1 to 10", where=where)
    return value


def folder_digest(root: Path, pattern: str) -> str:
    """The digest of the names and bytes of the files under `root` that match `pattern`."""
    digest = hashlib.sha256()
    for path in sorted(root.rglob(pattern)):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def table_files(folder: Path, name: str) -> list[Path]:
    """The files of a table in a folder that is laid over a lexicon: NAME.tsv and NAME/*.tsv."""
    return [path for path in (folder / f"{name}.tsv", *sorted((folder / name).glob("*.tsv"))) if path.is_file()]


def check_overlay(folder: Path) -> None:
    """ResourceError for a folder that cannot be laid over a lexicon."""
    if not folder.is_dir():
        raise ResourceError(
            "this folder of lexicons does not exist",
            where=str(folder),
            fix="make one with `builder lexicon import`, or correct lexicons.dir",
        )
    if (folder / "variants.tsv").is_file():
        raise ResourceError(
            "a folder that is laid over the shipped lexicon cannot hold variants.tsv",
            where=str(folder),
            fix='delete it, or use the folder in place of the shipped one with lexicons.mode = "replace"',
        )
    known = {"opinions", "aspects", *WHOLE}
    if strange := sorted(
        path.name for path in folder.glob("*.tsv") if path.stem not in known - {"opinions", "aspects"}
    ):
        tables = ", ".join(
            [*(f"{name}.tsv" for name in WHOLE if name != "variants"), "opinions/*.tsv", "aspects/*.tsv"]
        )
        raise ResourceError(f"no table of a lexicon is {', '.join(strange)}", where=str(folder), fix=f"known: {tables}")
    if not any(table_files(folder, name) for name in known):
        raise ResourceError(
            "no table of a lexicon is here", where=str(folder), fix="put words into opinions/*.tsv or aspects/*.tsv"
        )
