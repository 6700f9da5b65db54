"""Foreign tags and relations in the engine's own labels: rules/labels.tsv.

In: a scheme and a label of it, with the word that bears it. Out: the universal tag or the UD v1 relation that the
engine and the parser know. One table for all schemes, so that a person sees the differences side by side: `ckip-pos`
(CKIP's Sinica tags), `ud2` (relations of UD v2) and `stanford` (relations in the terms of the paper, section 3.2.3).
A label followed by a space and a word holds for that word only: UD v2 knows 不 as an advmod, UD v1 as a neg. The rows
of `ud2` were counted on the sentences that GSD has in both versions; the tags, on what GSD v1 gives the words that
Sinica's treebank gives each tag.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from builder.core.errors import ResourceError
from builder.core.wording import counted
from builder.language.lexicon.packs import data_dir

SCHEMES = ("ckip-pos", "ud2", "stanford")
HEADER = ("scheme", "label", "ours", "note")


@dataclass(frozen=True, slots=True)
class Labels:
    """`table` maps (scheme, "label" or "label word") to our label; `where` names its file in errors."""

    table: Mapping[tuple[str, str], str]
    digest: str
    where: str

    def ours(self, scheme: str, label: str, word: str = "") -> str:
        """Our label. One that the table lacks is an error, never a guess."""
        own = self.table.get((scheme, f"{label} {word}")) or self.table.get((scheme, label))
        if own is None:
            self.require(scheme, (label,))
        assert own, f"{scheme} {label!r} is in the table without a label of ours"
        return own

    @property
    def parts_of_speech(self) -> dict[str, str]:
        """CKIP's parts of speech and our own, each with ours."""
        tags = {
            label: ours for (scheme, label), ours in self.table.items() if scheme == "ckip-pos" and " " not in label
        }
        return {tag: tag for tag in tags.values()} | tags

    def require(self, scheme: str, labels: Iterable[str]) -> None:
        """Refuse a model whose labels the table does not know, before it reads its first text."""
        missing = sorted({label for label in labels if (scheme, label) not in self.table})
        if missing:
            raise ResourceError(
                f"no row for the {scheme} label {', '.join(map(repr, missing))}",
                where=self.where,
                fix="add it to the table",
            )


def load(path: Path | None = None) -> Labels:
    """Read the table. ResourceError with file:line on a row that is not four filled cells, an unknown scheme, or a
    label listed twice.
    """
    path = path or data_dir("rules") / "labels.tsv"
    try:
        content = path.read_bytes()
        lines = content.decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ResourceError(f"cannot be read: {error}", where=str(path)) from error
    if not lines or tuple(lines[0].split("\t")) != HEADER:
        raise ResourceError(
            "the first line is not the header", where=f"{path}:1", fix=f"write {' '.join(HEADER)}, separated by tabs"
        )
    table: dict[tuple[str, str], str] = {}
    for number, line in enumerate(lines[1:], 2):
        if line.strip() and not line.startswith("#"):
            scheme, label, ours = _row(line, f"{path}:{number}")
            if (scheme, label) in table:
                raise ResourceError(f"{scheme} {label!r} is listed already", where=f"{path}:{number}", fix="keep one")
            table[scheme, label] = ours
    return Labels(MappingProxyType(table), hashlib.sha256(content).hexdigest()[:12], str(path))


def _row(line: str, where: str) -> tuple[str, str, str]:
    cells = line.split("\t")
    if len(cells) != len(HEADER) or not all(cell and cell == cell.strip() for cell in cells):
        raise ResourceError(
            f"{counted(len(cells), 'cell')} where {len(HEADER)} are due, or a blank one: {line!r}", where=where
        )
    if cells[0] not in SCHEMES:
        raise ResourceError(f"unknown scheme {cells[0]!r}", where=where, fix=f"known: {', '.join(SCHEMES)}")
    return cells[0], cells[1], cells[2]
