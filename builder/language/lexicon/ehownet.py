"""E-HowNet's layouts: semantic categories with their words.

In: a file of one of the layouts below. Out: `Entry`s, each an opinion in the category `English|Chinese` of its word.

| layout | lines |
|---|---|
| table | `{good|好} TAB 8 TAB 優秀(VH11),可口(VH11)`; the members may follow on lines of their own |
| tree | nodes `├─ {good|好}` or `good|好`, indented by blanks, tabs or lines; their words behind or below them |
| dictionary | `可口 TAB VH11 TAB {delicious|好吃}`: a word, anything else, its definition |

The category of a dictionary's word is the head of its definition: of `{delicious|好吃:degree={very|很}}` it is
delicious|好吃. E-HowNet holds no valences: they stand in the table, or in the file of `--valences`, by the whole name
of a category or by either half. In a tree a category without a valence has that of the nearest one above it.

Words are parted by blanks, commas or 、 and may carry CKIP's parts of speech: 可口(VH11), 可口(VH11,A), 可口.VH,
可口_VH.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from builder.core.errors import ResourceError
from builder.language.lexicon.layouts import Entry, Options, as_number, numbered_lines, read_text, rescaled
from builder.language.lexicon.resources import Lexicon

_MEMBERS = re.compile(r"[\s,，、;；]+")
_POS = r"[A-Z][A-Za-z]*\d*"
_TAGS = re.compile(rf"[(（]\s*{_POS}(?:\s*[,，、/]\s*{_POS})*\s*[)）]|[._/]{_POS}(?=[\s,，、;；]|$)")
_BRANCH = re.compile(r"[\s│├└┬─┌|+`·-]*")
_NODE = re.compile(r"(?:\{([^{}\s:：=]+)\}|([^{}()\s:：,，|]+\|[^{}()\s:：,，]+))(?=$|[\s:：])[:：]?")
_DEFINITION = re.compile(r"(?:DEF\s*[=:]\s*)?\{\s*([^{}\s:：=]+)", re.I)


@dataclass(slots=True)
class _Tree:
    """Where the reading stands in a tree of categories: (depth, name, valence) of those open, the innermost last."""

    valences: Mapping[str, float]
    branches: list[tuple[int, str, float | None]] = field(default_factory=list)

    def enter(self, depth: int, category: str, valence: float | None) -> None:
        """Open a category below those of a smaller depth; without a valence of its own it has theirs."""
        while self.branches and self.branches[-1][0] >= depth:
            self.branches.pop()
        value = valence if valence is not None else find_valence(category, self.valences)
        above = self.branches[-1][2] if self.branches else None
        self.branches.append((depth, category, above if value is None else value))

    def members(self, line: int, cells: list[str]) -> Iterator[Entry]:
        """The words of some cells as entries of the innermost category."""
        _, category, valence = self.branches[-1] if self.branches else (0, "", None)
        reason = "" if valence is not None else "no-valence" if category else "no-category"
        for member in filter(None, (part for cell in cells for part in _MEMBERS.split(_TAGS.sub(" ", cell)))):
            yield Entry(line, member, category, valence, reason=reason, detail=category if reason else "")


def read_ehownet(text: str, path: Path, lexicon: Lexicon, options: Options) -> Iterator[Entry]:
    """The words of an E-HowNet file, whichever layout each line has."""
    tree = _Tree(options.valences)
    for line, row in numbered_lines(text):
        branch = _BRANCH.match(row)
        indent = branch.group() if branch else ""
        cells = [cell.strip() for cell in row[len(indent) :].split("\t") if cell.strip()]
        if not cells:
            continue
        node, definition = _NODE.match(cells[0]), _DEFINITION.match(cells[-1])
        if len(cells) > 1 and definition and not node:
            yield _define(line, _TAGS.sub("", cells[0]).strip(), definition[1], options.valences)
        elif node or len(cells) > 1:
            category = (node[1] or node[2]) if node else cells[0]
            value = as_number(cells[1]) if len(cells) > 1 else None
            members = [*([cells[0][node.end() :].strip()] if node else []), *cells[1 if value is None else 2 :]]
            tree.enter(len(indent.expandtabs(4)), re.sub(r"\s+", "_", category), _on_scale(value, options))
            if not any(members) and tree.branches[-1][2] is None and not indent:
                yield Entry(line, cells[0], reason="no-valence", detail="a category without a valence")
            yield from tree.members(line, members)
        else:
            yield from tree.members(line, cells)


def read_valences(path: Path, options: Options) -> dict[str, float]:
    """The file of `--valences`: `category TAB valence` lines. ResourceError with file:line for any other line."""
    valences: dict[str, float] = {}
    for number, row in numbered_lines(read_text(path, options.encoding)):
        cells = [cell.strip() for cell in row.split("\t")]
        value = _on_scale(as_number(cells[1]), options) if len(cells) == 2 else None
        if value is None and number == 1:
            continue  # a header
        if value is None or not 1 <= value <= 10:
            fix = "write a category, a tab, and its valence; --scale LOW,HIGH where that is not 1 to 10"
            raise ResourceError(f"{row!r} gives no category a valence", where=f"{path}:{number}", fix=fix)
        valences[cells[0].strip("{}")] = value
    return valences


def find_valence(category: str, valences: Mapping[str, float]) -> float | None:
    """The valence of `good|好` by that name, else by either half of it."""
    return next((valences[name] for name in (category, *category.split("|")) if name in valences), None)


def _define(line: int, word: str, category: str, valences: Mapping[str, float]) -> Entry:
    """A word of the dictionary, in the category that heads its definition."""
    valence = find_valence(category, valences)
    if valence is None:
        return Entry(line, word, reason="no-valence", detail=f"{category}; give it one with --valences")
    return Entry(line, word, category, valence)


def _on_scale(value: float | None, options: Options) -> float | None:
    return value if value is None or options.scale is None else rescaled(value, *options.scale)
