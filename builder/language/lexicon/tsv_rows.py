"""The rows of the lexicon's TSV files, and the digest of a folder.

In: a file with a header line. Out: rows of cells with the place each stands in, as `folder/file:line`. Files of others
are read leniently: all rows that can be read, and a finding for every one that cannot.

Classes of words that rules share: `<guest>` in a list of a rule stands for the words of that class. `word_classes.tsv`
names the classes and `words/*.tsv` their words.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from builder.core.errors import ResourceError, did_you_mean
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


def read_rows(path: Path, columns: int, header: tuple[str, ...] = ()) -> Iterator[tuple[list[str], str]]:
    """The rows of a TSV with a header line, this one if it is given: exactly `columns` non-empty cells, `#` starts a
    comment line.
    """
    shown = f"{path.parent.name}/{path.name}"
    try:
        if header and read_settings(path).splitlines()[:1] != ["\t".join(header)]:
            what, fix = "the first line is not the header", f"write {' '.join(header)}, separated by tabs"
            raise ResourceError(what, where=f"{path}:1", fix=fix)
        for number, cells, fault in _scan(path, columns):
            if fault:
                raise ResourceError(fault, where=f"{path}:{number}")
            yield cells, f"{shown}:{number}"
    except (OSError, ValueError) as error:
        raise ResourceError(f"cannot be read: {error}", where=str(path)) from error


def _scan(path: Path, columns: int) -> Iterator[tuple[int, list[str], str]]:
    """The lines of a TSV that are no comments: number, cells, and what is wrong with them."""
    for number, line in enumerate(read_settings(path).splitlines()[1:], start=2):
        if line.strip() and not line.startswith("#"):
            cells = line.split("\t")
            good = len(cells) == columns and "" not in cells and [*map(str.strip, cells)] == cells
            fault = "" if good else f"{counted(len(cells), 'cell')} where {columns} are due, or a blank one: {line!r}"
            yield number, cells, fault


def read_pairs(path: Path) -> Mapping[str, str]:
    """The rows of a table of two columns; ResourceError for a word with two values."""
    pairs: dict[str, str] = {}
    for (key, value), where in read_rows(path, 2):
        if pairs.setdefault(key, value) != value:
            raise ResourceError(f"{key!r} is listed with {pairs[key]!r} and {value!r}", where=where, fix="keep one")
    return MappingProxyType(pairs)


def as_number(cell: str) -> float | None:
    """The number in a cell, or None."""
    try:
        return float(cell)
    except ValueError:
        return None


def as_valence(cell: str) -> float | None:
    """The valence from 1 to 10 in a cell, or None."""
    value = as_number(cell)
    return value if value is not None and 1 <= value <= 10 else None


def read_valence(cell: str, where: str) -> float:
    """A valence from 1 to 10; ResourceError for anything else."""
    value = as_valence(cell)
    if value is None:
        raise ResourceError(f"valence {cell!r} is no number from 1 to 10", where=where)
    return value


def folder_digest(root: Path, *patterns: str) -> str:
    """The digest of the names and bytes of the files under `root` that match one of `patterns`."""
    digest = hashlib.sha256()
    for path in sorted(path for pattern in patterns for path in root.rglob(pattern)):
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
            fix="make one with `builder words lexicon import`, or correct lexicons.dir",
        )
    if (folder / "variants.tsv").is_file():
        raise ResourceError(
            "a folder that is laid over the shipped lexicon cannot hold variants.tsv",
            where=str(folder),
            fix='delete it, or use the folder in place of the shipped one with lexicons.mode = "replace"',
        )
    single, folders = {*WHOLE, "word_classes"}, ("opinions", "aspects", "words")
    if strange := sorted(path.name for path in folder.glob("*.tsv") if path.stem not in single):
        names = [name for name in (*WHOLE, "word_classes") if name != "variants"]
        tables = ", ".join([*(f"{name}.tsv" for name in names), *(f"{name}/*.tsv" for name in folders)])
        raise ResourceError(f"no table of a lexicon is {', '.join(strange)}", where=str(folder), fix=f"known: {tables}")
    if not any(table_files(folder, name) for name in (*single, *folders)):
        raise ResourceError(
            "no table of a lexicon is here", where=str(folder), fix="put words into opinions/*.tsv or aspects/*.tsv"
        )


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
    for any. A whole lexicon may lack what is `optional`.
    """

    name: str
    columns: int
    values: frozenset[str] = frozenset()
    folder: bool = False
    optional: bool = False


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
    LexiconTable("word_classes", 2, optional=True),
    LexiconTable("words", 2, folder=True, optional=True),
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
            size = 2 if name in ("context", "words") else 1
            replaced = {row.cells[:size] for row in own}
            ended = marks if name in ("opinions", "aspects") else set()
            rows[name] = [row for row in rows[name] if row.cells[:size] not in replaced and row.word not in ended] + own
    return rows, findings


