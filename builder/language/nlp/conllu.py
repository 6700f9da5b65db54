"""CoNLL-U files as plain sentences.

In: a path. Out: a `TreebankSentence` for each tree, with 0-based heads (-1 is the root). Multiword ranges and empty
nodes carry no edge of the tree and are left out. A line that is not CoNLL-U stops the reading: a silently shortened
treebank trains a silently worse parser.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from builder.core.errors import InputError
from builder.core.wording import counted

TAGS_V1 = {"CCONJ": "CONJ", "SCONJ": "ADV", "INTJ": "PART"}
"""Tags of UD v2 that GSD v1 does not have, and what it uses instead (雖然 ADV, 和 CONJ, 啊 PART)."""


@dataclass(frozen=True, slots=True)
class TreebankSentence:
    """A tree: four columns of equal length. Head -1 is the root."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    heads: tuple[int, ...]
    rels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.words)


def read(path: Path) -> list[TreebankSentence]:
    """All sentences of a CoNLL-U file; an InputError names the file and line that is broken."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"cannot read the treebank: {error}", where=str(path), fix="give a CoNLL-U file in UTF-8"
        ) from error
    return list(_sentences(text, str(path)))


def _sentences(text: str, name: str) -> Iterator[TreebankSentence]:
    rows: list[tuple[str, str, int, str]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            if rows:
                yield _sentence(rows, f"{name}:{number}")
            rows = []
        elif not line.startswith("#"):
            row = _row(line, f"{name}:{number}")
            if row is not None:
                rows.append(row)
    if rows:
        yield _sentence(rows, name)


def _row(line: str, where: str) -> tuple[str, str, int, str] | None:
    columns = line.rstrip("\r").split("\t")
    if len(columns) != 10:
        raise InputError(
            f"{counted(len(columns), 'column')} instead of 10",
            where=where,
            fix="columns of CoNLL-U are separated by tabs",
        )
    if not columns[0].isdigit():
        return None
    if not columns[6].isdigit():
        raise InputError(f"head {columns[6]!r} is not a number", where=where)
    return columns[1], columns[3], int(columns[6]) - 1, columns[7]


def _sentence(rows: list[tuple[str, str, int, str]], where: str) -> TreebankSentence:
    words, tags, heads, rels = zip(*rows, strict=True)
    if not all(-1 <= head < len(rows) for head in heads):
        raise InputError("a head points outside its sentence", where=where)
    return TreebankSentence(words, tags, heads, rels)


def surface(words: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    """The text of words and their spans. Chinese is glued; two Latin words get the space that keeps them two."""
    text, spans = "", []
    for word in words:
        if text and text[-1].isascii() and text[-1].isalnum() and word[0].isascii() and word[0].isalnum():
            text += " "
        spans.append((len(text), len(text) + len(word)))
        text += word
    return text, spans
