"""Overlays: opinions, aspects and categories laid on top of the shipped lexicon.

An overlay is a folder. In: entries under a name. Out: `opinion_categories.tsv`, `opinions/imported_NAME.tsv`,
`aspects/imported_NAME.tsv` and `general/imported_NAME.tsv`. So that nothing vanishes, refused lines go to
`refused/NAME.txt` (no .tsv: it is no part of the lexicon's digest). Writing the same name again replaces what it wrote
before and touches no other name's entries.

The exceptions of a working directory are pairs of words that people refused, kept as a rule of kind `exception`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from builder.core.errors import ResourceError
from builder.core.files import write_atomically
from builder.language.lexicon.rules import Rule, RuleExample, edited_file, write_rule
from builder.language.lexicon.tsv_rows import read_rows

# ---- Overlays and exceptions

_NAME = re.compile(r"[\w-]+")


@dataclass(frozen=True, slots=True)
class Refused:
    """A line of an import that became no entry: `reason` is a short code, `detail` says what a person needs to know."""

    line: int
    word: str
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Overlay:
    """Entries to add: (word, category), (word, class), (category, valence, gloss) for the categories that `name`
    brings, and (word, part of speech) of general words. `parts` of the aspects were cut out of others.
    """

    name: str
    opinions: tuple[tuple[str, str], ...] = ()
    aspects: tuple[tuple[str, str], ...] = ()
    categories: tuple[tuple[str, float, str], ...] = ()
    refused: tuple[Refused, ...] = ()
    general: tuple[tuple[str, str], ...] = ()
    parts: int = 0

    @property
    def empty(self) -> bool:
        """Whether it holds no entry."""
        return not (self.opinions or self.aspects or self.general)


def own(name: str, category: str) -> str:
    """The name of a category that `name` brings. No rule's prefix (taste, price …) can match it by accident."""
    return f"imported.{name}.{category}"


def check_name(name: str) -> str:
    """`name` if it can be a part of a file name; ResourceError otherwise."""
    if not _NAME.fullmatch(name):
        raise ResourceError(f"{name!r} cannot name an import", fix="use letters, digits, - and _")
    return name


def write(overlay: Overlay, directory: Path) -> tuple[Path, ...]:
    """Write `overlay` into `directory`, file by file atomically; returns the files written.

    New categories are written before the words that need them and old ones removed after, so that the folder loads at
    any moment. Of an overlay without an entry the refusals alone are written: what an earlier import of the name
    brought stays, and no stage becomes stale.
    """
    check_name(overlay.name)
    if overlay.empty:
        return (_refusals(overlay, directory),) if overlay.refused else ()
    brought = {name: (f"{valence:g}", gloss) for name, valence, gloss in overlay.categories}
    table = directory / "opinion_categories.tsv"
    known = {row[0]: (row[1], row[2]) for row, _ in read_rows(table, 3)} if table.is_file() else {}
    others = {name: cells for name, cells in known.items() if not name.startswith(own(overlay.name, ""))}
    _categories(table, known | brought)
    written = [
        _rows(directory / "opinions" / f"imported_{overlay.name}.tsv", "word\tcategory", overlay.opinions),
        _rows(directory / "aspects" / f"imported_{overlay.name}.tsv", "word\tclass", overlay.aspects),
        _rows(directory / "general" / f"imported_{overlay.name}.tsv", "word\tpos", overlay.general),
        _refusals(overlay, directory),
    ]
    _categories(table, others | brought)
    return tuple(path for path in (table, *written) if path.is_file())


def refusals_path(overlay: Overlay, directory: Path) -> Path:
    """Where `write` says which lines became no entry, and why."""
    return directory / "refused" / f"{overlay.name}.txt"


def _refusals(overlay: Overlay, directory: Path) -> Path:
    rows = [(str(r.line), r.word, r.reason, r.detail) for r in overlay.refused]
    return _rows(refusals_path(overlay, directory), "line\tword\treason\tdetail", rows)


def _categories(path: Path, table: dict[str, tuple[str, str]]) -> None:
    _rows(path, "category\tvalence\tgloss", [(name, *cells) for name, cells in sorted(table.items())])


def _rows(path: Path, header: str, rows: Sequence[Sequence[str]]) -> Path:
    if rows:
        save(path, header, rows)
    else:
        path.unlink(missing_ok=True)
    return path


def save(path: Path, header: str, rows: Iterable[Sequence[str]]) -> None:
    """Write a TSV file atomically. Tabs and line breaks inside cells become spaces."""
    lines = [header, *("\t".join(" ".join(cell.split()) for cell in row) for row in rows)]
    write_atomically(path, ("\n".join(lines) + "\n").encode())


NAME = "refused-pairs"
_ABOUT = "Pairs that people refused here: the opinion is never said of the aspect in these reviews."
_EMPTY = Rule(NAME, "exception", 450, _ABOUT, MappingProxyType({"pairs": ()}), (), "")


def add_exception(workdir: Path, rules: Sequence[Rule], pair: str, example: RuleExample) -> Path:
    """Write a pair (`aspect|opinion`) beside the earlier ones. ResourceError where another rule has that name."""
    rule = next((rule for rule in rules if rule.name == NAME), _EMPTY)
    if rule.kind != _EMPTY.kind:
        raise ResourceError(f"rule {NAME!r} is not of kind {_EMPTY.kind}", where=rule.where, fix="give it another name")
    known: Any = rule.params.get("pairs", ())
    examples = rule.examples if example in rule.examples else (*rule.examples, example)
    pairs = tuple(dict.fromkeys((*known, pair)))
    text = write_rule(replace(rule.changed("pairs", pairs), examples=examples))
    file = edited_file(workdir, NAME)
    write_atomically(file, text.encode())
    return file
