"""A lenient reader for lexicon files: all rows that can be read, and a finding for every one that cannot.

In: the root of a lexicon, possibly broken. Out: rows by table and findings. `resources.load_lexicon` stops at the
first error, which is right for a run and useless for a person who repairs ten files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from builder.core.files import read_settings
from builder.core.wording import counted
from builder.language.lexicon.tsv_rows import MARKS, ROLES, table_files


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong with an entry: `kind` is one of check.KINDS, `where` is file:line below the lexicon's root."""

    kind: str
    word: str
    where: str
    detail: str


@dataclass(frozen=True, slots=True)
class LexiconRow:
    """An entry of a table: its cells, the first of which is the word."""

    cells: tuple[str, ...]
    where: str

    @property
    def word(self) -> str:
        """The word of the entry."""
        return self.cells[0]


@dataclass(frozen=True, slots=True)
class LexiconTable:
    """What a file or folder of the lexicon must look like. `values` are the kinds its second column may hold, empty
    for any.
    """

    name: str
    columns: int
    values: frozenset[str] = frozenset()
    folder: bool = False


_POS = "ADJ ADP ADV AUX CCONJ CONJ DET INTJ NOUN NUM PART PRON PROPN SCONJ SYM VERB X"
TABLES = (
    LexiconTable("opinion_categories", 3),
    LexiconTable("opinions", 2, folder=True),
    LexiconTable("context", 3),
    LexiconTable("aspect_classes", 3, frozenset(ROLES)),
    LexiconTable("aspects", 2, folder=True),
    LexiconTable("morphemes", 2, frozenset({"noun", "verb", "adjective", "head", "use"})),
    LexiconTable("degree", 2, frozenset({"high", "mid", "low", "lean", "than", "over", "post"})),
    LexiconTable("negators", 2, frozenset({"not", "hedge", "fail", "short", "without"})),
    LexiconTable("irrealis", 2, frozenset({"wish", "condition", "past", "hearsay", "question"})),
    LexiconTable("general", 2, frozenset(_POS.split())),
    LexiconTable("not_aspects", 2),
    LexiconTable("variants", 2),
)


def read(root: Path, overlays: Sequence[Path] = ()) -> tuple[Mapping[str, list[LexiconRow]], list[Finding]]:
    """The rows of every table and what could not be read. What lies above replaces rows of the same word below, and
    ends what they say of words that it declares to be none.
    """
    rows, findings = _read_root(root)
    for folder in overlays:
        above: dict[str, list[LexiconRow]] = {table.name: [] for table in TABLES}
        for table in TABLES:
            for path in table_files(folder, table.name):
                _read_file(path, folder.parent, table, above[table.name], findings)
        marks = {row.word for name in MARKS for row in above[name]}
        for name, own in above.items():
            size = 2 if name == "context" else 1
            replaced = {row.cells[:size] for row in own}
            ended = marks if name in ("opinions", "aspects") else set()
            rows[name] = [row for row in rows[name] if row.cells[:size] not in replaced and row.word not in ended] + own
    return rows, findings


def _read_root(root: Path) -> tuple[dict[str, list[LexiconRow]], list[Finding]]:
    rows: dict[str, list[LexiconRow]] = {table.name: [] for table in TABLES}
    findings: list[Finding] = []
    for table in TABLES:
        paths = sorted((root / table.name).glob("*.tsv")) if table.folder else [root / f"{table.name}.tsv"]
        if not paths:
            findings.append(Finding("missing", table.name, f"{table.name}/", "the folder holds no .tsv file"))
        for path in paths:
            _read_file(path, root, table, rows[table.name], findings)
    return rows, findings


def _read_file(path: Path, root: Path, table: LexiconTable, rows: list[LexiconRow], findings: list[Finding]) -> None:
    name = path.relative_to(root).as_posix()
    try:
        lines = read_settings(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        findings.append(
            Finding("missing" if not path.is_file() else "format", table.name, name, f"cannot be read: {error}")
        )
        return
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip() or line.startswith("#"):
            continue
        where, cells = f"{name}:{number}", tuple(line.split("\t"))
        if len(cells) != table.columns or not all(cell and cell == cell.strip() for cell in cells):
            findings.append(
                Finding(
                    "format",
                    cells[0],
                    where,
                    f"{counted(len(cells), 'cell')} where {table.columns} are due, or a blank one: {line!r}",
                )
            )
            continue
        if table.values and cells[1] not in table.values:
            findings.append(
                Finding("unknown-kind", cells[0], where, f"{cells[1]!r}; known: {', '.join(sorted(table.values))}")
            )
        rows.append(LexiconRow(cells, where))