def _read_root(root: Path) -> tuple[dict[str, list[LexiconRow]], list[Finding]]:
    rows: dict[str, list[LexiconRow]] = {table.name: [] for table in TABLES}
    findings: list[Finding] = []
    for table in TABLES:
        paths = sorted((root / table.name).glob("*.tsv")) if table.folder else [root / f"{table.name}.tsv"]
        if table.optional:
            paths = table_files(root, table.name)
        elif not paths:
            findings.append(Finding("missing", table.name, f"{table.name}/", "the folder holds no .tsv file"))
        for path in paths:
            _read_file(path, root, table, rows[table.name], findings)
    return rows, findings


def _read_file(path: Path, root: Path, table: LexiconTable, rows: list[LexiconRow], findings: list[Finding]) -> None:
    name = path.relative_to(root).as_posix()
    try:
        scanned = list(_scan(path, table.columns))
    except (OSError, ValueError) as error:
        findings.append(
            Finding("missing" if not path.is_file() else "format", table.name, name, f"cannot be read: {error}")
        )
        return
    for number, cells, fault in scanned:
        where = f"{name}:{number}"
        if fault:
            findings.append(Finding("format", cells[0], where, fault))
            continue
        if table.values and cells[1] not in table.values:
            findings.append(
                Finding("unknown-kind", cells[0], where, f"{cells[1]!r}; known: {', '.join(sorted(table.values))}")
            )
        rows.append(LexiconRow(tuple(cells), where))


# ---- Classes of words

Classes = Mapping[str, tuple[str, ...]]
"""Class -> its words, as lists of rules write them: words, classes of aspects (`@staff`), endings (`…味`)."""
_CLASS = re.compile(r"<([a-z][a-z0-9-]*)>")
_TAKES = re.compile(r"-(.+)")


def load_word_classes(folders: Sequence[Path]) -> Classes:
    """The classes of folders of lexicons. What a folder says of a class of those before it is added to its words.

    ResourceError with file:line on a word of a class that no table names, or one that stands twice in a folder.
    """
    classes: dict[str, dict[str, None]] = {}
    for folder in folders:
        seen: dict[tuple[str, str], str] = {}
        for path in table_files(folder, "word_classes"):
            for (name, _), where in read_rows(path, 2):
                if not _CLASS.fullmatch(f"<{name}>"):
                    fix = "use small letters, digits and -"
                    raise ResourceError(f"{name!r} cannot name a class of words", where=where, fix=fix)
                classes.setdefault(name, {})
        for path in sorted((folder / "words").glob("*.tsv")):
            for (word, name), where in read_rows(path, 2):
                if name not in classes:
                    fix = f"{did_you_mean(name, classes)}correct it, or add it to {folder / 'word_classes.tsv'}"
                    raise ResourceError(f"{name!r} is in no word_classes.tsv", where=f"{folder}/{where}", fix=fix)
                if first := seen.get((word, name)):
                    fix = f"keep this row or {folder}/{first}"
                    raise ResourceError(f"{word!r} is in {name} already", where=f"{folder}/{where}", fix=fix)
                seen[word, name] = where
                classes[name][word] = None
    return MappingProxyType({name: tuple(words) for name, words in classes.items()})


def name_words(
    params: Mapping[str, object], classes: Classes, rule: str, at: Callable[[str], str]
) -> Mapping[str, object]:
    """The parameters of a rule as its file has them, with the words of classes in place of their names.

    ResourceError names `rule` and where (`at`) it names a class that is not there, or takes away a word where there is
    none.
    """
    return MappingProxyType({key: _expand(value, classes, rule, at(key)) for key, value in params.items()})


def list_classes(params: Mapping[str, object]) -> tuple[str, ...]:
    """The names of the classes that the parameters of a rule name as its file has them, each once."""
    tables = [cells for cells in params.values() if isinstance(cells, Mapping)]
    lists = [*params.values(), *(cell for cells in tables for cell in cells.values())]
    items = (item for cell in lists if isinstance(cell, list) for item in cell if isinstance(item, str))
    return tuple(dict.fromkeys(name[1] for item in items if (name := _CLASS.fullmatch(item))))


def _expand(value: object, classes: Classes, rule: str, where: str) -> object:
    """A list with the words of its classes, in the order of the list, less what `-word` takes away; a table of lists
    so too. A list that names no class is as it was.
    """
    if isinstance(value, Mapping):
        return {name: _expand(cell, classes, rule, where) for name, cell in value.items()}
    if not isinstance(value, list) or not any(isinstance(item, str) and _CLASS.fullmatch(item) for item in value):
        return value
    words: dict[object, None] = {}
    for item in value:
        if name := _CLASS.fullmatch(str(item)):
            if name[1] not in classes:
                fix = f"{did_you_mean(name[1], classes)}correct it, or add it to word_classes.tsv of a lexicon"
                raise ResourceError(f"rule {rule!r}: no class of words is {item}", where=where, fix=fix)
            words |= dict.fromkeys(classes[name[1]])
        elif taken := _TAKES.fullmatch(str(item)):
            if taken[1] not in words:
                message = f"rule {rule!r}: {item!r} takes away a word that does not stand before it"
                raise ResourceError(message, where=where, fix="write it behind a class that has the word")
            del words[taken[1]]
        else:
            words[item] = None
    return list(words)
